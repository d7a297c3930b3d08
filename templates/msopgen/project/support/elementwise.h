// Loops of elementwise operators: operands broadcast as in ONNX, gradients summed over what was broadcast.
//
// Op has Inputs<T>, Outputs<T>, Element and ElementGradient (op_kernel/<op>.h), and
//   Inputs<T> Pack(T* values, const bool* present, uint32_t count)     one value per operand, in the operator's order
//   void Unpack(const Inputs<T>&, T* values)                          fixed inputs; lists lie in values already
//   void Unpack(const Outputs<T>&, T* values), Outputs<T> PackOutputs(const T* values)
#pragma once

#include <algorithm>
#include <memory>

#include "support/arrays.h"
#include "support/signature.h"

namespace support {

// Places in several operands of one element after the other of their common shape.
class Walk {
 public:
  Walk(Dims dims, const std::vector<Dims>& operands) : dims_(std::move(dims)), index_(dims_.size(), 0) {
    for (const Dims& own : operands) {
      Dims strides(dims_.size(), 0);
      int64_t step = 1;
      for (size_t k = 0; k < own.size(); ++k) {
        const size_t axis = own.size() - 1 - k;
        if (own[axis] != 1) strides[dims_.size() - 1 - k] = step;
        step *= own[axis];
      }
      strides_.push_back(std::move(strides));
    }
    places_.assign(operands.size(), 0);
  }
  int64_t count() const { return Elements(dims_); }
  int64_t place(size_t operand) const { return places_[operand]; }
  void Next() {
    for (size_t axis = dims_.size(); axis-- > 0;) {
      const bool wraps = ++index_[axis] == dims_[axis];
      const int64_t steps = wraps ? 1 - dims_[axis] : 1;
      if (wraps) index_[axis] = 0;
      for (size_t k = 0; k < strides_.size(); ++k) places_[k] += steps * strides_[k][axis];
      if (!wraps) return;
    }
  }

 private:
  Dims dims_, index_;
  std::vector<Dims> strides_;
  std::vector<int64_t> places_;
};

// One value per operand, read at the walk's element.
template <class T>
class Values {
 public:
  explicit Values(const Arrays<T>& arrays)
      : arrays_(arrays), values_(arrays.size() + 1), present_(std::make_unique<bool[]>(arrays.size() + 1)) {
    for (size_t k = 0; k < arrays.size(); ++k) present_[k] = arrays[k].present;
  }
  void Read(const Walk& walk, size_t first = 0) {
    for (size_t k = 0; k < arrays_.size(); ++k)
      values_[k] = present_[k] ? arrays_[k].data[walk.place(first + k)] : T(0);
  }
  T* data() { return values_.data(); }
  const bool* present() const { return present_.get(); }
  uint32_t count() const { return static_cast<uint32_t>(arrays_.size()); }

 private:
  const Arrays<T>& arrays_;
  std::vector<T> values_;
  std::unique_ptr<bool[]> present_;
};

template <class T>
std::vector<Dims> DimsOf(const Arrays<T>& arrays) {
  std::vector<Dims> dims;
  for (const Array<T>& array : arrays) dims.push_back(array.dims);
  return dims;
}

// Common shape of the operands that are present.
template <class T>
Dims BroadcastDims(const Arrays<T>& arrays) {
  Dims dims;
  for (const Array<T>& array : arrays) {
    if (!array.present) continue;
    if (array.dims.size() > dims.size()) dims.insert(dims.begin(), array.dims.size() - dims.size(), 1);
    for (size_t k = 0; k < array.dims.size(); ++k) {
      int64_t& dim = dims[dims.size() - 1 - k];
      if (dim == 1) dim = array.dims[array.dims.size() - 1 - k];
    }
  }
  return dims;
}

// outputs = Element(inputs) at every element.
template <class Op, class T, class Attributes>
void RunElements(const Attributes& attributes, const Arrays<T>& in, Arrays<T>& out) {
  Walk walk(BroadcastDims(in), DimsOf(in));
  Values<T> values(in);
  std::vector<T> results(out.size());
  for (int64_t i = 0, count = walk.count(); i < count; ++i, walk.Next()) {
    values.Read(walk);
    std::fill(results.begin(), results.end(), T(0));
    auto element = Op::PackOutputs(results.data());
    Op::Element(Op::Pack(values.data(), values.present(), values.count()), attributes, element);
    Op::Unpack(element, results.data());
    for (size_t k = 0; k < out.size(); ++k) {
      if (out[k].present) out[k].data[i] = results[k];
    }
  }
}

// din = ElementGradient(inputs, dout) at every element, added up where an input was broadcast. din[k] is the gradient of
// input k, not present where nobody wants it.
template <class Op, class T, class Attributes>
void RunElementGradients(const Attributes& attributes, const Arrays<T>& in, const Arrays<T>& dout, Arrays<T>& din) {
  Walk walk(BroadcastDims(in), DimsOf(in));
  Values<T> values(in);
  std::vector<T> incoming(dout.size()), slopes(in.size() + 1);
  for (int64_t i = 0, count = walk.count(); i < count; ++i, walk.Next()) {
    values.Read(walk);
    for (size_t k = 0; k < dout.size(); ++k) incoming[k] = dout[k].present ? dout[k].data[i] : T(0);
    std::fill(slopes.begin(), slopes.end(), T(0));
    auto gradient = Op::Pack(slopes.data(), values.present(), values.count());
    Op::ElementGradient(Op::Pack(values.data(), values.present(), values.count()), Op::PackOutputs(incoming.data()),
                        attributes, gradient);
    Op::Unpack(gradient, slopes.data());
    for (size_t k = 0; k < in.size(); ++k) {
      if (din[k].present) din[k].data[walk.place(k)] += slopes[k];
    }
  }
}

// Operands of member number index when every dynamic operand is a list of equal length.
template <class T>
Arrays<T> Member(const Arrays<T>& all, uint32_t fixed, uint32_t dynamic, uint32_t index) {
  Arrays<T> member(all.begin(), all.begin() + fixed);
  const uint32_t share = Share(static_cast<uint32_t>(all.size()), fixed, dynamic);
  for (uint32_t k = 0; k < dynamic; ++k) member.push_back(all[fixed + k * share + index]);
  return member;
}

}  // namespace support
