#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace tenon {

// How a parameter starts. Numbers are a function of (seed, name of the parameter) alone, so adding a layer does not
// change the others.
struct Initializer {
  enum class Kind { kUniform, kNormal, kConstant } kind = Kind::kConstant;
  double value = 0;  // uniform: in [-value, value); normal: standard deviation; constant: the value
  static Initializer Uniform(double bound) { return {Kind::kUniform, bound}; }
  static Initializer Normal(double deviation) { return {Kind::kNormal, deviation}; }
  static Initializer Constant(double constant) { return {Kind::kConstant, constant}; }
};

// A parameter before it has memory: dims and how it starts.
struct InitialTensor {
  Initializer init;
  Shape shape;
};

// A float32 tensor of initial values. Normal numbers by the polar form of Box and Muller (1958).
Tensor InitialValue(const Initializer& init, const Shape& shape, std::uint64_t seed, std::string_view name);

// The same; RESOURCE_EXHAUSTED, with name and size, where there is no memory for it.
Result<Tensor> MakeInitial(const InitialTensor& initial, std::uint64_t seed, const std::string& name);

}  // namespace tenon
