#include "core/debug/non_finite.h"

#include <cmath>

namespace tenon {

std::int64_t FirstNonFinite(const Tensor& tensor) {
  std::int64_t first = -1;
  ForFloating(tensor.dtype(), [&]<class T>() {
    const T* values = tensor.data<T>();
    for (std::int64_t i = 0; i < tensor.elements() && first < 0; ++i) {
      if (!std::isfinite(static_cast<double>(values[i]))) first = i;
    }
  });
  return first;
}

namespace {

double At(const Tensor& tensor, std::int64_t index) {
  double value = 0;
  ForFloating(tensor.dtype(), [&]<class T>() { value = static_cast<double>(tensor.data<T>()[index]); });
  return value;
}

}  // namespace

Status NonFiniteFinder::OnResult(const graph::Node& node, int, const std::string& value_name, const Tensor& tensor) {
  const std::int64_t bad = FirstNonFinite(tensor);
  if (bad < 0) return {};
  return Error(Code::kAborted,
               "The first operator whose result is not finite is node '{}' ({}): element {} of %{} {}{} is {}.",
               node.name, node.FullName(), bad, value_name, NameOf(tensor.dtype()), tensor.shape(), At(tensor, bad))
      .At(node.place);
}

}  // namespace tenon
