// The ABI's dtypes that routines can convert.
#pragma once

#include "plugins/device_cpu/compute/convert.h"
#include "tenon/abi/types.h"

namespace tenon::cpu {

inline bool IsShortFloat(uint32_t dtype) { return dtype == TENON_DTYPE_BF16 || dtype == TENON_DTYPE_F16; }
inline bool IsFloatFormat(uint32_t dtype) { return dtype == TENON_DTYPE_F32 || IsShortFloat(dtype); }
// Of a dtype that IsFloatFormat.
inline NumberFormat FormatOf(uint32_t dtype) {
  return dtype == TENON_DTYPE_BF16  ? NumberFormat::kBF16
         : dtype == TENON_DTYPE_F16 ? NumberFormat::kF16
                                    : NumberFormat::kF32;
}

}  // namespace tenon::cpu
