// What kernels that copy through strides share.
#pragma once

#include "plugins/device_cpu/kernels/strided_copy.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

inline int64_t BytesOf(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_BOOL:
    case TENON_DTYPE_I8:
    case TENON_DTYPE_U8:
      return 1;
    case TENON_DTYPE_F16:
    case TENON_DTYPE_BF16:
    case TENON_DTYPE_I16:
    case TENON_DTYPE_U16:
      return 2;
    case TENON_DTYPE_F32:
    case TENON_DTYPE_I32:
    case TENON_DTYPE_U32:
      return 4;
    case TENON_DTYPE_F64:
    case TENON_DTYPE_I64:
    case TENON_DTYPE_U64:
      return 8;
    default:
      return 0;
  }
}

inline bool HasBytes(const sdk::Value& value, sdk::Reason& reason) {
  if (BytesOf(value.dtype()) == 0) return reason.No("The data is ", sdk::DTypeName(value.dtype()), ".");
  return true;
}

// Row-major strides in elements of a tensor of these dims.
inline void DenseStrides(sdk::Dims dims, int64_t* strides) {
  int64_t next = 1;
  for (uint32_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = next;
    next *= dims[axis];
  }
}

}  // namespace tenon::cpu
