#include "core/data/plane_view.h"

#include <algorithm>
#include <utility>

namespace tenon {

Result<PlaneView> PlaneView::Compile(const std::optional<WindowSpec>& window, double flip_probability,
                                     const SampleLayout& in, std::vector<float> outside) {
  const int rank = in.shape.rank();
  TENON_INVALID_IF(rank < 2 || in.dtype != DType::kF32,
                   "Only images can be cropped or flipped, but a sample is {}{}; 'image.shape' says how its values are "
                   "laid out.",
                   NameOf(in.dtype), in.shape);
  PlaneView view;
  view.outside_ = std::move(outside);
  view.in_height_ = in.shape.dim(rank - 2);
  view.in_width_ = in.shape.dim(rank - 1);
  view.window_ = window.value_or(WindowSpec{view.in_height_, view.in_width_, 0, false});
  view.flip_probability_ = flip_probability;
  const WindowSpec& w = view.window_;
  TENON_INVALID_IF(w.random && (w.height > view.in_height_ + 2 * w.pad || w.width > view.in_width_ + 2 * w.pad),
                   "'random_crop' of {} x {} does not fit a sample of shape {} with {} of padding on each side.",
                   w.height, w.width, in.shape, w.pad);
  view.output_ = in.shape;
  view.output_.set_dim(rank - 2, w.height);
  view.output_.set_dim(rank - 1, w.width);
  return view;
}

void PlaneView::Apply(const float* in, const SampleRandom& random, float* out) const {
  const WindowSpec& w = window_;
  std::int64_t top = (in_height_ - w.height) / 2, left = (in_width_ - w.width) / 2;
  if (w.random) {
    const CounterRng rng = random.For(SampleRandom::Purpose::kWindow);
    const auto place = [&](std::uint64_t at, std::int64_t room) {
      return static_cast<std::int64_t>(rng.Below(at, static_cast<std::uint64_t>(room + 1))) - w.pad;
    };
    top = place(0, in_height_ + 2 * w.pad - w.height);
    left = place(1, in_width_ + 2 * w.pad - w.width);
  }
  const bool flip =
      flip_probability_ > 0 && random.For(SampleRandom::Purpose::kFlip).UniformDouble(0) < flip_probability_;
  const std::int64_t first = std::clamp<std::int64_t>(-left, 0, w.width);                // column of the window
  const std::int64_t last = std::clamp<std::int64_t>(in_width_ - left, first, w.width);  // behind the last
  for (const float outside : outside_) {
    for (std::int64_t y = 0; y < w.height; ++y, out += w.width) {
      const std::int64_t row = top + y;
      if (row < 0 || row >= in_height_) {
        std::fill_n(out, w.width, outside);
        continue;
      }
      const float* from = in + row * in_width_ + left;
      std::fill_n(out, first, outside);
      std::copy(from + first, from + last, out + first);
      std::fill(out + last, out + w.width, outside);
      if (flip) std::reverse(out, out + w.width);
    }
    in += in_height_ * in_width_;
  }
}

}  // namespace tenon
