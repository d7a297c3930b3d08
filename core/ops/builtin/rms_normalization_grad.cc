// tenon.RMSNormalizationGrad(dY, X, scale; axis, epsilon) -> dX, dscale. With r = 1 / sqrt(mean of X^2 + epsilon) of a row of
// n values, xhat = X * r and g = dY * scale: dX = r * (g - xhat * sum(g * xhat) / n); over all rows (and the axes along
// which scale was broadcast) dscale = sum dY * xhat.
#include "core/ops/rms_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1);
  TENON_INVALID_IF(!(dy == x), "dY has shape {}, but X has {}.", dy, x);
  TENON_TRY(CheckRmsScale(context.attrs(), x, context.shape(2)));
  context.SetOutput(0, context.dtype(0), x);
  context.SetOutput(1, context.dtype(0), context.shape(2));
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args, const LayerRows& rows, const std::vector<std::int64_t>& scale_index) {
  const T *dy = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>(), *scale = args.inputs[2].data<T>();
  std::vector<double> dscale(static_cast<std::size_t>(args.inputs[2].elements()));
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t begin = r * rows.extent;
    const double inverse = InverseRms(x + begin, rows.extent, args.attrs.Float("epsilon"));
    const auto xhat = [&](std::int64_t i) { return static_cast<double>(x[begin + i]) * inverse; };
    const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(scale_index[static_cast<std::size_t>(i)]); };
    double dot = 0;
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      const double grad = static_cast<double>(dy[begin + i]);
      dot += grad * static_cast<double>(scale[at(i)]) * xhat(i);
      dscale[at(i)] += grad * xhat(i);
    }
    for (std::int64_t i = 0; i < rows.extent && args.wants(0); ++i) {
      const double grad = static_cast<double>(dy[begin + i]) * static_cast<double>(scale[at(i)]);
      const double dx = inverse * (grad - xhat(i) * dot / static_cast<double>(rows.extent));
      args.outputs[0].data<T>()[begin + i] = static_cast<T>(static_cast<Accumulator<T>>(dx));
    }
  }
  for (std::size_t c = 0; c < dscale.size() && args.wants(1); ++c) {
    args.outputs[1].data<T>()[c] = static_cast<T>(static_cast<Accumulator<T>>(dscale[c]));
  }
}

Status Reference(const ReferenceArgs& args) {
  const Shape& x = args.inputs[1].shape();
  TENON_ASSIGN(const LayerRows rows, LayerRowsOf(args.attrs, x));
  TENON_ASSIGN(const auto scale_index, RmsScaleIndex(args.attrs, x, args.inputs[2].shape()));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, rows, scale_index); });
  return {};
}

}  // namespace

void DefineOp_rms_normalization_grad(OpRegistry& ops) {
  ops.DefineTenon("RMSNormalizationGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes)
      .Output("dX")
      .OptionalOutput("dscale")
      .Attr("axis", -1)
      .Attr("epsilon", 1e-5)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
