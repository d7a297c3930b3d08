// org.tenon.custom.EmbeddingBag(Weight, Indices, Offsets; mode) -> Y. Weight [rows, width], Indices [n], Offsets [bags], which
// begin with 0 and never fall. Bag b is the rows that Indices[Offsets[b]] .. Indices[Offsets[b + 1] - 1] name; Y [bags, width]
// holds their sum, mean or maximum, and 0 for an empty bag. The rows are never copied to memory of their own.
// As torch.nn.functional.embedding_bag.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

enum class BagMode { kSum, kMean, kMax };

struct EmbeddingBagArgs {
  BagMode mode = BagMode::kMean;
  int64_t rows = 0, width = 0, bags = 0, indices = 0;
  const float* weight = nullptr;
  const int64_t* index = nullptr;   // checked
  const int64_t* offset = nullptr;  // checked
  float* y = nullptr;               // forward
  const float* dy = nullptr;        // backward
  float* d_weight = nullptr;        // backward
};
struct EmbeddingBagLoops {
  void (*forward)(const EmbeddingBagArgs&, Range bags);
  // Each thread adds what falls to its rows, in the order of the indices.
  void (*backward)(const EmbeddingBagArgs&, Range rows);
};

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

TENON_INLINE int64_t EndOf(const EmbeddingBagArgs& a, int64_t bag) {
  return bag + 1 < a.bags ? a.offset[bag + 1] : a.indices;
}
TENON_INLINE float FactorOf(const EmbeddingBagArgs& a, int64_t bag) {
  return a.mode == BagMode::kMean ? 1.0f / static_cast<float>(EndOf(a, bag) - a.offset[bag]) : 1.0f;
}

constexpr int64_t kColumns = 64;  // that are summed at once
constexpr int64_t kAhead = 12;    // rows that are fetched before they are needed

// Rows lie anywhere: their columns are asked for early.
TENON_INLINE void Fetch(const EmbeddingBagArgs& a, const float* rows, int64_t place, int64_t first, int64_t count) {
  if (place >= a.indices) return;
  const float* row = rows + a.index[place] * a.width + first;
  for (int64_t c = 0; c < count; c += 16) __builtin_prefetch(row + c);
}

TENON_INLINE void SumColumns(const EmbeddingBagArgs& a, int64_t bag, int64_t first, int64_t count) {
  const int64_t begin = a.offset[bag], end = EndOf(a, bag);
  float sum[kColumns] = {};
  if (count == kColumns) {
    for (int64_t i = begin; i < end; ++i) {
      Fetch(a, a.weight, i + kAhead, first, kColumns);
      const float* row = a.weight + a.index[i] * a.width + first;
      TENON_SIMD for (int64_t c = 0; c < kColumns; ++c) sum[c] += row[c];
    }
  } else {
    for (int64_t i = begin; i < end; ++i) {
      const float* row = a.weight + a.index[i] * a.width + first;
      TENON_SIMD for (int64_t c = 0; c < count; ++c) sum[c] += row[c];
    }
  }
  const float factor = begin == end ? 0.0f : FactorOf(a, bag);
  float* y = a.y + bag * a.width + first;
  TENON_SIMD for (int64_t c = 0; c < count; ++c) y[c] = sum[c] * factor;
}

// The largest number of each column of a bag, 0 for an empty one, and the place in Indices that it comes from: the first of
// equal ones; NaN is larger than all.
TENON_INLINE void Largest(const EmbeddingBagArgs& a, int64_t bag, int64_t first, int64_t count, float* best,
                          int32_t* from) {
  const int64_t begin = a.offset[bag], end = EndOf(a, bag);
  for (int64_t c = 0; c < count; ++c) best[c] = begin == end ? 0.0f : -kInfinity, from[c] = static_cast<int32_t>(begin);
  for (int64_t i = begin; i < end; ++i) {
    const float* row = a.weight + a.index[i] * a.width + first;
    const auto place = static_cast<int32_t>(i);
    TENON_SIMD for (int64_t c = 0; c < count; ++c) {
      const bool take = row[c] > best[c] || (row[c] != row[c] && best[c] == best[c]);
      from[c] = take ? place : from[c];
      best[c] = take ? row[c] : best[c];
    }
  }
}

void Forward(const EmbeddingBagArgs& a, Range bags) {
  int32_t from[kColumns];
  for (int64_t b = bags.begin; b < bags.end; ++b) {
    for (int64_t c = 0; c < a.width; c += kColumns) {
      const int64_t count = Min(kColumns, a.width - c);
      if (a.mode == BagMode::kMax)
        Largest(a, b, c, count, a.y + b * a.width + c, from);
      else
        SumColumns(a, b, c, count);
    }
  }
}

// What comes from the largest numbers is found again.
TENON_INLINE void AddLargest(const EmbeddingBagArgs& a, int64_t bag, Range rows) {
  float best[kColumns];
  int32_t from[kColumns];
  if (a.offset[bag] == EndOf(a, bag)) return;
  for (int64_t first = 0; first < a.width; first += kColumns) {
    const int64_t count = Min(kColumns, a.width - first);
    Largest(a, bag, first, count, best, from);
    for (int64_t c = 0; c < count; ++c) {
      const int64_t row = a.index[from[c]];
      if (row >= rows.begin && row < rows.end) a.d_weight[row * a.width + first + c] += a.dy[bag * a.width + first + c];
    }
  }
}

void Backward(const EmbeddingBagArgs& a, Range rows) {
  Fill(a.d_weight + rows.begin * a.width, (rows.end - rows.begin) * a.width, 0.0f);
  for (int64_t b = 0; b < a.bags; ++b) {
    if (a.mode == BagMode::kMax) {
      AddLargest(a, b, rows);
      continue;
    }
    const float* dy = a.dy + b * a.width;
    const int64_t end = EndOf(a, b);
    const float factor = FactorOf(a, b);
    for (int64_t i = a.offset[b]; i < end; ++i) {
      const int64_t row = a.index[i];
      Fetch(a, a.d_weight, i + kAhead, 0, a.width);
      if (row < rows.begin || row >= rows.end) continue;
      float* d = a.d_weight + row * a.width;
      TENON_SIMD for (int64_t c = 0; c < a.width; ++c) d[c] += dy[c] * factor;
    }
  }
}

}  // namespace

extern const EmbeddingBagLoops kEmbeddingBag;
const EmbeddingBagLoops kEmbeddingBag = {&Forward, &Backward};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(EmbeddingBagLoops, kEmbeddingBag);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("Weight", 0, kF32), sdk::Param("Indices", 0, kI64),
                                       sdk::Param("Offsets", 0, kI64)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32), sdk::Param("Weight", 0, kF32),
                                           sdk::Param("Indices", 0, kI64), sdk::Param("Offsets", 0, kI64)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dWeight", 0, kF32)};
constexpr tenon_attribute kMean = TextDefault("mean");
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("mode", TENON_ATTRIBUTE_TEXT, 0, &kMean, "sum, mean or max"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0), sdk::FromInput(1),
                                              sdk::FromInput(2)};
constexpr uint32_t kGradOf[] = {0};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "EmbeddingBagGrad", 1, kSources, kGradOf);

BagMode ModeOf(std::string_view word) {
  if (word == "sum") return BagMode::kSum;
  if (word == "mean") return BagMode::kMean;
  if (word == "max") return BagMode::kMax;
  throw sdk::Failure(TENON_INVALID_ARGUMENT, "Attribute mode is '", word, "'; it can be sum, mean or max.");
}

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireRank(node, 0, "Weight [rows, width]", 2);
    RequireRank(node, 1, "Indices", 1);
    RequireRank(node, 2, "Offsets", 1);
    ModeOf(TextOf(node, "mode", "mean"));
    node.SetOutput(0, TENON_DTYPE_F32, {node.InputDim(2, 0), node.InputDim(0, 1)});
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "EmbeddingBag", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class EmbeddingBagKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.mode = ModeOf(query.attributes().String("mode", "mean"));
    return TENON_OK;
  }

 protected:
  // `weight` is the number of Weight among the inputs.
  void SetShape(const sdk::PlanArgs& args, uint32_t weight) {
    SetThreads(args);
    args_.rows = args.input(weight).dim(0), args_.width = args.input(weight).dim(1);
    args_.indices = args.input(weight + 1).dim(0), args_.bags = args.input(weight + 2).dim(0);
  }
  // Every index names a row, and bags follow each other.
  int32_t Check(const EmbeddingBagArgs& a, sdk::Error& error) const {
    if (a.indices > INT32_MAX)
      return error.Fail(TENON_UNIMPLEMENTED, "Indices has ", a.indices, " numbers; at most ", INT32_MAX,
                        " are possible.");
    for (int64_t i = 0; i < a.indices; ++i) {
      if (a.index[i] < 0 || a.index[i] >= a.rows)
        return error.Fail(TENON_OUT_OF_RANGE, "Indices[", i, "] is ", a.index[i], "; Weight has ", a.rows, " rows.");
    }
    if (a.bags > 0 && a.offset[0] != 0)
      return error.Fail(TENON_OUT_OF_RANGE, "Offsets[0] is ", a.offset[0], "; the first bag begins at 0.");
    if (a.bags == 0 && a.indices > 0)
      return error.Fail(TENON_OUT_OF_RANGE, "Indices has ", a.indices, " numbers, and Offsets names 0 bags.");
    for (int64_t b = 1; b < a.bags; ++b) {
      if (a.offset[b] < a.offset[b - 1])
        return error.Fail(TENON_OUT_OF_RANGE, "Offsets[", b, "] is ", a.offset[b], ", below Offsets[", b - 1, "], ",
                          a.offset[b - 1], ".");
    }
    if (a.bags > 0 && a.offset[a.bags - 1] > a.indices)
      return error.Fail(TENON_OUT_OF_RANGE, "Offsets[", a.bags - 1, "] is ", a.offset[a.bags - 1], "; Indices has ",
                        a.indices, " numbers.");
    return TENON_OK;
  }

  EmbeddingBagArgs args_;
};

class Forward : public EmbeddingBagKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetShape(args, 0);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    EmbeddingBagArgs args = args_;
    args.weight = call.in<float>(0), args.index = call.in<int64_t>(1), args.offset = call.in<int64_t>(2);
    const int32_t code = Check(args, error);
    if (code != TENON_OK) return code;
    args.y = call.out<float>(0);
    const auto forward = kEmbeddingBag(isa()).forward;
    const double per_bag = static_cast<double>(args.indices * args.width) / static_cast<double>(args.bags + 1);
    return ForEach(error, args.bags, 0.1 * per_bag, [&](Range bags, uint32_t) { forward(args, bags); });
  }
};

class Backward : public EmbeddingBagKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetShape(args, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    EmbeddingBagArgs args = args_;
    args.dy = call.in<float>(0), args.weight = call.in<float>(1);
    args.index = call.in<int64_t>(2), args.offset = call.in<int64_t>(3);
    const int32_t code = Check(args, error);
    if (code != TENON_OK) return code;
    args.d_weight = call.out<float>(0);
    const auto backward = kEmbeddingBag(isa()).backward;
    // Every piece reads all indices, so there are no more pieces than threads.
    const auto pieces = static_cast<int64_t>(threads());
    const double work = 0.2 * static_cast<double>((args.indices + args.rows) * args.width);
    return ForEach(error, pieces, work / static_cast<double>(pieces), [&](Range piece, uint32_t) {
      backward(args, {args.rows * piece.begin / pieces, args.rows * piece.end / pieces});
    });
  }
};

}  // namespace

void AddEmbeddingBag(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "EmbeddingBagGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("EmbeddingBag", "embedding_bag");
  library.AddKernel<Backward>("EmbeddingBagGrad", "embedding_bag_grad");
}

}  // namespace tenon::ops
#endif
