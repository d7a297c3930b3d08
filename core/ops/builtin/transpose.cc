// Transpose(X; perm): dimension i of the output is dimension perm[i] of X; without perm the order is reversed. ONNX
// Transpose, since opset 1.
#include <cstring>
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

std::vector<std::int64_t> PermOf(const Attributes& attrs, int rank) {
  std::vector<std::int64_t> reversed;
  for (int axis = rank - 1; axis >= 0; --axis) reversed.push_back(axis);
  return attrs.Ints("perm", reversed);
}

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  const auto perm = PermOf(context.attrs(), x.rank());
  TENON_INVALID_IF(perm.size() != static_cast<std::size_t>(x.rank()),
                   "Transpose perm [{}] has {} values for an input of shape {}.", fmt::join(perm, ","), perm.size(), x);
  SymShape out;
  std::vector<bool> used(perm.size(), false);
  for (const std::int64_t axis : perm) {
    TENON_INVALID_IF(axis < 0 || axis >= x.rank() || used[static_cast<std::size_t>(axis)],
                     "Transpose perm [{}] is not a permutation of 0 to {}.", fmt::join(perm, ","), x.rank() - 1);
    used[static_cast<std::size_t>(axis)] = true;
    out.push_back(x[static_cast<int>(axis)]);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  const auto perm = PermOf(args.attrs, x.shape().rank());
  const auto own = ContiguousStrides(x.shape());
  std::array<std::int64_t, kMaxRank> strides{};
  for (std::size_t i = 0; i < perm.size(); ++i) strides[i] = own[static_cast<std::size_t>(perm[i])];
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(y.raw());
  ForEachStrided<1>(y.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(at[0]) * size, size);
  });
  return {};
}

// dX = dY transposed back.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto perm = PermOf(args.attrs, b.type(args.inputs[0]).shape.rank());
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  args.input_grads[0] = b.Op("Transpose", {args.output_grads[0]}, {{"perm", inverse}});
  return {};
}

}  // namespace

void DefineOp_transpose(OpRegistry& ops) {
  ops.Define("Transpose")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Input("data", kAllTypes)
      .Output("transposed")
      .OptionalAttr("perm", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
