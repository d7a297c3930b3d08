#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace tenon {

// A dense row-major tensor in host memory. Copies share the storage (64-byte aligned); Clone copies the values.
// Storage may be foreign (mapped file): `FromOwner`. Not synchronised: one writer or many readers.
class Tensor {
 public:
  Tensor() = default;                       // undefined dtype, no storage
  Tensor(DType dtype, const Shape& shape);  // values are zero
  // Memory kept alive by `owner`; `data` holds shape.elements() elements of `dtype`.
  static Tensor FromOwner(DType dtype, const Shape& shape, std::shared_ptr<void> owner, void* data);
  template <class T>
  static Tensor Of(const Shape& shape, std::span<const T> values);  // sizes must agree
  template <class T>
  static Tensor Of(const Shape& shape, std::initializer_list<T> values) {
    return Of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor Scalar(T value) {
    return Of<T>(Shape{}, std::span<const T>(&value, 1));
  }

  bool defined() const { return dtype_ != DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t bytes() const { return elements() * SizeOf(dtype_); }
  void* raw() { return data_; }
  const void* raw() const { return data_; }
  // T must be the tensor's dtype.
  template <class T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<T> values() {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }

  Tensor Clone() const;
  // Same storage seen with another shape of the same element count.
  Result<Tensor> Reshaped(const Shape& shape) const;

  // Lets the tensor show other memory that the caller keeps alive; the program's operands are moved this way without
  // allocation.
  void PointTo(void* data) { data_ = data; }

  // "float32[2,3]"
  std::string Describe() const;

 private:
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
};

// Values converted to `dtype` (float to integer truncates toward zero, to bool: value != 0).
Tensor Cast(const Tensor& tensor, DType dtype);

// 64-byte aligned zeroed host memory; freed with the last reference. Zero bytes give a valid unique pointer.
std::shared_ptr<void> AllocateHost(std::int64_t bytes);

template <class T>
Tensor Tensor::Of(const Shape& shape, std::span<const T> values) {
  Tensor tensor(kDTypeOf<T>, shape);
  const std::size_t count = static_cast<std::size_t>(tensor.elements());
  if (count != values.size()) std::abort();  // a bug in the caller
  if (count > 0) std::memcpy(tensor.raw(), values.data(), count * sizeof(T));
  return tensor;
}

}  // namespace tenon
