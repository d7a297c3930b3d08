// What both halves of an operator's file share: its loops, compiled once per instruction set, and its definition.
#pragma once

#include <cstdint>

namespace tenon::ops {

// The upper half of a float, as tensors hold it.
struct Bf16 {
  uint16_t bits;
};

// Loops work on the units (rows, images, ..) of a range, so that threads share out the units and nothing else: results
// have the same bits for any number of threads.
struct Range {
  int64_t begin, end;
};

// Loops for float and Bf16 tensors.
template <template <class> class LoopsOf>
struct BothTypes {
  LoopsOf<float> f32;
  LoopsOf<Bf16> bf16;
  template <class T>
  const LoopsOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return bf16;
  }
};

}  // namespace tenon::ops
