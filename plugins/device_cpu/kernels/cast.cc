// Cast between f32, bf16 and f16.
#include "plugins/device_cpu/kernels/number_format.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class CastKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    for (const uint32_t dtype : {query.input(0).dtype(), query.output(0).dtype()}) {
      if (!IsFloatFormat(dtype))
        return reason.No("One side is ", sdk::DTypeName(dtype), "; this kernel takes f32, bf16 and f16.");
    }
    return true;
  }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const double cost = query.input(0).dims().Known() ? 0.2 * static_cast<double>(query.input(0).elements()) : 1000;
    emitter.Emit(cost, {TENON_LAYOUT_STRIDED}, {TENON_LAYOUT_STRIDED});
    if (query.input(0).rank() == 4) emitter.Emit(cost, {kNhwc}, {kNhwc});
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    args_.count = args.input(0).elements();
    args_.from = FormatOf(args.input(0).dtype());
    args_.to = FormatOf(args.output(0).dtype());
    SetThreads(args);
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvertArgs a = args_;
    a.x = call.in<char>(0);
    a.y = call.out<char>(0);
    KernelPool pool(host(), error, threads_);
    routines().convert(a, pool.parallel());
    return pool.code();
  }

 private:
  ConvertArgs args_;
};

}  // namespace

void AddCastKernels(KernelList& kernels) { kernels.push_back(Def<CastKernel>("", "Cast", "cast_float")); }

}  // namespace tenon::cpu
