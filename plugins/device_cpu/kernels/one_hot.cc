// OneHot of whole numbers.
#include <algorithm>

#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class OneHotKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const uint32_t dtype = query.input(0).dtype();
    if (dtype != TENON_DTYPE_I64 && dtype != TENON_DTYPE_I32)
      return reason.No("The indices are ", sdk::DTypeName(dtype), "; this kernel takes i32 and i64.");
    return HasBytes(query.input(2), reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = query.attributes().Int("axis", -1);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    view_ = ViewFrom(args.output(0).dims(), axis_);
    bytes_ = BytesOf(args.input(2).dtype());
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    return OfBytes(bytes_, [&](auto element) { return Mark<decltype(element)>(call); });
  }

 private:
  template <class T>
  int32_t Mark(const sdk::Call& call) const {
    const bool narrow = call.input(0).dtype() == TENON_DTYPE_I32;
    const T off = call.in<T>(2)[0], on = call.in<T>(2)[1];
    T* const y = call.out<T>(0);
    const int64_t depth = view_.extent, inner = view_.inner;
    std::fill_n(y, view_.outer * depth * inner, off);
    for (int64_t i = 0; i < view_.outer * inner; ++i) {
      int64_t index = narrow ? call.in<int32_t>(0)[i] : call.in<int64_t>(0)[i];
      if (index < 0) index += depth;
      if (index >= 0 && index < depth) y[(i / inner * depth + index) * inner + i % inner] = on;
    }
    return TENON_OK;
  }

  int64_t axis_ = -1, bytes_ = 4;
  AxisView view_;
};

}  // namespace

void AddOneHotKernels(KernelList& kernels) { kernels.push_back(Def<OneHotKernel>("", "OneHot", "one_hot")); }

}  // namespace tenon::cpu
