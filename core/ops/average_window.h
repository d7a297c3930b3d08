#pragma once

#include <algorithm>

#include "core/ops/window.h"

namespace tenon {

// What the sum over the window of output (o0, o1, o2) is divided by: its taps inside the input, or, with `include_pad`,
// those inside the padded input (a window rounded up by ceil_mode may reach beyond). At least 1.
inline std::int64_t Divisor(const Window& window, bool include_pad, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
  const std::int64_t at[] = {o0, o1, o2};
  std::int64_t count = 1;
  for (std::size_t i = 0; i < window.axis.size(); ++i) {
    const WindowAxis& axis = window.axis[i];
    std::int64_t along = 0;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t p = axis.position(at[i], k);
      if (axis.inside(p) || (include_pad && p < axis.input + axis.pad_end)) ++along;
    }
    count *= along;
  }
  return std::max<std::int64_t>(count, 1);
}

}  // namespace tenon
