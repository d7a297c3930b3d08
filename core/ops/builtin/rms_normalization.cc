// RMSNormalization(X, scale; axis = -1): over all dims from axis on, Y = X / sqrt(mean of X^2 + epsilon) * scale; scale
// broadcasts to those dims. ONNX RMSNormalization, since opset 23. Source: Zhang and Sennrich 2019.
#include "core/ops/rms_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckRmsScale(context.attrs(), context.shape(0), context.shape(1)));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

template <class T>
void Normalize(const ReferenceArgs& args, const LayerRows& rows, const std::vector<std::int64_t>& scale_index) {
  const T *x = args.inputs[0].data<T>(), *scale = args.inputs[1].data<T>();
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const T* row = x + r * rows.extent;
    T* y = args.outputs[0].data<T>() + r * rows.extent;
    const double inverse = InverseRms(row, rows.extent, args.attrs.Float("epsilon"));
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      const double weight = static_cast<double>(scale[scale_index[static_cast<std::size_t>(i)]]);
      y[i] = static_cast<T>(static_cast<Accumulator<T>>(static_cast<double>(row[i]) * inverse * weight));
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const Shape& x = args.inputs[0].shape();
  TENON_ASSIGN(const LayerRows rows, LayerRowsOf(args.attrs, x));
  TENON_ASSIGN(const auto scale_index, RmsScaleIndex(args.attrs, x, args.inputs[1].shape()));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Normalize<T>(args, rows, scale_index); });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1]};
  const auto grads = b.Apply("tenon", "RMSNormalizationGrad", inputs,
                             {{"axis", args.attrs.Int("axis")}, {"epsilon", args.attrs.Float("epsilon")}}, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_rms_normalization(OpRegistry& ops) {
  ops.Define("RMSNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(23)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes)
      .Output("Y")
      .Attr("axis", -1)
      .Attr("epsilon", 1e-5)
      .Attr("stash_type", 1)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
