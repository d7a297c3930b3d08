// The gradient of PRelu; PRelu itself is an elementwise operator of two operands.
#include <utility>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// The axes of x along which the slope changes are neighbours: x as [outer][channels][inner]. False: they are not.
bool SplitAxes(sdk::Dims x, sdk::Dims slope, PReluGradArgs& a) {
  a.outer = a.channels = a.inner = 1;
  for (uint32_t axis = 0; axis < x.size(); ++axis) {
    if (x[axis] == 1) continue;
    const bool changes = axis + slope.size() >= x.size() && slope[axis + slope.size() - x.size()] != 1;
    if (changes && a.inner != 1) return false;
    if (changes)
      a.channels *= x[axis];
    else
      (a.channels == 1 ? a.outer : a.inner) *= x[axis];
  }
  if (a.channels == 1) std::swap(a.outer, a.inner);  // one slope for all
  return true;
}

// (dY, X, slope) -> dX, dSlope.
class PReluGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    PReluGradArgs a;
    const sdk::Dims x = query.input(1).dims(), slope = query.input(2).dims();
    if (!SplitAxes(x, slope, a))
      return reason.No("The slope ", slope, " changes along axes of X ", x, " that are no neighbours.");
    return AllF32(query, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SplitAxes(args.input(1).dims(), args.input(2).dims(), args_);
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines().p_relu_grad_workspace(args_)));
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    PReluGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.slope = call.in<float>(2);
    a.dx = call.has_output(0) ? call.out<float>(0) : nullptr;
    a.d_slope = call.has_output(1) ? call.out<float>(1) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().p_relu_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  PReluGradArgs args_;
};

}  // namespace

void AddPReluKernels(KernelList& kernels) {
  kernels.push_back(Def<PReluGradKernel>("tenon", "PReluGrad", "p_relu_grad"));
}

}  // namespace tenon::cpu
