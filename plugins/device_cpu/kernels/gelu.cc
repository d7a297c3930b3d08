// Gelu and its gradient.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

bool IsApproximate(const sdk::Query& query) { return query.attributes().String("approximate", "none") == "tanh"; }

class GeluKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.approximate = IsApproximate(query);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.count = args.input(0).elements();
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GeluArgs a = args_;
    a.x = call.in<float>(0), a.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().gelu(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  GeluArgs args_;
};

// (dY, X) -> dX.
class GeluGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.approximate = IsApproximate(query);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims x = args.input(1).dims();
    args_.columns = x.size() > 0 ? x[x.size() - 1] : 1;
    args_.rows = args_.columns > 0 ? args.input(1).elements() / args_.columns : 0;
    SetThreads(args);
    result.Aliases(kInPlace, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GeluGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.dx = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().gelu_grad(a, nullptr, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {1, 0, TENON_ALIAS_MAY, 0}};
  GeluGradArgs args_;
};

}  // namespace

void AddGeluKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, Traits(TENON_TRAIT_ELEMENTWISE)};
  kernels.push_back(Def<GeluKernel>("", "Gelu", "gelu", options));
  kernels.push_back(Def<GeluGradKernel>("tenon", "GeluGrad", "gelu_grad", options));
}

}  // namespace tenon::cpu
