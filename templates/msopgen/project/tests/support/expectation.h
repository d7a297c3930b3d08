// What an operator is expected to compute: written once more for the tests, without the code of the kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/attribute_list.h"
#include "tests/support/shapes.h"
#include "tests/support/tensor.h"

namespace testing {

using Numbers = std::vector<double>;

struct Call {
  const AttributeList& attributes;
  const std::vector<Tensor>& inputs;           // absent ones are not present
  const std::vector<InferredOutput>& outputs;  // what the shape rule says
};

struct Expectation {
  std::string domain, type;
  std::string note;  // printed with every run; empty once the operator is filled in
  std::function<std::vector<Tensor>(const Call&)> compute;
};

// Defined by tests/<operator>_expected.cc.
Expectation TheExpectation();

// outputs[k] = function(values of the inputs that are present)[k] at every element, inputs broadcast. When outputs are
// dynamic, each is computed of the fixed inputs and one member of every dynamic input.
std::vector<Tensor> EachElement(const Call& call, uint32_t fixed_inputs, uint32_t dynamic_inputs, bool dynamic_outputs,
                                const std::function<Numbers(const Numbers& x)>& function);

// One output element per group of elements of input 0 that differ along these axes only; no axis means all.
std::vector<Tensor> EachGroup(const Call& call, const std::vector<int64_t>& axes, bool keepdims,
                              const std::function<double(const Numbers& group)>& function);

// Every output: the values of that input, again from the start where they do not suffice.
std::vector<Tensor> CopiesOf(const Call& call, const std::vector<size_t>& input_of_output);

}  // namespace testing
