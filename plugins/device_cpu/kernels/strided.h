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

// Base of kernels whose result is a strided view of input 0; derived classes plan copy_.
class ViewKernel : public CpuKernel {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    StridedCopyArgs p = copy_;
    p.x = call.in<char>(0);
    p.y = call.out<char>(0);
    StridedCopy(p);
    return TENON_OK;
  }

 protected:
  // Axis i of the result is axis perm[i] of x, whose dims are `dims`.
  void PlanView(uint32_t dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& perm) {
    int64_t strides[StridedCopyArgs::kMaxRank];
    DenseStrides({dims.data(), static_cast<uint32_t>(dims.size())}, strides);
    copy_ = {};
    copy_.element_bytes = BytesOf(dtype);
    copy_.rank = static_cast<int>(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) {
      copy_.dims[i] = dims[static_cast<size_t>(perm[i])];
      copy_.strides[i] = strides[perm[i]];
    }
    Collapse(copy_);
  }

  StridedCopyArgs copy_;
};

}  // namespace tenon::cpu
