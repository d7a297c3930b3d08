// Matrix products of the device: operands are packed into panels of f32, multiplied block by block, sums are f32.
#pragma once

#include "kernels/block.h"
#include "kernels/number.h"
#include "kernels/work.h"

namespace tenon::npu {

// A matrix on the device. Seen transposed, rows and columns change places.
struct Matrix {
  uint32_t dtype = TENON_DTYPE_F32;
  uint32_t layout = TENON_LAYOUT_STRIDED;
  int64_t rows = 0, columns = 0;  // as stored
  bool transposed = false;
};

constexpr int64_t PanelsOf(int64_t size, int64_t width) { return (size + width - 1) / width; }
// Elements of an operand in panels.
constexpr int64_t LeftSize(int64_t rows, int64_t depth) { return PanelsOf(rows, kBlockRows) * kBlockRows * depth; }
constexpr int64_t RightSize(int64_t columns, int64_t depth) {
  return PanelsOf(columns, kBlockColumns) * kBlockColumns * depth;
}

// Packs a matrix as the left operand (rows x depth) or the right one (depth x columns).
void PackLeft(const Matrix& matrix, const void* data, float* to);
void PackRight(const Matrix& matrix, const void* data, float* to);

// y[rows][columns] = (add ? y : 0) + left * right, in panels; y is row-major.
void Multiply(const Operands& o, int64_t rows, int64_t columns, int64_t depth, const float* left, const float* right,
              float* y, bool add);

// ---- cost

// A product of `stack` matrices: the cube multiplies tiles of 16-bit types, the vector unit f32.
struct ProductShape {
  int64_t stack = 1, rows = 0, columns = 0, depth = 0;
};
Cost ProductCost(const ProductShape& shape, uint32_t dtype);
// What cutting an operand of so many elements into tiles, or putting a result together, takes beside the product.
constexpr uint64_t PackCycles(int64_t elements) { return 100 + static_cast<uint64_t>(elements) / 16; }

}  // namespace tenon::npu
