// Losses of domain tenon that compare values: squared, absolute, smooth, binary cross entropy; and their gradients.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

struct LossName {
  std::string_view forward, backward;
  ElementLoss loss;
};
constexpr LossName kLosses[] = {
    {"MeanSquaredErrorLoss", "MeanSquaredErrorLossGrad", ElementLoss::kSquared},
    {"L1Loss", "L1LossGrad", ElementLoss::kAbsolute},
    {"SmoothL1Loss", "SmoothL1LossGrad", ElementLoss::kSmooth},
    {"BinaryCrossEntropyWithLogitsLoss", "BinaryCrossEntropyWithLogitsLossGrad", ElementLoss::kLogits}};

// What the attributes say.
struct LossOptions {
  ElementLoss loss = ElementLoss::kSquared;
  bool each = false, mean = false;  // reduction none, mean
  float beta = 1;
};

LossOptions OptionsOf(const sdk::Query& query) {
  LossOptions options;
  for (const LossName& name : kLosses)
    if (name.forward == query.op_type() || name.backward == query.op_type()) options.loss = name.loss;
  const std::string_view reduction = query.attributes().String("reduction", "mean");
  options.each = reduction == "none";
  options.mean = reduction == "mean";
  if (!options.each && !options.mean && reduction != "sum")
    throw sdk::Failure(TENON_INVALID_ARGUMENT, "reduction is '", reduction, "'; it can be none, sum or mean.");
  options.beta = static_cast<float>(query.attributes().Float("beta", 1));
  return options;
}

bool SupportsLoss(const sdk::Query& query, uint32_t pos_weight, sdk::Reason& reason) {
  if (query.has_input(pos_weight)) return reason.No("There is a pos_weight; this kernel takes none.");
  return AllF32(query, reason);
}

class LossKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsLoss(query, 2, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    options_ = OptionsOf(query);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.input(0).elements();
    blocks_ = (count_ + kLossBlock - 1) / kLossBlock;
    SetThreads(args);
    if (!options_.each) result.Workspace(static_cast<uint64_t>(blocks_ + 16) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ElementLossArgs a;
    a.loss = options_.loss, a.count = count_, a.beta = options_.beta;
    a.x = call.in<float>(0), a.t = call.in<float>(1);
    if (options_.each)
      a.out = call.out<float>(0);
    else
      a.sums = call.workspace<float>();
    KernelPool pool(host(), error, threads_);
    routines().element_loss(a, pool.parallel());
    if (options_.each) return pool.code();
    double sum = 0;
    for (int64_t k = 0; k < blocks_; ++k) sum += static_cast<double>(a.sums[k]);
    *call.out<float>(0) = static_cast<float>(options_.mean ? sum / static_cast<double>(count_) : sum);
    return pool.code();
  }

 private:
  LossOptions options_;
  int64_t count_ = 0, blocks_ = 0;
};

class LossGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsLoss(query, 3, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    options_ = OptionsOf(query);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.input(1).elements();
    SetThreads(args);
    result.Aliases(kInPlace, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ElementLossGradArgs a;
    a.loss = options_.loss, a.count = count_, a.beta = options_.beta;
    a.x = call.in<float>(1), a.t = call.in<float>(2), a.dx = call.out<float>(0);
    if (options_.each)
      a.dloss = call.in<float>(0);
    else
      a.scale = options_.mean ? *call.in<float>(0) / static_cast<float>(count_) : *call.in<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().element_loss_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[] = {{1, 0, TENON_ALIAS_MAY, 0}, {2, 0, TENON_ALIAS_MAY, 0}};
  LossOptions options_;
  int64_t count_ = 0;
};

}  // namespace

void AddElementLossKernels(KernelList& kernels) {
  for (const LossName& name : kLosses) {
    kernels.push_back(Def<LossKernel>("tenon", name.forward, "element_loss"));
    kernels.push_back(Def<LossGradKernel>("tenon", name.backward, "element_loss_grad"));
  }
}

}  // namespace tenon::cpu
