// Concat(X1, X2, ..; axis): the inputs one behind the other along axis. ONNX Concat, since opset 4.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  SymShape out = context.shape(0);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), out.rank()));
  for (int i = 1; i < context.num_inputs(); ++i) {
    SymShape shape = context.shape(i);
    const Dim sum = shape.rank() == out.rank() ? out[axis] + shape[axis] : Dim(0);
    if (shape.rank() == out.rank()) shape.set_dim(axis, out[axis]);
    TENON_INVALID_IF(!(shape == out),
                     "Concat along axis {}: input {} has shape {}, which does not fit input 0 with {}.",
                     context.attrs().Int("axis"), i, context.shape(i), context.shape(0));
    out.set_dim(axis, sum);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& y = args.outputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), y.shape().rank()));
  std::int64_t outer = 1, inner = SizeOf(y.dtype());
  for (int i = 0; i < axis; ++i) outer *= y.shape()[i];
  for (int i = axis + 1; i < y.shape().rank(); ++i) inner *= y.shape()[i];
  auto* to = static_cast<char*>(y.raw());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const Tensor& x : args.inputs) {
      const auto bytes = static_cast<std::size_t>(x.shape()[axis] * inner);
      if (bytes > 0) std::memcpy(to, static_cast<const char*>(x.raw()) + static_cast<std::size_t>(o) * bytes, bytes);
      to += bytes;
    }
  }
  return {};
}

// Each input gets its slice of dY.
Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), b.type(args.outputs[0]).shape.rank()));
  const std::int64_t axes[] = {axis};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    const std::int64_t starts[] = {begin};
    begin += b.type(args.inputs[i]).shape[axis].value();
    const std::int64_t ends[] = {begin};
    if (args.wants(i)) {
      args.input_grads[i] = b.Op("Slice", {args.output_grads[0], b.Ints(starts), b.Ints(ends), b.Ints(axes)});
    }
  }
  return {};
}

}  // namespace

void DefineOp_concat(OpRegistry& ops) {
  ops.Define("Concat")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(4)
      .VariadicInput("inputs", kAllTypes)
      .Output("concat_result")
      .RequiredAttr("axis", AttrType::kInt)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
