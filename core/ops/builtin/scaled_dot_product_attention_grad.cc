// tenon.ScaledDotProductAttentionGrad(dY, Q, K, V, Y, LogSumExp, Random, Mask; heads, causal, scale, dropout) -> dQ, dK, dV
// of ScaledDotProductAttention. The probabilities P = exp(logits - LogSumExp) are computed again. With D[i] = dY[i] . Y[i]
// and the factors drop(i, j) of the forward pass
//   dP[i, j] = drop(i, j) dY[i] . V[j],   dS = P (dP - D),   dV[j] = sum_i P[i, j] drop(i, j) dY[i],
//   dQ[i] = scale sum_j dS[i, j] K[j],    dK[j] = scale sum_i dS[i, j] Q[i]
// Keys that took no part get no gradient. Source: Dao et al. 2022, appendix B.
#include "core/ops/attention.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const auto dims, AttentionDimsOf(context.attrs(), context.shape(1), context.shape(2), context.shape(3)));
  const SymShape sums{dims.batch, dims.heads, dims.queries};
  TENON_INVALID_IF(!(context.shape(0) == context.shape(4)), "dY has shape {}, but Y has {}.", context.shape(0),
                   context.shape(4));
  TENON_INVALID_IF(!(context.shape(5) == sums), "LogSumExp has shape {}; the operands need {}.", context.shape(5),
                   sums);
  for (int i = 0; i < 3; ++i) context.SetOutput(i, context.dtype(i + 1), context.shape(i + 1));
  return {};
}

// Sums of one gradient in double precision, laid out as its operand.
struct Sums {
  explicit Sums(const Tensor& like) : values(static_cast<std::size_t>(like.elements()), 0.0) {}
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
  const AttentionRows q = AttentionRowsOf(args.attrs, n.heads, n.queries, n.width);
  const AttentionRows k = AttentionRowsOf(args.attrs, n.heads, n.keys, n.width);
  const AttentionRows v = AttentionRowsOf(args.attrs, n.heads, n.keys, n.value_width);
  const AttentionRows y = AttentionRowsOf(args.attrs, n.heads, n.queries, n.value_width);
  const AttentionMask mask(args.attrs, args.has(7) ? args.inputs[7] : Tensor(), n);
  const std::int64_t* state = args.inputs[6].data<std::int64_t>();
  const RandomState random{static_cast<std::uint64_t>(state[0]), static_cast<std::uint64_t>(state[1])};
  const AttentionDropout drop{args.attrs.Float("dropout"), random, n.queries, n.keys};
  const double scale = AttentionScale(args.attrs, n.width);
  const Tensor log_sum = Cast(args.inputs[5], DType::kF64);
  const auto dot = [](const T* a, const T* b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t c = 0; c < count; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
  };
  Sums dq(args.inputs[1]), dk(args.inputs[2]), dv(args.inputs[3]);
  for (std::int64_t at = 0; at < n.batch * n.heads; ++at) {
    const std::int64_t b = at / n.heads, h = at % n.heads;
    for (std::int64_t i = 0; i < n.queries; ++i) {
      const std::int64_t query = q.base(b, h) + i * q.row, row = y.base(b, h) + i * y.row;
      const T *dy = args.inputs[0].data<T>() + row, *x = args.inputs[1].data<T>() + query;
      const double total = dot(dy, args.inputs[4].data<T>() + row, n.value_width);
      for (std::int64_t j = 0; j < n.keys; ++j) {
        const double added = mask(b, h, i, j);
        if (added == -std::numeric_limits<double>::infinity()) continue;
        const std::int64_t key = k.base(b, h) + j * k.row, value = v.base(b, h) + j * v.row;
        const double logit = added + scale * dot(x, args.inputs[2].data<T>() + key, n.width);
        const double p = std::exp(logit - log_sum.data<double>()[at * n.queries + i]), kept = drop(at, i, j);
        const double ds = p * (kept * dot(dy, args.inputs[3].data<T>() + value, n.value_width) - total) * scale;
        for (std::int64_t c = 0; c < n.value_width; ++c) *dv.at(value + c) += p * kept * static_cast<double>(dy[c]);
        for (std::int64_t c = 0; c < n.width; ++c) {
          *dq.at(query + c) += ds * static_cast<double>(args.inputs[2].data<T>()[key + c]);
          *dk.at(key + c) += ds * static_cast<double>(x[c]);
        }
      }
    }
  }
  dq.StoreTo(args, 0);
  dk.StoreTo(args, 1);
  dv.StoreTo(args, 2);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const auto dims,
               AttentionDimsOf(args.attrs, args.inputs[1].shape(), args.inputs[2].shape(), args.inputs[3].shape()));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, dims); });
  return {};
}

}  // namespace

void DefineOp_scaled_dot_product_attention_grad(OpRegistry& ops) {
  AttentionAttributes(ops.DefineTenon("ScaledDotProductAttentionGrad")
                          .Input("dY", kFloatingTypes)
                          .Input("Q", kFloatingTypes)
                          .Input("K", kFloatingTypes)
                          .Input("V", kFloatingTypes)
                          .Input("Y", kFloatingTypes)
                          .Input("LogSumExp", kFloatingTypes, "saved")
                          .Input("Random", {DType::kI64}, "random")
                          .OptionalInput("Mask", kFloatingTypes | kBoolType, "mask")
                          .OptionalOutput("dQ")
                          .OptionalOutput("dK")
                          .OptionalOutput("dV")
                          .Infer(Infer)
                          .Reference(Reference));
}

}  // namespace tenon
