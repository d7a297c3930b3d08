#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/picture.h"
#include "core/data/resample.h"
#include "core/data/sample_random.h"
#include "core/data/transform_config.h"

namespace tenon {

// A window of a picture. What lies outside of the picture is 0.
struct WindowSpec {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t pad = 0;  // a random window may reach so far beyond each side
  bool random = false;   // else the centre
};

// What is done to a picture on its way to three (or, for grey, one) planes of floats, in this order.
struct PictureSpec {
  std::optional<RandomResizedCropConfig> random_part;
  std::optional<ResizeConfig> resize;  // not together with `random_part`
  std::optional<WindowSpec> window;
  double flip_probability = 0;
  ColorJitterConfig jitter;
  ColourScale scale;
  int planes = 3;
  bool fast_shrink = true;
  std::uint64_t seed = 0;

  // The same without chance, for testing: the centre in place of a random window, and for a random part the short side
  // resized to 8/7 of the size and the centre of it.
  PictureSpec ForTesting() const;
};

// Immutable, any thread; scratch belongs to the caller.
class PictureTransform {
 public:
  struct Scratch {
    Picture decoded, between, resized, canvas;
    ResampleAxis rows, columns;
  };

  // Refuses a spec whose results differ in size.
  static Result<PictureTransform> Compile(const PictureSpec& spec);

  // float32 [planes, height, width].
  const Shape& output() const { return output_; }
  // Makes one sample. Errors are the reader's; a picture smaller than a random window is one.
  Status Apply(PictureReader& reader, std::int64_t index, std::int64_t epoch, Scratch* scratch, float* out) const;

 private:
  struct Plan {
    PixelRect part;       // of the picture
    PictureSize resized;  // what the part becomes
    PixelRect window;     // of that; may reach beyond it
    bool flip = false;
  };

  Result<Plan> MakePlan(const PictureSize& size, const SampleRandom& random) const;
  PixelRect RandomPart(const PictureSize& size, const CounterRng& rng) const;
  PictureSize SizeAfterResize(const PictureSize& size) const;
  Status Draw(PictureReader& reader, const PictureSize& size, const Plan& plan, Scratch* scratch) const;
  void ToPlanes(const Picture& canvas, bool flip, float* out) const;

  PictureSpec spec_;
  Shape output_;
};

}  // namespace tenon
