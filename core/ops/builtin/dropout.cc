// Dropout(X, ratio, training_mode) -> output, mask: in training an element is kept with probability 1 - ratio and then
// divided by it, else output = X. An element is dropped where its random word (see philox.h) is below ratio * 2^32. The
// attribute seed, when given, takes the place of the key. ONNX Dropout, since opset 12; opset 7 has inference only.
#include <cmath>
#include <cstring>

#include "core/ops/dropout.h"
#include "core/ops/philox.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckDropoutScalars(context, 1));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  context.SetOutput(1, DType::kBool, context.shape(0));
  return {};
}

template <class T>
void Drop(const ReferenceArgs& args, const DropoutMode& mode, RandomState random) {
  using A = Accumulator<T>;
  const Tensor& x = args.inputs[0];
  bool* mask = args.wants(1) ? args.outputs[1].data<bool>() : nullptr;
  const auto limit = static_cast<std::uint64_t>(std::floor(mode.ratio * 4294967296.0));
  const A scale = static_cast<A>(mode.scale());
  std::array<std::uint32_t, 4> words{};
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    bool keep = true;
    if (mode.active) {
      if (i % 4 == 0) words = PhiloxBlock(random.key, random.offset, static_cast<std::uint64_t>(i / 4));
      keep = words[static_cast<std::size_t>(i % 4)] >= limit;
    }
    args.outputs[0].data<T>()[i] = keep ? static_cast<T>(static_cast<A>(x.data<T>()[i]) * scale) : T(0);
    if (mask != nullptr) mask[i] = keep;
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const DropoutMode mode, DropoutModeOf(args, 1));
  RandomState random = args.random;
  if (args.attrs.Has("seed")) random.key = static_cast<std::uint64_t>(args.attrs.Int("seed"));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Drop<T>(args, mode, random); });
  return {};
}

// dX = dY where kept, scaled like the output.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("DropoutGrad", {args.output_grads[0], args.outputs[1], optional(1), optional(2)});
  }
  return {};
}

Status Inference(const ReferenceArgs& args) {
  if (args.wants(1)) std::fill_n(args.outputs[1].data<bool>(), args.outputs[1].elements(), true);
  return CopyElements(args);
}

}  // namespace

void DefineOp_dropout(OpRegistry& ops) {
  ops.Define("Dropout")
      .Since(7)
      .Input("data", kFloatingTypes)
      .Output("output")
      .OptionalOutput("mask")
      .Attr("ratio", 0.5)
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Inference)
      .Gradient([](GradBuilder&, GradArgs& args) -> Status {
        args.input_grads[0] = args.output_grads[0];
        return {};
      });
  ops.Define("Dropout")
      .Since(12)
      .Input("data", kFloatingTypes)
      .OptionalInput("ratio", kFloatingTypes, "T1")
      .OptionalInput("training_mode", kBoolType, "T2")
      .Output("output")
      .OptionalOutput("mask")
      .SavedForGradient(1)
      .OptionalAttr("seed", AttrType::kInt)
      .Random()
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
