// Operators on elements, and the mask of a fused activation's gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// g[r][c] = y[r][c] <= 0 ? 0 : dy[r][c] (NaN in y lets dy through; y null: g = dy). column_sums[c] = sum_scale times the
// sum of the column, or null. All dense; g may be dy.
template <class T>
struct MaskArgsOf {
  int64_t rows = 0, columns = 0;
  const T* y = nullptr;
  const T* dy = nullptr;
  T* g = nullptr;
  T* column_sums = nullptr;
  float sum_scale = 1.0f;
};
using MaskArgs = MaskArgsOf<float>;

enum class UnaryOp : uint32_t {
  kRelu,
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kExp,
  kLog,
  kSqrt,
  kNeg,
  kAbs,
  kReciprocal,
  kElu,
  kHardSigmoid,
  kHardSwish,
  kSoftplus,
  kSwish,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,  // halves to even
  kSign,
  kClip  // kept between alpha and beta; beta wins, NaN stays
};

// y[i] = op(x[i]); alpha and beta as in the operators that have them. y may be x.
template <class T>
struct UnaryArgsOf {
  UnaryOp op = UnaryOp::kRelu;
  int64_t count = 0;
  float alpha = 0, beta = 0;
  const T* x = nullptr;
  T* y = nullptr;
};
using UnaryArgs = UnaryArgsOf<float>;

// Add .. Max as in ONNX (NaN in either operand gives NaN). The gradients take a = dY: kReluGrad, kSigmoidGrad and kTanhGrad
// b = Y; the others b = X. kPRelu takes a = X, b = slope.
enum class BinaryOp : uint32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kReluGrad,
  kLeakyReluGrad,
  kSigmoidGrad,
  kTanhGrad,
  kEluGrad,
  kHardSigmoidGrad,
  kHardSwishGrad,
  kSoftplusGrad,
  kSwishGrad,
  kErfGrad,
  kAbsGrad,
  kPRelu,
  kClipGrad  // dY where alpha <= X <= beta, and where X is NaN; else 0
};

// out = op(a, b) over dims, out dense row-major. Strides in elements, 0 where an operand is repeated; those of the last
// dim are 0 or 1. out may be a or b if their strides are those of out.
template <class T>
struct BinaryArgsOf {
  static constexpr int kMaxRank = 8;
  BinaryOp op = BinaryOp::kAdd;
  float alpha = 0, beta = 0;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t a_strides[kMaxRank] = {}, b_strides[kMaxRank] = {};
  const T* a = nullptr;
  const T* b = nullptr;
  T* out = nullptr;
};
using BinaryArgs = BinaryArgsOf<float>;

}  // namespace tenon::cpu
