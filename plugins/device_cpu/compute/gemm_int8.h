// Matrix product of 8-bit whole numbers: C[m][n] = sum over k of (A[m][k] - zero of A) * (B[k][n] - zero of B), exact in
// int32 (larger sums wrap), as it is or quantised again.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/device_cpu/compute/parallel.h"

namespace tenon::cpu {

// One number for all rows or columns (step 0), or one for each (step 1). No pointer: `T{}`.
template <class T>
struct Quantity {
  const T* first = nullptr;
  int64_t step = 0;
  T at(int64_t i) const { return first == nullptr ? T{} : first[i * step]; }
};

// An operand with any strides; its bytes are signed or not, its zero points of the same kind.
struct Int8Operand {
  const uint8_t* data = nullptr;
  int64_t row = 0, col = 1;
  bool is_signed = false;
  Quantity<uint8_t> zero;
};

// m, n or k may be 0.
struct GemmInt8Args {
  int64_t m = 0, n = 0, k = 0;
  Int8Operand a, b;              // zero points of a by row, of b by column
  Quantity<int32_t> bias;        // by row, added to the sums
  int32_t* sums = nullptr;       // the result, or
  uint8_t* quantized = nullptr;  // saturate(round(sum * (a_scale * b_scale / c_scale)) + c_zero), halves to even
  int64_t c_row = 0;
  Quantity<float> a_scale, b_scale;  // by row, by column
  float c_scale = 1.0f;
  int32_t c_zero = 0;
  bool c_signed = false;
};

// Windows of one group of channels as the columns of a matrix: to[(c * kh + y) * kw + x][pixel of the result]; positions in
// the padding are `fill`. All of the image's planes and of `to` are dense.
struct WindowColumnsArgs {
  const uint8_t* planes = nullptr;
  int64_t channels = 0, h = 0, w = 0, out_h = 0, out_w = 0, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0;
  uint8_t fill = 0;
  uint8_t* to = nullptr;
};

struct Int8Routines {
  const char* name;  // of the instructions: "avx512_vnni", "avx_vnni", "avx512", "avx2", "sse2"
  int64_t (*gemm_workspace)(const GemmInt8Args&, int64_t threads);
  void (*gemm)(const GemmInt8Args&, void* workspace, const Parallel&);
  void (*window_columns)(const WindowColumnsArgs&, const Parallel&);
};

// For an instruction set of Routines: with its products of bytes where the processor has them, else of 16-bit pairs. Null
// if the name is unknown or the processor lacks it.
const Int8Routines* FindInt8Routines(std::string_view isa);

}  // namespace tenon::cpu
