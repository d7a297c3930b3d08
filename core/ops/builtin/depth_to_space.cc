// DepthToSpace(X; blocksize, mode = DCR): [N, C b b, H, W] -> [N, C, H b, W b]; the channels hold blocks of b x b positions,
// ordered (row, column, C) for DCR and (C, row, column) for CRD. ONNX DepthToSpace, since opset 1; mode since opset 11.
#include "core/ops/blocks.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const std::int64_t block, BlockSizeOf(context, "DepthToSpace"));
  const std::string mode = context.attrs().Text("mode", "DCR");
  TENON_INVALID_IF(mode != "DCR" && mode != "CRD",
                   "DepthToSpace mode '{}' is not supported; supported are DCR and CRD.", mode);
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(x[1].known() && x[1].value() % (block * block) != 0,
                   "DepthToSpace of {} channels by blocks of {}: {} does not divide them.", x[1], block, block * block);
  context.SetOutput(0, context.dtype(0),
                    SymShape{x[0], FloorDiv(x[1], block * block), x[2] * Dim(block), x[3] * Dim(block)});
  return {};
}

BlockMove MoveOf(const Attributes& attrs, const Shape& x) {
  return DepthToSpaceMove(x, attrs.Int("blocksize"), attrs.Text("mode", "DCR") == "CRD");
}

Status Reference(const ReferenceArgs& args) { return MoveBlocks(args, MoveOf(args.attrs, args.inputs[0].shape())); }

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = MoveBlocksBack(b, args.output_grads[0], MoveOf(args.attrs, x), x);
  return {};
}

}  // namespace

void DefineOp_depth_to_space(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("DepthToSpace")
        .Flops(NoFlops)
        .InLowPrecision(LowPrecision::kMovesOnly)
        .Since(since)
        .Input("input", kAllTypes)
        .Output("output")
        .RequiredAttr("blocksize", AttrType::kInt)
        .Infer(Infer)
        .Reference(Reference)
        .Gradient(Gradient);
  };
  define(1);
  define(11).Attr("mode", "DCR");
}

}  // namespace tenon
