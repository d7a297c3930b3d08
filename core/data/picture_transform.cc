#include "core/data/picture_transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/data/color_jitter.h"

namespace tenon {

namespace {

constexpr int kAttempts = 10;  // for a random part that fits, before the largest in the middle is taken

PixelRect Centre(const PictureSize& size, std::int64_t height, std::int64_t width) {
  // Half a pixel goes to the even side, as Python's round does.
  const auto start = [](std::int64_t all, std::int64_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(all - part) / 2));
  };
  return {start(size.height, height), start(size.width, width), height, width};
}

// The largest of 1, 2, 4 and 8 by which the part can be made smaller without falling below the size that is wanted.
std::int64_t ShrinkFor(const PixelRect& part, const PictureSize& resized) {
  std::int64_t shrink = 1;
  while (shrink < 8 && part.height >= 2 * shrink * resized.height && part.width >= 2 * shrink * resized.width)
    shrink *= 2;
  return shrink;
}

}  // namespace

PictureSpec PictureSpec::ForTesting() const {
  PictureSpec spec = *this;
  spec.random_part.reset();
  spec.flip_probability = 0;
  spec.jitter = {};
  if (random_part) {
    const ImageSize& size = random_part->size;
    const std::int64_t side = (std::max(size.height, size.width) * 8 + 6) / 7;
    spec.resize = ResizeConfig{{side, side, true}};
    if (!spec.window) spec.window = WindowSpec{size.height, size.width, 0, false};
  }
  if (spec.window) {
    spec.window->random = false;
    spec.window->pad = 0;
  }
  return spec;
}

Result<PictureTransform> PictureTransform::Compile(const PictureSpec& spec) {
  PictureTransform transform;
  transform.spec_ = spec;
  PictureSize size;
  if (spec.window) {
    size = {spec.window->height, spec.window->width};
  } else if (spec.random_part) {
    size = {spec.random_part->size.height, spec.random_part->size.width};
  } else if (spec.resize && !spec.resize->size.single) {
    size = {spec.resize->size.height, spec.resize->size.width};
  } else {
    return InvalidArgument(
        "The images would differ in size. 'data.transforms' needs random_resized_crop, or resize with both sides, or "
        "center_crop or random_crop.");
  }
  transform.output_ = Shape{spec.planes, size.height, size.width};
  return transform;
}

PixelRect PictureTransform::RandomPart(const PictureSize& size, const CounterRng& rng) const {
  const auto& scale = spec_.random_part->scale;
  const auto& ratio = spec_.random_part->ratio;
  const double area = static_cast<double>(size.height * size.width);
  const double low = std::log(ratio[0]), high = std::log(ratio[1]);
  for (int i = 0; i < kAttempts; ++i) {
    const std::uint64_t counter = 4 * static_cast<std::uint64_t>(i);
    const double part = area * (scale[0] + (scale[1] - scale[0]) * rng.UniformDouble(counter));
    const double shape = std::exp(low + (high - low) * rng.UniformDouble(counter + 1));
    const std::int64_t width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(part * shape)));
    const std::int64_t height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(part / shape)));
    if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
    const auto place = [&](std::uint64_t at, std::int64_t room) {
      return static_cast<std::int64_t>(rng.Below(counter + at, static_cast<std::uint64_t>(room + 1)));
    };
    return {place(2, size.height - height), place(3, size.width - width), height, width};
  }
  const double shape = static_cast<double>(size.width) / static_cast<double>(size.height);
  const auto rounded = [](double side) { return std::max<std::int64_t>(1, std::llrint(side)); };
  if (shape < ratio[0])
    return Centre(size, std::min(size.height, rounded(static_cast<double>(size.width) / ratio[0])), size.width);
  if (shape > ratio[1])
    return Centre(size, size.height, std::min(size.width, rounded(static_cast<double>(size.height) * ratio[1])));
  return {0, 0, size.height, size.width};
}

PictureSize PictureTransform::SizeAfterResize(const PictureSize& size) const {
  if (!spec_.resize) return size;
  const ImageSize& to = spec_.resize->size;
  if (!to.single) return {to.height, to.width};
  const std::int64_t shorter = std::min(size.height, size.width), longer = std::max(size.height, size.width);
  const std::int64_t other = std::max<std::int64_t>(1, to.height * longer / shorter);
  return size.height <= size.width ? PictureSize{to.height, other} : PictureSize{other, to.width};
}

Result<PictureTransform::Plan> PictureTransform::MakePlan(const PictureSize& size, const SampleRandom& random) const {
  using Purpose = SampleRandom::Purpose;
  Plan plan;
  if (spec_.random_part) {
    plan.part = RandomPart(size, random.For(Purpose::kPart));
    plan.resized = {spec_.random_part->size.height, spec_.random_part->size.width};
  } else {
    plan.part = {0, 0, size.height, size.width};
    plan.resized = SizeAfterResize(size);
  }
  plan.window = {0, 0, plan.resized.height, plan.resized.width};
  if (spec_.window) {
    const WindowSpec& window = *spec_.window;
    plan.window = Centre(plan.resized, window.height, window.width);
    if (window.random) {
      const std::int64_t down = plan.resized.height + 2 * window.pad - window.height;
      const std::int64_t across = plan.resized.width + 2 * window.pad - window.width;
      TENON_INVALID_IF(
          down < 0 || across < 0,
          "The image is {} x {} pixels (width x height) with {} of padding on each side; 'random_crop' needs "
          "at least {} x {}.",
          plan.resized.width, plan.resized.height, window.pad, window.width, window.height);
      const CounterRng rng = random.For(Purpose::kWindow);
      plan.window.top = static_cast<std::int64_t>(rng.Below(0, static_cast<std::uint64_t>(down + 1))) - window.pad;
      plan.window.left = static_cast<std::int64_t>(rng.Below(1, static_cast<std::uint64_t>(across + 1))) - window.pad;
    }
  }
  plan.flip = spec_.flip_probability > 0 && random.For(Purpose::kFlip).UniformDouble(0) < spec_.flip_probability;
  return plan;
}

// Decodes what the window shows and leaves it in scratch->canvas.
Status PictureTransform::Draw(PictureReader& reader, const PictureSize& size, const Plan& plan,
                              Scratch* scratch) const {
  const PixelRect& window = plan.window;
  const std::int64_t top = std::max<std::int64_t>(0, window.top), left = std::max<std::int64_t>(0, window.left);
  const std::int64_t bottom = std::min(plan.resized.height, window.top + window.height);
  const std::int64_t right = std::min(plan.resized.width, window.left + window.width);
  const bool clipped = bottom - top != window.height || right - left != window.width;
  if (clipped) {
    scratch->canvas.Resize(window.height, window.width);
    std::memset(scratch->canvas.row(0), 0, static_cast<std::size_t>(4 * window.height * window.width));
    if (bottom <= top || right <= left) return {};
  }
  const auto set_axes = [&](std::int64_t shrink) {
    const double by = static_cast<double>(shrink);
    scratch->rows.Set({static_cast<double>(plan.part.top) / by, static_cast<double>(plan.part.height) / by,
                       (size.height + shrink - 1) / shrink},
                      plan.resized.height, top, bottom - top);
    scratch->columns.Set({static_cast<double>(plan.part.left) / by, static_cast<double>(plan.part.width) / by,
                          (size.width + shrink - 1) / shrink},
                         plan.resized.width, left, right - left);
  };
  const std::int64_t shrink = spec_.fast_shrink ? ShrinkFor(plan.part, plan.resized) : 1;
  set_axes(shrink);
  PixelRect wanted{scratch->rows.low() * shrink, scratch->columns.low() * shrink, 0, 0};
  wanted.height = std::min(size.height, scratch->rows.high() * shrink) - wanted.top;
  wanted.width = std::min(size.width, scratch->columns.high() * shrink) - wanted.left;
  TENON_ASSIGN(const DecodedRect decoded, reader.Decode(wanted, shrink, &scratch->decoded));
  if (decoded.shrink != shrink) set_axes(decoded.shrink);
  Picture* target = clipped ? &scratch->resized : &scratch->canvas;
  Resample(scratch->decoded, decoded.rect.top, decoded.rect.left, scratch->rows, scratch->columns, &scratch->between,
           target);
  for (std::int64_t y = 0; clipped && y < target->height(); ++y) {
    std::memcpy(scratch->canvas.row(y + top - window.top) + 4 * (left - window.left), target->row(y),
                static_cast<std::size_t>(4 * target->width()));
  }
  return {};
}

void PictureTransform::ToPlanes(const Picture& canvas, bool flip, float* out) const {
  const std::int64_t plane = canvas.height() * canvas.width();
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    float* const row = out + y * canvas.width();
    float* const planes[3] = {row, row + plane, row + 2 * plane};
    PixelsToPlanes(canvas.row(y), canvas.width(), spec_.scale, flip, planes, spec_.planes);
  }
}

Status PictureTransform::Apply(PictureReader& reader, std::int64_t index, std::int64_t epoch, Scratch* scratch,
                               float* out) const {
  TENON_ASSIGN(const PictureSize size, reader.Open(index));
  const SampleRandom random(spec_.seed, epoch, index);
  TENON_ASSIGN(const Plan plan, MakePlan(size, random));
  TENON_TRY(Draw(reader, size, plan, scratch));
  if (ChangesColours(spec_.jitter))
    JitterColours(spec_.jitter, random.For(SampleRandom::Purpose::kColours), &scratch->canvas);
  ToPlanes(scratch->canvas, plan.flip, out);
  return {};
}

}  // namespace tenon
