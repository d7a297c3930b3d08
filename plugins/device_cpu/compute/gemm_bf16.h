// Matrix products by instructions for bf16, with f32 sums: C[m][n] = finish(alpha * A[m][k] * B[k][n]).
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/attention.h"
#include "plugins/device_cpu/compute/bf16.h"
#include "plugins/device_cpu/compute/conv_bf16.h"
#include "plugins/device_cpu/compute/gemm.h"
#include "plugins/device_cpu/compute/parallel.h"
#include "plugins/device_cpu/compute/winograd.h"

namespace tenon::cpu {

// As GemmArgs. A and B have one unit stride each (elements); C has unit column stride and is rounded once, at the end.
// finish, in this order: add bias[n] if given; max(0, .) if `relu` (NaN stays NaN). Gelu of C goes to `gelu` as in GemmArgs. B, bias
// and C may be f32 instead: of what is read the nearest bf16 counts, and what is written is a bf16. m, n or k may be 0.
struct GemmBf16Args {
  int64_t m = 0, n = 0, k = 0;
  const uint16_t* a = nullptr;
  int64_t a_row = 0, a_col = 1;
  const uint16_t* b = nullptr;
  int64_t b_row = 0, b_col = 1;
  uint16_t* c = nullptr;
  int64_t c_row = 0;
  float alpha = 1.0f;
  const uint16_t* bias = nullptr;
  bool relu = false;
  uint16_t* gelu = nullptr;
  bool gelu_tanh = false;
  const float* wide_b = nullptr;
  const float* wide_bias = nullptr;
  float* wide_c = nullptr;
};

// g[i][j] = dy[i][j] where y[i][j] > 0 or NaN, else 0, all dense; column_sums[j] = scale * sum of g[.][j] if wanted.
struct MaskBf16Args {
  int64_t rows = 0, columns = 0;
  const uint16_t* y = nullptr;
  const uint16_t* dy = nullptr;
  uint16_t* g = nullptr;
  uint16_t* column_sums = nullptr;
  float scale = 1.0f;
};

// Products, on the vector registers or on the tile unit; `workspace` as in Routines.
struct Bf16Products {
  int64_t (*gemm_workspace)(const GemmBf16Args&, int64_t threads);
  void (*gemm)(const GemmBf16Args&, float* workspace, const Parallel&);
  // Of f32 operands: each is the sum of two bf16 numbers, high and low, and high high + high low + low high is the
  // product. A and B have one unit stride each. The relative rms error stays below 1e-5 for operands above 1e-30; an
  // infinity in an operand may give NaN.
  int64_t (*split_workspace)(const GemmArgs&, int64_t threads);
  void (*split_gemm)(const GemmArgs&, float* workspace, const Parallel&);
};

// The routines for processors that multiply bf16 (AVX-512 BF16). Those for attention and Winograd's convolution stand in the table of
// FindRoutines in place of the ones that multiply in float.
struct Bf16Routines {
  Bf16Products products;
  void (*mask_gradient)(const MaskBf16Args&, const Parallel&);
  int64_t (*attention_workspace)(const AttentionArgsOf<Bf16>&, int64_t threads);
  void (*attention)(const AttentionForwardArgsOf<Bf16>&, float* workspace, const Parallel&);
  int64_t (*attention_grad_workspace)(const AttentionArgsOf<Bf16>&, int64_t threads);
  void (*attention_grad)(const AttentionGradArgsOf<Bf16>&, float* workspace, const Parallel&);
  int64_t (*winograd_forward_workspace)(const WinogradForwardArgsOf<Bf16>&, int64_t threads);
  void (*winograd_forward)(const WinogradForwardArgsOf<Bf16>&, float* workspace, const Parallel&);
  int64_t (*winograd_weights_workspace)(const WinogradWeightsArgsOf<Bf16>&, int64_t threads);
  void (*winograd_weights)(const WinogradWeightsArgsOf<Bf16>&, float* workspace, const Parallel&);
  int64_t (*conv_forward_workspace)(const ConvBf16ForwardArgs&, int64_t threads);
  void (*conv_forward)(const ConvBf16ForwardArgs&, float* workspace, const Parallel&);
  int64_t (*conv_data_workspace)(const ConvBf16DataArgs&, int64_t threads);
  void (*conv_data)(const ConvBf16DataArgs&, float* workspace, const Parallel&);
  int64_t (*conv_weights_workspace)(const ConvBf16WeightsArgs&, int64_t threads);
  void (*conv_weights)(const ConvBf16WeightsArgs&, float* workspace, const Parallel&);
};

// Null where the processor has no such instructions. Its products are those of the tile unit (AMX) where there is one that gives the
// results of the vector registers; asking for it costs the process some memory for each thread.
const Bf16Routines* FindBf16Routines();
// True where the products of FindBf16Routines run on the tile unit.
bool MultipliesInTiles();
// For attention and Winograd's convolution of bf16; null where they multiply on vectors.
const TileMultiplier* FindTileMultiplier();

}  // namespace tenon::cpu
