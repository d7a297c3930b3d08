// The device's own layout for matrices. The last two dims of a tensor are cut into tiles of 16x16 elements, zero where a
// tile reaches beyond the matrix; inside a tile rows come first. Tiles are ordered column of tiles by column of tiles, and
// matrices of a stack follow each other: [stack][columns / 16][rows / 16][16][16].
#pragma once

#include <cstdint>

#include "tenon/sdk/tensor.h"

namespace tenon::npu {

// Layouts beside TENON_LAYOUT_STRIDED.
enum Layout : uint32_t { kTiled = 1 };
inline constexpr std::string_view kTiledName = "npu.tile16";
constexpr int64_t kTile = 16;

// A stack of tiled matrices.
struct Tiling {
  int64_t stack = 1, rows = 0, columns = 0;

  static Tiling Of(sdk::Dims dims) {
    Tiling out;
    const uint32_t rank = dims.size();
    for (uint32_t axis = 0; axis + 2 < rank; ++axis) out.stack *= dims[axis];
    out.rows = dims[rank - 2];
    out.columns = dims[rank - 1];
    return out;
  }
  int64_t tile_rows() const { return (rows + kTile - 1) / kTile; }
  int64_t tile_columns() const { return (columns + kTile - 1) / kTile; }
  // Elements of one matrix, padding included.
  int64_t matrix() const { return tile_rows() * tile_columns() * kTile * kTile; }
  int64_t elements() const { return stack * matrix(); }
  int64_t At(int64_t row, int64_t column) const {
    const int64_t tile = column / kTile * tile_rows() + row / kTile;
    return (tile * kTile + row % kTile) * kTile + column % kTile;
  }
};

// Elements that a value occupies in its layout.
inline int64_t StoredElements(uint32_t layout, sdk::Dims dims) {
  return layout == kTiled ? Tiling::Of(dims).elements() : dims.Elements();
}

}  // namespace tenon::npu
