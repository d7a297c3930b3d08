// org.tenon.custom.RotaryEmbedding(X; base, first, interleaved, width) -> Y. X is [batch, length, heads, head width]; the
// first `width` numbers of each head (0: all) are pairs that position p turns by the angle (p + first) base^(-2 k / width)
// for pair k; the others stay. Pairs are (k, k + width / 2), or neighbours with `interleaved`.
// Source: Su et al. 2021, "RoFormer", eq. 34.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

// A row is one head at one position; the cosines and sines [length][width / 2] are those of row / heads % length.
template <class T>
struct RotaryArgs {
  const T* x = nullptr;
  T* y = nullptr;
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t length = 0, heads = 0, head_width = 0, width = 0;
  bool interleaved = false;
  float turn = 1;  // -1: back
};
template <class T>
struct RotaryLoopsOf {
  void (*rotate)(const RotaryArgs<T>&, Range rows);
};
using RotaryLoops = BothTypes<RotaryLoopsOf>;

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

template <class T>
void Rotate(const RotaryArgs<T>& a, Range rows) {
  const int64_t half = a.width / 2;
  const float turn = a.turn;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t position = row / a.heads % a.length;
    const T* x = a.x + row * a.head_width;
    T* y = a.y + row * a.head_width;
    const float *c = a.cosines + position * half, *s = a.sines + position * half;
    if (a.interleaved) {
      TENON_SIMD for (int64_t k = 0; k < half; ++k) {
        const float p = Load(x[2 * k]), q = Load(x[2 * k + 1]), sine = turn * s[k];
        Store(y[2 * k], p * c[k] - q * sine);
        Store(y[2 * k + 1], q * c[k] + p * sine);
      }
    } else {
      TENON_SIMD for (int64_t k = 0; k < half; ++k) {
        const float p = Load(x[k]), q = Load(x[k + half]), sine = turn * s[k];
        Store(y[k], p * c[k] - q * sine);
        Store(y[k + half], q * c[k] + p * sine);
      }
    }
    for (int64_t k = a.width; k < a.head_width; ++k) y[k] = x[k];
  }
}

}  // namespace

extern const RotaryLoops kRotary;
const RotaryLoops kRotary = {{&Rotate<float>}, {&Rotate<Bf16>}};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include <cmath>

#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(RotaryLoops, kRotary);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("X", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dX", 0, kF32OrBf16, 1)};
constexpr tenon_attribute kBase = sdk::FloatDefault(10000), kZero = sdk::IntDefault(0);
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("base", TENON_ATTRIBUTE_FLOAT, 0, &kBase, "the angles are powers of it"),
    sdk::AttributeDef("first", TENON_ATTRIBUTE_INT, 0, &kZero, "position of the first row"),
    sdk::AttributeDef("interleaved", TENON_ATTRIBUTE_FLAG, 0, nullptr, "pairs are neighbours"),
    sdk::AttributeDef("width", TENON_ATTRIBUTE_INT, 0, &kZero, "numbers of a head that turn; 0: all"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0)};
constexpr uint32_t kGradOf[] = {0};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "RotaryEmbeddingGrad", 1, kSources, kGradOf);

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireRank(node, 0, "X [batch, length, heads, head width]", 4);
    const tenon_dim all = node.InputDim(0, 3);
    const int64_t width = node.Int("width", 0);
    const double base = node.Float("base", 10000);
    if (!(base > 0)) node.Fail(TENON_INVALID_ARGUMENT, "Attribute base is ", base, "; it must be above 0.");
    if (width < 0 || width % 2 != 0)
      node.Fail(TENON_INVALID_ARGUMENT, "Attribute width is ", width, "; it must be even, or 0.");
    if (sdk::IsKnown(all) && width > all.value)
      node.Fail(TENON_INVALID_ARGUMENT, "Attribute width is ", width, ", and the heads of X have ", all.value,
                " numbers.");
    if (width == 0) node.RequireDivisible(all, 2, "Without attribute width the head width of X must be even.");
    node.SameAsInput(0, 0);
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "RotaryEmbedding", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

constexpr sdk::StandIn kStandIns[] = {{0, sdk::FromOutputGrad(0)}};  // X has the shape of Y
int32_t InferGrad(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) { sdk::InferGradient(node, kOperator, kStandIns); });
}

// One kernel for both directions: the gradient is turned back.
template <class T, bool kBack>
class Rotary : public CustomKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return IsOf<T>(query, 0, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    base_ = a.Float("base", 10000);
    first_ = a.Int("first", 0);
    asked_width_ = a.Int("width", 0);
    args_.interleaved = a.Flag("interleaved", false);
    args_.turn = kBack ? -1 : 1;
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetThreads(args);
    const sdk::Value x = args.input(0);
    args_.length = x.dim(1), args_.heads = x.dim(2), args_.head_width = x.dim(3);
    args_.width = asked_width_ == 0 ? args_.head_width : asked_width_;
    rows_ = x.dim(0) * x.dim(1) * x.dim(2);
    MakeTables();
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    RotaryArgs<T> args = args_;
    args.x = call.in<T>(0), args.y = call.out<T>(0);
    args.cosines = cosines_.data(), args.sines = sines_.data();
    const auto rotate = kRotary(isa()).template of<T>().rotate;
    return ForEach(error, rows_, 0.4 * static_cast<double>(args.head_width),
                   [&](Range rows, uint32_t) { rotate(args, rows); });
  }
  uint64_t HeldBytes() const { return (cosines_.size() + sines_.size()) * sizeof(float); }

 private:
  void MakeTables() {
    const int64_t half = args_.width / 2;
    cosines_.clear(), sines_.clear();
    for (int64_t p = 0; p < args_.length; ++p) {
      for (int64_t k = 0; k < half; ++k) {
        const double angle =
            static_cast<double>(p + first_) * std::pow(base_, -static_cast<double>(k) / static_cast<double>(half));
        cosines_.push_back(static_cast<float>(std::cos(angle)));
        sines_.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }

  double base_ = 0;
  int64_t first_ = 0, asked_width_ = 0, rows_ = 0;
  RotaryArgs<T> args_;
  std::vector<float> cosines_, sines_;
};

}  // namespace

void AddRotaryEmbedding(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "RotaryEmbeddingGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&InferGrad)
                                  .NoGradient());
  library.AddKernel<Rotary<float, false>>("RotaryEmbedding", "rotary_embedding");
  library.AddKernel<Rotary<Bf16, false>>("RotaryEmbedding", "rotary_embedding_bf16");
  library.AddKernel<Rotary<float, true>>("RotaryEmbeddingGrad", "rotary_embedding_grad");
  library.AddKernel<Rotary<Bf16, true>>("RotaryEmbeddingGrad", "rotary_embedding_grad_bf16");
}

}  // namespace tenon::ops
#endif
