// ReduceSum, ReduceMean and ReduceMax over up to two blocks of neighbouring axes.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// Which axes are reduced, as bits. False: the axes are not known before the run.
bool ReducedAxes(const sdk::Query& query, uint64_t& axes) {
  const sdk::Value x = query.input(0);
  const sdk::Attributes attributes = query.attributes();
  const uint64_t all = (uint64_t{1} << x.rank()) - 1;
  axes = 0;
  const auto add = [&](int64_t axis) { axes |= uint64_t{1} << (axis < 0 ? axis + static_cast<int64_t>(x.rank()) : axis); };
  if (query.has_input(1)) {
    const tenon_tensor* content = query.input(1).content();
    if (content == nullptr) return false;
    const sdk::Tensor list(*content);
    for (int64_t i = 0; i < list.elements(); ++i) add(list.data<const int64_t>()[i]);
  } else {
    for (const int64_t axis : attributes.Ints("axes")) add(axis);
  }
  if (axes == 0 && attributes.Int("noop_with_empty_axes", 0) == 0) axes = all;
  return true;
}

// Sizes of the groups k0 r0 k1 r1; false when the axes do not form them.
bool Groups(sdk::Dims dims, uint64_t axes, ReduceArgs& p) {
  p.k0 = p.r0 = p.k1 = p.r1 = 1;
  int64_t* const groups[] = {&p.k0, &p.r0, &p.k1, &p.r1};
  uint32_t group = 0;
  for (uint32_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    const bool reduced = (axes >> axis & 1) != 0;
    if ((group & 1) != (reduced ? 1u : 0u)) ++group;
    if (group > 3) return false;
    *groups[group] *= dims[axis];
  }
  return true;
}

class ReduceKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.input(0).dtype() != TENON_DTYPE_F32)
      return reason.No("The data is ", sdk::DTypeName(query.input(0).dtype()), "; this kernel takes f32.");
    uint64_t axes = 0;
    if (!ReducedAxes(query, axes)) return reason.No("The axes are computed; this kernel takes constant ones.");
    // Unknown sizes count as larger than 1, which only makes more groups.
    ReduceArgs p;
    if (!Groups(query.input(0).dims(), axes, p)) return reason.No("The axes form more than two blocks.");
    return true;
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.op = query.op_type() == "ReduceMean" ? ReduceOp::kMean : query.op_type() == "ReduceMax" ? ReduceOp::kMax : ReduceOp::kSum;
    ReducedAxes(query, axes_);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    Groups(args.input(0).dims(), axes_, args_);
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ReduceArgs p = args_;
    p.x = call.in<float>(0);
    p.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().reduce(p, pool.parallel());
    return pool.code();
  }

 private:
  uint64_t axes_ = 0;
  ReduceArgs args_;
};

}  // namespace

void AddReduceKernels(KernelList& kernels) {
  for (const std::string_view op_type : {"ReduceSum", "ReduceMean", "ReduceMax"})
    kernels.push_back(Def<ReduceKernel>("", op_type, "reduce"));
}

}  // namespace tenon::cpu
