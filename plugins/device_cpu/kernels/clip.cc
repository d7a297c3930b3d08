// Clip and its gradient.
#include <limits>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};

// What the two kernels share: the first kWhole inputs are tensors of one shape, the two behind them bounds that may be
// absent. Bounds were attributes up to opset 10.
template <uint32_t kWhole>
class ClipBase : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value x = query.input(0);
    const double cost = x.dims().Known() ? 0.3 * static_cast<double>(x.elements()) : 300;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && x.rank() != 4) continue;
      const uint32_t inputs[] = {layout, kWhole > 1 ? layout : 0, 0, 0};
      emitter.Emit(cost, inputs, query.input_count(), &layout, 1);
    }
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    low_ = static_cast<float>(query.attributes().Float("min", double{-kInfinity}));
    high_ = static_cast<float>(query.attributes().Float("max", double{kInfinity}));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.input(0).elements();
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }

 protected:
  float Low(const sdk::Call& call) const { return call.has_input(kWhole) ? *call.in<float>(kWhole) : low_; }
  float High(const sdk::Call& call) const { return call.has_input(kWhole + 1) ? *call.in<float>(kWhole + 1) : high_; }
  int64_t count_ = 0;

 private:
  float low_ = -kInfinity, high_ = kInfinity;
};

// (X, min, max) -> Y.
class ClipKernel : public ClipBase<1> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    routines().f32.unary({UnaryOp::kClip, count_, Low(call), High(call), call.in<float>(0), call.out<float>(0)},
                         pool.parallel());
    return pool.code();
  }
};

// (dY, X, min, max) -> dX.
class ClipGradKernel : public ClipBase<2> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    BinaryArgs a;
    a.op = BinaryOp::kClipGrad, a.alpha = Low(call), a.beta = High(call);
    a.rank = 1, a.dims[0] = count_, a.a_strides[0] = a.b_strides[0] = 1;
    a.a = call.in<float>(0), a.b = call.in<float>(1), a.out = call.out<float>(0);
    routines().f32.binary(a, pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddClipKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, Traits(TENON_TRAIT_ELEMENTWISE)};
  kernels.push_back(Def<ClipKernel>("", "Clip", "clip", options));
  kernels.push_back(Def<ClipGradKernel>("tenon", "ClipGrad", "clip_grad", options));
}

}  // namespace tenon::cpu
