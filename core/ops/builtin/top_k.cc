// TopK(X, K; axis = -1, largest = 1, sorted = 1) -> values, indices: the K greatest (least) elements along axis, best first;
// the lower index first where equal. NaN counts as the greatest. With sorted 0 any order is allowed: it is the same one.
// ONNX TopK: K is an attribute since opset 1, an input since opset 10; largest and sorted since opset 11.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status InferCount(InferContext& context, Dim k) {
  SymShape out = context.shape(0);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), out.rank()));
  TENON_INVALID_IF(k.known() && (k.value() < 0 || (out[axis].known() && k.value() > out[axis].value())),
                   "TopK takes {} elements of axis {} of {}.", k, axis, out);
  out.set_dim(axis, k);
  context.SetOutput(0, context.dtype(0), out);
  context.SetOutput(1, DType::kI64, out);
  return {};
}

Status InferInput(InferContext& context) {
  TENON_INVALID_IF(!context.shape(1).Elements().Is(1), "TopK K is one number; it has shape {}.", context.shape(1));
  if (context.constant(1) == nullptr) return InferCount(context, Dim::Unknown());
  TENON_ASSIGN(const auto k, context.ConstantInts(1));
  return InferCount(context, k[0]);
}

template <class T>
void Choose(const ReferenceArgs& args, int axis, bool largest) {
  using A = Accumulator<T>;
  const Shape& shape = args.inputs[0].shape();
  const std::int64_t extent = shape[axis], k = args.outputs[0].shape()[axis];
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
  for (std::int64_t at = 0; at < outer * inner; ++at) {
    const std::int64_t o = at / inner, i = at % inner;
    const T* from = args.inputs[0].data<T>() + o * extent * inner + i;
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto before = [&](std::int64_t a, std::int64_t b) {
      const A va = static_cast<A>(from[a * inner]), vb = static_cast<A>(from[b * inner]);
      const bool a_nan = va != va, b_nan = vb != vb;
      if (a_nan != b_nan) return a_nan == largest;
      if (!a_nan && va != vb) return largest ? va > vb : va < vb;
      return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    for (std::int64_t r = 0; r < k; ++r) {
      const std::int64_t to = (o * k + r) * inner + i, chosen = order[static_cast<std::size_t>(r)];
      args.outputs[0].data<T>()[to] = from[chosen * inner];
      if (args.wants(1)) args.outputs[1].data<std::int64_t>()[to] = chosen;
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), x.shape().rank()));
  ForNumeric(x.dtype(), [&]<class T>() { Choose<T>(args, axis, args.attrs.Int("largest", 1) != 0); });
  return {};
}

// dX = dY where the elements came from, 0 elsewhere.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp(
      "GatherElementsGrad", {args.output_grads[0], args.outputs[1]},
      {{"axis", args.attrs.Int("axis")}, {"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_top_k(OpRegistry& ops) {
  const auto define = [&](int since, bool k_is_input) -> OpDef& {
    OpDef& def = ops.Define("TopK").Since(since).Input("X", kNumericTypes);
    if (k_is_input) def.Input("K", {DType::kI64}, "K");
    return def.Output("Values").Output("Indices").Attr("axis", -1).Reference(Reference).Gradient(Gradient);
  };
  define(1, false).RequiredAttr("k", AttrType::kInt).Infer([](InferContext& context) {
    return InferCount(context, context.attrs().Int("k"));
  });
  define(10, true).Infer(InferInput);
  define(11, true).Attr("largest", 1).Attr("sorted", 1).Infer(InferInput);
}

}  // namespace tenon
