// Tensors of the tests: values in double, whatever the type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/sdk/sdk.h"

namespace testing {

struct Tensor {
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
  std::vector<double> values;
  bool present = false;

  int64_t size() const;
  // Elements as the type stores them, and back.
  std::vector<char> Bytes() const;
  void SetBytes(const std::vector<char>& bytes);
};

Tensor MakeTensor(uint32_t dtype, std::vector<int64_t> dims);

// 0 for a name that is no type. Takes the names of operator files: "float", "fp16", "int8" ...
uint32_t DTypeOf(const std::string& name);

// Relative and absolute tolerance of a result in this type.
double ToleranceOf(uint32_t dtype);

std::string ToText(const std::vector<int64_t>& dims);

}  // namespace testing
