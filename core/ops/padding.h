#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// Pad and its gradient. Element o of an axis of the output shows element o - begin of the input; outside the input the
// mode decides.
enum class PadMode { kConstant, kReflect, kEdge };

struct PadAxis {
  std::int64_t begin = 0, end = 0;
};

Result<PadMode> PadModeOf(const std::string& text);

// One entry per axis of a tensor of rank `rank`. `pads` lists the begins of the `axes`, then their ends; no axes: all.
Result<std::array<PadAxis, kMaxRank>> PadAxes(const std::vector<std::int64_t>& pads,
                                              const std::vector<std::int64_t>& axes, int rank);

// Input i of a node, integers of any width; none where it is absent.
std::vector<std::int64_t> IntsOf(const ReferenceArgs& args, std::size_t i);

// Source element of output element o along an axis of extent `extent` (above 0), or -1: the constant.
std::int64_t PadSource(std::int64_t o, std::int64_t begin, std::int64_t extent, PadMode mode);

}  // namespace tenon
