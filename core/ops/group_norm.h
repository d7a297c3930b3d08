#pragma once

#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {

// A tensor [N, C, D1 ..] of which every sample is normalised in groups of `channels` neighbouring channels: what
// GroupNormalization, InstanceNormalization (one channel a group) and their gradient share.
struct GroupLayout {
  std::int64_t samples = 1, groups = 1;
  std::int64_t channels = 1;  // of one group
  std::int64_t area = 1;      // product of D1 ..

  std::int64_t extent() const { return channels * area; }  // values that share a mean
  std::int64_t begin(std::int64_t n, std::int64_t group) const { return (n * groups + group) * extent(); }
};

inline GroupLayout GroupLayoutOf(const Shape& x, std::int64_t groups) {
  GroupLayout out;
  out.samples = x[0];
  out.groups = groups;
  out.channels = groups == 0 ? 0 : x[1] / groups;
  for (int axis = 2; axis < x.rank(); ++axis) out.area *= x[axis];
  return out;
}

// x [N, C, D1 ..] with C a multiple of groups; scale and bias (`first` and the input behind it, if there) [scales].
inline Status CheckGroups(const InferContext& context, int x, int first, std::int64_t groups, const Dim& scales) {
  const SymShape& shape = context.shape(x);
  TENON_INVALID_IF(groups < 1, "num_groups is {}; it must be at least 1.", groups);
  TENON_INVALID_IF(shape[1].known() && shape[1].value() % groups != 0,
                   "The channels of X {} do not divide into {} groups.", shape, groups);
  for (int i = first; i < context.num_inputs(); ++i) {
    TENON_INVALID_IF(!(context.shape(i) == SymShape{scales}), "{} has shape {}; X {} with {} groups needs [{}].",
                     i == first ? "scale" : "bias", context.shape(i), shape, groups, scales);
  }
  return {};
}

struct Moments {
  double mean = 0, inv_std = 0;  // inv_std = 1 / sqrt(population variance + epsilon)
};

template <class T>
Moments MomentsOf(const T* x, std::int64_t count, double epsilon) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double apart = static_cast<double>(x[i]) - mean;
    squares += apart * apart;
  }
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

// Output 0 = (x - mean) * inv_std * scale + bias. scale and bias hold one number a channel, or one a group.
template <class T>
void NormalizeGroups(const ReferenceArgs& args, const GroupLayout& layout, double epsilon, bool scale_per_group) {
  const T *x = args.inputs[0].data<T>(), *scale = args.inputs[1].data<T>(), *bias = args.inputs[2].data<T>();
  T* y = args.outputs[0].data<T>();
  for (std::int64_t n = 0; n < layout.samples; ++n) {
    for (std::int64_t g = 0; g < layout.groups; ++g) {
      const std::int64_t begin = layout.begin(n, g);
      const Moments moments = MomentsOf(x + begin, layout.extent(), epsilon);
      for (std::int64_t i = 0; i < layout.extent(); ++i) {
        const std::int64_t c = scale_per_group ? g : g * layout.channels + i / layout.area;
        const double value = (static_cast<double>(x[begin + i]) - moments.mean) * moments.inv_std;
        y[begin + i] = static_cast<T>(
            static_cast<Accumulator<T>>(value * static_cast<double>(scale[c]) + static_cast<double>(bias[c])));
      }
    }
  }
}

}  // namespace tenon
