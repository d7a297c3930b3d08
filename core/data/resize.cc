#include "core/data/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tenon {

Resizer::Resizer(std::int64_t in_height, std::int64_t in_width, std::int64_t out_height, std::int64_t out_width,
                 ResizeMode mode)
    : in_width_(in_width),
      out_width_(out_width),
      mode_(mode),
      rows_(Taps(in_height, out_height, mode)),
      columns_(Taps(in_width, out_width, mode)) {}

std::vector<Resizer::Tap> Resizer::Taps(std::int64_t in, std::int64_t out, ResizeMode mode) {
  std::vector<Tap> taps(static_cast<std::size_t>(out));
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  for (std::int64_t i = 0; i < out; ++i) {
    Tap& tap = taps[static_cast<std::size_t>(i)];
    if (mode == ResizeMode::kNearest) {
      // In whole numbers: floor((2 i + 1) in / (2 out)), never beyond the last pixel.
      tap.low = tap.high = (2 * i + 1) * in / (2 * out);
      continue;
    }
    const double at = std::max(0.0, (static_cast<double>(i) + 0.5) * ratio - 0.5);
    tap.low = std::min(static_cast<std::int64_t>(at), in - 1);
    tap.high = std::min(tap.low + 1, in - 1);
    tap.high_weight = static_cast<float>(at - static_cast<double>(tap.low));
  }
  return taps;
}

void Resizer::ResizeRow(const float* in, float* out) const {
  for (const Tap& tap : columns_) *out++ = in[tap.low] + (in[tap.high] - in[tap.low]) * tap.high_weight;
}

void Resizer::Apply(const float* in, float* out, std::int64_t out_stride, float* scratch) const {
  if (mode_ == ResizeMode::kNearest) {
    for (const Tap& row : rows_) {
      const float* line = in + row.low * in_width_;
      float* target = out;
      for (const Tap& column : columns_) *target++ = line[column.low];
      out += out_stride;
    }
    return;
  }
  // Each input row is widened once; two neighbours are kept.
  float* lower = scratch;
  float* upper = scratch + out_width_;
  std::int64_t lower_row = -1;
  std::int64_t upper_row = -1;
  for (const Tap& row : rows_) {
    if (row.low != lower_row) {
      if (row.low == upper_row) {
        std::swap(lower, upper);
        std::swap(lower_row, upper_row);
      } else {
        ResizeRow(in + row.low * in_width_, lower);
        lower_row = row.low;
      }
    }
    if (row.high != upper_row) {
      ResizeRow(in + row.high * in_width_, upper);
      upper_row = row.high;
    }
    for (std::int64_t x = 0; x < out_width_; ++x) out[x] = lower[x] + (upper[x] - lower[x]) * row.high_weight;
    out += out_stride;
  }
}

}  // namespace tenon
