#pragma once

#include <cstdint>

#include "core/data/resample.h"

namespace tenon {

// The inner loops of resample.h. All sets give the same bits; the best one is what this processor can run.
struct ResampleKernels {
  // One row along its pixels; `pixels` is where column 0 of the source would lie.
  void (*row)(const std::uint8_t* pixels, const ResampleAxis& axis, std::uint8_t* out);
  // The weighted sum of `taps` rows that lie `stride` bytes apart, for `bytes` bytes.
  void (*column)(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, int taps, int shift,
                 std::int64_t bytes, std::uint8_t* out);
  // As PixelsToPlanes.
  void (*planes)(const std::uint8_t* pixels, std::int64_t count, const ColourScale& scale, bool mirrored,
                 float* const planes[3], int plane_count);
};

const ResampleKernels& PlainResampleKernels();
const ResampleKernels& BestResampleKernels();

}  // namespace tenon
