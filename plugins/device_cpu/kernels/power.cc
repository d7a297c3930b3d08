// Pow of f32 and its gradient, with broadcasting.
#include "plugins/device_cpu/kernels/broadcast.h"

namespace tenon::cpu {
namespace {

class PowerBase : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }

 protected:
  int32_t PlanOperands(sdk::Dims x, sdk::Dims y, sdk::Dims out, sdk::Error& error) {
    if (Collapse(x, y, out, operands_)) return TENON_OK;
    return error.Fail(TENON_UNIMPLEMENTED, "Shapes ", x, " and ", y, " need more than ", BinaryArgs::kMaxRank,
                      " loops to broadcast.");
  }
  // In any layout where the exponent is one number.
  static void EmitLayouts(uint32_t images, const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value x = query.input(images - 1);
    const double cost = x.dims().Known() ? static_cast<double>(x.elements()) : 1000;
    const sdk::Dims exponents = query.input(images).dims();
    const bool one = exponents.Known() && exponents.Elements() == 1 && exponents.size() <= 4;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && (!one || x.rank() != 4)) continue;
      const uint32_t inputs[] = {layout, images == 2 ? layout : 0, 0}, outputs[] = {layout, layout};
      emitter.Emit(cost, inputs, query.input_count(), outputs, query.output_count());
    }
  }

  BinaryArgs operands_;
};

// (X, Y) -> X^Y.
class PowerKernel : public PowerBase {
 public:
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) { EmitLayouts(1, query, emitter); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    const sdk::Dims x = args.input(0).dims(), out = args.output(0).dims();
    SetThreads(args);
    if (x == out) result.Aliases(&kInPlace, 1);
    return PlanOperands(x, args.input(1).dims(), out, error);
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    BinaryArgs p = operands_;
    p.a = call.in<float>(0), p.b = call.in<float>(1), p.out = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().power(p, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
};

// (dZ, X, Y) -> dX, dY.
class PowerGradKernel : public PowerBase {
 public:
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) { EmitLayouts(2, query, emitter); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error& error) {
    SetThreads(args);
    return PlanOperands(args.input(1).dims(), args.input(2).dims(), args.input(0).dims(), error);
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    PowerGradArgs g{operands_, call.in<float>(0)};
    g.operands.a = call.in<float>(1), g.operands.b = call.in<float>(2);
    if (call.has_output(0)) g.dx = call.out<float>(0);
    if (call.has_output(1)) g.dy = call.out<float>(1);
    KernelPool pool(host(), error, threads_);
    routines().power_grad(g, pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddPowerKernels(KernelList& kernels) {
  kernels.push_back(Def<PowerKernel>("", "Pow", "power"));
  kernels.push_back(Def<PowerGradKernel>("tenon", "PowGrad", "power_grad"));
}

}  // namespace tenon::cpu
