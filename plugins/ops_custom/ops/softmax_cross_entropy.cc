// org.tenon.custom.SoftmaxCrossEntropy(Logits, Labels; ignore_index, reduction) -> Y. Logits [.., classes], Labels [..]:
//   loss = log(sum_c exp(Logits[c])) - Logits[label],  0 where the label is ignore_index;
// Y is all losses (none), their sum, or their mean over the labels that count. Made for large vocabularies: each row is read
// once, no probability is kept, and the gradient computes them again from the logarithm of the sum, which is saved.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

struct CrossEntropyArgs {
  int64_t classes = 0, ignore_index = -100;
  const float* logits = nullptr;
  const int64_t* labels = nullptr;  // in [0, classes) or ignore_index
  float* loss = nullptr;            // forward: of each row
  float* log_sum_exp = nullptr;     // forward: of each row, or null
  const float* saved = nullptr;     // backward: what log_sum_exp was
  const float* dy = nullptr;        // backward: of each row, or of all
  bool dy_of_rows = false;
  float scale = 1;  // backward: factor of dy
  float* d_logits = nullptr;
};
struct CrossEntropyLoops {
  void (*forward)(const CrossEntropyArgs&, Range rows);
  void (*backward)(const CrossEntropyArgs&, Range rows);
};

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

constexpr int64_t kBlock = 2048;  // floats that stay in the first cache

// The rows lie behind each other: the block after this one comes while this one is worked on.
TENON_INLINE void FetchNext(const float* block) {
  for (int64_t c = 0; c < kBlock; c += 16) __builtin_prefetch(block + kBlock + c);
}

// Four chains, so that none waits for itself.
TENON_INLINE float Largest(const float* x, int64_t count, float start) {
  float a = start, b = start, c = start, d = start;
  const int64_t part = count / 4;
  TENON_PRAGMA(omp simd reduction(max : a, b, c, d))
  for (int64_t i = 0; i < part; ++i) {
    const float p = x[i], q = x[i + part], r = x[i + 2 * part], s = x[i + 3 * part];
    a = p > a ? p : a, b = q > b ? q : b, c = r > c ? r : c, d = s > d ? s : d;
  }
  for (int64_t i = 4 * part; i < count; ++i) a = x[i] > a ? x[i] : a;
  a = b > a ? b : a, c = d > c ? d : c;
  return c > a ? c : a;
}
// The sum of exp(x - top), and the largest x, in one pass.
struct Sum {
  float sum, largest;
};
TENON_INLINE Sum SumOfExp(const float* x, int64_t count, float top) {
  float a = 0, b = 0, m = top, n = top;
  const int64_t part = count / 2;
  TENON_PRAGMA(omp simd reduction(+ : a, b) reduction(max : m, n))
  for (int64_t i = 0; i < part; ++i) {
    const float p = x[i], q = x[i + part];
    m = p > m ? p : m, n = q > n ? q : n;
    a += ExpOfModest(p - top);
    b += ExpOfModest(q - top);
  }
  if (count % 2 != 0) {
    const float last = x[count - 1];
    m = last > m ? last : m;
    a += ExpOfModest(last - top);
  }
  return {a + b, n > m ? n : m};
}

// log(sum exp(x)). All terms are relative to `top`, the maximum of the first block; numbers that lie further above it than
// this are taken as the new one, and the block is summed again.
TENON_INLINE float LogSumExp(const float* row, int64_t classes) {
  constexpr float kFar = 40;
  float top = -kInfinity, sum = 0;
  for (int64_t first = 0; first < classes; first += kBlock) {
    const int64_t count = Min(kBlock, classes - first);
    const float* x = row + first;
    FetchNext(x);
    if (top == -kInfinity) top = Largest(x, count, top);
    if (top == -kInfinity) {
      for (int64_t c = 0; c < count; ++c) sum = x[c] != x[c] ? x[c] : sum;  // a NaN is no maximum, and must not be lost
      continue;
    }
    Sum block = SumOfExp(x, count, top);
    if (block.largest > top + kFar) {
      sum *= Exp(top - block.largest);
      top = block.largest;
      block = SumOfExp(x, count, top);
    }
    sum += block.sum;
  }
  return top + Log(sum);
}

void Forward(const CrossEntropyArgs& a, Range rows) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = a.logits + r * a.classes;
    const float log_sum = LogSumExp(x, a.classes);
    a.loss[r] = a.labels[r] == a.ignore_index ? 0.0f : log_sum - x[a.labels[r]];
    if (a.log_sum_exp != nullptr) a.log_sum_exp[r] = log_sum;
  }
}

// dLogits = dY (softmax - one hot).
void Backward(const CrossEntropyArgs& a, Range rows) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const int64_t label = a.labels[r], classes = a.classes;
    const float* x = a.logits + r * classes;
    float* d = a.d_logits + r * classes;
    if (label == a.ignore_index) {
      Fill(d, classes, 0.0f);
      continue;
    }
    const float factor = a.scale * a.dy[a.dy_of_rows ? r : 0], log_sum = a.saved[r];
    TENON_SIMD for (int64_t c = 0; c < classes; ++c) d[c] = ExpOfModest(x[c] - log_sum) * factor;
    d[label] -= factor;
  }
}

}  // namespace

extern const CrossEntropyLoops kCrossEntropy;
const CrossEntropyLoops kCrossEntropy = {&Forward, &Backward};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(CrossEntropyLoops, kCrossEntropy);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("Logits", 0, kF32), sdk::Param("Labels", 0, kI64)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32), sdk::Param("LogSumExp", TENON_PARAM_SAVED, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32), sdk::Param("LogSumExp", 0, kF32),
                                           sdk::Param("Logits", 0, kF32), sdk::Param("Labels", 0, kI64)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dLogits", 0, kF32)};
constexpr tenon_attribute kIgnored = sdk::IntDefault(-100);
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("ignore_index", TENON_ATTRIBUTE_INT, 0, &kIgnored, "the label that does not count"),
    sdk::AttributeDef("reduction", TENON_ATTRIBUTE_TEXT, 0, &kReductionMean, "none, sum or mean"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromSaved(0), sdk::FromInput(0),
                                              sdk::FromInput(1)};
constexpr uint32_t kGradOf[] = {0};
constexpr tenon_paired_gradient kGradient =
    sdk::PairedGradient(kDomain, "SoftmaxCrossEntropyGrad", 1, kSources, kGradOf);

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    const int32_t rank = node.InputRank(0), rows = node.InputRank(1);
    if (rank < 1 || rows != rank - 1)
      node.Fail(TENON_INVALID_ARGUMENT, "Logits has rank ", rank, " and Labels rank ", rows,
                "; Labels has one axis less than Logits.");
    tenon_dim dims[sdk::kMaxRank] = {};
    for (int32_t axis = 0; axis < rows; ++axis) {
      dims[axis] = node.InputDim(0, axis);
      const sdk::TextBuffer text("Logits and Labels need the same size on axis ", axis, ".");
      node.RequireEqual(dims[axis], node.InputDim(1, axis), text.View());
    }
    const bool each = ReductionOf(TextOf(node, "reduction", "mean")) == Reduction::kNone;
    node.SetOutput(0, TENON_DTYPE_F32, each ? rows : 0, dims);
    if (node.output_count() > 1) node.SetOutput(1, TENON_DTYPE_F32, rows, dims);
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "SoftmaxCrossEntropy", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class CrossEntropyKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.ignore_index = query.attributes().Int("ignore_index", -100);
    reduction_ = ReductionOf(query.attributes().String("reduction", "mean"));
    return TENON_OK;
  }

 protected:
  void SetShape(const sdk::PlanArgs& args, uint32_t logits) {
    SetThreads(args);
    const sdk::Value x = args.input(logits);
    args_.classes = x.dim(x.rank() - 1);
    rows_ = x.elements() / (args_.classes == 0 ? 1 : args_.classes);
  }
  double Nanoseconds() const { return 0.2 * static_cast<double>(args_.classes); }  // of a row

  // How many labels count; the error names the first that is no class.
  int32_t CountLabels(const int64_t* labels, int64_t& count, sdk::Error& error) const {
    count = 0;
    for (int64_t r = 0; r < rows_; ++r) {
      if (labels[r] == args_.ignore_index) continue;
      if (labels[r] < 0 || labels[r] >= args_.classes)
        return error.Fail(TENON_OUT_OF_RANGE, "Labels[", r, "] is ", labels[r], "; Logits has ", args_.classes,
                          " classes, and ignore_index is ", args_.ignore_index, ".");
      ++count;
    }
    return TENON_OK;
  }

  CrossEntropyArgs args_;
  Reduction reduction_ = Reduction::kMean;
  int64_t rows_ = 0;
};

class Forward : public CrossEntropyKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 0);
    if (reduction_ != Reduction::kNone) result.Workspace(static_cast<uint64_t>(rows_) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CrossEntropyArgs args = args_;
    args.logits = call.in<float>(0), args.labels = call.in<int64_t>(1);
    int64_t counted = 0;
    int32_t code = CountLabels(args.labels, counted, error);
    if (code != TENON_OK) return code;
    args.loss = reduction_ == Reduction::kNone ? call.out<float>(0) : call.workspace<float>();
    args.log_sum_exp = call.has_output(1) ? call.out<float>(1) : nullptr;
    const auto forward = kCrossEntropy(isa()).forward;
    code = ForEach(error, rows_, Nanoseconds(), [&](Range rows, uint32_t) { forward(args, rows); });
    if (code != TENON_OK || reduction_ == Reduction::kNone) return code;
    double sum = 0;
    for (int64_t r = 0; r < rows_; ++r) sum += static_cast<double>(args.loss[r]);
    *call.out<float>(0) = static_cast<float>(reduction_ == Reduction::kMean ? sum / static_cast<double>(counted) : sum);
    return TENON_OK;
  }
};

class Backward : public CrossEntropyKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetShape(args, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    CrossEntropyArgs args = args_;
    args.dy = call.in<float>(0), args.saved = call.in<float>(1);
    args.logits = call.in<float>(2), args.labels = call.in<int64_t>(3);
    args.d_logits = call.out<float>(0);
    args.dy_of_rows = reduction_ == Reduction::kNone;
    int64_t counted = 0;
    const int32_t code = CountLabels(args.labels, counted, error);
    if (code != TENON_OK) return code;
    if (reduction_ == Reduction::kMean) args.scale = 1.0f / static_cast<float>(counted);
    const auto backward = kCrossEntropy(isa()).backward;
    return ForEach(error, rows_, Nanoseconds(), [&](Range rows, uint32_t) { backward(args, rows); });
  }
};

}  // namespace

void AddSoftmaxCrossEntropy(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "SoftmaxCrossEntropyGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("SoftmaxCrossEntropy", "softmax_cross_entropy");
  library.AddKernel<Backward>("SoftmaxCrossEntropyGrad", "softmax_cross_entropy_grad");
}

}  // namespace tenon::ops
#endif
