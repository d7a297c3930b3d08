// tenon.ScaledDotProductAttention(Q, K, V, Mask; heads, causal, scale, dropout) -> Y, LogSumExp, Random. Per head
//   Y[i] = sum_j drop(P[i, j]) V[j],   P[i, :] = softmax_j(scale Q[i] . K[j] + M[i, j])
// Q, K, V are [batch, heads, length, width], or [batch, length, heads * width] with the attribute heads above 0; V may
// have another width. Without K and V, Q holds queries, keys and values side by side: [batch, length, 3 * heads * width], and
// Y is [batch, length, heads * width]. scale is 1 / sqrt(width) when absent. M is Mask, which broadcasts to [batch, heads, queries, keys]:
// numbers are added, of bool false is -inf; with causal, keys j > i are -inf too. A key at -inf takes no part, but it should
// hold numbers: on a device NaN or infinity of its value may pass. A query whose keys are all at -inf gives 0 (and LogSumExp
// -inf), not NaN. Dropout acts on P with ratio `dropout`;
// Random keeps the key and offset of its draws for the gradient. LogSumExp [batch, heads, queries] is the logarithm of
// the softmax denominator, float (double for double Q). Source: Vaswani et al. 2017, eq. 1; Dao et al. 2022 for what is
// kept.
#include "core/ops/attention.h"

namespace tenon {
namespace {

Status CheckMask(const InferContext& context, const AttentionDims<Dim>& dims) {
  if (!context.has_input(3)) return {};
  const SymShape logits{dims.batch, dims.heads, dims.queries, dims.keys};
  const auto all = Broadcast(logits, context.shape(3));
  TENON_INVALID_IF(!all.ok() || !(*all == logits), "Attention mask has shape {}; it must broadcast to {}.",
                   context.shape(3), logits);
  return {};
}

Status Infer(InferContext& context) {
  const SymShape* k = context.has_input(1) ? &context.shape(1) : nullptr;
  const SymShape* v = context.has_input(2) ? &context.shape(2) : nullptr;
  TENON_ASSIGN(const auto dims, AttentionDimsOf(context.attrs(), context.shape(0), k, v));
  TENON_TRY(CheckMask(context, dims));
  const double ratio = context.attrs().Float("dropout");
  TENON_INVALID_IF(!(ratio >= 0 && ratio < 1), "Attention dropout ({}) is outside [0, 1).", ratio);
  SymShape y = context.shape(0);
  const int last = y.rank() - 1;
  y.set_dim(last, v != nullptr ? (*v)[last] : Dim(dims.heads.value() * dims.width.value()));
  context.SetOutput(0, context.dtype(0), y);
  context.SetOutput(1, context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32,
                    SymShape{dims.batch, dims.heads, dims.queries});
  context.SetOutput(2, DType::kI64, SymShape{2});
  return {};
}

template <class T>
void Attend(const ReferenceArgs& args, const AttentionDims<std::int64_t>& n) {
  const bool packed = !args.has(1);
  const AttentionPlaces at = AttentionPlacesOf(args.attrs, n, packed);
  const T* q = args.inputs[0].data<T>();
  const T *k = packed ? q : args.inputs[1].data<T>(), *v = packed ? q : args.inputs[2].data<T>();
  const AttentionMask mask(args.attrs, args.has(3) ? args.inputs[3] : Tensor(), n);
  const AttentionDropout drop{args.attrs.Float("dropout"), args.random, n.queries, n.keys};
  const double scale = AttentionScale(args.attrs, n.width);
  std::vector<double> p(static_cast<std::size_t>(n.keys)), sum(static_cast<std::size_t>(n.value_width));
  for (std::int64_t head = 0; head < n.batch * n.heads; ++head) {
    const std::int64_t b = head / n.heads, h = head % n.heads;
    for (std::int64_t i = 0; i < n.queries; ++i) {
      const T* query = q + at.q.at(b, h, i);
      double top = -std::numeric_limits<double>::infinity();
      for (std::int64_t j = 0; j < n.keys; ++j) {
        double logit = mask(b, h, i, j);
        if (logit != -std::numeric_limits<double>::infinity()) {
          const T* key = k + at.k.at(b, h, j);
          double dot = 0;
          for (std::int64_t c = 0; c < n.width; ++c) dot += static_cast<double>(query[c]) * static_cast<double>(key[c]);
          logit += dot * scale;
        }
        p[static_cast<std::size_t>(j)] = logit;
        if (logit > top || std::isnan(logit)) top = logit;
      }
      double total = 0;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::int64_t j = 0; j < n.keys; ++j) {
        const double logit = p[static_cast<std::size_t>(j)];
        if (logit == -std::numeric_limits<double>::infinity()) continue;
        const double weight = std::exp(logit - top), kept = weight * drop(head, i, j);
        const T* value = v + at.v.at(b, h, j);
        total += weight;
        for (std::int64_t c = 0; c < n.value_width; ++c)
          sum[static_cast<std::size_t>(c)] += kept * static_cast<double>(value[c]);
      }
      T* out = args.outputs[0].data<T>() + at.y.at(b, h, i);
      for (std::int64_t c = 0; c < n.value_width; ++c) {
        const double value = total == 0 ? 0 : sum[static_cast<std::size_t>(c)] / total;
        out[c] = static_cast<T>(static_cast<Accumulator<T>>(value));
      }
      using Saved = std::conditional_t<std::is_same_v<T, double>, double, float>;
      if (args.wants(1))
        args.outputs[1].data<Saved>()[head * n.queries + i] = static_cast<Saved>(top + std::log(total));
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const Shape* k = args.has(1) ? &args.inputs[1].shape() : nullptr;
  const Shape* v = args.has(2) ? &args.inputs[2].shape() : nullptr;
  TENON_ASSIGN(const auto dims, AttentionDimsOf(args.attrs, args.inputs[0].shape(), k, v));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Attend<T>(args, dims); });
  if (args.wants(2)) {
    args.outputs[2].data<std::int64_t>()[0] = static_cast<std::int64_t>(args.random.key);
    args.outputs[2].data<std::int64_t>()[1] = static_cast<std::int64_t>(args.random.offset);
  }
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_INVALID_IF(args.wants(3), "The mask of an attention gets no gradient; it must not depend on a parameter.");
  TENON_INVALID_IF(args.outputs.size() < 3 || !args.outputs[1] || !args.outputs[2],
                   "The gradient of ScaledDotProductAttention needs its outputs LogSumExp and Random.");
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  const Value inputs[] = {args.output_grads[0], args.outputs[0], args.outputs[1], args.outputs[2],
                          args.inputs[0],       optional(1),     optional(2),     optional(3)};
  const std::size_t count = optional(3) ? 8 : optional(1) ? 7 : 5;
  const std::span<const Value> given(inputs, count);
  const auto grads = b.Apply("tenon", "ScaledDotProductAttentionGrad", given, args.attrs, optional(1) ? 3 : 1);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_scaled_dot_product_attention(OpRegistry& ops) {
  AttentionAttributes(ops.DefineTenon("ScaledDotProductAttention")
                          .Flops([](const FlopArgs& args) { return AttentionFlops(args, 0, 2); })
                          .InLowPrecision(LowPrecision::kGains)
                          .Input("Q", kFloatingTypes)
                          .OptionalInput("K", kFloatingTypes)
                          .OptionalInput("V", kFloatingTypes)
                          .OptionalInput("Mask", kFloatingTypes | kBoolType, "mask")
                          .Output("Y")
                          .OptionalOutput("LogSumExp")
                          .OptionalOutput("Random")
                          .SavedForGradient(1)
                          .SavedForGradient(2)
                          .Random()
                          .Infer(Infer)
                          .Reference(Reference)
                          .Gradient(Gradient));
}

}  // namespace tenon
