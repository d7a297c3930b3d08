#include "core/tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>

namespace tenon {
namespace {

class NoHostMemory : public std::bad_alloc {
 public:
  explicit NoHostMemory(std::int64_t bytes)
      : text_(fmt::format("a tensor of {:.1f} GB was asked for", static_cast<double>(bytes) * 1e-9)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

std::int64_t BytesOf(DType dtype, const Shape& shape) {
  std::int64_t bytes = SizeOf(dtype);
  for (const std::int64_t dim : shape.dims()) {
    if (dim == 0) return 0;
    if (__builtin_mul_overflow(bytes, dim, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
  }
  return bytes;
}

}  // namespace

std::shared_ptr<void> AllocateHost(std::int64_t bytes) {
  constexpr std::size_t kAlign = 64;
  const std::size_t size = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + kAlign - 1) / kAlign * kAlign;
  void* memory = std::aligned_alloc(kAlign, size);
  if (memory == nullptr) throw NoHostMemory(bytes);
  std::memset(memory, 0, size);
  return {memory, std::free};
}

Tensor::Tensor(DType dtype, const Shape& shape)
    : dtype_(dtype), shape_(shape), owner_(AllocateHost(BytesOf(dtype, shape))), data_(owner_.get()) {}

Tensor Tensor::FromOwner(DType dtype, const Shape& shape, std::shared_ptr<void> owner, void* data) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::Clone() const {
  if (!defined()) return {};
  Tensor copy(dtype_, shape_);
  if (bytes() > 0) std::memcpy(copy.raw(), data_, static_cast<std::size_t>(bytes()));
  return copy;
}

Result<Tensor> Tensor::Reshaped(const Shape& shape) const {
  TENON_INVALID_IF(shape.elements() != elements(), "A tensor of shape {} ({} elements) cannot be seen as {} ({}).",
                   shape_, elements(), shape, shape.elements());
  return FromOwner(dtype_, shape, owner_, data_);
}

std::string Tensor::Describe() const { return fmt::format("{}{}", NameOf(dtype_), shape_); }

namespace {

template <class From, class To>
To Convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

Tensor Cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor out(dtype, tensor.shape());
  const std::int64_t n = tensor.elements();
  ForAny(tensor.dtype(), [&]<class From>() {
    ForAny(dtype, [&]<class To>() {
      const From* from = tensor.data<From>();
      To* to = out.data<To>();
      for (std::int64_t i = 0; i < n; ++i) to[i] = Convert<From, To>(from[i]);
    });
  });
  return out;
}

}  // namespace tenon
