// Whether the tile unit of the processor (AMX) can be used, and trusted.
#pragma once

#include "plugins/device_cpu/compute/gemm_bf16.h"

namespace tenon::cpu {

// The processor has a tile unit for bf16, the operating system saves its state, and lets this process use it: that is asked here, once
// for the process and for good.
bool MayUseTiles();

// Both multiply some matrices of small whole numbers, whose sums are exact in any order, to the same bits.
bool GiveSameProducts(const Bf16Products& known, const Bf16Products& other);
// Multiplies some such matrices, which fill tiles and do not, to their sums.
bool MultipliesExactly(const TileMultiplier& tiles);

}  // namespace tenon::cpu
