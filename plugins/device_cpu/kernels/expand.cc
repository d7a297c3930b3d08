// Expand: an operand repeated to a larger shape.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class ExpandKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const uint32_t dtype = query.input(0).dtype();
    if (dtype != TENON_DTYPE_F32) return reason.No("The data is ", sdk::DTypeName(dtype), "; this kernel takes f32.");
    if (query.output(0).rank() > kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 8.");
    return true;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims(), y = args.output(0).dims();
    rank_ = y.size();
    int64_t next = 1;
    for (uint32_t axis = rank_; axis-- > 0;) {
      const int64_t size = axis + x.size() < rank_ ? 1 : x[axis + x.size() - rank_];
      dims_[axis] = y[axis];
      strides_[axis] = size == 1 ? 0 : next;
      next *= size;
    }
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    float* y = call.out<float>(0);
    Copy(0, call.in<float>(0), y);
    return TENON_OK;
  }

 private:
  static constexpr uint32_t kMaxRank = 8;

  void Copy(uint32_t axis, const float* x, float*& y) const {
    if (axis == rank_) {
      *y++ = *x;
    } else if (axis + 1 == rank_) {
      for (int64_t i = 0; i < dims_[axis]; ++i) *y++ = x[i * strides_[axis]];
    } else {
      for (int64_t i = 0; i < dims_[axis]; ++i) Copy(axis + 1, x + i * strides_[axis], y);
    }
  }

  uint32_t rank_ = 0;
  int64_t dims_[kMaxRank] = {}, strides_[kMaxRank] = {};
};

}  // namespace

void AddExpandKernels(KernelList& kernels) { kernels.push_back(Def<ExpandKernel>("", "Expand", "expand")); }

}  // namespace tenon::cpu
