// Operands of one call as plain arrays of the type in which the operator is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "support/numbers.h"

namespace support {

using Dims = std::vector<int64_t>;

inline int64_t Elements(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// Row-major. An absent operand is not present and has no data.
template <class T>
struct Array {
  T* data = nullptr;
  Dims dims;
  bool present = false;

  int64_t size() const { return present ? Elements(dims) : 0; }
  // A debug build checks the place.
  T& operator[](int64_t place) const {
#ifndef NDEBUG
    if (place < 0 || place >= size())
      throw tenon::sdk::Failure(TENON_INTERNAL, "Place ", place, " is outside of an array of ", size(), " elements.");
#endif
    return data[place];
  }
};
template <class T>
using Arrays = std::vector<Array<T>>;

// An input that may be absent, at one element; value is 0 then.
template <class T>
struct Optional {
  bool present;
  T value;
};

// All operands of a dynamic input, at one element.
template <class T>
struct List {
  T* values;
  uint32_t count;
  T& operator[](uint32_t index) const { return values[index]; }
  T* begin() const { return values; }
  T* end() const { return values + count; }
};

// Type, dims and presence of an operand.
struct Operand {
  uint32_t dtype = 0;
  Dims dims;
  bool present = false;

  int64_t elements() const { return present ? Elements(dims) : 0; }
  uint64_t bytes() const { return present ? tenon::sdk::DTypeBytes(dtype, elements()) : 0; }
};
struct Operands {
  std::vector<Operand> inputs, outputs;

  static Operands Of(const tenon::sdk::PlanArgs& args) {
    Operands all;
    const auto read = [](const tenon::sdk::Value& value) {
      Operand operand{value.dtype(), {}, value.present()};
      if (value.present()) operand.dims.assign(value.dims().begin(), value.dims().end());
      return operand;
    };
    for (uint32_t i = 0; i < args.input_count(); ++i) all.inputs.push_back(read(args.input(i)));
    for (uint32_t i = 0; i < args.output_count(); ++i) all.outputs.push_back(read(args.output(i)));
    return all;
  }
};

// Runs Body::Run<T>(attributes, inputs, outputs) over operands in host memory. Outputs start as zeros.
template <class T, class Body, class Attributes>
void RunAs(const Attributes& attributes, const Operands& operands, const void* const* inputs, void* const* outputs) {
  std::vector<std::vector<T>> buffers;
  buffers.reserve(operands.inputs.size() + operands.outputs.size());
  const auto array = [&](const Operand& operand) {
    Array<T> made{nullptr, operand.dims, operand.present};
    if (operand.present) made.data = buffers.emplace_back(static_cast<size_t>(operand.elements())).data();
    return made;
  };
  Arrays<T> in, out;
  for (size_t i = 0; i < operands.inputs.size(); ++i) {
    in.push_back(array(operands.inputs[i]));
    if (in[i].present) Load(operands.inputs[i].dtype, inputs[i], in[i].size(), in[i].data);
  }
  for (const Operand& operand : operands.outputs) out.push_back(array(operand));
  Body::template Run<T>(attributes, in, out);
  for (size_t i = 0; i < operands.outputs.size(); ++i) {
    if (out[i].present) Store(operands.outputs[i].dtype, out[i].data, out[i].size(), outputs[i]);
  }
}

// The same in the type that the operands ask for. Where all of them are floating, Body::Run is compiled for double alone.
template <class Body, class Attributes>
void Run(const Attributes& attributes, const Operands& operands, const void* const* inputs, void* const* outputs) {
  if constexpr (!Body::signature().all_floating()) {
    bool floating = false, wide = false;
    for (const auto* list : {&operands.inputs, &operands.outputs}) {
      for (const Operand& operand : *list) {
        floating = floating || IsFloating(operand.dtype);
        wide = wide || operand.dtype == TENON_DTYPE_U64;
      }
    }
    if (!floating && wide) return RunAs<uint64_t, Body>(attributes, operands, inputs, outputs);
    if (!floating) return RunAs<int64_t, Body>(attributes, operands, inputs, outputs);
  }
  RunAs<double, Body>(attributes, operands, inputs, outputs);
}

}  // namespace support
