#pragma once

#include <string>
#include <vector>

#include "tools/msopgen/op_file.h"

namespace tenon::msopgen {

// Operands in the order that the generated operator has them: fixed ones first, dynamic ones last, optional outputs after
// required ones.
struct Layout {
  std::vector<Operand> inputs, outputs;
  std::size_t fixed_inputs = 0, fixed_outputs = 0;
  bool reordered = false;

  std::size_t dynamic_inputs() const { return inputs.size() - fixed_inputs; }
  std::size_t dynamic_outputs() const { return outputs.size() - fixed_outputs; }
};
Layout LayoutOf(const Operator& op);

// What the generated kernels compute, in C++, and how it was chosen.
struct Formula {
  std::string kind;                                    // elementwise, reduction, generic
  std::string kind_reason;                             // "it has the attribute 'axes'"
  bool fill_in = false;                                // the arithmetic is a default
  std::string reason;                                  // a sentence: why it is one
  std::string default_words;                           // "the sum of all inputs"
  std::vector<std::string> element, element_gradient;  // elementwise
  std::string start, combine, finish, slope;           // reduction
  std::string axes, keepdims;                          // reduction: names of attributes, or empty
  std::vector<std::string> compute, compute_gradient;  // generic
  std::vector<std::string> expected;                   // body of the test's definition
  double low = -2, high = 2;                           // values for tests
};

// An explicit kind that the operands do not allow goes to the findings.
Formula ChooseFormula(const Operator& op, const Layout& layout, Findings& findings);

}  // namespace tenon::msopgen
