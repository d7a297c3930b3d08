// Operators of plugins/ops_custom through tenon/tenon.h: on every instruction set that the processor has, on one thread
// and on two.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::testing_support {

// check(runtime), once for each way to run, within a trace that names it.
void OnEachRuntime(const std::function<void(const api::Runtime&)>& check);
// The first of them.
const api::Runtime& AnyRuntime();

// All cases of cases/<file>.json: values and gradients against those of PyTorch, gradients also against central
// differences.
void CheckCases(const std::string& file);

// The operator refuses the call with a text that has all these parts.
void ExpectRefused(const std::string& op, const std::vector<api::Tensor>& inputs, const api::Attributes& attributes,
                   const std::vector<std::string>& parts);

// sum(weights * y): a loss with a gradient of its own for each element of y.
api::Tensor Weighted(const api::Runtime& runtime, const api::Tensor& y, const std::vector<float>& weights);
// Numbers in [-1, 1) from a fixed generator.
std::vector<float> Numbers(std::int64_t count, unsigned seed = 1);

}  // namespace tenon::testing_support
