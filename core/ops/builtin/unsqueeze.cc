// Unsqueeze(X, axes): X with dimensions of extent 1 inserted so that they stand at `axes` of the output. ONNX Unsqueeze:
// axes are an attribute since opset 1, an input since opset 13.
#include <algorithm>
#include "core/ops/flops.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

Status InferWith(InferContext& context, const std::vector<std::int64_t>& given) {
  const SymShape& x = context.shape(0);
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

Status InferAttribute(InferContext& context) { return InferWith(context, context.attrs().Ints("axes")); }

Status InferInput(InferContext& context) {
  TENON_ASSIGN(const auto axes, context.ConstantInts(1));
  return InferWith(context, axes);
}

}  // namespace

void DefineOp_unsqueeze(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("Unsqueeze")
        .Flops(NoFlops)
        .InLowPrecision(LowPrecision::kMovesOnly)
        .Since(since)
        .Input("data", kAllTypes)
        .Output("expanded")
        .InPlace(0, 0)
        .ViewOfInput()
        .Reference(CopyElements)
        .Gradient(ReshapeBack);
  };
  define(1).RequiredAttr("axes", AttrType::kInts).Infer(InferAttribute);
  define(13).Input("axes", {DType::kI64}, "axes").Infer(InferInput);
}

}  // namespace tenon
