// tenon.ScaledDotProductAttentionGrad(dY, Y, LogSumExp, Random, Q, K, V, Mask; heads, causal, scale, dropout) -> dQ, dK, dV
// of ScaledDotProductAttention; dQ alone, packed as Q, without K and V. The probabilities P = exp(logits - LogSumExp) are computed again. With D[i] = dY[i] . Y[i]
// and the factors drop(i, j) of the forward pass
//   dP[i, j] = drop(i, j) dY[i] . V[j],   dS = P (dP - D),   dV[j] = sum_i P[i, j] drop(i, j) dY[i],
//   dQ[i] = scale sum_j dS[i, j] K[j],    dK[j] = scale sum_i dS[i, j] Q[i]
// Keys that took no part get no gradient. Source: Dao et al. 2022, appendix B.
#include "core/ops/attention.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape* k = context.has_input(5) ? &context.shape(5) : nullptr;
  const SymShape* v = context.has_input(6) ? &context.shape(6) : nullptr;
  TENON_ASSIGN(const auto dims, AttentionDimsOf(context.attrs(), context.shape(4), k, v));
  const SymShape sums{dims.batch, dims.heads, dims.queries};
  TENON_INVALID_IF(!(context.shape(0) == context.shape(1)), "dY has shape {}, but Y has {}.", context.shape(0),
                   context.shape(1));
  TENON_INVALID_IF(!(context.shape(2) == sums), "LogSumExp has shape {}; the operands need {}.", context.shape(2),
                   sums);
  for (int i = 0; i < 3; ++i) {
    if (context.has_input(4 + i)) context.SetOutput(i, context.dtype(4 + i), context.shape(4 + i));
  }
  return {};
}

// Sums of one gradient in double precision, laid out as its operand.
struct Sums {
  explicit Sums(const Tensor& like) : values(like.defined() ? static_cast<std::size_t>(like.elements()) : 0, 0.0) {}
  double* at(std::int64_t i) { return values.data() + i; }
  void StoreTo(const ReferenceArgs& args, std::size_t output) const {
    if (!args.wants(output)) return;
    Tensor& out = args.outputs[output];
    ForFloating(out.dtype(), [&]<class T>() {
      for (std::size_t i = 0; i < values.size(); ++i)
        out.data<T>()[i] = static_cast<T>(static_cast<Accumulator<T>>(values[i]));
    });
  }
  std::vector<double> values;
};

template <class T>
void Differentiate(const ReferenceArgs& args, const AttentionDims<std::int64_t>& n) {
  const bool packed = !args.has(5);
  const AttentionPlaces at = AttentionPlacesOf(args.attrs, n, packed);
  const T *dy = args.inputs[0].data<T>(), *y = args.inputs[1].data<T>(), *q = args.inputs[4].data<T>();
  const T *k = packed ? q : args.inputs[5].data<T>(), *v = packed ? q : args.inputs[6].data<T>();
  const AttentionMask mask(args.attrs, args.has(7) ? args.inputs[7] : Tensor(), n);
  const std::int64_t* state = args.inputs[3].data<std::int64_t>();
  const RandomState random{static_cast<std::uint64_t>(state[0]), static_cast<std::uint64_t>(state[1])};
  const AttentionDropout drop{args.attrs.Float("dropout"), random, n.queries, n.keys};
  const double scale = AttentionScale(args.attrs, n.width);
  const Tensor log_sum = Cast(args.inputs[2], DType::kF64);
  const auto dot = [](const T* a, const T* b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t c = 0; c < count; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
  };
  Sums dq(args.inputs[4]), dk(packed ? Tensor() : args.inputs[5]), dv(packed ? Tensor() : args.inputs[6]);
  double* const to_q = dq.at(0);
  double *const to_k = packed ? to_q : dk.at(0), *const to_v = packed ? to_q : dv.at(0);
  for (std::int64_t head = 0; head < n.batch * n.heads; ++head) {
    const std::int64_t b = head / n.heads, h = head % n.heads;
    for (std::int64_t i = 0; i < n.queries; ++i) {
      const std::int64_t query = at.q.at(b, h, i), row = at.y.at(b, h, i);
      const double total = dot(dy + row, y + row, n.value_width);
      for (std::int64_t j = 0; j < n.keys; ++j) {
        const double added = mask(b, h, i, j);
        if (added == -std::numeric_limits<double>::infinity()) continue;
        const std::int64_t key = at.k.at(b, h, j), value = at.v.at(b, h, j);
        const double logit = added + scale * dot(q + query, k + key, n.width);
        const double p = std::exp(logit - log_sum.data<double>()[head * n.queries + i]), kept = drop(head, i, j);
        const double ds = p * (kept * dot(dy + row, v + value, n.value_width) - total) * scale;
        for (std::int64_t c = 0; c < n.value_width; ++c) to_v[value + c] += p * kept * static_cast<double>(dy[row + c]);
        for (std::int64_t c = 0; c < n.width; ++c) {
          to_q[query + c] += ds * static_cast<double>(k[key + c]);
          to_k[key + c] += ds * static_cast<double>(q[query + c]);
        }
      }
    }
  }
  dq.StoreTo(args, 0);
  if (!packed) dk.StoreTo(args, 1);
  if (!packed) dv.StoreTo(args, 2);
}

Status Reference(const ReferenceArgs& args) {
  const Shape* k = args.has(5) ? &args.inputs[5].shape() : nullptr;
  const Shape* v = args.has(6) ? &args.inputs[6].shape() : nullptr;
  TENON_ASSIGN(const auto dims, AttentionDimsOf(args.attrs, args.inputs[4].shape(), k, v));
  ForFloating(args.inputs[4].dtype(), [&]<class T>() { Differentiate<T>(args, dims); });
  return {};
}

}  // namespace

void DefineOp_scaled_dot_product_attention_grad(OpRegistry& ops) {
  AttentionAttributes(ops.DefineTenon("ScaledDotProductAttentionGrad")
                          .Flops([](const FlopArgs& args) { return AttentionFlops(args, 4, 5); })
                          .Input("dY", kFloatingTypes)
                          .Input("Y", kFloatingTypes)
                          .Input("LogSumExp", kFloatingTypes, "saved")
                          .Input("Random", {DType::kI64}, "random")
                          .Input("Q", kFloatingTypes)
                          .OptionalInput("K", kFloatingTypes)
                          .OptionalInput("V", kFloatingTypes)
                          .OptionalInput("Mask", kFloatingTypes | kBoolType, "mask")
                          .OptionalOutput("dQ")
                          .OptionalOutput("dK")
                          .OptionalOutput("dV")
                          .Infer(Infer)
                          .Reference(Reference));
}

}  // namespace tenon
