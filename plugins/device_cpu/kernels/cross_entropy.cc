// SoftmaxCrossEntropyLoss and SmoothedCrossEntropyLoss, with or without class weights, and their gradients.
#include "plugins/device_cpu/kernels/inner_kernel.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

bool SupportsLoss(const sdk::Query& query, uint32_t scores, uint32_t labels, uint32_t weights, sdk::Reason& reason) {
  const uint32_t label = query.input(labels).dtype();
  if (label != TENON_DTYPE_I64 && label != TENON_DTYPE_I32)
    return reason.No("The labels are ", sdk::DTypeName(label), "; this kernel takes i32 and i64.");
  return IsOf<float>(query, scores, reason) && (!query.has_input(weights) || IsOf<float>(query, weights, reason));
}

enum class Reduction { kNone, kSum, kMean };
Reduction ReductionOf(const sdk::Attributes& attributes) {
  const std::string_view text = attributes.String("reduction", "mean");
  if (text == "none") return Reduction::kNone;
  if (text == "sum") return Reduction::kSum;
  if (text == "mean") return Reduction::kMean;
  throw sdk::Failure(TENON_INVALID_ARGUMENT, "reduction is '", text, "'; it can be none, sum or mean.");
}

// What loss and gradient share. Args are those of the routine; kScores is the input with one number a class (scores, or their
// log probabilities), labels and weights are the two behind it.
template <class Args, uint32_t kScores>
class CrossEntropyKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsLoss(query, kScores, kScores + 1, kScores + 2, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes attributes = query.attributes();
    reduction_ = ReductionOf(attributes);
    use_ignore_ = attributes.Has("ignore_index");
    ignore_index_ = attributes.Int("ignore_index", -1);
    const bool smoothed = query.op_type().starts_with("Smoothed");
    args_.shares.smoothing = smoothed ? static_cast<float>(attributes.Float("label_smoothing", 0.1)) : 0.0f;
    return TENON_OK;
  }

 protected:
  // The labels come first in the workspace, then, if wanted, a loss for each position.
  void PlanShapes(const sdk::PlanArgs& args, sdk::PlanResult& result, bool loss_of_each) {
    const sdk::Dims scores = args.input(kScores).dims();
    args_.images = scores[0], args_.classes = scores[1], args_.area = 1;
    for (uint32_t axis = 2; axis < scores.size(); ++axis) args_.area *= scores[axis];
    label_bytes_ = RoundUp(static_cast<uint64_t>(Positions()) * sizeof(int64_t));
    SetThreads(args);
    result.Workspace(label_bytes_ + (loss_of_each ? static_cast<uint64_t>(Positions()) * sizeof(float) : 0));
  }
  int64_t Positions() const { return args_.images * args_.area; }

  // Checked labels, -1 where they are ignored, and the sum of the weights of the others.
  int32_t ReadLabels(const sdk::Call& call, Args& a, double& weight_sum, sdk::Error& error) const {
    const sdk::Tensor labels = call.input(kScores + 1);
    int64_t* const to = call.workspace<int64_t>();
    if (call.has_input(kScores + 2)) a.shares.weights = call.in<float>(kScores + 2);
    a.labels = to;
    const bool wide = labels.dtype() == TENON_DTYPE_I64;
    weight_sum = 0;
    for (int64_t i = 0; i < Positions(); ++i) {
      const int64_t label = wide ? labels.data<const int64_t>()[i] : labels.data<const int32_t>()[i];
      if (use_ignore_ && label == ignore_index_) {
        to[i] = -1;
        continue;
      }
      if (label < 0 || label >= a.classes) {
        const std::string mend =
            label < 0 ? " ignore_index: " + std::to_string(label) + " leaves such labels out." : "";
        return error.Fail(TENON_INVALID_ARGUMENT, "The label of sample ", i / a.area, " is ", label, "; with ",
                          a.classes, " classes it must be 0 to ", a.classes - 1, ".", mend);
      }
      to[i] = label;
      weight_sum += a.shares.weights != nullptr ? static_cast<double>(a.shares.weights[label]) : 1.0;
    }
    return TENON_OK;
  }

  Args args_;
  Reduction reduction_ = Reduction::kMean;
  uint64_t label_bytes_ = 0;

 private:
  bool use_ignore_ = false;
  int64_t ignore_index_ = -1;
};

// (scores, labels, weights) -> loss, log_prob.
class CrossEntropyLoss : public CrossEntropyKernel<CrossEntropyArgs, 0> {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanShapes(args, result, true);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CrossEntropyArgs a = args_;
    double weight_sum = 0;
    const int32_t code = ReadLabels(call, a, weight_sum, error);
    if (code != TENON_OK) return code;
    a.scores = call.in<float>(0);
    const bool each = reduction_ == Reduction::kNone && call.has_output(0);
    a.loss = each ? call.out<float>(0) : reinterpret_cast<float*>(call.workspace<char>() + label_bytes_);
    a.log_prob = call.has_output(1) ? call.out<float>(1) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().cross_entropy(a, pool.parallel());
    if (!each && call.has_output(0)) {
      double sum = 0;
      for (int64_t i = 0; i < Positions(); ++i) sum += static_cast<double>(a.loss[i]);
      *call.out<float>(0) = static_cast<float>(reduction_ == Reduction::kMean ? sum / weight_sum : sum);
    }
    return pool.code();
  }
};

// (dloss, log_prob, labels, weights) -> dscores.
class CrossEntropyLossGrad : public CrossEntropyKernel<CrossEntropyGradArgs, 1> {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanShapes(args, result, false);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CrossEntropyGradArgs a = args_;
    double weight_sum = 0;
    const int32_t code = ReadLabels(call, a, weight_sum, error);
    if (code != TENON_OK) return code;
    a.log_prob = call.in<float>(1), a.d_scores = call.out<float>(0);
    const float* dloss = call.in<float>(0);
    if (reduction_ == Reduction::kNone)
      a.position_scale = dloss;
    else
      a.scale = reduction_ == Reduction::kMean ? static_cast<float>(static_cast<double>(*dloss) / weight_sum) : *dloss;
    KernelPool pool(host(), error, threads_);
    routines().cross_entropy_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {1, 0, TENON_ALIAS_MAY, 0};
};

}  // namespace

void AddCrossEntropyKernels(KernelList& kernels) {
  kernels.push_back(Def<CrossEntropyLoss>("", "SoftmaxCrossEntropyLoss", "cross_entropy"));
  kernels.push_back(Def<CrossEntropyLossGrad>("tenon", "SoftmaxCrossEntropyLossGrad", "cross_entropy_grad"));
  kernels.push_back(Def<CrossEntropyLoss>("tenon", "SmoothedCrossEntropyLoss", "smoothed_cross_entropy"));
  kernels.push_back(Def<CrossEntropyLossGrad>("tenon", "SmoothedCrossEntropyLossGrad", "smoothed_cross_entropy_grad"));
}

}  // namespace tenon::cpu
