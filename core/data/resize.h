#pragma once

#include <cstdint>
#include <vector>

namespace tenon {

enum class ResizeMode { kBilinear, kNearest };

// Resizes planes of floats from one fixed size to another. Pixels are areas: the centre of output pixel i lies at
// (i + 0.5) * in / out - 0.5 of the input (as ONNX Resize half_pixel, PyTorch align_corners=False, without antialias).
// kBilinear weighs the two neighbours on each axis, edges repeated; kNearest takes floor((i + 0.5) * in / out).
// Immutable, any thread.
class Resizer {
 public:
  // All sizes at least 1.
  Resizer(std::int64_t in_height, std::int64_t in_width, std::int64_t out_height, std::int64_t out_width,
          ResizeMode mode);

  // Floats of scratch that Apply needs.
  std::int64_t scratch() const { return mode_ == ResizeMode::kBilinear ? 2 * out_width_ : 0; }
  // `in` [in_height, in_width], `out` rows of out_width floats, `out_stride` floats apart.
  void Apply(const float* in, float* out, std::int64_t out_stride, float* scratch) const;

 private:
  struct Tap {
    std::int64_t low = 0;
    std::int64_t high = 0;
    float high_weight = 0;
  };
  static std::vector<Tap> Taps(std::int64_t in, std::int64_t out, ResizeMode mode);
  void ResizeRow(const float* in, float* out) const;

  std::int64_t in_width_;
  std::int64_t out_width_;
  ResizeMode mode_;
  std::vector<Tap> rows_;
  std::vector<Tap> columns_;
};

}  // namespace tenon
