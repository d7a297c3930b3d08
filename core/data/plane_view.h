#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/picture_transform.h"
#include "core/data/sample_random.h"

namespace tenon {

// A window of planes of floats, mirrored by chance: random_crop, center_crop and random_flip for samples that are
// finished otherwise. Immutable, any thread.
class PlaneView {
 public:
  // `outside`: what stands beyond the edge, one value a plane.
  static Result<PlaneView> Compile(const std::optional<WindowSpec>& window, double flip_probability,
                                   const SampleLayout& in, std::vector<float> outside);

  const Shape& output() const { return output_; }
  void Apply(const float* in, const SampleRandom& random, float* out) const;

 private:
  Shape output_;
  std::vector<float> outside_;
  std::int64_t in_height_ = 0, in_width_ = 0;
  WindowSpec window_;
  double flip_probability_ = 0;
};

}  // namespace tenon
