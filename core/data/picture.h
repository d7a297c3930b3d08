#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// 8-bit red, green and blue; a pixel is four bytes, the last without meaning. Rows follow each other without gaps. Memory
// grows and is kept. A few bytes behind the last row may be read.
class Picture {
 public:
  void Resize(std::int64_t height, std::int64_t width) {
    height_ = height;
    width_ = width;
    const std::size_t bytes = static_cast<std::size_t>(4 * height * width) + kSlack;
    if (pixels_.size() < bytes) pixels_.resize(bytes);
  }

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::uint8_t* row(std::int64_t y) { return pixels_.data() + 4 * y * width_; }
  const std::uint8_t* row(std::int64_t y) const { return pixels_.data() + 4 * y * width_; }

 private:
  static constexpr std::size_t kSlack = 64;
  std::vector<std::uint8_t> pixels_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
};

struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A rectangle in pixels.
struct PixelRect {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// What was decoded: the picture holds the pixels of `rect`, which lies in the whole picture made smaller by `shrink`.
struct DecodedRect {
  PixelRect rect;
  std::int64_t shrink = 1;
};

// One worker's way to the pixels of the samples of a data set. Open a sample, then decode it, once.
class PictureReader {
 public:
  virtual ~PictureReader() = default;
  virtual Result<PictureSize> Open(std::int64_t index) = 0;
  // At least the pixels of `wanted`, which lies within the size. `shrink` is 1, 2, 4 or 8: the picture may be made so much
  // smaller while decoding; the answer says what was done. Errors carry the place of the sample.
  virtual Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) = 0;
};

}  // namespace tenon
