#include "plugins/device_cpu/onednn/known_faults.h"

#include <algorithm>

namespace tenon::cpu::onednn {
namespace {

// Is each element of the window over a pixel for some output?
bool EachElementMeetsAPixel(const ConvProblem& p) {
  for (size_t axis = 0; axis < p.strides.size(); ++axis) {
    const int64_t stride = p.strides[axis], pixels = p.x[axis + 2], outputs = p.y[axis + 2];
    for (int64_t k = 0; k < p.weights[axis + 2]; ++k) {
      const int64_t first = k * p.dilations[axis] - p.pads_begin[axis];  // pixel of output 0
      const int64_t output = first >= 0 ? 0 : (stride - 1 - first) / stride;
      if (output >= outputs || first + output * stride >= pixels) return false;
    }
  }
  return true;
}

// Windows of 1 and an odd number of the channels that are summed: pairs of bf16 end in the next pixel.
bool SumsHalfAPair(const ConvProblem& p) {
  const bool one = std::all_of(p.weights.begin() + 2, p.weights.end(), [](int64_t size) { return size == 1; });
  return one && p.y[1] / p.group % 2 != 0;
}

bool IsVolume(const ConvProblem& p) { return p.strides.size() == 3; }

// Along any axis but the last.
bool IsDilatedAcrossRows(const ConvProblem& p) {
  return std::any_of(p.dilations.begin(), p.dilations.end() - 1, [](int64_t dilation) { return dilation > 1; });
}

// From the first element of a window to its last one.
int64_t ReachOf(const ConvProblem& p, size_t axis) { return (p.weights[axis + 2] - 1) * p.dilations[axis]; }

// A volume with windows deeper than it.
bool ReachesThroughTheDepth(const ConvProblem& p) { return IsVolume(p) && ReachOf(p, 0) >= p.x[2]; }

// Steps through the depth of a volume whose first window begins before it and whose last one ends behind it.
bool StepsOverBothEnds(const ConvProblem& p) {
  if (!IsVolume(p) || p.strides[0] == 1 || p.pads_begin[0] == 0) return false;
  const int64_t last = (p.y[2] - 1) * p.strides[0] + ReachOf(p, 0) - p.pads_begin[0];
  return last >= p.x[2];
}

}  // namespace

const char* KnownFault(const ConvProblem& p) {
  const bool bf16 = p.x_type == dnnl_bf16 || p.y_type == dnnl_bf16;
  if (p.direction == Direction::kData && bf16 && SumsHalfAPair(p))
    return "With windows of 1 the library sums an odd number of channels of bf16 wrongly.";
  if (p.direction != Direction::kWeights) return nullptr;
  if (StepsOverBothEnds(p))
    return "The library sums gradients of weights wrongly where windows with steps reach over both ends of the depth.";
  if (bf16 && IsDilatedAcrossRows(p)) return "The library sums gradients of dilated weights in bf16 wrongly.";
  if (bf16 && ReachesThroughTheDepth(p))
    return "The library sums gradients of weights in bf16 wrongly where windows are deeper than the volume.";
  if ((bf16 || IsVolume(p)) && !EachElementMeetsAPixel(p))
    return "An element of the window lies beside the image for all outputs; the library leaves its gradient unwritten.";
  return nullptr;
}

// Volumes whose windows reach further than two columns and over their sides.
const char* FaultyImplementation(const ConvProblem& p) {
  const bool over_sides = IsVolume(p) && (p.pads_begin[2] > 0 || p.pads_end[2] > 0);
  return p.direction == Direction::kForward && over_sides && ReachOf(p, 2) > 2 ? "brgconv" : nullptr;
}

}  // namespace tenon::cpu::onednn
