#pragma once

#include <array>
#include <cstring>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {

// DepthToSpace and SpaceToDepth: the input seen with six dims, these permuted, and seen with four again.
struct BlockMove {
  Shape split;               // of the input, rank 6
  std::array<int, 6> order;  // dim k of the output is dim order[k] of the input
};

// Depth to blocks of space of X [N, C, H, W]: channels are ordered (block row, block column, C') or, `channel_first`, (C',
// block row, block column).
inline BlockMove DepthToSpaceMove(const Shape& x, std::int64_t block, bool channel_first) {
  const std::int64_t n = x[0], c = x[1] / (block * block), h = x[2], w = x[3];
  if (channel_first) return {{n, c, block, block, h, w}, {0, 1, 4, 2, 5, 3}};
  return {{n, block, block, c, h, w}, {0, 3, 4, 1, 5, 2}};
}

// Blocks of space to depth (block row, block column, C).
inline BlockMove SpaceToDepthMove(const Shape& x, std::int64_t block) {
  return {{x[0], x[1], x[2] / block, block, x[3] / block, block}, {0, 3, 5, 1, 2, 4}};
}

inline Shape PermutedShape(const BlockMove& move) {
  Shape out;
  for (const int from : move.order) out.push_back(move.split[from]);
  return out;
}

inline Status MoveBlocks(const ReferenceArgs& args, const BlockMove& move) {
  const auto own = ContiguousStrides(move.split);
  std::array<std::int64_t, kMaxRank> strides{};
  for (std::size_t k = 0; k < 6; ++k) strides[k] = own[static_cast<std::size_t>(move.order[k])];
  const auto size = static_cast<std::size_t>(SizeOf(args.inputs[0].dtype()));
  const auto* from = static_cast<const char*>(args.inputs[0].raw());
  auto* to = static_cast<char*>(args.outputs[0].raw());
  ForEachStrided<1>(PermutedShape(move), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(at[0]) * size, size);
  });
  return {};
}

// The gradient: dY moved back.
inline Value MoveBlocksBack(GradBuilder& b, Value dy, const BlockMove& move, const Shape& x) {
  std::vector<std::int64_t> inverse(6);
  for (std::size_t k = 0; k < 6; ++k) inverse[static_cast<std::size_t>(move.order[k])] = static_cast<std::int64_t>(k);
  const Value seen = b.ReshapeTo(dy, PermutedShape(move));
  return b.ReshapeTo(b.Op("Transpose", {seen}, {{"perm", inverse}}), x);
}

// Both operators take images [N, C, H, W].
inline Result<std::int64_t> BlockSizeOf(const InferContext& context, std::string_view op) {
  const std::int64_t block = context.attrs().Int("blocksize");
  TENON_INVALID_IF(block < 1 || block > 32768, "{} needs a block size from 1 to 32768; it is {}.", op, block);
  TENON_INVALID_IF(context.shape(0).rank() != 4, "{} needs images [N,C,H,W]; the input has shape {}.", op,
                   context.shape(0));
  return block;
}

}  // namespace tenon
