#pragma once

#include <optional>
#include <string>

#include "core/ops/elementwise.h"

namespace tenon {

// How ScatterElements and ScatterND join an update with the element that is there; `none` replaces it.
enum class ScatterJoin { kNone, kAdd, kMul, kMax, kMin };

inline std::optional<ScatterJoin> ScatterJoinOf(const Attributes& attrs) {
  const std::string name = attrs.Text("reduction", "none");
  if (name == "none") return ScatterJoin::kNone;
  if (name == "add") return ScatterJoin::kAdd;
  if (name == "mul") return ScatterJoin::kMul;
  if (name == "max") return ScatterJoin::kMax;
  if (name == "min") return ScatterJoin::kMin;
  return std::nullopt;
}

// `join_extremes`: max and min are allowed (opset 18).
inline Status CheckScatterJoin(const InferContext& context, std::string_view op, bool join_extremes) {
  const auto join = ScatterJoinOf(context.attrs());
  const bool extreme = join == ScatterJoin::kMax || join == ScatterJoin::kMin;
  TENON_INVALID_IF(!join || (extreme && !join_extremes), "{} reduction '{}' is not supported; supported are {}.", op,
                   context.attrs().Text("reduction", "none"),
                   join_extremes ? "none, add, mul, max and min" : "none, add and mul");
  TENON_INVALID_IF(*join != ScatterJoin::kNone && context.dtype(0) == DType::kBool,
                   "{} reduction '{}' needs numbers; the data is bool.", op, context.attrs().Text("reduction", "none"));
  return {};
}

// NaN wins over every number in max and min; integers wrap.
template <class T>
T Joined(T old, T update, ScatterJoin join) {
  switch (join) {
    case ScatterJoin::kNone:
      return update;
    case ScatterJoin::kAdd:
      return Combine(old, update, [](auto a, auto b) { return a + b; });
    case ScatterJoin::kMul:
      return Combine(old, update, [](auto a, auto b) { return a * b; });
    case ScatterJoin::kMax:
      return update > old || update != update ? update : old;
    case ScatterJoin::kMin:
      return update < old || update != update ? update : old;
  }
  return old;
}

// Only what replaces or adds is differentiated.
inline Status CheckScatterGradient(const Attributes& attrs, std::string_view op) {
  const auto join = ScatterJoinOf(attrs);
  TENON_INVALID_IF(join != ScatterJoin::kNone && join != ScatterJoin::kAdd,
                   "{} with reduction '{}' has no gradient; none and add have one.", op,
                   attrs.Text("reduction", "none"));
  return {};
}

// A tensor of zeros like `value`.
inline Value ZerosLike(GradBuilder& b, Value value) {
  const Shape shape = b.type(value).shape.Concrete();
  return b.Op("Expand", {b.ScalarLike(value, 0), b.Ints(shape.dims())});
}

}  // namespace tenon
