// Reductions over up to two blocks of neighbouring axes.
#include "plugins/device_cpu/kernels/channel_last.h"

namespace tenon::cpu {
namespace {

constexpr uint64_t Bit(int64_t axis) { return uint64_t{1} << axis; }

// Axes whose size the reduction changed, when the shapes tell them: those of size 1 do not matter. False: they do not tell.
bool AxesFromShapes(sdk::Dims x, sdk::Dims y, bool keepdims, uint64_t& axes) {
  axes = 0;
  if (!x.Known() || !y.Known()) return false;
  if (keepdims) {
    for (uint32_t axis = 0; axis < x.size(); ++axis) axes |= x[axis] != y[axis] ? Bit(axis) : 0;
    return true;
  }
  // The kept sizes, taken as early and as late as possible: equal choices are the only choice.
  uint64_t early = 0, late = 0;
  uint32_t at = 0;
  for (uint32_t axis = 0; axis < x.size(); ++axis) {
    if (at < y.size() && x[axis] == y[at])
      ++at;
    else
      early |= Bit(axis);
  }
  const bool found = at == y.size();
  at = y.size();
  for (uint32_t axis = x.size(); axis-- > 0;) {
    if (at > 0 && x[axis] == y[at - 1])
      --at;
    else
      late |= Bit(axis);
  }
  uint64_t ones = 0;
  for (uint32_t axis = 0; axis < x.size(); ++axis) ones |= x[axis] == 1 ? Bit(axis) : 0;
  axes = early;
  return found && (early & ~ones) == (late & ~ones);
}

// Which axes are reduced, as bits. False: they are not known before the run.
bool ReducedAxes(const sdk::Query& query, uint64_t& axes) {
  const sdk::Value x = query.input(0);
  const sdk::Attributes attributes = query.attributes();
  const auto add = [&](int64_t axis) { axes |= Bit(axis < 0 ? axis + static_cast<int64_t>(x.rank()) : axis); };
  axes = 0;
  if (query.has_input(1)) {
    const tenon_tensor* content = query.input(1).content();
    if (content == nullptr)
      return AxesFromShapes(x.dims(), query.output(0).dims(), attributes.Int("keepdims", 1) != 0, axes);
    const sdk::Tensor list(*content);
    for (int64_t i = 0; i < list.elements(); ++i) add(list.data<const int64_t>()[i]);
  } else {
    for (const int64_t axis : attributes.Ints("axes")) add(axis);
  }
  if (axes == 0 && attributes.Int("noop_with_empty_axes", 0) == 0) axes = Bit(x.rank()) - 1;
  return true;
}

// Sizes of the groups k0 r0 k1 r1; false when the axes do not form them.
template <class T>
bool Groups(sdk::Dims dims, uint64_t axes, ReduceArgsOf<T>& p) {
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

struct ReduceName {
  std::string_view op_type;
  ReduceOp op;
};
constexpr ReduceName kNames[] = {{"ReduceSum", ReduceOp::kSum}, {"ReduceMean", ReduceOp::kMean},
                                 {"ReduceMax", ReduceOp::kMax}, {"ReduceMin", ReduceOp::kMin},
                                 {"ReduceL2", ReduceOp::kL2},   {"ReduceSumSquare", ReduceOp::kSumSquare}};

constexpr ReduceName kLogSumExp = {"ReduceLogSumExp", ReduceOp::kLogSumExp};

ReduceOp OpOf(const sdk::Query& query) {
  for (const ReduceName& name : kNames)
    if (name.op_type == query.op_type()) return name.op;
  return kLogSumExp.op;
}

constexpr uint64_t kSpatial = Bit(2) | Bit(3);  // axes of images

template <class T>
class ReduceKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (!IsOf<T>(query, 0, reason)) return false;
    uint64_t axes = 0;
    if (!ReducedAxes(query, axes)) return reason.No("The axes are computed; this kernel takes constant ones.");
    // Unknown sizes count as larger than 1, which only makes more groups.
    ReduceArgsOf<T> p;
    if (!Groups(query.input(0).dims(), axes, p)) return reason.No("The axes form more than two blocks.");
    if (OpOf(query) == ReduceOp::kLogSumExp && p.r0 > 1 && p.r1 > 1)
      return reason.No("The axes form two blocks; this kernel takes logarithms over one.");
    return true;
  }
  // Of channel-last images, too, where the result has nothing but samples and channels.
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value x = query.input(0);
    const double cost = 0.2 * (x.dims().Known() ? static_cast<double>(x.elements()) : 1000);
    uint64_t axes = 0;
    const bool image = ReducedAxes(query, axes) && x.rank() == 4 && (axes & kSpatial) == kSpatial;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && !image) continue;
      const uint32_t inputs[] = {layout, 0}, output = 0;
      emitter.Emit(cost, inputs, query.input_count(), &output, 1);
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.op = OpOf(query);
    ReducedAxes(query, axes_);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    if (args.input(0).layout() == kNhwc) {  // axes in the order of memory
      uint64_t places = 0;
      for (uint32_t axis = 0; axis < 4; ++axis) places |= (axes_ >> axis & 1) != 0 ? Bit(kChannelLastPlace[axis]) : 0;
      Groups<T>(ChannelLastDims(x), places, args_);
    } else {
      Groups(x, axes_, args_);
    }
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ReduceArgsOf<T> p = args_;
    p.x = call.in<T>(0);
    p.y = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().reduce(p, pool.parallel());
    return pool.code();
  }

 private:
  uint64_t axes_ = 0;
  ReduceArgsOf<T> args_;
};

}  // namespace

void AddReduceKernels(KernelList& kernels) {
  for (const ReduceName& name : kNames) AddOfBoth<ReduceKernel>(kernels, "", name.op_type, "reduce_bf16");
  kernels.push_back(Def<ReduceKernel<float>>("", kLogSumExp.op_type, "reduce"));
}

}  // namespace tenon::cpu
