// Calls of operators that kernels are tried with: shapes, attributes and values for each operator of the core.
#pragma once

#include <string>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon::conform {

// One operator on given tensors.
struct OpCall {
  const OpDef* def = nullptr;
  Attributes attrs;              // completed
  std::vector<Tensor> inputs;    // undefined: absent
  std::vector<ValueType> types;  // of the outputs, inferred
  RandomState random;
  std::string text;  // for messages: "Conv f32[2,3,9,7] f32[4,3,3,3] {pads=[1,1,1,1]}"

  std::vector<Shape> output_shapes() const;
  // The core can say what comes out; not so of operators that plugins define.
  bool has_reference() const { return def->reference() != nullptr; }
};

// How values are chosen.
enum class Values { kOrdinary, kSpecial /* NaN, infinities, zeros of both signs, among ordinary ones */ };

// The calls of an operator with `dtype` where it is generic; empty when none is known or the operator does not take it.
std::vector<OpCall> SampleCalls(const OpDef& def, DType dtype, Values values = Values::kOrdinary);

// A call with every input of the same shape; null when the operator does not take that.
std::vector<OpCall> SameShapeCall(const OpDef& def, DType dtype, const Shape& shape, Values values = Values::kOrdinary);

// Completes, infers and names a call; an error when the operator refuses it.
Result<OpCall> MakeCall(const OpDef& def, Attributes attrs, std::vector<Tensor> inputs, int outputs);

// Runs the core's reference kernel.
Result<std::vector<Tensor>> RunReference(const OpCall& call);

// Values in [low, high) from a fixed generator; the same for the same seed.
Tensor RandomTensor(DType dtype, const Shape& shape, double low, double high, std::uint64_t seed);

}  // namespace tenon::conform
