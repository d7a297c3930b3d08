// Which operands an operator takes, and in which types. The i-th types of all operands belong together.
#pragma once

#include <cstdint>
#include <string>

#include "support/numbers.h"

namespace support {

namespace sdk = tenon::sdk;

// Operands are the fixed ones in their order, then the dynamic ones: all of the first, all of the second, and so on,
// each the same number.
struct Signature {
  uint32_t fixed_inputs, dynamic_inputs;
  uint32_t fixed_outputs, dynamic_outputs;
  const uint32_t* types;  // one row per combination: declared inputs, then declared outputs
  uint32_t combinations;

  constexpr uint32_t inputs() const { return fixed_inputs + dynamic_inputs; }
  constexpr uint32_t outputs() const { return fixed_outputs + dynamic_outputs; }
  uint32_t input_type(uint32_t combination, uint32_t declared) const {
    return types[combination * (inputs() + outputs()) + declared];
  }
  uint32_t output_type(uint32_t combination, uint32_t declared) const {
    return types[combination * (inputs() + outputs()) + inputs() + declared];
  }
  constexpr bool all_floating() const {
    for (uint32_t i = 0; i < combinations * (inputs() + outputs()); ++i) {
      if (!IsFloating(types[i])) return false;
    }
    return true;
  }
};

// How many operands each dynamic one has, when there are count in all.
inline uint32_t Share(uint32_t count, uint32_t fixed, uint32_t dynamic) {
  return dynamic == 0 || count < fixed ? 0 : (count - fixed) / dynamic;
}

// Declared operand that operand number index of count is.
inline uint32_t Declared(uint32_t index, uint32_t count, uint32_t fixed, uint32_t dynamic) {
  if (index < fixed) return index;
  const uint32_t share = Share(count, fixed, dynamic);
  return fixed + (share == 0 ? 0 : (index - fixed) / share);
}

// First combination whose types the operands have; -1 when there is none. type_of(index) is 0 for an absent operand, and
// output_type_of(index) for an output whose type is still free.
template <class TypeOf, class OutputTypeOf>
int32_t FindCombination(const Signature& signature, uint32_t inputs, const TypeOf& type_of, uint32_t outputs,
                        const OutputTypeOf& output_type_of) {
  for (uint32_t row = 0; row < signature.combinations; ++row) {
    bool fits = true;
    for (uint32_t i = 0; i < inputs && fits; ++i) {
      const uint32_t declared = Declared(i, inputs, signature.fixed_inputs, signature.dynamic_inputs);
      fits = type_of(i) == 0 || type_of(i) == signature.input_type(row, declared);
    }
    for (uint32_t i = 0; i < outputs && fits; ++i) {
      const uint32_t declared = Declared(i, outputs, signature.fixed_outputs, signature.dynamic_outputs);
      fits = output_type_of(i) == 0 || output_type_of(i) == signature.output_type(row, declared);
    }
    if (fits) return static_cast<int32_t>(row);
  }
  return -1;
}

// "(f32, f32) or (f16, f16)"
inline std::string InputTypes(const Signature& signature) {
  std::string text;
  for (uint32_t row = 0; row < signature.combinations; ++row) {
    text += row == 0 ? "(" : " or (";
    for (uint32_t i = 0; i < signature.inputs(); ++i) {
      text += i == 0 ? "" : ", ";
      text += sdk::DTypeName(signature.input_type(row, i));
    }
    text += ")";
  }
  return text;
}

// May a kernel serve the query's types?
inline bool SupportsTypes(const Signature& signature, const sdk::Query& query, sdk::Reason& reason) {
  const int32_t row = FindCombination(
      signature, query.input_count(), [&](uint32_t i) { return query.has_input(i) ? query.input(i).dtype() : 0; },
      query.output_count(), [&](uint32_t i) { return query.has_output(i) ? query.output(i).dtype() : 0; });
  return row >= 0 || reason.No("the types of the inputs are none of ", std::string_view(InputTypes(signature)));
}

}  // namespace support
