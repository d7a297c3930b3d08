// org.tenon.custom.Attention(Q, K, V; causal, scale, window) -> Y. Q is [batch, heads, queries, width], K and V [batch,
// kv heads, keys, ..]; heads is a multiple of kv heads, whose keys and values neighbouring heads share.
//   Y[i] = sum_j P[i, j] V[j],   P[i, :] = softmax over the visible j of scale Q[i] . K[j]
// With causal, query i sees the keys j <= i; with window w above 0 those with |i - j| < w. scale 0 means 1 / sqrt(width).
// A query that sees no key gives 0. Blocks of P live in the caches only: memory is linear in the length, and blocks that no
// query sees are not computed.
// Scores are kept in units of log(2), scale / log(2) Q . K, since 2^x takes fewer steps than exp(x).
// Source: Vaswani et al. 2017, eq. 1; the blocks and what is saved: Dao et al. 2022, "FlashAttention".
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

constexpr int64_t kAttentionBlock = 64;  // queries, and keys, of a block

struct AttentionArgs {
  int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  int64_t window = 0;
  float scale = 1;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float* y = nullptr;                                               // forward
  float* log_sum_exp = nullptr;                                     // forward: [batch, heads, queries], or null
  const float *saved_y = nullptr, *saved = nullptr, *dy = nullptr;  // backward
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;
};
struct AttentionLoops {
  // A unit is one block of queries of one head.
  void (*forward)(const AttentionArgs&, float* workspace, Range units);
  // A unit is one kv head of one batch, with all its heads.
  void (*backward)(const AttentionArgs&, float* workspace, Range units);
};
// Floats of workspace of one thread.
inline int64_t AttentionWorkspace(const AttentionArgs& a) {
  return kAttentionBlock * (2 * kAttentionBlock + a.width + a.value_width + 2);
}

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/product.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

constexpr int64_t kBlock = kAttentionBlock;

// Queries [first, last) of a head, and the keys that any of them sees.
struct QueryBlock {
  int64_t first, last, key_begin, key_end;
  int64_t count() const { return last - first; }
};
TENON_INLINE QueryBlock BlockOf(const AttentionArgs& a, int64_t number) {
  QueryBlock b{number * kBlock, Min(a.queries, (number + 1) * kBlock), 0, a.keys};
  if (a.causal) b.key_end = Min(b.key_end, b.last);
  if (a.window > 0) {
    b.key_begin = Max(0, b.first - a.window + 1);
    b.key_end = Min(b.key_end, b.last - 1 + a.window);
  }
  return b;
}

// Keys [first, last) of a block.
struct KeyBlock {
  int64_t first, last;
  int64_t count() const { return last - first; }
};

// to[c][i] = factor * rows[i][c]; lanes beyond the rows are 0.
TENON_INLINE void PackColumns(const float* rows, int64_t count, int64_t width, float factor, float* to) {
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    int64_t c = 0;
    for (; i + kLanes <= count && c + kLanes <= width; c += kLanes) {
      Vec tile[kLanes];
      TENON_UNROLL for (int r = 0; r < kLanes; ++r) tile[r] = factor * At(rows + (i + r) * width + c);
      Transpose(tile);
      TENON_UNROLL for (int r = 0; r < kLanes; ++r) At(to + (c + r) * kBlock + i) = tile[r];
    }
    for (; c < width; ++c) {
      for (int64_t r = i; r < i + kLanes; ++r) to[c * kBlock + r] = r < count ? factor * rows[r * width + c] : 0.0f;
    }
  }
}

// scores[j][i] = -infinity where query i does not see key j.
TENON_INLINE void Mask(const AttentionArgs& a, const QueryBlock& queries, const KeyBlock& keys, float* scores) {
  const bool below = !a.causal || keys.last - 1 <= queries.first;
  const bool near =
      a.window == 0 || (queries.last - 1 - keys.first < a.window && keys.last - 1 - queries.first < a.window);
  if (below && near) return;
  for (int64_t j = keys.first; j < keys.last; ++j) {
    int64_t begin = a.causal ? j : 0, end = a.queries;
    if (a.window > 0) begin = Max(begin, j - a.window + 1), end = Min(end, j + a.window);
    begin = Min(Max(begin - queries.first, 0), kBlock), end = Min(Max(end - queries.first, begin), kBlock);
    float* row = scores + (j - keys.first) * kBlock;
    Fill(row, begin, -kInfinity);
    Fill(row + end, kBlock - end, -kInfinity);
  }
}

// Weights are 2^(score - base). The base of a query is one of its scores so far, and none exceeds it by more than
// kSlack: weights cannot overflow, as with the largest score for a base, and the base hardly ever changes.
struct Running {
  float *base, *sum;  // of each query, and the sum of its weights
};
constexpr float kSlack = 8, kLowest = -3.4e38f;
constexpr int kBlockVectors = kBlock / kLanes;

// Bases rise to `top` where that is larger; what is summed so far, in `out` too, shrinks.
__attribute__((noinline)) void Rebase(const Running& run, const float* top, int64_t width, float* out) {
  for (int64_t i = 0; i < kBlock; ++i) {
    const float base = top[i] > run.base[i] ? top[i] : run.base[i], shrink = ExpOfModest((run.base[i] - base) * kLog2);
    float* row = out + i * width;
    TENON_SIMD for (int64_t c = 0; c < width; ++c) row[c] *= shrink;
    run.base[i] = base;
    run.sum[i] *= shrink;
  }
}

// Makes the bases fit the scores of a block of keys.
TENON_INLINE void FitBases(const Running& run, int64_t keys, const float* scores, int64_t width, float* out) {
  Vec largest[kBlockVectors];
  TENON_UNROLL for (int v = 0; v < kBlockVectors; ++v) largest[v] = At(scores + v * kLanes);
  for (int64_t j = 1; j < keys; ++j) {
    TENON_UNROLL for (int v = 0; v < kBlockVectors; ++v) {
      largest[v] = Larger(At(scores + j * kBlock + v * kLanes), largest[v]);
    }
  }
  float top[kBlock], rise = -kInfinity;
  TENON_UNROLL for (int v = 0; v < kBlockVectors; ++v) At(top + v * kLanes) = largest[v];
  TENON_SIMD_MAX(rise) for (int64_t i = 0; i < kBlock; ++i) {
    const float x = top[i] - run.base[i];
    rise = x > rise ? x : rise;
  }
  if (rise > kSlack) Rebase(run, top, width, out);
}

// scores become weights.
TENON_INLINE void Exponentiate(const Running& run, int64_t keys, float* scores) {
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const Vec base = At(run.base + i);
    Vec sum = At(run.sum + i);
    TENON_PRAGMA(GCC unroll 4) for (int64_t j = 0; j < keys; ++j) {
      VecAny& at = At(scores + j * kBlock + i);
      const Vec weight = Exp2(at - base);
      at = weight;
      sum += weight;
    }
    At(run.sum + i) = sum;
  }
}

void ForwardBlock(const AttentionArgs& a, int64_t head, int64_t number, float* workspace) {
  const int64_t kv = head / a.heads * a.kv_heads + head % a.heads / (a.heads / a.kv_heads);
  const QueryBlock queries = BlockOf(a, number);
  const int64_t first = head * a.queries + queries.first;
  float *packed = workspace, *scores = packed + kBlock * a.width, *out = scores + kBlock * kBlock;
  const Running run{out + kBlock * a.value_width, out + kBlock * (a.value_width + 1)};
  PackColumns(a.q + first * a.width, queries.count(), a.width, a.scale * kLog2E, packed);
  Fill(out, kBlock * a.value_width, 0.0f);
  Fill(run.base, kBlock, kLowest);
  Fill(run.sum, kBlock, 0.0f);
  for (int64_t j = queries.key_begin; j < queries.key_end; j += kBlock) {
    const KeyBlock keys{j, Min(j + kBlock, queries.key_end)};
    Product(keys.count(), kBlock, a.width, {a.k + (kv * a.keys + j) * a.width, a.width, 1}, {packed, kBlock},
            {scores, kBlock}, false);
    Mask(a, queries, keys, scores);
    FitBases(run, keys.count(), scores, a.value_width, out);
    Exponentiate(run, keys.count(), scores);
    Product(queries.count(), a.value_width, keys.count(), {scores, 1, kBlock},
            {a.v + (kv * a.keys + j) * a.value_width, a.value_width}, {out, a.value_width}, true);
  }
  for (int64_t i = 0; i < queries.count(); ++i) {
    const float factor = run.sum[i] == 0.0f ? 0.0f : 1.0f / run.sum[i];
    float* y = a.y + (first + i) * a.value_width;
    TENON_SIMD for (int64_t c = 0; c < a.value_width; ++c) y[c] = out[i * a.value_width + c] * factor;
    if (a.log_sum_exp != nullptr) a.log_sum_exp[first + i] = run.base[i] * kLog2 + Log(run.sum[i]);
  }
}

void Forward(const AttentionArgs& a, float* workspace, Range units) {
  const int64_t blocks = (a.queries + kBlock - 1) / kBlock;
  for (int64_t u = units.begin; u < units.end; ++u) ForwardBlock(a, u / blocks, u % blocks, workspace);
}

// One block of queries of one head: adds to dK and dV, and writes its rows of dQ.
//   P = exp(S - LogSumExp), dV += P^T dY, dS = P (scale dY V^T - D) with D = scale sum(dY Y), dQ += dS K, dK += dS^T Q
void BackwardBlock(const AttentionArgs& a, int64_t head, int64_t kv, int64_t number, float* workspace) {
  const QueryBlock queries = BlockOf(a, number);
  const int64_t first = head * a.queries + queries.first;
  float *packed = workspace, *packed_dy = packed + kBlock * a.width, *p = packed_dy + kBlock * a.value_width;
  float *ds = p + kBlock * kBlock, *log_sum = ds + kBlock * kBlock, *delta = log_sum + kBlock;
  const float *q = a.q + first * a.width, *dy = a.dy + first * a.value_width, *y = a.saved_y + first * a.value_width;
  float* dq = a.dq + first * a.width;
  PackColumns(q, queries.count(), a.width, a.scale * kLog2E, packed);
  PackColumns(dy, queries.count(), a.value_width, a.scale, packed_dy);
  Fill(log_sum, kBlock, 0.0f);
  Fill(delta, kBlock, 0.0f);
  for (int64_t i = 0; i < queries.count(); ++i) {
    if (a.saved[first + i] != -kInfinity) log_sum[i] = a.saved[first + i] * kLog2E;
    float sum = 0;
    const float *dy_row = dy + i * a.value_width, *y_row = y + i * a.value_width;
    TENON_SIMD_SUM(sum) for (int64_t c = 0; c < a.value_width; ++c) sum += dy_row[c] * y_row[c];
    delta[i] = a.scale * sum;
  }
  Fill(dq, queries.count() * a.width, 0.0f);
  for (int64_t j = queries.key_begin; j < queries.key_end; j += kBlock) {
    const KeyBlock keys{j, Min(j + kBlock, queries.key_end)};
    const int64_t key = kv * a.keys + j;
    const float *k = a.k + key * a.width, *v = a.v + key * a.value_width;
    Product(keys.count(), kBlock, a.width, {k, a.width, 1}, {packed, kBlock}, {p, kBlock}, false);
    Mask(a, queries, keys, p);
    Product(keys.count(), kBlock, a.value_width, {v, a.value_width, 1}, {packed_dy, kBlock}, {ds, kBlock}, false);
    for (int64_t r = 0; r < keys.count(); ++r) {
      float *p_row = p + r * kBlock, *ds_row = ds + r * kBlock;
      TENON_UNROLL for (int64_t i = 0; i < kBlock; i += kLanes) {
        const Vec weight = Exp2(At(p_row + i) - At(log_sum + i));
        At(p_row + i) = weight;
        At(ds_row + i) = weight * (At(ds_row + i) - At(delta + i));
      }
    }
    Product(keys.count(), a.value_width, queries.count(), {p, kBlock, 1}, {dy, a.value_width},
            {a.dv + key * a.value_width, a.value_width}, true);
    Product(keys.count(), a.width, queries.count(), {ds, kBlock, 1}, {q, a.width}, {a.dk + key * a.width, a.width},
            true);
    Product(queries.count(), a.width, keys.count(), {ds, 1, kBlock}, {k, a.width}, {dq, a.width}, true);
  }
}

void Backward(const AttentionArgs& a, float* workspace, Range units) {
  const int64_t shared = a.heads / a.kv_heads, blocks = (a.queries + kBlock - 1) / kBlock;
  for (int64_t kv = units.begin; kv < units.end; ++kv) {
    Fill(a.dk + kv * a.keys * a.width, a.keys * a.width, 0.0f);
    Fill(a.dv + kv * a.keys * a.value_width, a.keys * a.value_width, 0.0f);
    for (int64_t h = 0; h < shared; ++h) {
      for (int64_t b = 0; b < blocks; ++b) BackwardBlock(a, kv * shared + h, kv, b, workspace);
    }
  }
}

}  // namespace

extern const AttentionLoops kAttention;
const AttentionLoops kAttention = {&Forward, &Backward};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include <cmath>

#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(AttentionLoops, kAttention);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("Q", 0, kF32), sdk::Param("K", 0, kF32), sdk::Param("V", 0, kF32)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32), sdk::Param("LogSumExp", TENON_PARAM_SAVED, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32),        sdk::Param("Y", 0, kF32),
                                           sdk::Param("LogSumExp", 0, kF32), sdk::Param("Q", 0, kF32),
                                           sdk::Param("K", 0, kF32),         sdk::Param("V", 0, kF32)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dQ", 0, kF32), sdk::Param("dK", 0, kF32),
                                            sdk::Param("dV", 0, kF32)};
constexpr tenon_attribute kNoScale = sdk::FloatDefault(0), kNoWindow = sdk::IntDefault(0);
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("causal", TENON_ATTRIBUTE_FLAG, 0, nullptr, "query i sees the keys up to i"),
    sdk::AttributeDef("scale", TENON_ATTRIBUTE_FLOAT, 0, &kNoScale, "factor of Q . K; 0: 1 / sqrt(width)"),
    sdk::AttributeDef("window", TENON_ATTRIBUTE_INT, 0, &kNoWindow, "query i sees keys nearer than this; 0: all"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromOutput(0), sdk::FromSaved(0),
                                              sdk::FromInput(0),      sdk::FromInput(1),  sdk::FromInput(2)};
constexpr uint32_t kGradOf[] = {0, 1, 2};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "AttentionGrad", 1, kSources, kGradOf);

void CheckAttributes(const sdk::Infer& node) {
  const int64_t window = node.Int("window", 0);
  const double scale = node.Float("scale", 0);
  if (window < 0) node.Fail(TENON_INVALID_ARGUMENT, "Attribute window is ", window, "; it must be at least 0.");
  if (!(scale >= 0)) node.Fail(TENON_INVALID_ARGUMENT, "Attribute scale is ", scale, "; it must be at least 0.");
}

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireRank(node, 0, "Q [batch, heads, queries, width]", 4);
    RequireRank(node, 1, "K [batch, kv heads, keys, width]", 4);
    RequireRank(node, 2, "V [batch, kv heads, keys, value width]", 4);
    CheckAttributes(node);
    node.RequireEqual(node.InputDim(0, 0), node.InputDim(1, 0), "Q and K need the same batch.");
    node.RequireEqual(node.InputDim(0, 3), node.InputDim(1, 3), "Q and K need the same width.");
    node.RequireEqual(node.InputDim(1, 0), node.InputDim(2, 0), "K and V need the same batch.");
    node.RequireEqual(node.InputDim(1, 1), node.InputDim(2, 1), "K and V need the same heads.");
    node.RequireEqual(node.InputDim(1, 2), node.InputDim(2, 2), "K and V need the same number of keys.");
    const tenon_dim kv_heads = node.InputDim(1, 1);
    if (sdk::IsKnown(kv_heads)) {
      if (kv_heads.value < 1)
        node.Fail(TENON_INVALID_ARGUMENT, "K has ", kv_heads.value, " heads; it needs at least 1.");
      node.RequireDivisible(node.InputDim(0, 1), kv_heads.value, "The heads of Q must be a multiple of those of K.");
    }
    const tenon_dim rows[] = {node.InputDim(0, 0), node.InputDim(0, 1), node.InputDim(0, 2), node.InputDim(2, 3)};
    node.SetOutput(0, TENON_DTYPE_F32, 4, rows);
    if (node.output_count() > 1) node.SetOutput(1, TENON_DTYPE_F32, 3, rows);
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "Attention", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class AttentionKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    args_.causal = a.Flag("causal", false);
    args_.window = a.Int("window", 0);
    scale_ = a.Float("scale", 0);
    return TENON_OK;
  }

 protected:
  // `q` is the number of Q among the inputs.
  void SetShape(const sdk::PlanArgs& args, uint32_t q, sdk::PlanResult& result) {
    SetThreads(args);
    const sdk::Dims query = args.input(q).dims(), key = args.input(q + 1).dims();
    args_.batch = query[0], args_.heads = query[1], args_.queries = query[2], args_.width = query[3];
    args_.kv_heads = key[1], args_.keys = key[2], args_.value_width = args.input(q + 2).dim(3);
    args_.scale = static_cast<float>(scale_ > 0 ? scale_ : 1 / std::sqrt(static_cast<double>(args_.width)));
    result.Workspace(threads() * ThreadBytes());
  }
  uint64_t ThreadBytes() const {
    return (static_cast<uint64_t>(AttentionWorkspace(args_)) * sizeof(float) + 63) / 64 * 64;
  }
  float* WorkspaceOf(const sdk::Call& call, uint32_t worker) const {
    return call.workspace<float>() + worker * ThreadBytes() / sizeof(float);
  }
  // Of one query.
  double Nanoseconds() const { return 0.02 * static_cast<double>(args_.keys * (args_.width + args_.value_width)); }

  AttentionArgs args_;
  double scale_ = 0;
};

class Forward : public AttentionKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 0, result);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    AttentionArgs args = args_;
    args.q = call.in<float>(0), args.k = call.in<float>(1), args.v = call.in<float>(2);
    args.y = call.out<float>(0);
    args.log_sum_exp = call.has_output(1) ? call.out<float>(1) : nullptr;
    const int64_t blocks = (args.queries + kAttentionBlock - 1) / kAttentionBlock;
    const auto forward = kAttention(isa()).forward;
    return ForEach(error, args.batch * args.heads * blocks, kAttentionBlock * Nanoseconds(),
                   [&](Range units, uint32_t worker) { forward(args, WorkspaceOf(call, worker), units); });
  }
};

class Backward : public AttentionKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetShape(args, 3, result);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    AttentionArgs args = args_;
    args.dy = call.in<float>(0), args.saved_y = call.in<float>(1), args.saved = call.in<float>(2);
    args.q = call.in<float>(3), args.k = call.in<float>(4), args.v = call.in<float>(5);
    args.dq = call.out<float>(0), args.dk = call.out<float>(1), args.dv = call.out<float>(2);
    const auto backward = kAttention(isa()).backward;
    const double queries = static_cast<double>(args.queries * args.heads / args.kv_heads);
    return ForEach(error, args.batch * args.kv_heads, 2.5 * queries * Nanoseconds(),
                   [&](Range units, uint32_t worker) { backward(args, WorkspaceOf(call, worker), units); });
  }
};

}  // namespace

void AddAttention(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "AttentionGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("Attention", "attention");
  library.AddKernel<Backward>("AttentionGrad", "attention_grad");
}

}  // namespace tenon::ops
#endif
