// The upper half of a float, as tensors hold it.
#pragma once

#include <cstdint>

namespace tenon::cpu {

struct Bf16 {
  uint16_t bits;
};

}  // namespace tenon::cpu
