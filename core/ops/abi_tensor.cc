#include "core/ops/abi_tensor.h"

#include <cstring>

namespace tenon {

std::optional<DType> DTypeFromAbi(std::uint32_t number) {
  const auto dtype = static_cast<DType>(number);
  if (number > static_cast<std::uint32_t>(DType::kBF16) || SizeOf(dtype) == 0) return std::nullopt;
  return dtype;
}

tenon_tensor ViewOfContent(const Tensor& tensor) {
  tenon_tensor view = TENON_INIT(tenon_tensor);
  view.flags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_HOST_ACCESSIBLE;
  if (tensor.elements() == 0) view.flags |= TENON_TENSOR_EMPTY;
  view.address = reinterpret_cast<std::uintptr_t>(tensor.raw());
  view.dtype = static_cast<std::uint32_t>(tensor.dtype());
  view.rank = static_cast<std::uint32_t>(tensor.shape().rank());
  view.dims = tensor.shape().data();
  return view;
}

Result<Tensor> ReadAbiTensor(const tenon_tensor& record, std::string_view what) {
  const std::optional<DType> dtype = DTypeFromAbi(record.dtype);
  TENON_INVALID_IF(!dtype, "{} has dtype number {}, which this host does not know.", what, record.dtype);
  TENON_INVALID_IF(record.rank > kMaxRank, "{} has rank {}; at most {} are supported.", what, record.rank, kMaxRank);
  TENON_INVALID_IF(record.strides != nullptr, "{} is not contiguous.", what);
  TENON_INVALID_IF(record.rank > 0 && record.dims == nullptr, "{} has rank {} and no dims.", what, record.rank);
  Shape shape;
  for (std::uint32_t axis = 0; axis < record.rank; ++axis) {
    TENON_INVALID_IF(record.dims[axis] < 0, "{} has the negative dim {}.", what, record.dims[axis]);
    shape.push_back(record.dims[axis]);
  }
  Tensor tensor(*dtype, shape);
  const std::uint64_t address = record.address + record.byte_offset;
  TENON_INVALID_IF(tensor.elements() > 0 && address == 0, "{} has elements and no address.", what);
  if (tensor.elements() > 0)
    std::memcpy(tensor.raw(), reinterpret_cast<const void*>(address), static_cast<std::size_t>(tensor.bytes()));
  return tensor;
}

}  // namespace tenon
