// MatMul of matrices and of equal batches of matrices; a matrix on the right serves every batch.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class MatMulKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims a = query.input(0).dims(), b = query.input(1).dims();
    if (a.size() < 2 || b.size() < 2) return reason.No("An operand is a vector; this kernel takes matrices.");
    if (b.size() != 2 && !SameBatches(a, b)) return reason.No("Batches ", a, " and ", b, " differ.");
    return AllF32(query, reason);
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims a = args.input(0).dims(), b = args.input(1).dims();
    const uint32_t ra = a.size(), rb = b.size();
    args_ = {};
    args_.m = a[ra - 2], args_.k = a[ra - 1], args_.n = b[rb - 1];
    args_.a_row = args_.k, args_.b_row = args_.n, args_.c_row = args_.n;
    batches_ = 1;
    for (uint32_t axis = 0; axis + 2 < ra; ++axis) batches_ *= a[axis];
    if (rb == 2) {  // all rows of all batches are one matrix
      args_.m *= batches_;
      batches_ = 1;
    }
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines().gemm_workspace(args_, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    for (int64_t i = 0; i < batches_; ++i) {
      GemmArgs g = args_;
      g.a = call.in<float>(0) + i * g.m * g.k;
      g.b = call.in<float>(1) + i * g.k * g.n;
      g.c = call.out<float>(0) + i * g.m * g.n;
      routines().gemm(g, call.workspace<float>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  static bool SameBatches(sdk::Dims a, sdk::Dims b) {
    if (a.size() != b.size()) return false;
    for (uint32_t axis = 0; axis + 2 < a.size(); ++axis)
      if (a[axis] != b[axis] || a[axis] < 0) return false;
    return true;
  }

  GemmArgs args_;
  int64_t batches_ = 1;
};

}  // namespace

void AddMatMulKernels(KernelList& kernels) { kernels.push_back(Def<MatMulKernel>("", "MatMul", "mat_mul")); }

}  // namespace tenon::cpu
