// Test cases from a file (see README.md, "Test cases"). Types run in step over all operands, shapes too; types, shapes,
// distributions and value ranges multiply out.
#pragma once

#include <string>
#include <vector>

#include "tests/support/json.h"
#include "tests/support/tensor.h"

namespace testing {

struct Case {
  std::string name;  // "Test_AddCustom_001/f32 [3,4] uniform"
  std::vector<Tensor> inputs;
  uint32_t output_count = 0;
  std::vector<uint32_t> output_types;  // 0: not stated
  const Json* attributes = nullptr;    // of the document
};

// Throws std::runtime_error with the name of the case and the reason.
std::vector<Case> ReadCases(const Json& document, const std::string& type);

}  // namespace testing
