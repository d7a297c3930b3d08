// Unsqueeze(X, axes): X with dimensions of extent 1 inserted so that they stand at `axes` of the output. ONNX Unsqueeze,
// since opset 13 (axes as input).
#include <algorithm>
#include "core/ops/view.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const auto given, context.ConstantInts(1));
  const int rank = x.rank() + static_cast<int>(given.size());
  TENON_INVALID_IF(rank > kMaxRank, "Unsqueeze of {} by {} axes: the rank ({}) is above the limit ({}).", x,
                   given.size(), rank, kMaxRank);
  std::vector<int> axes;
  for (const std::int64_t item : given) {
    TENON_ASSIGN(const int axis, NormalizeAxis(item, rank));
    TENON_INVALID_IF(std::find(axes.begin(), axes.end(), axis) != axes.end(), "Axis ({}) is listed twice in axes [{}].",
                     item, fmt::join(given, ","));
    axes.push_back(axis);
  }
  SymShape out;
  for (int axis = 0, from = 0; axis < rank; ++axis) {
    const bool inserted = std::find(axes.begin(), axes.end(), axis) != axes.end();
    out.push_back(inserted ? Dim(1) : x[from++]);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

}  // namespace

void DefineOp_unsqueeze(OpRegistry& ops) {
  ops.Define("Unsqueeze")
      .Since(13)
      .Input("data", kAllTypes)
      .Input("axes", {DType::kI64}, "axes")
      .Output("expanded")
      .InPlace(0, 0)
      .ViewOfInput()
      .Infer(Infer)
      .Reference(CopyElements)
      .Gradient(ReshapeBack);
}

}  // namespace tenon
