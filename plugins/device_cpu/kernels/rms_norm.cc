// RMSNormalization and its gradient.
#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};

// What the two kernels share. Args are those of the routine; X is input kX, the scale the one behind it.
template <class Args, uint32_t kX>
class RmsRows : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims x = query.input(kX).dims(), scale = query.input(kX + 1).dims();
    const int64_t axis = AxisOf(query.attributes(), x);
    bool whole = static_cast<int64_t>(scale.size()) == x.size() - axis;
    for (uint32_t i = 0; whole && i < scale.size(); ++i) whole = scale[i] == x[static_cast<uint32_t>(axis) + i];
    if (!whole)
      return reason.No("The scale ", scale, " is repeated in X ", x, "; this kernel takes one for each value.");
    return AllF32(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = AxisOf(query.attributes(), query.input(kX).dims());
    args_.epsilon = static_cast<float>(query.attributes().Float("epsilon", 1e-5));
    return TENON_OK;
  }

 protected:
  void PlanRows(const sdk::PlanArgs& args, sdk::PlanResult& result) {
    const AxisView view = ViewFrom(args.input(kX).dims(), axis_);
    args_.rows = view.outer, args_.columns = view.extent * view.inner;
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
  }
  Args args_;

 private:
  static int64_t AxisOf(const sdk::Attributes& attributes, sdk::Dims x) {
    const int64_t axis = attributes.Int("axis", -1);
    return axis < 0 ? axis + x.size() : axis;
  }
  int64_t axis_ = 0;
};

// (X, scale) -> Y.
class RmsNormKernel : public RmsRows<RmsNormArgs, 0> {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args, result);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    RmsNormArgs a = args_;
    a.x = call.in<float>(0), a.scale = call.in<float>(1), a.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().rms_norm(a, pool.parallel());
    return pool.code();
  }
};

// (dY, X, scale) -> dX, dscale.
class RmsNormGradKernel : public RmsRows<RmsNormGradArgs, 1> {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args, result);
    result.Workspace(static_cast<uint64_t>(routines().rms_norm_grad_workspace(args_)));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    RmsNormGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.scale = call.in<float>(2);
    a.dx = call.has_output(0) ? call.out<float>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().rms_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddRmsNormKernels(KernelList& kernels) {
  kernels.push_back(Def<RmsNormKernel>("", "RMSNormalization", "rms_norm"));
  kernels.push_back(Def<RmsNormGradKernel>("tenon", "RMSNormalizationGrad", "rms_norm_grad"));
}

}  // namespace tenon::cpu
