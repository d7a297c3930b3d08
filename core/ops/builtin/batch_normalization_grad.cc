// tenon.BatchNormalizationGrad(dY, X, scale, saved_mean, saved_inv_std; training_mode) -> dX, dscale, dB. Per channel, with
// xhat = (X - saved_mean) * saved_inv_std and sums over its n values: dB = sum dY, dscale = sum dY * xhat, and
//   dX = scale * saved_inv_std * (dY - (dB + xhat * dscale) / n)   in training (mean and variance depend on X),
//   dX = scale * saved_inv_std * dY                                in inference.
// Source: Ioffe and Szegedy 2015, section 3.
#include "core/ops/batch_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1);
  TENON_INVALID_IF(!(dy == x), "dY has shape {}, but X has {}.", dy, x);
  const SymShape channels{x.rank() > 1 ? x[1] : Dim(1)};
  for (int i = 2; i < 5; ++i) {
    TENON_INVALID_IF(!(context.shape(i) == channels), "Input {} has shape {}; X {} needs {}.", i, context.shape(i), x,
                     channels);
  }
  context.SetOutput(0, context.dtype(1), x);
  context.SetOutput(1, context.dtype(2), channels);
  context.SetOutput(2, context.dtype(2), channels);
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args, bool training) {
  const ChannelLayout at = ChannelLayoutOf(args.inputs[1].shape());
  const T *dy = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>();
  const Tensor scale = Cast(args.inputs[2], DType::kF64), mean = Cast(args.inputs[3], DType::kF64),
               inv_std = Cast(args.inputs[4], DType::kF64);
  Tensor dscale(DType::kF64, scale.shape()), dbias(DType::kF64, scale.shape());
  const double count = static_cast<double>(at.count());
  for (std::int64_t c = 0; c < at.channels; ++c) {
    const double m = mean.data<double>()[c], s = inv_std.data<double>()[c];
    double sum = 0, dot = 0;
    at.Each(c, [&](std::int64_t i) {
      sum += static_cast<double>(dy[i]);
      dot += static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - m) * s;
    });
    dscale.data<double>()[c] = dot;
    dbias.data<double>()[c] = sum;
    if (!args.wants(0)) continue;
    const double factor = scale.data<double>()[c] * s;
    at.Each(c, [&](std::int64_t i) {
      const double xhat = (static_cast<double>(x[i]) - m) * s;
      const double through_statistics = training ? (sum + xhat * dot) / count : 0.0;
      args.outputs[0].data<T>()[i] =
          static_cast<T>(static_cast<Accumulator<T>>(factor * (static_cast<double>(dy[i]) - through_statistics)));
    });
  }
  for (std::size_t k = 1; k < 3; ++k) {
    if (!args.wants(k)) continue;
    const Tensor stored = Cast(k == 1 ? dscale : dbias, args.outputs[k].dtype());
    if (stored.bytes() > 0) std::memcpy(args.outputs[k].raw(), stored.raw(), static_cast<std::size_t>(stored.bytes()));
  }
}

Status Reference(const ReferenceArgs& args) {
  const bool training = args.attrs.Int("training_mode") != 0;
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, training); });
  return {};
}

}  // namespace

void DefineOp_batch_normalization_grad(OpRegistry& ops) {
  ops.DefineTenon("BatchNormalizationGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes, "T1")
      .Input("saved_mean", kFloatingTypes, "saved")
      .Input("saved_inv_std", kFloatingTypes, "saved")
      .Output("dX")
      .OptionalOutput("dscale")
      .OptionalOutput("dB")
      .Attr("training_mode", 1)
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
