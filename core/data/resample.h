#pragma once

#include <cstdint>
#include <vector>

#include "core/data/picture.h"

namespace tenon {

// The weights of one axis of an antialiased bilinear resize of `in` pixels to `out`, for the results
// [first, first + count). The centre of result i lies at c = (i + 0.5) * in / out; a source pixel j weighs
// max(0, 1 - |j + 0.5 - c| / s) with s = max(1, in / out), and the weights of a result sum to 1. They are whole numbers
// of 2^-shift, the largest that 16 bits hold. This is what Pillow's and PyTorch's 8-bit resize do.
//
// `start` and `in` may be fractions: a part of a picture that was made smaller while decoding. The source then has
// `pixels` whole pixels, and `in` pixels from `start` on are resized.
class ResampleAxis {
 public:
  struct Source {
    double start = 0;
    double in = 0;
    std::int64_t pixels = 0;
  };
  void Set(const Source& source, std::int64_t out, std::int64_t first, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(starts_.size()); }
  int taps() const { return taps_; }  // a result has so many weights, an even number; some at the end may be 0
  int shift() const { return shift_; }
  std::int64_t start(std::int64_t i) const { return starts_[static_cast<std::size_t>(i)]; }
  const std::int16_t* weights(std::int64_t i) const { return weights_.data() + i * taps_; }
  // All results together read the source pixels [low(), high()).
  std::int64_t low() const { return low_; }
  std::int64_t high() const { return high_; }

 private:
  std::vector<std::int64_t> starts_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
  int taps_ = 0;
  int shift_ = 0;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

// Resizes along rows, then along columns, rounding to 8 bits after each. `in` holds the source pixels from (top, left)
// on. `between` is memory.
void Resample(const Picture& in, std::int64_t top, std::int64_t left, const ResampleAxis& rows,
              const ResampleAxis& columns, Picture* between, Picture* out);

// `count` pixels to three planes of floats: value * factor + offset, one of each a colour; from right to left when
// `mirrored`.
struct ColourScale {
  float factor[3] = {1, 1, 1};
  float offset[3] = {0, 0, 0};
};
void PixelsToPlanes(const std::uint8_t* pixels, std::int64_t count, const ColourScale& scale, bool mirrored,
                    float* const planes[3], int plane_count);

}  // namespace tenon
