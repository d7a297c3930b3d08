// GroupNormalization and InstanceNormalization (one channel a group), and their gradient.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};

// What the two kernels share. Args are those of the routine; the first kImages inputs and result 0 have the shape of X, and
// may be channel-last.
template <class Args, uint32_t kImages>
class GroupsKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value x = query.input(0);
    const double cost = x.dims().Known() ? static_cast<double>(x.elements()) : 1000;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && x.rank() != 4) continue;
      const uint32_t inputs[] = {layout, kImages > 1 ? layout : 0, 0}, outputs[] = {layout, 0, 0};
      emitter.Emit(cost, inputs, query.input_count(), outputs, query.output_count());
    }
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.shape.groups = query.attributes().Int("num_groups", 0);
    args_.shape.epsilon = static_cast<float>(query.attributes().Float("epsilon", 1e-5));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    GroupNormShape& s = args_.shape;
    s.samples = x[0], s.channels = x[1], s.area = 1;
    for (uint32_t axis = 2; axis < x.size(); ++axis) s.area *= x[axis];
    if (s.groups == 0) s.groups = s.channels;
    s.channel_last = args.input(0).layout() == kNhwc;
    scales_ = args.input(kImages).elements();
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(GroupNormWorkspace(s)) * sizeof(float));
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }

 protected:
  Args args_;
  int64_t scales_ = 0;
};

// (X, scale, bias) -> Y.
class GroupNormKernel : public GroupsKernel<GroupNormArgs, 1> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GroupNormArgs a = args_;
    a.x = call.in<float>(0), a.scale = call.in<float>(1), a.bias = call.in<float>(2), a.y = call.out<float>(0);
    a.scale_per_group = scales_ != a.shape.channels;  // as up to opset 20
    KernelPool pool(host(), error, threads_);
    routines().group_norm(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }
};

// (dY, X, scale) -> dX, dscale, dbias.
class GroupNormGradKernel : public GroupsKernel<GroupNormGradArgs, 2> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GroupNormGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.scale = call.in<float>(2);
    a.dx = call.has_output(0) ? call.out<float>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : nullptr;
    a.d_bias = call.has_output(2) ? call.out<float>(2) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().group_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddGroupNormKernels(KernelList& kernels) {
  kernels.push_back(Def<GroupNormKernel>("", "GroupNormalization", "group_norm"));
  kernels.push_back(Def<GroupNormKernel>("", "InstanceNormalization", "instance_norm"));
  kernels.push_back(Def<GroupNormGradKernel>("tenon", "GroupNormalizationGrad", "group_norm_grad"));
}

}  // namespace tenon::cpu
