#include "tools/conform/derived_calls.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tenon::conform {
namespace {

constexpr int kTries = 60'000;
constexpr std::size_t kCalls = 3;

// Required attributes without a default; none when one cannot be guessed.
std::optional<Attributes> GuessAttributes(const OpDef& def) {
  Attributes attrs;
  for (const AttrDef& attribute : def.attrs()) {
    if (!attribute.required || attribute.fallback.has_value()) continue;
    switch (attribute.type) {
      case AttrType::kInt:
        attrs.Set(attribute.name, std::int64_t{1});
        break;
      case AttrType::kFloat:
        attrs.Set(attribute.name, 0.5);
        break;
      case AttrType::kInts:
        attrs.Set(attribute.name, std::vector<std::int64_t>{1});
        break;
      default:
        return std::nullopt;
    }
  }
  return attrs;
}

// A dtype for each required input, `dtype` wherever it is allowed; empty when it is nowhere.
std::vector<DType> TypesOf(const std::vector<ArgDef>& inputs, DType dtype) {
  std::vector<DType> types;
  bool used = false;
  for (const ArgDef& argument : inputs) {
    if (argument.types.Has(dtype)) {
      types.push_back(dtype);
      used = true;
      continue;
    }
    for (const DType other : {DType::kI64, DType::kI32, DType::kBool, DType::kF32, DType::kU8}) {
      if (!argument.types.Has(other)) continue;
      types.push_back(other);
      break;
    }
  }
  return used && types.size() == inputs.size() ? types : std::vector<DType>();
}

// Values in (-1, 1); whole numbers are taken for indices, counts or flags and are 0 or 1.
Tensor Values01(DType dtype, const Shape& shape, std::uint64_t seed) {
  if (IsFloating(dtype)) return RandomTensor(dtype, shape, -1, 1, seed);
  Tensor wide = RandomTensor(DType::kF64, shape, 0, 2, seed);
  for (double& value : wide.values<double>()) value = std::floor(value);
  return Cast(wide, dtype);
}

// The shapes that are tried for each input. Earlier ones first for all of them together.
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {Shape{4, 6},       Shape{4},          Shape{2, 4, 6},    Shape{6},
                                            Shape{2, 3, 4, 6}, Shape{6, 4},       Shape{4, 3},       Shape{2, 6, 4},
                                            Shape{2, 4, 3},    Shape{},           Shape{2},          Shape{3},
                                            Shape{4, 1},       Shape{4, 3, 1, 1}, Shape{2, 2, 4, 6}, Shape{1}};
  return shapes;
}

}  // namespace

std::vector<OpCall> DerivedCalls(const OpDef& def, DType dtype) {
  std::vector<ArgDef> inputs;
  for (const ArgDef& argument : def.inputs()) {
    if (argument.arity != Arity::kOptional) inputs.push_back(argument);
  }
  const std::optional<Attributes> attrs = GuessAttributes(def);
  const std::vector<DType> types = TypesOf(inputs, dtype);
  if (!attrs || inputs.empty() || types.empty()) return {};
  const auto outputs = std::count_if(def.outputs().begin(), def.outputs().end(),
                                     [](const ArgDef& output) { return output.arity != Arity::kOptional; });
  std::vector<OpCall> calls;
  std::vector<std::size_t> choice(inputs.size(), 0);
  const auto attempt = [&] {
    const Shape& first = Shapes()[choice[0]];
    for (const OpCall& call : calls) {
      if (call.inputs[0].shape().rank() == first.rank()) return;
    }
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(Values01(types[i], Shapes()[choice[i]], i + 1));
    auto call = MakeCall(def, *attrs, std::move(tensors), static_cast<int>(outputs));
    if (call.ok()) calls.push_back(std::move(call).value());
  };
  // All of one shape, then every combination, the last input fastest.
  for (std::size_t shape = 0; shape < Shapes().size(); ++shape) {
    std::fill(choice.begin(), choice.end(), shape);
    attempt();
  }
  std::fill(choice.begin(), choice.end(), 0);
  for (int tries = 0; tries < kTries && calls.size() < kCalls; ++tries) {
    attempt();
    std::size_t input = choice.size();
    while (input-- > 0 && ++choice[input] == Shapes().size()) choice[input] = 0;
    if (input == static_cast<std::size_t>(-1)) break;
  }
  if (calls.size() > kCalls) calls.resize(kCalls);
  return calls;
}

}  // namespace tenon::conform
