#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/checkpoint.h"

namespace tenon {

struct DiffTolerance {
  double rtol = 0;  // a and b are equal when |a - b| <= atol + rtol * |b|; NaN equals NaN
  double atol = 0;  // both 0: the bytes must be equal
};

// One tensor that both checkpoints have and that is not equal.
struct TensorDifference {
  std::string name;
  std::string a, b;        // "float32[3,4]"
  bool same_kind = false;  // type and shape are equal; else nothing below is set
  std::int64_t elements = 0;
  std::int64_t differing = 0;
  double max_abs = 0;  // over pairs of finite values
  double max_rel = 0;
  std::vector<std::int64_t> first;  // index of the first difference
  double first_a = 0, first_b = 0;
};

struct CheckpointDiff {
  std::vector<std::string> only_a, only_b;
  std::vector<TensorDifference> different;
  std::int64_t equal = 0;

  bool same() const { return only_a.empty() && only_b.empty() && different.empty(); }
};

// Compares by name; the order in the files does not matter.
CheckpointDiff Diff(const Checkpoint& a, const Checkpoint& b, const DiffTolerance& tolerance);

}  // namespace tenon
