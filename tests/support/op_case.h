#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/op_runner.h"

namespace tenon::testing {

// Tensors of test tables: F32({2, 3}, {1, 2, 3, 4, 5, 6}).
Tensor F32(const Shape& shape, const std::vector<double>& values);
Tensor F64(const Shape& shape, const std::vector<double>& values);
Tensor I64(const Shape& shape, const std::vector<std::int64_t>& values);
Tensor I32(const Shape& shape, const std::vector<std::int64_t>& values);
Tensor Bool(const Shape& shape, const std::vector<std::int64_t>& values);
Tensor Of(DType dtype, const Shape& shape, const std::vector<std::int64_t>& values);
// first, first + step, ..: a shape filled with a ramp.
Tensor Ramp(const Shape& shape, double first = 0, double step = 1);
// Values in [low, high) from a fixed generator; no two are equal.
Tensor Random(const Shape& shape, double low = -1, double high = 1, std::uint64_t seed = 1);

// One row of a test table.
struct OpCase {
  std::string op;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expect;  // listed outputs, from a source outside this repository; undefined: not compared
  Attributes attrs = {};
  std::string domain = "";
  int version = 0;
  double tolerance = 1e-5;  // |got - expected| <= tolerance * (1 + |expected|) in float32
  // Inputs whose gradient is compared with central differences in float64; by default every floating one, when the
  // operator has a gradient. {-1}: none (a point where the derivative jumps).
  std::vector<int> gradient = {};
  // The extent of the first dim of input 0 becomes a symbol in every input: the rule must give the same dims.
  bool symbolic = false;
  // The listed values are also expected in float64, float16 and bfloat16 where the operator takes them.
  bool other_floats = true;
  RandomState random = {};
  int outputs = 0;  // 0: as many as `expect` lists, at least one
};

// Everything that must hold for a row: listed values and dtypes on every runner, inferred shape equal to actual shape,
// inputs unchanged, in-place forms equal to the plain one, gradient, symbolic shapes.
void CheckCase(const OpCase& row);

// The call fails with exactly this message (in attributes, inference or the reference).
void CheckFails(const OpCase& row, const std::string& message);

// Outputs of the reference; the test fails when there are none.
std::vector<Tensor> Outputs(const OpCase& row);

void ExpectNear(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what);

}  // namespace tenon::testing
