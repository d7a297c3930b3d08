#include "core/data/color_jitter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tenon {

namespace {

std::uint8_t ToByte(float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

float Grey(const std::uint8_t* pixel) {
  return std::floor(0.2989f * static_cast<float>(pixel[0]) + 0.587f * static_cast<float>(pixel[1]) +
                    0.114f * static_cast<float>(pixel[2]));
}

template <class Fn>
void ForEachPixel(Picture* picture, Fn&& change) {
  std::uint8_t* pixel = picture->row(0);
  const std::uint8_t* end = picture->row(picture->height());
  for (; pixel != end; pixel += 4) change(pixel);
}

// v * factor + other * (1 - factor) for the three colours of a pixel.
void Blend(float factor, float other, std::uint8_t* pixel) {
  const float rest = other * (1 - factor);
  for (int c = 0; c < 3; ++c) pixel[c] = ToByte(static_cast<float>(pixel[c]) * factor + rest);
}

struct Hsv {
  float hue, saturation, value;
};

Hsv ToHsv(float r, float g, float b) {
  const float high = std::max({r, g, b}), range = high - std::min({r, g, b});
  if (range == 0) return {0, 0, high};
  const float to_red = (high - r) / range, to_green = (high - g) / range, to_blue = (high - b) / range;
  float sixths = 4 + to_green - to_red;
  if (high == r)
    sixths = to_blue - to_green;
  else if (high == g)
    sixths = 2 + to_red - to_blue;
  return {sixths / 6 + 1 - std::floor(sixths / 6 + 1), range / high, high};
}

void FromHsv(const Hsv& hsv, float* rgb) {
  const float sixths = hsv.hue * 6;
  const float sector = std::floor(sixths);
  const float within = sixths - sector;
  const auto cut = [](float x) { return std::clamp(x, 0.0f, 1.0f); };
  const float p = cut(hsv.value * (1 - hsv.saturation));
  const float q = cut(hsv.value * (1 - hsv.saturation * within));
  const float t = cut(hsv.value * (1 - hsv.saturation * (1 - within)));
  const float v = hsv.value;
  const float table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(table[static_cast<int>(sector) % 6], 3, rgb);
}

}  // namespace

void AdjustBrightness(double factor, Picture* picture) {
  ForEachPixel(picture, [f = static_cast<float>(factor)](std::uint8_t* pixel) { Blend(f, 0, pixel); });
}

void AdjustContrast(double factor, Picture* picture) {
  double sum = 0;
  ForEachPixel(picture, [&](const std::uint8_t* pixel) { sum += static_cast<double>(Grey(pixel)); });
  const float mean = static_cast<float>(sum / static_cast<double>(picture->height() * picture->width()));
  ForEachPixel(picture, [f = static_cast<float>(factor), mean](std::uint8_t* pixel) { Blend(f, mean, pixel); });
}

void AdjustSaturation(double factor, Picture* picture) {
  ForEachPixel(picture, [f = static_cast<float>(factor)](std::uint8_t* pixel) { Blend(f, Grey(pixel), pixel); });
}

void AdjustHue(double turn, Picture* picture) {
  constexpr float kScale = 255.999f;  // back to bytes: 1 becomes 255
  ForEachPixel(picture, [turn = static_cast<float>(turn)](std::uint8_t* pixel) {
    const auto part = [&](int c) { return static_cast<float>(pixel[c]) / 255.0f; };
    Hsv hsv = ToHsv(part(0), part(1), part(2));
    hsv.hue += turn;
    hsv.hue -= std::floor(hsv.hue);
    float rgb[3];
    FromHsv(hsv, rgb);
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(rgb[c] * kScale);
  });
}

void JitterColours(const ColorJitterConfig& config, const CounterRng& rng, Picture* picture) {
  std::array<int, 4> order{0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[rng.Below(i, i + 1)]);
  const auto factor = [&](double half_width, std::uint64_t counter) {
    const double low = std::max(0.0, 1 - half_width);
    return low + (1 + half_width - low) * rng.UniformDouble(counter);
  };
  for (const int kind : order) {
    if (kind == 0 && config.brightness > 0) AdjustBrightness(factor(config.brightness, 4), picture);
    if (kind == 1 && config.contrast > 0) AdjustContrast(factor(config.contrast, 5), picture);
    if (kind == 2 && config.saturation > 0) AdjustSaturation(factor(config.saturation, 6), picture);
    if (kind == 3 && config.hue > 0) AdjustHue(config.hue * (2 * rng.UniformDouble(7) - 1), picture);
  }
}

}  // namespace tenon
