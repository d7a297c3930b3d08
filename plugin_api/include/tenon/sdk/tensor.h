// Readers of tensor views and value descriptions.
#pragma once

#include "tenon/sdk/text.h"

namespace tenon::sdk {

// Bits of one element; 0 for an unknown dtype.
constexpr uint32_t DTypeBits(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_U4:
    case TENON_DTYPE_I4:
    case TENON_DTYPE_F4E2M1:
      return 4;
    case TENON_DTYPE_U8:
    case TENON_DTYPE_I8:
    case TENON_DTYPE_BOOL:
    case TENON_DTYPE_F8E4M3FN:
    case TENON_DTYPE_F8E4M3FNUZ:
    case TENON_DTYPE_F8E5M2:
    case TENON_DTYPE_F8E5M2FNUZ:
      return 8;
    case TENON_DTYPE_U16:
    case TENON_DTYPE_I16:
    case TENON_DTYPE_F16:
    case TENON_DTYPE_BF16:
      return 16;
    case TENON_DTYPE_F32:
    case TENON_DTYPE_I32:
    case TENON_DTYPE_U32:
      return 32;
    case TENON_DTYPE_F64:
    case TENON_DTYPE_I64:
    case TENON_DTYPE_U64:
    case TENON_DTYPE_C64:
      return 64;
    case TENON_DTYPE_C128:
      return 128;
    default:
      return 0;
  }
}

// Bytes of count elements, rounded up to whole bytes.
constexpr uint64_t DTypeBytes(uint32_t dtype, int64_t count) {
  return (static_cast<uint64_t>(count) * DTypeBits(dtype) + 7) / 8;
}

constexpr std::string_view DTypeName(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_F32:
      return "f32";
    case TENON_DTYPE_U8:
      return "u8";
    case TENON_DTYPE_I8:
      return "i8";
    case TENON_DTYPE_U16:
      return "u16";
    case TENON_DTYPE_I16:
      return "i16";
    case TENON_DTYPE_I32:
      return "i32";
    case TENON_DTYPE_I64:
      return "i64";
    case TENON_DTYPE_BOOL:
      return "bool";
    case TENON_DTYPE_F16:
      return "f16";
    case TENON_DTYPE_F64:
      return "f64";
    case TENON_DTYPE_U32:
      return "u32";
    case TENON_DTYPE_U64:
      return "u64";
    case TENON_DTYPE_C64:
      return "c64";
    case TENON_DTYPE_C128:
      return "c128";
    case TENON_DTYPE_BF16:
      return "bf16";
    case TENON_DTYPE_F8E4M3FN:
      return "f8e4m3fn";
    case TENON_DTYPE_F8E4M3FNUZ:
      return "f8e4m3fnuz";
    case TENON_DTYPE_F8E5M2:
      return "f8e5m2";
    case TENON_DTYPE_F8E5M2FNUZ:
      return "f8e5m2fnuz";
    case TENON_DTYPE_U4:
      return "u4";
    case TENON_DTYPE_I4:
      return "i4";
    case TENON_DTYPE_F4E2M1:
      return "f4e2m1";
    default:
      return dtype >= TENON_DTYPE_VENDOR ? "vendor" : "unknown";
  }
}

// Element of an array of growable structs.
template <typename T>
const T& AtStride(const T* first, uint64_t stride, uint64_t index) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + index * stride);
}

// Are these strides (in elements, NULL: contiguous) row-major without gaps?
constexpr bool IsContiguous(Dims dims, const int64_t* strides) {
  if (strides == nullptr) return true;
  int64_t expected = 1;
  for (uint32_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] == 0) return true;
    if (dims[axis] != 1 && strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

// Reader of a tensor view; as cheap as a pointer.
class Tensor {
 public:
  explicit Tensor(const tenon_tensor& raw) : raw_(&raw) {}

  bool absent() const { return (raw_->flags & TENON_TENSOR_ABSENT) != 0; }
  bool present() const { return !absent(); }
  bool empty() const { return (raw_->flags & TENON_TENSOR_EMPTY) != 0 || elements() == 0; }
  uint32_t dtype() const { return raw_->dtype; }
  uint32_t rank() const { return raw_->rank; }
  uint32_t layout() const { return raw_->layout; }
  Dims dims() const { return {raw_->dims, raw_->rank}; }
  int64_t dim(uint32_t axis) const { return raw_->dims[axis]; }
  int64_t elements() const { return dims().Elements(); }
  uint64_t bytes() const { return DTypeBytes(raw_->dtype, elements()); }
  const int64_t* strides() const { return raw_->strides; }
  bool contiguous() const { return IsContiguous(dims(), raw_->strides); }
  // Device address of the first element.
  uint64_t address() const { return raw_->address + raw_->byte_offset; }
  // First element, for host-accessible memory. T must be as wide as the dtype.
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(raw_->address + raw_->byte_offset));
  }
  const tenon_quantization* quantization() const {
    return TENON_HAS_FIELD(raw_, tenon_tensor, quantization) ? raw_->quantization : nullptr;
  }
  const tenon_tensor& raw() const { return *raw_; }

 private:
  const tenon_tensor* raw_;
};

// Host-accessible tensor of a known element type, addressed by indices.
template <typename T>
class TensorOf {
 public:
  explicit TensorOf(Tensor tensor)
      : data_(tensor.data<T>()), dims_(tensor.dims()), strides_(tensor.strides()), size_(tensor.elements()) {}

  T* data() const { return data_; }
  Dims dims() const { return dims_; }
  int64_t size() const { return size_; }
  // Element by its place in a contiguous tensor.
  T& operator[](int64_t place) const { return data_[place]; }
  // Element by one index per axis, strides honoured.
  template <typename... Index>
  T& operator()(Index... index) const {
    const int64_t indices[] = {static_cast<int64_t>(index)..., 0};
    int64_t place = 0;
    for (uint32_t axis = 0; axis < sizeof...(Index); ++axis) {
      place = strides_ == nullptr ? place * dims_[axis] + indices[axis] : place + indices[axis] * strides_[axis];
    }
    return data_[place];
  }

 private:
  T* data_;
  Dims dims_;
  const int64_t* strides_;
  int64_t size_;
};

// Reader of a value description.
class Value {
 public:
  explicit Value(const tenon_value_desc& raw) : raw_(&raw) {}

  bool absent() const { return (raw_->flags & TENON_TENSOR_ABSENT) != 0; }
  bool present() const { return !absent(); }
  bool constant() const { return (raw_->flags & TENON_TENSOR_CONSTANT) != 0; }
  uint32_t dtype() const { return raw_->dtype; }
  uint32_t rank() const { return raw_->rank; }
  uint32_t layout() const { return raw_->layout; }
  Dims dims() const { return {raw_->dims, raw_->rank}; }
  // -1: not known yet.
  int64_t dim(uint32_t axis) const { return raw_->dims[axis]; }
  int64_t elements() const { return dims().Elements(); }
  bool contiguous() const { return IsContiguous(dims(), raw_->strides); }
  const int64_t* strides() const { return raw_->strides; }
  // Host-readable content, or NULL.
  const tenon_tensor* content() const { return raw_->constant; }
  const tenon_quantization* quantization() const {
    return TENON_HAS_FIELD(raw_, tenon_value_desc, quantization) ? raw_->quantization : nullptr;
  }
  const tenon_value_desc& raw() const { return *raw_; }

 private:
  const tenon_value_desc* raw_;
};

}  // namespace tenon::sdk
