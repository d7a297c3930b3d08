// BatchNormalization(X, scale, B, input_mean, input_var): Y = (X - mean) * inv_std * scale + B per channel, with
// inv_std = 1 / sqrt(var + epsilon). In inference mean and var are the inputs; in training_mode those of the batch, over all
// axes but the channel, var being the population variance (sum of squares / count), and
//   running_mean = input_mean * momentum + mean * (1 - momentum),   running_var likewise:
// momentum is the weight of the old value, and running_var takes the population variance too, as ONNX defines both. A
// single value per channel cannot be normalised and is refused in training. X is [N, C, D1 ..] (or [N]: one channel).
// Outputs beyond ONNX's, for the gradient: saved_mean and saved_inv_std, the statistics that Y used, in float (double for
// double X). ONNX BatchNormalization: inference since opset 7, training_mode since opset 14.
#include <cmath>

#include "core/ops/batch_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context, bool can_train) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(x.rank() < 1, "BatchNormalization takes X [N, C, D1 ..]; it has shape {}.", x);
  const SymShape channels{x.rank() > 1 ? x[1] : Dim(1)};
  const char* const names[] = {"X", "scale", "B", "input_mean", "input_var"};
  for (int i = 1; i < 5; ++i) {
    TENON_INVALID_IF(!(context.shape(i) == channels), "BatchNormalization {} has shape {}; X {} needs {}.", names[i],
                     context.shape(i), x, channels);
  }
  const bool training = can_train && context.attrs().Int("training_mode") != 0;
  TENON_INVALID_IF(training && SingleValue(x),
                   "BatchNormalization cannot train on one value per channel; X has shape {}.", x);
  const DType saved = context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  context.SetOutput(0, context.dtype(0), x);
  context.SetOutput(1, context.dtype(3), channels);
  context.SetOutput(2, context.dtype(3), channels);
  context.SetOutput(3, saved, channels);
  context.SetOutput(4, saved, channels);
  return {};
}

struct Statistics {
  std::vector<double> mean, variance;
};

// Two passes: the mean, then the squares of the distances from it.
template <class T>
Statistics BatchStatistics(const ChannelLayout& at, const T* x) {
  Statistics out{std::vector<double>(static_cast<std::size_t>(at.channels)),
                 std::vector<double>(static_cast<std::size_t>(at.channels))};
  const double count = static_cast<double>(at.count());
  for (std::int64_t c = 0; c < at.channels; ++c) {
    double sum = 0, squares = 0;
    at.Each(c, [&](std::int64_t i) { sum += static_cast<double>(x[i]); });
    const double mean = sum / count;
    at.Each(c, [&](std::int64_t i) {
      const double distance = static_cast<double>(x[i]) - mean;
      squares += distance * distance;
    });
    out.mean[static_cast<std::size_t>(c)] = mean;
    out.variance[static_cast<std::size_t>(c)] = squares / count;
  }
  return out;
}

std::vector<double> Doubles(const Tensor& tensor) {
  const Tensor wide = Cast(tensor, DType::kF64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

void Store(std::span<const double> values, Tensor& out) {
  ForFloating(out.dtype(), [&]<class T>() {
    for (std::size_t c = 0; c < values.size(); ++c) {
      if constexpr (std::is_same_v<T, double>) {
        out.data<T>()[c] = values[c];
      } else {
        out.data<T>()[c] = T(static_cast<float>(values[c]));
      }
    }
  });
}

Status Reference(const ReferenceArgs& args, bool training) {
  const Tensor& x = args.inputs[0];
  const ChannelLayout at = ChannelLayoutOf(x.shape());
  const auto scale = Doubles(args.inputs[1]), bias = Doubles(args.inputs[2]);
  const Statistics running{Doubles(args.inputs[3]), Doubles(args.inputs[4])};
  Statistics used = running;
  if (training) ForFloating(x.dtype(), [&]<class T>() { used = BatchStatistics<T>(at, x.data<T>()); });
  std::vector<double> inv_std(used.variance.size());
  const double epsilon = args.attrs.Float("epsilon");
  for (std::size_t c = 0; c < inv_std.size(); ++c) inv_std[c] = 1.0 / std::sqrt(used.variance[c] + epsilon);
  ForFloating(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    for (std::int64_t c = 0; c < at.channels; ++c) {
      const auto k = static_cast<std::size_t>(c);
      at.Each(c, [&](std::int64_t i) {
        const double y = (static_cast<double>(x.data<T>()[i]) - used.mean[k]) * inv_std[k] * scale[k] + bias[k];
        args.outputs[0].data<T>()[i] = static_cast<T>(static_cast<A>(y));
      });
    }
  });
  const double keep = training ? args.attrs.Float("momentum") : 1.0;
  std::vector<double> mean(inv_std.size()), variance(inv_std.size());
  for (std::size_t c = 0; c < mean.size(); ++c) {
    mean[c] = running.mean[c] * keep + (training ? used.mean[c] * (1 - keep) : 0.0);
    variance[c] = running.variance[c] * keep + (training ? used.variance[c] * (1 - keep) : 0.0);
  }
  if (args.wants(1)) Store(mean, args.outputs[1]);
  if (args.wants(2)) Store(variance, args.outputs[2]);
  if (args.wants(3)) Store(used.mean, args.outputs[3]);
  if (args.wants(4)) Store(inv_std, args.outputs[4]);
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_INVALID_IF(args.outputs.size() < 5 || !args.outputs[3] || !args.outputs[4],
                   "The gradient of BatchNormalization needs its outputs saved_mean and saved_inv_std.");
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1], args.outputs[3], args.outputs[4]};
  const auto grads =
      b.Apply("tenon", "BatchNormalizationGrad", inputs, {{"training_mode", args.attrs.Int("training_mode", 0)}}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_batch_normalization(OpRegistry& ops) {
  ops.Define("BatchNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(7)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes, "T1")
      .Input("B", kFloatingTypes, "T1")
      .Input("input_mean", kFloatingTypes, "T2")
      .Input("input_var", kFloatingTypes, "T2")
      .Output("Y")
      .Attr("epsilon", 1e-5)
      .Attr("momentum", 0.9)
      .Infer([](InferContext& context) { return Infer(context, false); })
      .Reference([](const ReferenceArgs& args) { return Reference(args, false); });
  ops.Define("BatchNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(14)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes, "T1")
      .Input("B", kFloatingTypes, "T1")
      .Input("input_mean", kFloatingTypes, "T2")
      .Input("input_var", kFloatingTypes, "T2")
      .Output("Y")
      .OptionalOutput("running_mean")
      .OptionalOutput("running_var")
      .OptionalOutput("saved_mean")
      .OptionalOutput("saved_inv_std")
      .SavedForGradient(3)
      .SavedForGradient(4)
      .Attr("epsilon", 1e-5)
      .Attr("momentum", 0.9)
      .Attr("training_mode", 0)
      .InPlace(1, 3)
      .InPlace(2, 4)
      .Infer([](InferContext& context) { return Infer(context, true); })
      .Reference([](const ReferenceArgs& args) { return Reference(args, args.attrs.Int("training_mode") != 0); })
      .Gradient(Gradient);
}

}  // namespace tenon
