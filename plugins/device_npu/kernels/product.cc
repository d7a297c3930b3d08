#include "kernels/product.h"

#include <algorithm>
#include <cstring>

namespace tenon::npu {
namespace {

// Panels of kWidth outer indices: to[panel][k][kWidth] = at(outer, k), 0 beyond `outer_size`.
template <int64_t kWidth, class At>
void Pack(int64_t outer_size, int64_t depth, float* to, At at) {
  for (int64_t first = 0; first < outer_size; first += kWidth) {
    const int64_t width = std::min(kWidth, outer_size - first);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = 0; i < width; ++i) to[k * kWidth + i] = at(first + i, k);
      for (int64_t i = width; i < kWidth; ++i) to[k * kWidth + i] = 0;
    }
    to += kWidth * depth;
  }
}

// `outer_is_row`: the outer index of the panels is the stored row.
template <int64_t kWidth>
void PackMatrix(const Matrix& m, const void* data, bool outer_is_row, float* to) {
  const int64_t outer = outer_is_row ? m.rows : m.columns, depth = outer_is_row ? m.columns : m.rows;
  ForFloat(m.dtype, [&](auto type) {
    using T = decltype(type);
    const T* x = static_cast<const T*>(data);
    if (m.layout == kTiled) {
      const Tiling tiling{1, m.rows, m.columns};
      if (outer_is_row) {
        Pack<kWidth>(outer, depth, to, [&](int64_t i, int64_t k) { return Widen(x[tiling.At(i, k)]); });
      } else {
        Pack<kWidth>(outer, depth, to, [&](int64_t i, int64_t k) { return Widen(x[tiling.At(k, i)]); });
      }
    } else if (outer_is_row) {
      Pack<kWidth>(outer, depth, to, [&](int64_t i, int64_t k) { return Widen(x[i * m.columns + k]); });
    } else {
      Pack<kWidth>(outer, depth, to, [&](int64_t i, int64_t k) { return Widen(x[k * m.columns + i]); });
    }
  });
}

// Depth of the pieces that are multiplied at once, so that a panel stays in the first cache.
constexpr int64_t kDepth = 256;
// Products with fewer operations are not shared between threads.
constexpr int64_t kShared = int64_t{1} << 20;

}  // namespace

BlockFn FindBlock() {
  static const BlockFn kBlock =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &BlockAvx2 : &BlockBaseline;
  return kBlock;
}

void PackLeft(const Matrix& matrix, const void* data, float* to) {
  PackMatrix<kBlockRows>(matrix, data, !matrix.transposed, to);
}
void PackRight(const Matrix& matrix, const void* data, float* to) {
  PackMatrix<kBlockColumns>(matrix, data, matrix.transposed, to);
}

void Multiply(const Operands& o, int64_t rows, int64_t columns, int64_t depth, const float* left, const float* right,
              float* y, bool add) {
  const BlockFn block = FindBlock();
  const int64_t panels = PanelsOf(rows, kBlockRows);
  const auto part = [&](int64_t begin, int64_t end) {
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t piece = std::min(kDepth, depth - k);
      for (int64_t j = 0; j < columns; j += kBlockColumns) {
        const float* b = right + j * depth + k * kBlockColumns;
        const int64_t width = std::min(kBlockColumns, columns - j);
        for (int64_t panel = begin; panel < end; ++panel) {
          const int64_t i = panel * kBlockRows, height = std::min(kBlockRows, rows - i);
          float c[kBlockRows * kBlockColumns];
          block(piece, left + i * depth + k * kBlockRows, b, c, false);
          for (int64_t r = 0; r < height; ++r) {
            float* to = y + (i + r) * columns + j;
            const float* from = c + r * kBlockColumns;
            if (add || k > 0) {
              for (int64_t q = 0; q < width; ++q) to[q] += from[q];
            } else {
              for (int64_t q = 0; q < width; ++q) to[q] = from[q];
            }
          }
        }
      }
    }
  };
  o.Each(panels, std::max<int64_t>(1, kShared / (kBlockRows * columns * depth + 1)), part);
}

Cost ProductCost(const ProductShape& shape, uint32_t dtype) {
  const auto tiles = [](int64_t size) { return static_cast<uint64_t>((size + kTile - 1) / kTile * kTile); };
  Cost cost;
  const auto stack = static_cast<uint64_t>(shape.stack);
  if (dtype == TENON_DTYPE_F32) {
    cost.vector_ops = stack * static_cast<uint64_t>(shape.rows * shape.columns * shape.depth);
  } else {
    cost.cube_macs = stack * tiles(shape.rows) * tiles(shape.columns) * tiles(shape.depth);
  }
  return cost;
}

}  // namespace tenon::npu
