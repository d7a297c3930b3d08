// A tensor seen from one of its axes.
#pragma once

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};

// `axis` counts from the end where it is negative.
inline AxisView ViewFrom(sdk::Dims dims, int64_t axis) {
  AxisView view;
  if (axis < 0) axis += dims.size();
  for (uint32_t i = 0; i < dims.size(); ++i) (i < axis ? view.outer : i == axis ? view.extent : view.inner) *= dims[i];
  return view;
}

}  // namespace tenon::cpu
