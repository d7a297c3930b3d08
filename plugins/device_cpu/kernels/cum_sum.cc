// CumSum of f32 along an axis.
#include <algorithm>

#include "plugins/device_cpu/kernels/axis.h"

namespace tenon::cpu {
namespace {

// (X, axis) -> Y; the axis is read at every call.
class CumSumKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const uint32_t dtype = query.input(1).dtype();
    if (dtype != TENON_DTYPE_I64 && dtype != TENON_DTYPE_I32)
      return reason.No("The axis is ", sdk::DTypeName(dtype), "; this kernel takes i32 and i64.");
    return IsOf<float>(query, 0, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    exclusive_ = query.attributes().Int("exclusive", 0) != 0;
    reverse_ = query.attributes().Int("reverse", 0) != 0;
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    const sdk::Tensor axis = call.input(1);
    const int64_t given = axis.dtype() == TENON_DTYPE_I32 ? *axis.data<const int32_t>() : *axis.data<const int64_t>();
    const AxisView v = ViewFrom(call.input(0).dims(), given);
    const float* x = call.in<float>(0);
    float* y = call.out<float>(0);
    for (int64_t o = 0; o < v.outer; ++o, x += v.extent * v.inner, y += v.extent * v.inner) {
      if (v.inner == 1)
        SumRow(x, y, v.extent);
      else
        SumRows(x, y, v);
    }
    return TENON_OK;
  }

 private:
  int64_t At(int64_t k, int64_t extent) const { return reverse_ ? extent - 1 - k : k; }
  void SumRow(const float* x, float* y, int64_t extent) const {
    float sum = 0;
    for (int64_t k = 0; k < extent; ++k) {
      const int64_t at = At(k, extent);
      const float next = sum + x[at];
      y[at] = exclusive_ ? sum : next;
      sum = next;
    }
  }
  // Columns side by side, so many that their sums stay in registers. y may be x: an element is read before it is written.
  void SumRows(const float* x, float* y, const AxisView& v) const {
    constexpr int64_t kColumns = 32;
    for (int64_t first = 0; first < v.inner; first += kColumns) {
      const int64_t columns = std::min(kColumns, v.inner - first);
      float sums[kColumns] = {};
      for (int64_t k = 0; k < v.extent; ++k) {
        const int64_t at = At(k, v.extent) * v.inner + first;
        for (int64_t i = 0; i < columns; ++i) {
          const float next = sums[i] + x[at + i];
          y[at + i] = exclusive_ ? sums[i] : next;
          sums[i] = next;
        }
      }
    }
  }

  bool exclusive_ = false, reverse_ = false;
};

}  // namespace

void AddCumSumKernels(KernelList& kernels) { kernels.push_back(Def<CumSumKernel>("", "CumSum", "cum_sum")); }

}  // namespace tenon::cpu
