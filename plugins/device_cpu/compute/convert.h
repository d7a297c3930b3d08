// Conversion between floating-point formats.
#pragma once

#include <cstdint>

namespace tenon::cpu {

enum class NumberFormat : uint32_t { kF32, kBF16, kF16 };

// y[i] = x[i] in the format `to`, rounded to nearest even; infinities and NaN stay. x and y do not overlap.
struct ConvertArgs {
  int64_t count = 0;
  NumberFormat from = NumberFormat::kF32, to = NumberFormat::kF32;
  const void* x = nullptr;
  void* y = nullptr;
};

}  // namespace tenon::cpu
