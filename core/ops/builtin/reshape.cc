// Reshape(X, shape): the elements of X in row-major order under another shape. In `shape`, -1 stands for what is left,
// and 0 copies the dimension of X at that place (with allowzero = 1 it is an empty dimension). ONNX Reshape, since
// opset 5.
#include "core/ops/flops.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

// The dimension that -1 stands for: elements of X / product of the others. Known factors are divided as numbers, so that
// [N,16,5,5] to [-1,400] gives N.
Result<Dim> Leftover(const SymShape& x, const SymShape& others, const std::vector<std::int64_t>& request) {
  const std::int64_t divisor = others.Elements().value();
  TENON_INVALID_IF(divisor == 0, "Reshape of {} to [{}]: the other dims have 0 elements, so the -1 could be anything.",
                   x, fmt::join(request, ","));
  std::int64_t known = 1;
  Dim symbols = 1;
  for (const Dim dim : x.dims()) {
    if (dim.known()) {
      known *= dim.value();
    } else {
      symbols = symbols * dim;
    }
  }
  if (known % divisor == 0) return symbols * Dim(known / divisor);
  TENON_INVALID_IF(symbols.known(), "Reshape of {} to [{}]: {} elements do not divide by {}.", x,
                   fmt::join(request, ","), known, divisor);
  return FloorDiv(symbols * Dim(known), divisor);
}

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const auto request, context.ConstantInts(1));
  TENON_INVALID_IF(request.size() > static_cast<std::size_t>(kMaxRank),
                   "Reshape to [{}]: the rank ({}) is above the "
                   "limit ({}).",
                   fmt::join(request, ","), request.size(), kMaxRank);
  const bool copies_zero = context.attrs().Int("allowzero") == 0;
  // Dims that X and the request share through 0 cancel, so that [N,4] to [0,-1] stays free of N / N.
  SymShape out, rest_of_x = x, others;
  int unknown = -1;
  for (int axis = 0; axis < static_cast<int>(request.size()); ++axis) {
    const std::int64_t dim = request[static_cast<std::size_t>(axis)];
    TENON_INVALID_IF(dim < -1, "Reshape to [{}]: a dimension is {}; the least is -1.", fmt::join(request, ","), dim);
    TENON_INVALID_IF(dim == -1 && unknown >= 0, "Reshape to [{}]: more than one dimension is -1.",
                     fmt::join(request, ","));
    if (dim == -1) {
      unknown = axis;
      out.push_back(0);
    } else if (dim == 0 && copies_zero) {
      TENON_INVALID_IF(axis >= x.rank(), "Reshape to [{}]: the 0 at place {} copies a dimension that {} lacks.",
                       fmt::join(request, ","), axis, x);
      out.push_back(x[axis]);
      rest_of_x.set_dim(axis, 1);
    } else {
      out.push_back(dim);
      others.push_back(dim);
    }
  }
  if (unknown >= 0) {
    TENON_ASSIGN(const Dim dim, Leftover(rest_of_x, others, request));
    out.set_dim(unknown, dim);
  }
  const Dim from = x.Elements(), to = out.Elements();
  TENON_INVALID_IF(from.known() && to.known() && !(from == to), "Reshape of {} ({} elements) to [{}] ({} elements).", x,
                   from, fmt::join(request, ","), to);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

}  // namespace

void DefineOp_reshape(OpRegistry& ops) {
  ops.Define("Reshape")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(5)
      .Input("data", kAllTypes)
      .Input("shape", {DType::kI64}, "shape")
      .Output("reshaped")
      .Attr("allowzero", 0)
      .InPlace(0, 0)
      .ViewOfInput()
      .Infer(Infer)
      .Reference(CopyElements)
      .Gradient(ReshapeBack);
}

}  // namespace tenon
