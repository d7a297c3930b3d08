// ClipFactor: the joint norm of all gradients, and what they are multiplied by to keep it below a limit.
#include <algorithm>
#include <cmath>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class ClipFactorKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    limit_ = query.attributes().Float("max_norm", 1);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    sizes_.clear();
    int64_t sums = 0;
    for (uint32_t i = 0; i < args.input_count(); ++i) {
      sizes_.push_back(args.input(i).elements());
      sums = std::max(sums, SquaresSums(sizes_.back()));
    }
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(sums) * sizeof(double));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    double squares = 0;
    for (uint32_t i = 0; i < sizes_.size(); ++i)
      squares += routines().sum_of_squares({sizes_[i], call.in<float>(i), call.workspace<double>()}, pool.parallel());
    const double norm = std::sqrt(squares);
    if (call.has_output(0)) *call.out<float>(0) = static_cast<float>(limit_ / (norm > limit_ ? norm : limit_));
    if (call.has_output(1)) *call.out<float>(1) = static_cast<float>(norm);
    return pool.code();
  }

 private:
  double limit_ = 1;
  std::vector<int64_t> sizes_;
};

}  // namespace

void AddClipFactorKernels(KernelList& kernels) {
  kernels.push_back(Def<ClipFactorKernel>("tenon", "ClipFactor", "clip_factor"));
}

}  // namespace tenon::cpu
