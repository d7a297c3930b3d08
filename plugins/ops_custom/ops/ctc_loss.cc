// org.tenon.custom.CTCLoss(LogProbs, Targets, InputLengths, TargetLengths; blank, reduction, zero_infinity) -> Y.
// LogProbs [time, batch, classes], Targets [batch, most labels] padded at the end, both lengths [batch]. The loss of a sample
// is -log of the probability that its steps spell its labels, where a step gives a class or the blank, and equal neighbours
// are one. Y is all losses (none), their sum, or the mean of losses divided by the number of labels. With zero_infinity a
// sample that cannot spell its labels counts as 0. The gradient is that of LogProbs themselves: -P(class at the step | labels).
// Source: Graves et al. 2006, eq. 5 to 15; torch.nn.functional.ctc_loss.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

struct CtcArgs {
  int64_t time = 0, batch = 0, classes = 0, labels = 0, blank = 0;
  bool zero_infinity = false;
  const float* log_probs = nullptr;
  const int64_t *targets = nullptr, *input_lengths = nullptr, *target_lengths = nullptr;  // checked
  float* loss = nullptr;                                                                  // forward: of each sample
  float* alpha = nullptr;  // forward: [batch, time, states], log of the probability of each beginning
  const float *saved = nullptr, *saved_loss = nullptr;  // backward: what alpha and loss were
  const float* dy = nullptr;                            // backward: of each sample, or of all
  bool dy_of_samples = false, divide_by_labels = false;
  float scale = 1;  // backward: factor of dy
  float* d_log_probs = nullptr;
  int64_t states() const { return 2 * labels + 1; }
};
struct CtcLoops {
  void (*forward)(const CtcArgs&, float* workspace, Range samples);
  void (*backward)(const CtcArgs&, float* workspace, Range samples);
};
// States with two impossible ones before the first and behind the last.
inline int64_t CtcPadded(const CtcArgs& a) { return a.states() + 4; }
// Floats of workspace of one thread: five rows of states.
inline int64_t CtcWorkspace(const CtcArgs& a) { return 5 * CtcPadded(a); }

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

// One sample: labels with a blank before, between and behind them.
struct Sample {
  int64_t number, steps, states;
  const int64_t* labels;
};
TENON_INLINE Sample SampleOf(const CtcArgs& a, int64_t n) {
  return {n, a.input_lengths[n], 2 * a.target_lengths[n] + 1, a.targets + n * a.labels};
}
TENON_INLINE int64_t ClassOf(const CtcArgs& a, const Sample& sample, int64_t state) {
  return state % 2 == 0 ? a.blank : sample.labels[state / 2];
}
TENON_INLINE const float* StepOf(const CtcArgs& a, const Sample& sample, int64_t t) {
  return a.log_probs + (t * a.batch + sample.number) * a.classes;
}

// skip[s] = 0 where state s may follow state s - 2 directly, else -infinity.
TENON_INLINE void FindSkips(const Sample& sample, float* skip) {
  for (int64_t s = 0; s < sample.states; ++s) {
    const bool can = s % 2 == 1 && s >= 3 && sample.labels[s / 2] != sample.labels[s / 2 - 1];
    skip[s] = can || s == 1 ? 0.0f : -kInfinity;
  }
}
TENON_INLINE void Emissions(const CtcArgs& a, const Sample& sample, int64_t t, float* out) {
  const float* step = StepOf(a, sample, t);
  for (int64_t s = 0; s < sample.states; ++s) out[s] = step[ClassOf(a, sample, s)];
}

// log(exp(x) + exp(y) + exp(z))
TENON_INLINE float LogAdd(float x, float y, float z) {
  float top = x > y ? x : y;
  top = top > z ? top : z;
  const float shift = top == -kInfinity ? 0.0f : top;
  const float sum = Exp(x - shift) + Exp(y - shift) + Exp(z - shift);
  return top == -kInfinity ? -kInfinity : shift + Log(sum);
}

void ForwardSample(const CtcArgs& a, int64_t n, float* workspace) {
  const Sample sample = SampleOf(a, n);
  const int64_t padded = CtcPadded(a);
  // before[s]: the step before; before[-2] and before[-1] are impossible.
  float *skip = workspace, *emission = skip + padded, *before = emission + padded + 2;
  FindSkips(sample, skip);
  Fill(before - 2, padded, -kInfinity);
  float* alpha = a.alpha + n * a.time * a.states();
  for (int64_t t = 0; t < sample.steps; ++t, alpha += a.states()) {
    Emissions(a, sample, t, emission);
    if (t == 0) {
      Fill(alpha, sample.states, -kInfinity);
      alpha[0] = emission[0];
      if (sample.states > 1) alpha[1] = emission[1];
    } else {
      TENON_SIMD for (int64_t s = 0; s < sample.states; ++s) {
        alpha[s] = LogAdd(before[s], before[s - 1], before[s - 2] + skip[s]) + emission[s];
      }
    }
    TENON_SIMD for (int64_t s = 0; s < sample.states; ++s) before[s] = alpha[s];
  }
  const float last = before[sample.states - 1];
  float loss = -(sample.states > 1 ? LogAdd(last, before[sample.states - 2], -kInfinity) : last);
  if (sample.steps == 0) loss = sample.states == 1 ? 0.0f : kInfinity;
  a.loss[n] = loss;
}

// dLogProbs[t][class] = -dY sum over the states s of that class of exp(alpha[t][s] + beta[t][s] + loss), where beta is the
// log of the probability of what follows step t from state s.
void BackwardSample(const CtcArgs& a, int64_t n, float* workspace) {
  const Sample sample = SampleOf(a, n);
  const int64_t padded = CtcPadded(a);
  for (int64_t t = 0; t < a.time; ++t) Fill(a.d_log_probs + (t * a.batch + n) * a.classes, a.classes, 0.0f);
  float factor = a.scale * a.dy[a.dy_of_samples ? n : 0];
  if (a.divide_by_labels) factor /= static_cast<float>(Max(1, a.target_lengths[n]));
  const float loss = a.saved_loss[n];
  if (a.zero_infinity && loss == kInfinity) return;
  // after[s]: emission and beta of the step behind; after[states] and after[states + 1] are impossible.
  float *skip = workspace, *emission = skip + padded, *after = emission + padded, *beta = after + padded,
        *share = beta + padded;
  Fill(skip, padded, -kInfinity);
  FindSkips(sample, skip);
  Fill(after, padded, -kInfinity);
  for (int64_t t = sample.steps - 1; t >= 0; --t) {
    const float* alpha = a.saved + (n * a.time + t) * a.states();
    if (t == sample.steps - 1) {
      Fill(beta, sample.states, -kInfinity);
      beta[sample.states - 1] = 0;
      if (sample.states > 1) beta[sample.states - 2] = 0;
    } else {
      TENON_SIMD for (int64_t s = 0; s < sample.states; ++s) {
        beta[s] = LogAdd(after[s], after[s + 1], after[s + 2] + skip[s + 2]);
      }
    }
    Emissions(a, sample, t, emission);
    TENON_SIMD for (int64_t s = 0; s < sample.states; ++s) {
      share[s] = factor * Exp(alpha[s] + beta[s] + loss);
      after[s] = beta[s] + emission[s];
    }
    float* d = a.d_log_probs + (t * a.batch + n) * a.classes;
    for (int64_t s = 0; s < sample.states; ++s) d[ClassOf(a, sample, s)] -= share[s];
  }
}

void Forward(const CtcArgs& a, float* workspace, Range samples) {
  for (int64_t n = samples.begin; n < samples.end; ++n) ForwardSample(a, n, workspace);
}
void Backward(const CtcArgs& a, float* workspace, Range samples) {
  for (int64_t n = samples.begin; n < samples.end; ++n) BackwardSample(a, n, workspace);
}

}  // namespace

extern const CtcLoops kCtc;
const CtcLoops kCtc = {&Forward, &Backward};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(CtcLoops, kCtc);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("LogProbs", 0, kF32), sdk::Param("Targets", 0, kI64),
                                       sdk::Param("InputLengths", 0, kI64), sdk::Param("TargetLengths", 0, kI64)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32), sdk::Param("Alpha", TENON_PARAM_SAVED, kF32),
                                        sdk::Param("Losses", TENON_PARAM_SAVED, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32),           sdk::Param("Alpha", 0, kF32),
                                           sdk::Param("Losses", 0, kF32),       sdk::Param("LogProbs", 0, kF32),
                                           sdk::Param("Targets", 0, kI64),      sdk::Param("InputLengths", 0, kI64),
                                           sdk::Param("TargetLengths", 0, kI64)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dLogProbs", 0, kF32)};
constexpr tenon_attribute kBlank = sdk::IntDefault(0);
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("blank", TENON_ATTRIBUTE_INT, 0, &kBlank, "the class that is no label"),
    sdk::AttributeDef("reduction", TENON_ATTRIBUTE_TEXT, 0, &kReductionMean, "none, sum or mean"),
    sdk::AttributeDef("zero_infinity", TENON_ATTRIBUTE_FLAG, 0, nullptr, "samples of infinite loss count as 0"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromSaved(0), sdk::FromSaved(1),
                                              sdk::FromInput(0),      sdk::FromInput(1), sdk::FromInput(2),
                                              sdk::FromInput(3)};
constexpr uint32_t kGradOf[] = {0};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "CTCLossGrad", 1, kSources, kGradOf);

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireRank(node, 0, "LogProbs [time, batch, classes]", 3);
    RequireRank(node, 1, "Targets [batch, labels]", 2);
    RequireRank(node, 2, "InputLengths [batch]", 1);
    RequireRank(node, 3, "TargetLengths [batch]", 1);
    const tenon_dim batch = node.InputDim(0, 1), classes = node.InputDim(0, 2);
    node.RequireEqual(batch, node.InputDim(1, 0), "LogProbs and Targets need the same batch.");
    node.RequireEqual(batch, node.InputDim(2, 0), "LogProbs and InputLengths need the same batch.");
    node.RequireEqual(batch, node.InputDim(3, 0), "LogProbs and TargetLengths need the same batch.");
    const int64_t blank = node.Int("blank", 0);
    if (blank < 0 || (sdk::IsKnown(classes) && blank >= classes.value))
      node.Fail(TENON_INVALID_ARGUMENT, "Attribute blank is ", blank, "; LogProbs has ", classes.value, " classes.");
    if (ReductionOf(TextOf(node, "reduction", "mean")) == Reduction::kNone)
      node.SetOutput(0, TENON_DTYPE_F32, {batch});
    else
      node.SetOutput(0, TENON_DTYPE_F32, {});
    const tenon_dim states = node.Add(node.Mul(node.InputDim(1, 1), sdk::Known(2)), sdk::Known(1));
    if (node.output_count() > 1) node.SetOutput(1, TENON_DTYPE_F32, {batch, node.InputDim(0, 0), states});
    if (node.output_count() > 2) node.SetOutput(2, TENON_DTYPE_F32, {batch});
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "CTCLoss", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class CtcKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    args_.blank = a.Int("blank", 0);
    args_.zero_infinity = a.Flag("zero_infinity", false);
    reduction_ = ReductionOf(a.String("reduction", "mean"));
    return TENON_OK;
  }

 protected:
  // `log_probs` is the number of LogProbs among the inputs.
  void SetShape(const sdk::PlanArgs& args, uint32_t log_probs) {
    SetThreads(args);
    const sdk::Value x = args.input(log_probs);
    args_.time = x.dim(0), args_.batch = x.dim(1), args_.classes = x.dim(2);
    args_.labels = args.input(log_probs + 1).dim(1);
  }
  void SetInputs(const sdk::Call& call, uint32_t log_probs, CtcArgs& args) const {
    args.log_probs = call.in<float>(log_probs), args.targets = call.in<int64_t>(log_probs + 1);
    args.input_lengths = call.in<int64_t>(log_probs + 2), args.target_lengths = call.in<int64_t>(log_probs + 3);
  }
  int32_t Check(const CtcArgs& a, sdk::Error& error) const {
    for (int64_t n = 0; n < a.batch; ++n) {
      if (a.input_lengths[n] < 0 || a.input_lengths[n] > a.time)
        return error.Fail(TENON_OUT_OF_RANGE, "InputLengths[", n, "] is ", a.input_lengths[n], "; LogProbs has ",
                          a.time, " steps.");
      if (a.target_lengths[n] < 0 || a.target_lengths[n] > a.labels)
        return error.Fail(TENON_OUT_OF_RANGE, "TargetLengths[", n, "] is ", a.target_lengths[n], "; Targets has ",
                          a.labels, " labels.");
      for (int64_t s = 0; s < a.target_lengths[n]; ++s) {
        const int64_t label = a.targets[n * a.labels + s];
        if (label < 0 || label >= a.classes)
          return error.Fail(TENON_OUT_OF_RANGE, "Targets[", n, ", ", s, "] is ", label, "; LogProbs has ", a.classes,
                            " classes.");
        if (label == a.blank)
          return error.Fail(TENON_OUT_OF_RANGE, "Targets[", n, ", ", s, "] is ", label, ", which is the blank.");
      }
    }
    return TENON_OK;
  }
  double Nanoseconds() const { return 5.0 * static_cast<double>(args_.time * args_.states()); }  // of a sample
  uint64_t ThreadFloats() const { return static_cast<uint64_t>(CtcWorkspace(args_) + 15) / 16 * 16; }

  CtcArgs args_;
  Reduction reduction_ = Reduction::kMean;
};

class Forward : public CtcKernel {
 public:
  // Workspace: the losses and the states of every step, where they are not saved, then rows of each thread.
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 0);
    saves_ = args.has_output(1) && args.has_output(2);
    const auto kept = static_cast<uint64_t>(args_.batch * (1 + args_.time * args_.states()));
    result.Workspace((threads() * ThreadFloats() + (saves_ ? 0 : kept)) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CtcArgs args = args_;
    SetInputs(call, 0, args);
    int32_t code = Check(args, error);
    if (code != TENON_OK) return code;
    float* const rows = call.workspace<float>();
    float* const kept = rows + threads() * ThreadFloats();
    args.loss = saves_ ? call.out<float>(2) : kept;
    args.alpha = saves_ ? call.out<float>(1) : kept + args.batch;
    const auto forward = kCtc(isa()).forward;
    code = ForEach(error, args.batch, Nanoseconds(),
                   [&](Range samples, uint32_t worker) { forward(args, rows + worker * ThreadFloats(), samples); });
    if (code == TENON_OK) Reduce(args, call.out<float>(0));
    return code;
  }

 private:
  void Reduce(const CtcArgs& a, float* y) const {
    double sum = 0;
    for (int64_t n = 0; n < a.batch; ++n) {
      const bool counts = !a.zero_infinity || a.loss[n] < __builtin_inff() || a.loss[n] != a.loss[n];
      const double loss = counts ? static_cast<double>(a.loss[n]) : 0;
      if (reduction_ == Reduction::kNone) y[n] = static_cast<float>(loss);
      const int64_t labels = a.target_lengths[n] > 0 ? a.target_lengths[n] : 1;
      sum += reduction_ == Reduction::kMean ? loss / static_cast<double>(labels) : loss;
    }
    if (reduction_ == Reduction::kSum) *y = static_cast<float>(sum);
    if (reduction_ == Reduction::kMean) *y = static_cast<float>(sum / static_cast<double>(a.batch));
  }

  bool saves_ = false;
};

class Backward : public CtcKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 3);
    args_.dy_of_samples = reduction_ == Reduction::kNone;
    args_.divide_by_labels = reduction_ == Reduction::kMean;
    if (reduction_ == Reduction::kMean) args_.scale = 1.0f / static_cast<float>(args_.batch);
    result.Workspace(threads() * ThreadFloats() * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CtcArgs args = args_;
    SetInputs(call, 3, args);
    const int32_t code = Check(args, error);
    if (code != TENON_OK) return code;
    args.dy = call.in<float>(0), args.saved = call.in<float>(1), args.saved_loss = call.in<float>(2);
    args.d_log_probs = call.out<float>(0);
    const auto backward = kCtc(isa()).backward;
    return ForEach(error, args.batch, 1.5 * Nanoseconds(), [&](Range samples, uint32_t worker) {
      backward(args, call.workspace<float>() + worker * ThreadFloats(), samples);
    });
  }
};

}  // namespace

void AddCtcLoss(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "CTCLossGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("CTCLoss", "ctc_loss");
  library.AddKernel<Backward>("CTCLossGrad", "ctc_loss_grad");
}

}  // namespace tenon::ops
#endif
