// AllFinite over any number of tensors.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class AllFiniteKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }

  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    bool finite = true;
    for (uint32_t i = 0; i < call.input_count() && finite; ++i)
      finite = routines().all_finite({call.input(i).elements(), call.in<float>(i)});
    *call.out<bool>(0) = finite;
    return TENON_OK;
  }
};

}  // namespace

void AddAllFiniteKernels(KernelList& kernels) {
  kernels.push_back(Def<AllFiniteKernel>("tenon", "AllFinite", "all_finite"));
}

}  // namespace tenon::cpu
