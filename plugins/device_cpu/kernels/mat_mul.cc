// MatMul of matrices and of equal batches of matrices; a matrix on the right serves every batch.
#include "plugins/device_cpu/kernels/gemm_plan.h"

namespace tenon::cpu {
namespace {

class MatMulKernel : public ProductKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsBatches(query, reason) && Supported(query, reason);
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    ReadSplit(query);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = PlanMatMul<GemmArgs>(args.input(0).dims(), args.input(1).dims(), batches_);
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(ProductWorkspace(args_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    for (int64_t i = 0; i < batches_; ++i) {
      GemmArgs g = args_;
      g.a = call.in<float>(0) + i * g.m * g.k;
      g.b = call.in<float>(1) + i * g.k * g.n;
      g.c = call.out<float>(0) + i * g.m * g.n;
      Multiply(g, call.workspace<float>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  GemmArgs args_;
  int64_t batches_ = 1;
};

}  // namespace

void AddMatMulKernels(KernelList& kernels) { kernels.push_back(Def<MatMulKernel>("", "MatMul", "mat_mul")); }
void AddSplitMatMulKernels(KernelList& kernels) {
  kernels.push_back(Def<MatMulKernel>("", "MatMul", "mat_mul_split", kMathHigh));
}

}  // namespace tenon::cpu
