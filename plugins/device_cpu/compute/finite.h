// Looking for infinities and NaN.
#pragma once

#include <cstdint>

namespace tenon::cpu {

struct FiniteArgs {
  int64_t count = 0;
  const float* x = nullptr;
};

}  // namespace tenon::cpu
