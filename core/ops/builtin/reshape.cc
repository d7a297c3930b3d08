// Reshape(X, shape): the elements of X in row-major order under another shape. In `shape`, -1 stands for what is left,
// and 0 copies the dimension of X at that place (with allowzero = 1 it is an empty dimension). ONNX Reshape, since
// opset 5.
#include <cstring>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

// The dimension that -1 stands for: elements of X / product of the others.
Result<Dim> Leftover(const SymShape& x, const SymShape& others, const std::vector<std::int64_t>& request) {
  const Dim elements = x.Elements();
  const Dim product = others.Elements();
  // A zero among the others says nothing about the rest; zero elements then leave zero (as numpy and ONNX define it
  // for an empty X with non-empty other dims).
  TENON_INVALID_IF(product.Is(0), "Reshape cannot find the -1 of shape [{}] for an input of shape {}: the other dims "
                   "have 0 elements.", fmt::join(request, ","), x);
  TENON_INVALID_IF(elements.known() && product.known() && elements.value() % product.value() != 0,
                   "Reshape of {} to [{}]: {} elements do not divide by {}.", x, fmt::join(request, ","), elements,
                   product);
  return FloorDiv(elements, product);
}

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const auto request, context.ConstantInts(1));
  TENON_INVALID_IF(request.size() > static_cast<std::size_t>(kMaxRank), "Reshape to [{}]: the rank ({}) is above the "
                   "limit ({}).", fmt::join(request, ","), request.size(), kMaxRank);
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
  TENON_INVALID_IF(from.known() && to.known() && !(from == to),
                   "Reshape of {} ({} elements) to [{}] ({} elements).", x, from, fmt::join(request, ","), to);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  if (x.bytes() > 0 && args.outputs[0].raw() != x.raw()) {
    std::memcpy(args.outputs[0].raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
  }
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] = b.ReshapeTo(args.output_grads[0], b.type(args.inputs[0]).shape.Concrete());
  }
  return {};
}

}  // namespace

void DefineOp_reshape(OpRegistry& ops);
void DefineOp_reshape(OpRegistry& ops) {
  ops.Define("Reshape").Since(5).Input("data", kAllTypes).Input("shape", {DType::kI64}, "shape").Output("reshaped")
      .Attr("allowzero", 0).InPlace(0, 0).ViewOfInput().Infer(Infer).Reference(Reference).Gradient(Gradient);
}

}  // namespace tenon
