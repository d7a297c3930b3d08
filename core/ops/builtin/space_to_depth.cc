// SpaceToDepth(X; blocksize): [N, C, H b, W b] -> [N, C b b, H, W]; blocks of b x b positions become channels, ordered (row,
// column, C). ONNX SpaceToDepth, since opset 1.
#include "core/ops/blocks.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const std::int64_t block, BlockSizeOf(context, "SpaceToDepth"));
  const SymShape& x = context.shape(0);
  for (const int axis : {2, 3}) {
    TENON_INVALID_IF(x[axis].known() && x[axis].value() % block != 0,
                     "SpaceToDepth of {} by blocks of {}: axis {} is not a multiple.", x, block, axis);
  }
  context.SetOutput(0, context.dtype(0),
                    SymShape{x[0], x[1] * Dim(block * block), FloorDiv(x[2], block), FloorDiv(x[3], block)});
  return {};
}

BlockMove MoveOf(const Attributes& attrs, const Shape& x) { return SpaceToDepthMove(x, attrs.Int("blocksize")); }

Status Reference(const ReferenceArgs& args) { return MoveBlocks(args, MoveOf(args.attrs, args.inputs[0].shape())); }

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = MoveBlocksBack(b, args.output_grads[0], MoveOf(args.attrs, x), x);
  return {};
}

}  // namespace

void DefineOp_space_to_depth(OpRegistry& ops) {
  ops.Define("SpaceToDepth")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Input("input", kAllTypes)
      .Output("output")
      .RequiredAttr("blocksize", AttrType::kInt)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
