// Split(X, split; axis, num_outputs): X cut along axis into parts of the extents that `split` lists; without it into parts
// of equal extent, the last one smaller where it does not divide (num_outputs, since opset 18). ONNX Split: `split` is an
// attribute since opset 2, an input since opset 13.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status SetParts(InferContext& context, const std::vector<std::int64_t>& split) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  const auto count = static_cast<std::int64_t>(context.num_outputs());
  const std::int64_t stated = context.attrs().Int("num_outputs", count);
  TENON_INVALID_IF(stated != count, "Split has num_outputs {}, but {} outputs.", stated, count);
  std::vector<Dim> parts(split.begin(), split.end());
  if (split.empty()) {
    const Dim whole = CeilDiv(x[axis], count);
    TENON_INVALID_IF(!context.attrs().Has("num_outputs") && x[axis].known() && x[axis].value() % count != 0,
                     "Split of axis {} of {} into {} equal parts.", axis, x, count);
    for (std::int64_t k = 0; k + 1 < count; ++k) parts.push_back(whole);
    parts.push_back(x[axis] - whole * Dim(count - 1));
    TENON_INVALID_IF(parts.back().known() && parts.back().value() < 0, "Split of axis {} of {} into {} parts.", axis, x,
                     count);
  }
  TENON_INVALID_IF(static_cast<std::int64_t>(parts.size()) != count, "Split lists {} parts ([{}]), but has {} outputs.",
                   parts.size(), fmt::join(split, ","), count);
  Dim sum = 0;
  for (const Dim part : parts) {
    TENON_INVALID_IF(part.known() && part.value() < 0, "Split lists a negative part ({}).", part);
    sum = sum + part;
  }
  TENON_INVALID_IF(sum.known() && x[axis].known() && !(sum == x[axis]),
                   "Split lists parts [{}] with {} elements for axis {} of {}.", fmt::join(split, ","), sum, axis, x);
  for (int k = 0; k < context.num_outputs(); ++k) {
    SymShape out = x;
    out.set_dim(axis, parts[static_cast<std::size_t>(k)]);
    context.SetOutput(k, context.dtype(0), out);
  }
  return {};
}

Status InferInputs(InferContext& context) {
  std::vector<std::int64_t> split;
  TENON_INVALID_IF(context.has_input(1) && context.attrs().Has("num_outputs"),
                   "Split has both `split` and num_outputs; one of them says how to cut.");
  if (context.has_input(1)) {
    TENON_ASSIGN(split, context.ConstantInts(1));
  }
  return SetParts(context, split);
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), x.shape().rank()));
  std::int64_t outer = 1, inner = SizeOf(x.dtype());
  for (int i = 0; i < axis; ++i) outer *= x.shape()[i];
  for (int i = axis + 1; i < x.shape().rank(); ++i) inner *= x.shape()[i];
  const auto* from = static_cast<const char*>(x.raw());
  std::int64_t begin = 0;
  for (Tensor& y : args.outputs) {
    const std::int64_t bytes = y.shape()[axis] * inner;
    for (std::int64_t o = 0; o < outer && bytes > 0; ++o) {
      std::memcpy(static_cast<char*>(y.raw()) + o * bytes, from + (o * x.shape()[axis]) * inner + begin,
                  static_cast<std::size_t>(bytes));
    }
    begin += bytes;
  }
  return {};
}

// dX = the parts' gradients joined, zeros where a part has none.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  std::vector<Value> parts;
  for (std::size_t k = 0; k < args.outputs.size(); ++k) {
    const ValueType& type = b.type(args.outputs[k]);
    parts.push_back(args.output_grads[k] ? args.output_grads[k]
                                         : b.Constant(Tensor(type.dtype, type.shape.Concrete())));
  }
  const auto joined = b.Apply("", "Concat", parts, {{"axis", args.attrs.Int("axis")}}, 1);
  args.input_grads[0] = joined.empty() ? Value{} : joined[0];
  return {};
}

}  // namespace

void DefineOp_split(OpRegistry& ops) {
  ops.Define("Split")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(2)
      .Input("input", kAllTypes)
      .VariadicOutput("outputs")
      .Attr("axis", 0)
      .OptionalAttr("split", AttrType::kInts)
      .Infer([](InferContext& context) { return SetParts(context, context.attrs().Ints("split", {})); })
      .Reference(Reference)
      .Gradient(Gradient);
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("Split")
        .Flops(NoFlops)
        .InLowPrecision(LowPrecision::kMovesOnly)
        .Since(since)
        .Input("input", kAllTypes)
        .OptionalInput("split", {DType::kI64}, "split")
        .VariadicOutput("outputs")
        .Attr("axis", 0)
        .Infer(InferInputs)
        .Reference(Reference)
        .Gradient(Gradient);
  };
  define(13);
  define(18).OptionalAttr("num_outputs", AttrType::kInt);
}

}  // namespace tenon
