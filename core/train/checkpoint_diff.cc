#include "core/train/checkpoint_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace tenon {
namespace {

bool Same(double a, double b, const DiffTolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(b);
}

std::vector<std::int64_t> IndexOf(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

template <class T>
void CompareValues(const Tensor& a, const Tensor& b, const DiffTolerance& tolerance, TensorDifference* difference) {
  const bool exact = tolerance.rtol == 0 && tolerance.atol == 0;
  const T* x = a.data<T>();
  const T* y = b.data<T>();
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (std::memcmp(x + i, y + i, sizeof(T)) == 0) continue;
    const double u = static_cast<double>(x[i]);
    const double v = static_cast<double>(y[i]);
    if (!exact && Same(u, v, tolerance)) continue;
    if (difference->differing++ == 0) {
      difference->first = IndexOf(i, a.shape());
      difference->first_a = u;
      difference->first_b = v;
    }
    if (!std::isfinite(u) || !std::isfinite(v)) continue;
    difference->max_abs = std::max(difference->max_abs, std::abs(u - v));
    if (v != 0) difference->max_rel = std::max(difference->max_rel, std::abs(u - v) / std::abs(v));
  }
}

// Returns false when the tensors are equal.
bool Compare(const Tensor& a, const Tensor& b, const DiffTolerance& tolerance, TensorDifference* difference) {
  difference->a = a.Describe();
  difference->b = b.Describe();
  difference->same_kind = a.dtype() == b.dtype() && a.shape() == b.shape();
  if (!difference->same_kind) return true;
  difference->elements = a.elements();
  ForAny(a.dtype(), [&]<class T>() { CompareValues<T>(a, b, tolerance, difference); });
  return difference->differing > 0;
}

}  // namespace

CheckpointDiff Diff(const Checkpoint& a, const Checkpoint& b, const DiffTolerance& tolerance) {
  CheckpointDiff diff;
  std::unordered_map<std::string, const Tensor*> others;
  for (const NamedTensor& entry : b.tensors) others.emplace(entry.name, &entry.tensor);
  std::unordered_set<std::string> seen;
  for (const NamedTensor& entry : a.tensors) {
    seen.insert(entry.name);
    const auto other = others.find(entry.name);
    if (other == others.end()) {
      diff.only_a.push_back(entry.name);
      continue;
    }
    TensorDifference difference;
    difference.name = entry.name;
    if (Compare(entry.tensor, *other->second, tolerance, &difference)) {
      diff.different.push_back(std::move(difference));
    } else {
      ++diff.equal;
    }
  }
  for (const NamedTensor& entry : b.tensors) {
    if (!seen.contains(entry.name)) diff.only_b.push_back(entry.name);
  }
  return diff;
}

}  // namespace tenon
