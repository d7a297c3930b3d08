// What a legacy operator's symbols do not say: its operands, and its attributes with their types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::aot {

enum class AttributeType { kInt, kFloat, kFlag, kText, kInts, kFloats, kIntRows, kFloatRows };

struct AttributeSpec {
  std::string name;
  AttributeType type{};
  bool has_default = false;
  double number = 0;  // default of kInt, kFloat, kFlag
  std::string text;   // of kText
};

struct Signature {
  std::vector<std::string> inputs;  // empty: any number
  std::vector<std::string> outputs = {"y"};
  std::vector<int> like;                  // by output: the input whose shape and dtype it has
  std::vector<AttributeSpec> attributes;  // sorted by name
  std::string gradient;                   // symbol of the backward operator; empty: none
};

// "(x, w) -> (y: like x, z) {factor: float = 2.5, axes: ints, on: flag = true, mode: text = 'same'} gradient ScaleGrad": every part
// but the operands may be left out; the empty text means any number of inputs and one output like the first. The backward
// operator gets the inputs, the outputs and the gradients of the outputs, and gives a gradient for each input. Types of
// attributes: int, float, flag, text, ints, floats, int_rows, float_rows. Throws sdk::Failure with the place of a mistake.
Signature ParseSignature(std::string_view text);

}  // namespace tenon::aot
