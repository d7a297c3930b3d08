// Runs the shape and type rule of an operator, with sizes that are known or with a symbol for each of them.
#pragma once

#include <string>
#include <vector>

#include "tests/support/attribute_list.h"
#include "tests/support/tensor.h"

namespace testing {

struct InferredOutput {
  uint32_t dtype = 0;
  int32_t rank = -2;  // -2: not set, -1: not known
  std::vector<int64_t> dims;
};

// Absent inputs are not present. With `symbolic` every size of every input is a symbol; the symbols stand for the sizes of
// the tensors, so that the result can be compared. Throws std::runtime_error when the rule fails.
std::vector<InferredOutput> InferOutputs(const tenon_operator_def& definition, const AttributeList& attributes,
                                         const std::vector<Tensor>& inputs, uint32_t output_count, bool symbolic);

// Outputs of those types and dims. An output whose size is not known throws.
std::vector<Tensor> MakeOutputs(const std::vector<InferredOutput>& inferred);

}  // namespace testing
