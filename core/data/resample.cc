#include "core/data/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/data/resample_kernels.h"

namespace tenon {

void ResampleAxis::Set(const Source& source, std::int64_t out, std::int64_t first, std::int64_t count) {
  // Positions are counted from the first whole pixel, so that the same part gives the same weights at any place.
  const std::int64_t base = static_cast<std::int64_t>(source.start);
  const double fraction = source.start - static_cast<double>(base);
  const double ratio = source.in / static_cast<double>(out);
  const double reach = std::max(1.0, ratio);
  const std::int64_t pixels =
      std::min(source.pixels - base, static_cast<std::int64_t>(std::ceil(fraction + source.in - 1e-9)));
  taps_ = 2 * static_cast<int>(std::ceil(reach)) + 2;
  starts_.resize(static_cast<std::size_t>(count));
  exact_.assign(static_cast<std::size_t>((count + 1) * taps_), 0.0);
  double largest = 0;
  low_ = base + pixels;
  high_ = base;
  for (std::int64_t i = 0; i < out; ++i) {
    const bool wanted = i >= first && i < first + count;
    // Those beside the window count for the precision alone; their weights go to a spare place.
    double* weights = exact_.data() + (wanted ? i - first : count) * taps_;
    const double centre = fraction + ratio * (static_cast<double>(i) + 0.5);
    const std::int64_t from = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
    const std::int64_t to = std::min(pixels, static_cast<std::int64_t>(centre + reach + 0.5));
    double sum = 0;
    for (std::int64_t j = from; j < to; ++j) {
      const double distance = (static_cast<double>(j) - centre + 0.5) / reach;
      weights[j - from] = std::max(0.0, 1.0 - std::abs(distance));
      sum += weights[j - from];
    }
    for (std::int64_t k = 0; k < to - from; ++k) {
      weights[k] /= sum;
      largest = std::max(largest, weights[k]);
    }
    if (!wanted) continue;
    starts_[static_cast<std::size_t>(i - first)] = base + from;
    low_ = std::min(low_, base + from);
    high_ = std::max(high_, base + to);
  }
  // The largest shift with which every weight fits in 15 bits.
  shift_ = 0;
  while (shift_ < 22 && std::ldexp(largest, shift_ + 1) + 0.5 < 32768.0) ++shift_;
  weights_.resize(static_cast<std::size_t>(count * taps_));
  for (std::size_t i = 0; i < weights_.size(); ++i)
    weights_[i] = static_cast<std::int16_t>(0.5 + std::ldexp(exact_[i], shift_));
}

void Resample(const Picture& in, std::int64_t top, std::int64_t left, const ResampleAxis& rows,
              const ResampleAxis& columns, Picture* between, Picture* out) {
  const ResampleKernels& kernels = BestResampleKernels();
  const std::int64_t width = columns.count();
  between->Resize(rows.high() - rows.low() + rows.taps(), width);
  for (std::int64_t y = rows.low(); y < rows.high(); ++y)
    kernels.row(in.row(y - top) - 4 * left, columns, between->row(y - rows.low()));
  out->Resize(rows.count(), width);
  for (std::int64_t y = 0; y < rows.count(); ++y)
    kernels.column(between->row(rows.start(y) - rows.low()), 4 * width, rows.weights(y), rows.taps(), rows.shift(),
                   4 * width, out->row(y));
}

void PixelsToPlanes(const std::uint8_t* pixels, std::int64_t count, const ColourScale& scale, bool mirrored,
                    float* const planes[3], int plane_count) {
  BestResampleKernels().planes(pixels, count, scale, mirrored, planes, plane_count);
}

}  // namespace tenon
