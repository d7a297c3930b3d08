#include "core/ops/padding.h"

#include <algorithm>

namespace tenon {

Result<PadMode> PadModeOf(const std::string& text) {
  if (text == "constant") return PadMode::kConstant;
  if (text == "reflect") return PadMode::kReflect;
  if (text == "edge") return PadMode::kEdge;
  return InvalidArgument("Pad mode '{}' is not supported; supported are constant, reflect and edge.", text);
}

Result<std::array<PadAxis, kMaxRank>> PadAxes(const std::vector<std::int64_t>& pads,
                                              const std::vector<std::int64_t>& axes, int rank) {
  std::vector<std::int64_t> listed = axes;
  if (listed.empty()) {
    for (int axis = 0; axis < rank; ++axis) listed.push_back(axis);
  }
  TENON_INVALID_IF(pads.size() != 2 * listed.size(), "Pad has {} pads ([{}]); {} are needed for {} axes.", pads.size(),
                   fmt::join(pads, ","), 2 * listed.size(), listed.size());
  constexpr std::int64_t most = std::int64_t{1} << 61;  // sums of two pads and positions stay inside 64 bits
  for (const std::int64_t pad : pads)
    TENON_INVALID_IF(pad > most || pad < -most, "Pad has a pad of {}; the limit is 2^61 elements.", pad);
  std::array<PadAxis, kMaxRank> out{};
  std::array<bool, kMaxRank> seen{};
  for (std::size_t i = 0; i < listed.size(); ++i) {
    TENON_ASSIGN(const int axis, NormalizeAxis(listed[i], rank));
    TENON_INVALID_IF(seen[static_cast<std::size_t>(axis)], "Pad lists axis {} twice.", listed[i]);
    seen[static_cast<std::size_t>(axis)] = true;
    out[static_cast<std::size_t>(axis)] = {pads[i], pads[i + listed.size()]};
  }
  return out;
}

std::vector<std::int64_t> IntsOf(const ReferenceArgs& args, std::size_t i) {
  if (!args.has(i)) return {};
  const Tensor wide = Cast(args.inputs[i], DType::kI64);
  return {wide.values<std::int64_t>().begin(), wide.values<std::int64_t>().end()};
}

std::int64_t PadSource(std::int64_t o, std::int64_t begin, std::int64_t extent, PadMode mode) {
  const std::int64_t p = o - begin;
  if (p >= 0 && p < extent) return p;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return std::clamp<std::int64_t>(p, 0, extent - 1);
  if (extent == 1) return 0;
  // Reflection repeats with period 2 * (extent - 1); the border itself is not doubled.
  const std::int64_t period = 2 * (extent - 1);
  const std::int64_t phase = (p % period + period) % period;
  return std::min(phase, period - phase);
}

}  // namespace tenon
