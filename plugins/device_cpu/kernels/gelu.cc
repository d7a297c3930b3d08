// Gelu and its gradient, alone and with the sum of its columns: the gradient of the bias before a Gelu.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kGeluGradSum = "GeluGradSum";

bool IsApproximate(const sdk::Query& query, std::string_view name = "approximate") {
  return query.attributes().String(name, "none") == "tanh";
}

template <class T>
class GeluKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllOf<T>(query, reason); }
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
    GeluArgsOf<T> a = args_;
    a.x = call.in<T>(0), a.y = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().gelu(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  GeluArgsOf<T> args_;
};

// (dY, X) -> dX.
template <class T>
class GeluGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllOf<T>(query, reason); }
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
    GeluGradArgsOf<T> a = args_;
    a.dy = call.in<T>(0), a.x = call.in<T>(1), a.dx = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().gelu_grad(a, nullptr, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {1, 0, TENON_ALIAS_MAY, 0}};
  GeluGradArgsOf<T> args_;
};

// (dY, X) -> dX, and the sums over its rows [1, columns].
template <class T>
class GeluGradSumKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims x = query.output(0).dims(), sum = query.output(1).dims();
    if (x.size() != 2 || sum.size() != 2 || sum[0] != 1 || sum[1] != x[1])
      return reason.No("The sum of ", x, " is ", sum, "; this kernel sums the rows of a matrix.");
    return IsOf<T>(query, 0, reason) && IsOf<T>(query, 1, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.approximate = IsApproximate(query, "d.approximate");
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.rows = args.output(0).dim(0), args_.columns = args.output(0).dim(1);
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines_of<T>().gelu_grad_workspace(args_)));
    result.Aliases(kInPlace, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GeluGradArgsOf<T> a = args_;
    a.dy = call.in<T>(0), a.x = call.in<T>(1), a.dx = call.out<T>(0), a.column_sums = call.out<T>(1);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().gelu_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {1, 0, TENON_ALIAS_MAY, 0}};
  GeluGradArgsOf<T> args_;
};

bool OneRow(const sdk::Match& match, sdk::Reason& reason) {
  const sdk::Dims d = match["d"].dims(), s = match["s"].dims();
  return (d.size() == 2 && s.size() == 2 && s[0] == 1 && s[1] == d[1]) ||
         reason.No("The sum of ", d, " is ", s, "; the fused operator sums the rows of a matrix.");
}

}  // namespace

void AddGeluKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, Traits(TENON_TRAIT_ELEMENTWISE)};
  AddOfBoth<GeluKernel>(kernels, "", "Gelu", "gelu_bf16", options);
  AddOfBoth<GeluGradKernel>(kernels, "tenon", "GeluGrad", "gelu_grad_bf16", options);
  AddOfBoth<GeluGradSumKernel>(kernels, kDomain, kGeluGradSum, "gelu_grad_sum_bf16");
}

void AddGeluFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("gelu_grad_sum",
                                    "pattern(%dy, %x) { %d = tenon::GeluGrad(%dy, %x) %s = ReduceSum(%d, _) "
                                    "{keepdims=1} return %d, %s }",
                                    kDomain, kGeluGradSum, kDeviceKind)
                      .AfterAutodiff()
                      .Match<&OneRow>());
}

}  // namespace tenon::cpu
