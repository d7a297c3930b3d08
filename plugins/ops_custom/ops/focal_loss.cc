// org.tenon.custom.SigmoidFocalLoss(X, Targets; alpha, gamma, reduction) -> Y. Of each score x with its target t in [0, 1]:
//   p = sigmoid(x),  q = p (1 - t) + (1 - p) t,  loss = a q^gamma (-t log(p) - (1 - t) log(1 - p)),
//   a = alpha t + (1 - alpha) (1 - t), or 1 when alpha is below 0.
// Y is all losses (none), their sum or their mean. Targets get no gradient.
// Source: Lin et al. 2017, "Focal Loss for Dense Object Detection", eq. 5; torchvision.ops.sigmoid_focal_loss.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

constexpr int64_t kFocalBlock = 4096;  // elements of a unit, which has a sum of its own

struct FocalArgs {
  const float* x = nullptr;
  const float* targets = nullptr;
  int64_t elements = 0;
  float alpha = 0, gamma = 0;
  float* loss = nullptr;      // forward: of each element, or null
  double* sums = nullptr;     // forward: of each block, or null
  const float* dy = nullptr;  // backward: of each element, or of all
  bool dy_of_elements = false;
  float scale = 1;  // backward: factor of dy
  float* dx = nullptr;
};
struct FocalLoops {
  void (*forward)(const FocalArgs&, Range blocks);
  void (*backward)(const FocalArgs&, Range blocks);
};

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

// The exponents that need no logarithm, and all others.
enum class Gamma { kZero, kTwo, kAny };

// q^gamma for q in [0, 1].
template <Gamma kGamma>
TENON_INLINE float Power(float q, float gamma) {
  if constexpr (kGamma == Gamma::kZero) return 1.0f;
  if constexpr (kGamma == Gamma::kTwo) return q * q;
  return Exp(gamma * Log(q < 1e-30f ? 1e-30f : q));
}
// gamma q^(gamma - 1)
template <Gamma kGamma>
TENON_INLINE float SlopeOfPower(float q, float gamma) {
  if constexpr (kGamma == Gamma::kZero) return 0.0f;
  if constexpr (kGamma == Gamma::kTwo) return 2.0f * q;
  return gamma * Exp((gamma - 1.0f) * Log(q < 1e-30f ? 1e-30f : q));
}

// What both directions need of one element; p and 1 - p are both exact near 0.
struct Element {
  float p, not_p, q, cross_entropy, weight;
};
TENON_INLINE Element ElementOf(float x, float t, float alpha) {
  const float e = Exp(x < 0.0f ? x : -x), r = 1.0f / (1.0f + e), small = e * r;
  Element out;
  out.p = x < 0.0f ? small : r;
  out.not_p = x < 0.0f ? r : small;
  out.q = out.p * (1.0f - t) + out.not_p * t;
  out.cross_entropy = (x < 0.0f ? 0.0f : x) - x * t + Log1p(e);
  out.weight = alpha < 0.0f ? 1.0f : alpha * t + (1.0f - alpha) * (1.0f - t);
  return out;
}

template <Gamma kGamma>
void Forward(const FocalArgs& a, Range blocks) {
  const float alpha = a.alpha, gamma = a.gamma;
  alignas(64) float own[kFocalBlock];
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const int64_t first = b * kFocalBlock, count = Min(kFocalBlock, a.elements - first);
    const float *x = a.x + first, *t = a.targets + first;
    float* loss = a.loss == nullptr ? own : a.loss + first;
    TENON_SIMD for (int64_t i = 0; i < count; ++i) {
      const Element e = ElementOf(x[i], t[i], alpha);
      loss[i] = e.weight * e.cross_entropy * Power<kGamma>(e.q, gamma);
    }
    if (a.sums == nullptr) continue;
    float sum = 0;
    TENON_SIMD_SUM(sum) for (int64_t i = 0; i < count; ++i) sum += loss[i];
    a.sums[b] = static_cast<double>(sum);
  }
}

template <Gamma kGamma>
void Backward(const FocalArgs& a, Range blocks) {
  const float alpha = a.alpha, gamma = a.gamma;
  alignas(64) float own[kFocalBlock];
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const int64_t first = b * kFocalBlock, count = Min(kFocalBlock, a.elements - first);
    const float *x = a.x + first, *t = a.targets + first, *dy = a.dy + first;
    float* dx = a.dx + first;
    if (!a.dy_of_elements) {
      Fill(own, count, a.dy[0] * a.scale);
      dy = own;
    }
    TENON_SIMD for (int64_t i = 0; i < count; ++i) {
      const Element e = ElementOf(x[i], t[i], alpha);
      const float slope_of_q = e.p * e.not_p * (1.0f - 2.0f * t[i]);
      const float slope =
          (e.p - t[i]) * Power<kGamma>(e.q, gamma) + e.cross_entropy * SlopeOfPower<kGamma>(e.q, gamma) * slope_of_q;
      dx[i] = dy[i] * e.weight * slope;
    }
  }
}

void ForwardAny(const FocalArgs& a, Range blocks) {
  if (a.gamma == 0.0f) return Forward<Gamma::kZero>(a, blocks);
  if (a.gamma == 2.0f) return Forward<Gamma::kTwo>(a, blocks);
  Forward<Gamma::kAny>(a, blocks);
}
void BackwardAny(const FocalArgs& a, Range blocks) {
  if (a.gamma == 0.0f) return Backward<Gamma::kZero>(a, blocks);
  if (a.gamma == 2.0f) return Backward<Gamma::kTwo>(a, blocks);
  Backward<Gamma::kAny>(a, blocks);
}

}  // namespace

extern const FocalLoops kFocal;
const FocalLoops kFocal = {&ForwardAny, &BackwardAny};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(FocalLoops, kFocal);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("X", 0, kF32), sdk::Param("Targets", 0, kF32)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32), sdk::Param("X", 0, kF32),
                                           sdk::Param("Targets", 0, kF32)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dX", 0, kF32)};
constexpr tenon_attribute kAlpha = sdk::FloatDefault(0.25), kGamma = sdk::FloatDefault(2);
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("alpha", TENON_ATTRIBUTE_FLOAT, 0, &kAlpha, "weight of targets that are 1; below 0: no weights"),
    sdk::AttributeDef("gamma", TENON_ATTRIBUTE_FLOAT, 0, &kGamma, "how much less easy elements count"),
    sdk::AttributeDef("reduction", TENON_ATTRIBUTE_TEXT, 0, &kReductionNone, "none, sum or mean"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0), sdk::FromInput(1)};
constexpr uint32_t kGradOf[] = {0};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "SigmoidFocalLossGrad", 1, kSources, kGradOf);

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireSameShape(node, 0, 1, "X", "Targets");
    const double alpha = node.Float("alpha", 0.25), gamma = node.Float("gamma", 2);
    if (!(alpha <= 1)) node.Fail(TENON_INVALID_ARGUMENT, "Attribute alpha is ", alpha, "; it can be at most 1.");
    if (!(gamma >= 0)) node.Fail(TENON_INVALID_ARGUMENT, "Attribute gamma is ", gamma, "; it must be at least 0.");
    if (ReductionOf(TextOf(node, "reduction", "none")) == Reduction::kNone)
      node.SameAsInput(0, 0);
    else
      node.SetOutput(0, TENON_DTYPE_F32, {});
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "SigmoidFocalLoss", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class FocalKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    args_.alpha = static_cast<float>(a.Float("alpha", 0.25));
    args_.gamma = static_cast<float>(a.Float("gamma", 2));
    reduction_ = ReductionOf(a.String("reduction", "none"));
    return TENON_OK;
  }

 protected:
  void SetShape(const sdk::PlanArgs& args, uint32_t x) {
    SetThreads(args);
    args_.elements = args.input(x).elements();
    blocks_ = (args_.elements + kFocalBlock - 1) / kFocalBlock;
  }
  static constexpr double kNanoseconds = 1.0 * kFocalBlock;  // of a block

  FocalArgs args_;
  Reduction reduction_ = Reduction::kNone;
  int64_t blocks_ = 0;
};

class Forward : public FocalKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 0);
    if (reduction_ != Reduction::kNone) result.Workspace(static_cast<uint64_t>(blocks_) * sizeof(double));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    FocalArgs args = args_;
    args.x = call.in<float>(0), args.targets = call.in<float>(1);
    const bool each = reduction_ == Reduction::kNone;
    args.loss = each ? call.out<float>(0) : nullptr;
    args.sums = each ? nullptr : call.workspace<double>();
    const auto forward = kFocal(isa()).forward;
    const int32_t code = ForEach(error, blocks_, kNanoseconds, [&](Range blocks, uint32_t) { forward(args, blocks); });
    if (code != TENON_OK || each) return code;
    double sum = 0;
    for (int64_t b = 0; b < blocks_; ++b) sum += args.sums[b];
    if (reduction_ == Reduction::kMean) sum /= static_cast<double>(args.elements);
    *call.out<float>(0) = static_cast<float>(sum);
    return TENON_OK;
  }
};

class Backward : public FocalKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetShape(args, 1);
    args_.dy_of_elements = reduction_ == Reduction::kNone;
    args_.scale = reduction_ == Reduction::kMean ? 1.0f / static_cast<float>(args_.elements) : 1.0f;
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    FocalArgs args = args_;
    args.dy = call.in<float>(0), args.x = call.in<float>(1), args.targets = call.in<float>(2);
    args.dx = call.out<float>(0);
    const auto backward = kFocal(isa()).backward;
    return ForEach(error, blocks_, kNanoseconds, [&](Range blocks, uint32_t) { backward(args, blocks); });
  }
};

}  // namespace

void AddFocalLoss(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "SigmoidFocalLossGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("SigmoidFocalLoss", "focal_loss");
  library.AddKernel<Backward>("SigmoidFocalLossGrad", "focal_loss_grad");
}

}  // namespace tenon::ops
#endif
