// SoftmaxCrossEntropyLoss and its gradient.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// Scores [N, C] and labels [N]; class weights are left to the reference.
bool SupportsLoss(const sdk::Query& query, uint32_t scores, uint32_t labels, uint32_t weights, sdk::Reason& reason) {
  const uint32_t dtype = query.input(scores).dtype(), label = query.input(labels).dtype();
  if (dtype != TENON_DTYPE_F32) return reason.No("The scores are ", sdk::DTypeName(dtype), "; this kernel takes f32.");
  if (label != TENON_DTYPE_I64 && label != TENON_DTYPE_I32)
    return reason.No("The labels are ", sdk::DTypeName(label), "; this kernel takes i32 and i64.");
  if (query.input(scores).rank() != 2)
    return reason.No("The scores have rank ", query.input(scores).rank(), "; this kernel takes 2.");
  if (query.has_input(weights)) return reason.No("There are class weights; this kernel takes none.");
  return true;
}

enum class Reduction { kNone, kSum, kMean };
Reduction ReductionOf(const sdk::Attributes& attributes) {
  const std::string_view text = attributes.String("reduction", "mean");
  if (text == "none") return Reduction::kNone;
  if (text == "sum") return Reduction::kSum;
  if (text == "mean") return Reduction::kMean;
  throw sdk::Failure(TENON_INVALID_ARGUMENT, "reduction is '", text, "'; it can be none, sum or mean.");
}

struct LossOptions {
  Reduction reduction = Reduction::kMean;
  bool use_ignore = false;
  int64_t ignore_index = -1;
};
LossOptions ReadLoss(const sdk::Attributes& attributes) {
  LossOptions o;
  o.reduction = ReductionOf(attributes);
  o.use_ignore = attributes.Has("ignore_index");
  o.ignore_index = attributes.Int("ignore_index", -1);
  return o;
}

// Checks every label and counts those that are not ignored.
int32_t CheckLabels(const sdk::Tensor& labels, const LossOptions& o, int64_t classes, int64_t& counted,
                    sdk::Error& error) {
  const bool wide = labels.dtype() == TENON_DTYPE_I64;
  const int64_t rows = labels.elements();
  counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t label = wide ? labels.data<const int64_t>()[i] : labels.data<const int32_t>()[i];
    if (o.use_ignore && label == o.ignore_index) continue;
    ++counted;
    if (label < 0 || label >= classes) {
      return error.Fail(TENON_INVALID_ARGUMENT, "The label of sample ", i, " is ", label, "; with ", classes,
                        " classes it must be 0 to ", classes - 1, ".");
    }
  }
  return TENON_OK;
}

class CrossEntropyLoss : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsLoss(query, 0, 1, 2, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    options_ = ReadLoss(query.attributes());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    rows_ = args.input(0).dim(0), classes_ = args.input(0).dim(1);
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(rows_ + 16) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    int64_t counted = 0;
    const sdk::Tensor labels = call.input(1);
    const int32_t code = CheckLabels(labels, options_, classes_, counted, error);
    if (code != TENON_OK) return code;
    CrossEntropyArgs a;
    a.rows = rows_, a.columns = classes_, a.scores = call.in<float>(0);
    if (labels.dtype() == TENON_DTYPE_I64)
      a.labels64 = labels.data<const int64_t>();
    else
      a.labels32 = labels.data<const int32_t>();
    a.use_ignore = options_.use_ignore, a.ignore_index = options_.ignore_index;
    const bool each = options_.reduction == Reduction::kNone;
    a.row_loss = each && call.has_output(0) ? call.out<float>(0) : call.workspace<float>();
    a.log_prob = call.has_output(1) ? call.out<float>(1) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().cross_entropy(a, pool.parallel());
    if (!each && call.has_output(0)) {
      float sum = 0;
      for (int64_t i = 0; i < rows_; ++i) sum += a.row_loss[i];
      *call.out<float>(0) = options_.reduction == Reduction::kMean ? sum / static_cast<float>(counted) : sum;
    }
    return pool.code();
  }

 private:
  LossOptions options_;
  int64_t rows_ = 0, classes_ = 0;
};

// tenon.SoftmaxCrossEntropyLossGrad(dloss, log_prob, labels) -> dscores.
class CrossEntropyLossGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsLoss(query, 1, 2, 3, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    options_ = ReadLoss(query.attributes());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    rows_ = args.input(1).dim(0), classes_ = args.input(1).dim(1);
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    int64_t counted = 0;
    const sdk::Tensor labels = call.input(2);
    const int32_t code = CheckLabels(labels, options_, classes_, counted, error);
    if (code != TENON_OK) return code;
    CrossEntropyGradArgs a;
    a.rows = rows_, a.columns = classes_, a.log_prob = call.in<float>(1), a.d_scores = call.out<float>(0);
    if (labels.dtype() == TENON_DTYPE_I64)
      a.labels64 = labels.data<const int64_t>();
    else
      a.labels32 = labels.data<const int32_t>();
    a.use_ignore = options_.use_ignore, a.ignore_index = options_.ignore_index;
    const float* dloss = call.in<float>(0);
    if (options_.reduction == Reduction::kNone)
      a.row_scale = dloss;
    else
      a.scale = options_.reduction == Reduction::kMean ? *dloss / static_cast<float>(counted) : *dloss;
    KernelPool pool(host(), error, threads_);
    routines().cross_entropy_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  LossOptions options_;
  int64_t rows_ = 0, classes_ = 0;
};

}  // namespace

void AddCrossEntropyKernels(KernelList& kernels) {
  kernels.push_back(Def<CrossEntropyLoss>("", "SoftmaxCrossEntropyLoss", "cross_entropy"));
  kernels.push_back(Def<CrossEntropyLossGrad>("tenon", "SoftmaxCrossEntropyLossGrad", "cross_entropy_grad"));
}

}  // namespace tenon::cpu
