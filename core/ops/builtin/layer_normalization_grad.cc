// tenon.LayerNormalizationGrad(dY, X, Scale, Mean, InvStdDev; axis) -> dX, dScale, dB. With xhat = (X - Mean) * InvStdDev and
// g = dY * Scale, per row of n elements dX = InvStdDev * (g - (sum g + xhat * sum(g * xhat)) / n); over all rows
// dScale = sum dY * xhat, dB = sum dY.
#include <vector>

#include "core/ops/layer_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1);
  TENON_INVALID_IF(!(dy == x), "dY has shape {}, but X has {}.", dy, x);
  TENON_TRY(NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  context.SetOutput(0, context.dtype(1), x);
  context.SetOutput(1, context.dtype(2), context.shape(2));
  context.SetOutput(2, context.dtype(2), context.shape(2));
  return {};
}

void Store(const std::vector<double>& values, Tensor& out) {
  Tensor wide(DType::kF64, out.shape());
  std::copy(values.begin(), values.end(), wide.data<double>());
  const Tensor stored = Cast(wide, out.dtype());
  if (stored.bytes() > 0) std::memcpy(out.raw(), stored.raw(), static_cast<std::size_t>(stored.bytes()));
}

template <class T>
void Differentiate(const ReferenceArgs& args, const LayerRows& rows) {
  const T *dy = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>(), *scale = args.inputs[2].data<T>();
  const Tensor mean = Cast(args.inputs[3], DType::kF64), inv_std = Cast(args.inputs[4], DType::kF64);
  std::vector<double> dscale(static_cast<std::size_t>(rows.extent)), dbias(dscale.size());
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const double m = mean.data<double>()[r], s = inv_std.data<double>()[r];
    const auto xhat = [&](std::int64_t i) { return (static_cast<double>(x[r * rows.extent + i]) - m) * s; };
    const auto grad = [&](std::int64_t i) { return static_cast<double>(dy[r * rows.extent + i]); };
    double sum = 0, dot = 0;
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      const double g = grad(i) * static_cast<double>(scale[i]);
      sum += g;
      dot += g * xhat(i);
      dscale[static_cast<std::size_t>(i)] += grad(i) * xhat(i);
      dbias[static_cast<std::size_t>(i)] += grad(i);
    }
    for (std::int64_t i = 0; i < rows.extent && args.wants(0); ++i) {
      const double g = grad(i) * static_cast<double>(scale[i]);
      const double dx = s * (g - (sum + xhat(i) * dot) / static_cast<double>(rows.extent));
      args.outputs[0].data<T>()[r * rows.extent + i] = static_cast<T>(static_cast<Accumulator<T>>(dx));
    }
  }
  if (args.wants(1)) Store(dscale, args.outputs[1]);
  if (args.wants(2)) Store(dbias, args.outputs[2]);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LayerRows rows, LayerRowsOf(args.attrs, args.inputs[1].shape()));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, rows); });
  return {};
}

}  // namespace

void DefineOp_layer_normalization_grad(OpRegistry& ops) {
  ops.DefineTenon("LayerNormalizationGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("Scale", kFloatingTypes)
      .Input("Mean", kFloatingTypes, "saved")
      .Input("InvStdDev", kFloatingTypes, "saved")
      .Output("dX")
      .OptionalOutput("dScale")
      .OptionalOutput("dB")
      .Attr("axis", -1)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
