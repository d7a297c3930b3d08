// One head at a time: keys and values are packed once, queries go in blocks over blocks of keys. Memory grows with the
// length, not with its square. Source: Dao et al. 2022 (blocks, and what the gradient computes again); Milakov and
// Gimelshein 2018 (the running softmax).
#include "plugins/device_cpu/compute/attention.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/random_words.h"
#include "plugins/device_cpu/compute/tile_product.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr int64_t kForwardQueries = 32, kForwardKeys = 128;  // the block of scores stays in the first-level cache
constexpr int64_t kBackwardQueries = 64, kBackwardKeys = 64;

template <class T>
using Packed = typename PackedAs<T>::Type;

// Of E the elements of packed operands. Padded; a row of queries or of dy takes row_width or value_row_width elements.
template <class E>
struct Sizes {
  template <class T>
  explicit Sizes(const AttentionArgsOf<T>& a)
      : keys(RoundUp(Max(a.keys, 1), Max(kLanes, kProductRows))),
        width(RoundUp(Max(a.width, 1), kLanes)),
        value_width(RoundUp(Max(a.value_width, 1), kLanes)),
        row_width(RoundUp(CeilDiv(width, kPack<E>), kLanes)),
        value_row_width(RoundUp(CeilDiv(value_width, kPack<E>), kLanes)) {}
  int64_t keys, width, value_width, row_width, value_row_width;
};
template <class E>
TENON_INLINE int64_t Elements(int64_t numbers) {
  return CeilDiv(numbers, kPack<E>);
}

// Hands out parts of a workspace, each aligned to a cache line.
struct Space {
  float* at;
  template <class E = float>
  E* Take(int64_t elements) {
    float* part = at;
    at += RoundUp(elements, 16);
    return reinterpret_cast<E*>(part);
  }
};

TENON_INLINE Vec LaneNumbers() {
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = static_cast<float>(i);
  return v;
}
// `v` in the first `count` lanes, `other` beyond.
TENON_INLINE Vec FirstLanes(Vec v, int64_t count, float other) {
  if (count >= kLanes) return v;
  return Select(LaneNumbers() < Set(static_cast<float>(count)), v, Set(other));
}

// Where the mask of one query begins; null: none.
struct MaskRow {
  const float* floats = nullptr;
  const uint8_t* bytes = nullptr;
  int64_t step = 0;

  template <class T>
  MaskRow(const AttentionArgsOf<T>& a, int64_t b, int64_t h, int64_t i) {
    const int64_t at = b * a.mask_strides[0] + h * a.mask_strides[1] + i * a.mask_strides[2];
    if (a.mask != nullptr) floats = a.mask + at;
    if (a.mask_bytes != nullptr) bytes = a.mask_bytes + at;
    step = a.mask_strides[3];
  }
  // What is added to the scores of keys j .. j + count - 1.
  TENON_INLINE Vec Added(int64_t j, int64_t count) const {
    if (floats != nullptr) return step == 0 ? Set(*floats) : LoadPartial(floats + j, Min(count, kLanes));
    Vec v = Zero();
    if (bytes != nullptr)
      for (int i = 0; i < kLanes && i < count; ++i) v[i] = bytes[(j + i) * step] != 0 ? 0.0f : -kInfinity;
    return v;
  }
  bool given() const { return floats != nullptr || bytes != nullptr; }
};

// How many of `count` keys from k0 on the query i reads.
template <class T>
TENON_INLINE int64_t KeysRead(const AttentionArgsOf<T>& a, int64_t i, int64_t k0, int64_t count) {
  return a.causal ? Max(0, Min(count, i - k0 + 1)) : count;
}

// scores -> scale * scores + mask in place, -inf from `read` on to the end of its vector; the largest number of each lane.
TENON_INLINE Vec FinishScores(float factor, const MaskRow& mask, int64_t k0, int64_t read, float* scores) {
  Vec top = Set(-kInfinity);
  const Vec scale = Set(factor);
  for (int64_t c = 0; c < read; c += kLanes) {
    Vec v = Load(scores + c) * scale;
    if (mask.given()) v += mask.Added(k0 + c, read - c);
    v = FirstLanes(v, read - c, -kInfinity);
    Store(scores + c, v);
    top = Select(v > top, v, top);
  }
  return top;
}

// scores -> exp(scores - base) in place and their sums by lane; zero from `read` on to `padded`.
TENON_INLINE Vec Exponentials(float* scores, int64_t read, int64_t padded, float base) {
  Vec sum = Zero();
  int64_t c = 0;
  for (; c < read; c += kLanes) {
    const Vec e = FirstLanes(ExpOfNegative(Load(scores + c) - Set(base)), read - c, 0.0f);
    Store(scores + c, e);
    sum += e;
  }
  for (; c < padded; c += kLanes) Store(scores + c, Zero());
  return sum;
}

template <class T>
TENON_INLINE void Drop(const AttentionArgsOf<T>& a, int64_t at, int64_t i, int64_t k0, int64_t read, float* factors) {
  const uint64_t first = static_cast<uint64_t>((at * a.queries + i) * a.keys + k0);
  DropFactors(a.random_key, a.random_offset, first, read, DropLimit(a.dropout),
              static_cast<float>(1.0 / (1.0 - a.dropout)), factors);
}

TENON_INLINE void Scale(float* row, int64_t count, float factor) {
  for (int64_t c = 0; c < count; c += kLanes) Store(row + c, Load(row + c) * Set(factor));
}

TENON_INLINE float LogOne(float x) { return Log(Set(x))[0]; }

// `count` numbers, of which there is space for a multiple of kLanes, as elements of E.
TENON_INLINE const float* AsElements(const float* numbers, int64_t, float*) { return numbers; }
#if defined(__AVX512BF16__)
TENON_INLINE const Pair* AsElements(const float* numbers, int64_t count, Pair* to) {
  Bf16* const out = reinterpret_cast<Bf16*>(to);
  for (int64_t c = 0; c < count; c += kLanes) Store(out + c, Load(numbers + c));
  return to;
}
#endif

// Rows of `lanes` numbers, `ld` apart, as elements of E across rows.
TENON_INLINE const float* AcrossRows(const float* numbers, int64_t, int64_t, int64_t, float*) { return numbers; }
#if defined(__AVX512BF16__)
TENON_INLINE const Pair* AcrossRows(const float* numbers, int64_t ld, int64_t rows, int64_t lanes, Pair* to) {
  for (int64_t i = 0; i < rows; i += 2) {
    for (int64_t c = 0; c < lanes; c += kLanes) {
      const Vec next = i + 1 < rows ? Load(numbers + (i + 1) * ld + c) : Zero();
      Store(to + i / 2 * ld + c, RoundToPairs(Load(numbers + i * ld + c), next));
    }
  }
  return to;
}
#endif

// C[rows][lanes] = A[rows][k] B[k][lanes] as Product of vectors has it, on the tile unit if there is one.
template <bool kAdd, class E>
TENON_INLINE void Multiply(const TileMultiplier* unit, int64_t rows, int64_t lanes, int64_t k, const E* a, int64_t am,
                           int64_t ak, const E* b, int64_t ldb, float* c, int64_t ldc) {
  if (kPack<E> == 2 && unit != nullptr) return unit->multiply({rows, lanes, k, a, am, ak, b, ldb, c, ldc, kAdd});
  Product<kAdd>(rows, lanes, k, a, am, ak, b, ldb, c, ldc);
}

template <class T>
int64_t ForwardFloats(const AttentionArgsOf<T>& a) {
  using E = Packed<T>;
  const Sizes<E> n(a);
  const int64_t weights = kPack<E> == 1 ? 0 : kForwardQueries * Elements<E>(kForwardKeys);
  return Elements<E>(a.width) * n.keys + Elements<E>(n.keys) * n.value_width +
         kForwardQueries * (n.row_width + n.value_width + kForwardKeys) + weights + kForwardKeys + 2 * kForwardQueries +
         16 * 9;
}

// Of one query: weights are exp(score - base), `sum` adds them up by lane. The base is one of its scores so far, and none
// exceeds it by more than kSlack: it hardly ever changes. -inf: no score yet. (ExpOfNegative is right up to 88.)
struct Running {
  float base = -kInfinity;
  Vec sum = Zero();
};
constexpr float kSlack = 8.0f;

// Takes the larger base `top`; what is summed so far shrinks.
__attribute__((noinline)) void Rebase(float top, Running& run, float* sums, int64_t value_width) {
  const float keep = run.base == -kInfinity ? 0.0f : Exp(Set(run.base - top))[0];
  Scale(sums, value_width, keep);
  run.sum *= Set(keep);
  run.base = top;
}

// One block of scores of one query joins its running softmax; scores become weights.
template <class T>
TENON_INLINE void JoinBlock(const AttentionArgsOf<T>& a, int64_t at, int64_t i, int64_t k0, int64_t count,
                            float* scores, float* factors, Running& run, float* sums, int64_t value_width) {
  const int64_t read = KeysRead(a, i, k0, count), padded = RoundUp(count, kLanes);
  const MaskRow mask(a, at / a.heads, at % a.heads, i);
  const Vec top = FinishScores(a.scale, mask, k0, read, scores);
  if (Any(top > Set(run.base + kSlack))) Rebase(MaxLanes(top), run, sums, value_width);
  run.sum += Exponentials(scores, read, padded, run.base == -kInfinity ? 0.0f : run.base);
  if (a.dropout == 0) return;
  Drop(a, at, i, k0, read, factors);
  for (int64_t c = 0; c < read; ++c) scores[c] *= factors[c];
}

template <class T>
void ForwardHead(const AttentionForwardArgsOf<T>& args, int64_t at, float* workspace) {
  using E = Packed<T>;
  const AttentionArgsOf<T>& a = args.of;
  const Sizes<E> n(a);
  const int64_t b = at / a.heads, h = at % a.heads, width = Elements<E>(a.width);
  Space space{workspace};
  E* const keys = space.Take<E>(width * n.keys);
  E* const values = space.Take<E>(Elements<E>(n.keys) * n.value_width);
  E* const queries = space.Take<E>(kForwardQueries * n.row_width);
  E* const elements = kPack<E> == 1 ? nullptr : space.Take<E>(kForwardQueries * Elements<E>(kForwardKeys));
  float* const sums = space.Take(kForwardQueries * n.value_width);
  float* const scores = space.Take(kForwardQueries * kForwardKeys);
  float* const factors = space.Take(kForwardKeys);
  PackTransposed(a.k + a.k_at.base(b, h), a.k_at.row, a.keys, a.width, keys, n.keys);
  PackAcross(a.v + a.v_at.base(b, h), a.v_at.row, a.keys, a.value_width, values, n.keys, n.value_width);
  for (int64_t q0 = 0; q0 < a.queries; q0 += kForwardQueries) {
    const int64_t rows = Min(kForwardQueries, a.queries - q0), padded = RoundUp(rows, kProductRows);
    PackMatrix(a.q + a.q_at.base(b, h) + q0 * a.q_at.row, a.q_at.row, rows, a.width, queries, padded, n.row_width);
    for (int64_t i = 0; i < padded * n.value_width; i += kLanes) Store(sums + i, Zero());
    Running run[kForwardQueries];
    const int64_t end = a.causal ? Min(a.keys, q0 + rows) : a.keys;
    for (int64_t k0 = 0; k0 < end; k0 += kForwardKeys) {
      const int64_t count = Min(kForwardKeys, end - k0);
      Multiply<false>(a.unit, padded, RoundUp(count, kLanes), width, queries, n.row_width, 1, keys + k0, n.keys, scores,
                      kForwardKeys);
      for (int64_t r = 0; r < rows; ++r)
        JoinBlock(a, at, q0 + r, k0, count, scores + r * kForwardKeys, factors, run[r], sums + r * n.value_width,
                  n.value_width);
      const E* const weights = AsElements(scores, padded * kForwardKeys, elements);
      Multiply<true>(a.unit, padded, n.value_width, Elements<E>(count), weights, Elements<E>(kForwardKeys), 1,
                     values + Elements<E>(k0) * n.value_width, n.value_width, sums, n.value_width);
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* y = args.y + a.y_at.base(b, h) + (q0 + r) * a.y_at.row;
      const float sum = SumLanes(run[r].sum);
      const Vec factor = Set(sum == 0.0f ? 0.0f : 1.0f / sum);
      for (int64_t c = 0; c < a.value_width; c += kLanes)
        StorePartial(y + c, Load(sums + r * n.value_width + c) * factor, Min(kLanes, a.value_width - c));
      if (args.log_sum != nullptr)
        args.log_sum[at * a.queries + q0 + r] = sum == 0.0f ? -kInfinity : run[r].base + LogOne(sum);
    }
  }
}

// Of E = Pair also what the products read across rows: queries, dy, scores, gradients; and the gradients by row.
template <class T>
int64_t BackwardFloats(const AttentionArgsOf<T>& a) {
  using E = Packed<T>;
  const Sizes<E> n(a);
  const int64_t across = kPack<E> == 1 ? 0
                                       : Elements<E>(kBackwardQueries) * (n.width + n.value_width + 2 * kBackwardKeys) +
                                             kBackwardQueries * Elements<E>(kBackwardKeys);
  return Elements<E>(a.width) * n.keys + Elements<E>(a.value_width) * n.keys + Elements<E>(n.keys) * n.width +
         n.keys * (n.width + n.value_width) +
         kBackwardQueries * (n.row_width + n.width + n.value_row_width + 2 * kBackwardKeys + 1) + across +
         kBackwardKeys + 16 * 17;
}

// Scores of one query over a block of keys become dropped probabilities, products dy . v the gradients of the scores.
template <class T>
TENON_INLINE void DifferentiateScores(const AttentionGradArgsOf<T>& args, int64_t at, int64_t i, int64_t k0,
                                      int64_t count, float total, float* factors, float* scores, float* gradients) {
  const AttentionArgsOf<T>& a = args.of;
  const int64_t read = KeysRead(a, i, k0, count), padded = RoundUp(count, kLanes);
  const MaskRow mask(a, at / a.heads, at % a.heads, i);
  const float log_sum = args.log_sum[at * a.queries + i];
  const Vec base = Set(log_sum == -kInfinity ? 0.0f : log_sum), scale = Set(a.scale), sum = Set(total);
  if (a.dropout > 0) Drop(a, at, i, k0, read, factors);
  int64_t c = 0;
  for (; c < read; c += kLanes) {
    Vec score = Load(scores + c) * scale;
    if (mask.given()) score += mask.Added(k0 + c, read - c);
    const Vec p = FirstLanes(ExpOfNegative(score - base), read - c, 0.0f);
    Vec kept = p, dp = Load(gradients + c);
    if (a.dropout > 0) {
      const Vec factor = LoadPartial(factors + c, Min(kLanes, read - c));
      kept = p * factor;
      dp = dp * factor;
    }
    Store(scores + c, kept);
    Store(gradients + c, FirstLanes(p * (dp - sum) * scale, read - c, 0.0f));
  }
  for (; c < padded; c += kLanes) {
    Store(scores + c, Zero());
    Store(gradients + c, Zero());
  }
}

template <class T>
TENON_INLINE float Dot(const T* a, const T* b, int64_t count) {
  Vec sum = Zero();
  for (int64_t c = 0; c < count; c += kLanes)
    sum += LoadPartial(a + c, Min(kLanes, count - c)) * LoadPartial(b + c, Min(kLanes, count - c));
  return SumLanes(sum);
}

template <class T>
TENON_INLINE void StoreRows(const float* from, int64_t padded, int64_t rows, int64_t columns, T* to, int64_t ld) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < columns; c += kLanes)
      StorePartial(to + i * ld + c, Load(from + i * padded + c), Min(kLanes, columns - c));
}

TENON_INLINE void Clear(float* x, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) Store(x + i, Zero());
}

template <class T>
void BackwardHead(const AttentionGradArgsOf<T>& args, int64_t at, float* workspace) {
  using E = Packed<T>;
  constexpr bool kPairs = kPack<E> != 1;
  const AttentionArgsOf<T>& a = args.of;
  const Sizes<E> n(a);
  const int64_t b = at / a.heads, h = at % a.heads, width = Elements<E>(a.width),
                value_width = Elements<E>(a.value_width);
  const int64_t pair_rows = Elements<E>(kBackwardQueries);
  Space space{workspace};
  E* const keys_t = space.Take<E>(width * n.keys);
  E* const values_t = space.Take<E>(value_width * n.keys);
  E* const keys = space.Take<E>(Elements<E>(n.keys) * n.width);
  E* const queries = space.Take<E>(kBackwardQueries * n.row_width);
  E* const dy = space.Take<E>(kBackwardQueries * n.value_row_width);
  E* const queries_across = kPairs ? space.Take<E>(pair_rows * n.width) : queries;
  E* const dy_across = kPairs ? space.Take<E>(pair_rows * n.value_width) : dy;
  E* const scores_space = kPairs ? space.Take<E>(pair_rows * kBackwardKeys) : nullptr;
  E* const gradients_space = kPairs ? space.Take<E>(pair_rows * kBackwardKeys) : nullptr;
  E* const rows_space = kPairs ? space.Take<E>(kBackwardQueries * Elements<E>(kBackwardKeys)) : nullptr;
  float* const dk = space.Take(n.keys * n.width);
  float* const dv = space.Take(n.keys * n.value_width);
  float* const dq = space.Take(kBackwardQueries * n.width);
  float* const scores = space.Take(kBackwardQueries * kBackwardKeys);
  float* const gradients = space.Take(kBackwardQueries * kBackwardKeys);
  float* const totals = space.Take(kBackwardQueries);
  float* const factors = space.Take(kBackwardKeys);
  PackTransposed(a.k + a.k_at.base(b, h), a.k_at.row, a.keys, a.width, keys_t, n.keys);
  PackTransposed(a.v + a.v_at.base(b, h), a.v_at.row, a.keys, a.value_width, values_t, n.keys);
  PackAcross(a.k + a.k_at.base(b, h), a.k_at.row, a.keys, a.width, keys, n.keys, n.width);
  Clear(dk, n.keys * n.width);
  Clear(dv, n.keys * n.value_width);
  for (int64_t q0 = 0; q0 < a.queries; q0 += kBackwardQueries) {
    const int64_t rows = Min(kBackwardQueries, a.queries - q0), padded = RoundUp(rows, kProductRows);
    const T* const q_rows = a.q + a.q_at.base(b, h) + q0 * a.q_at.row;
    const int64_t y_row = a.y_at.base(b, h) + q0 * a.y_at.row;
    PackMatrix(q_rows, a.q_at.row, rows, a.width, queries, padded, n.row_width);
    PackMatrix(args.dy + y_row, a.y_at.row, rows, a.value_width, dy, padded, n.value_row_width);
    if constexpr (kPairs) {
      PackAcross(q_rows, a.q_at.row, rows, a.width, queries_across, padded, n.width);
      PackAcross(args.dy + y_row, a.y_at.row, rows, a.value_width, dy_across, padded, n.value_width);
    }
    for (int64_t r = 0; r < rows; ++r)
      totals[r] = Dot(args.dy + y_row + r * a.y_at.row, args.y + y_row + r * a.y_at.row, a.value_width);
    Clear(dq, padded * n.width);
    const int64_t end = a.causal ? Min(a.keys, q0 + rows) : a.keys;
    for (int64_t k0 = 0; k0 < end; k0 += kBackwardKeys) {
      const int64_t count = Min(kBackwardKeys, end - k0), lanes = RoundUp(count, kLanes);
      const int64_t key_rows = RoundUp(count, kProductRows), pairs = Elements<E>(rows);
      Multiply<false>(a.unit, padded, lanes, width, queries, n.row_width, 1, keys_t + k0, n.keys, scores,
                      kBackwardKeys);
      Multiply<false>(a.unit, padded, lanes, value_width, dy, n.value_row_width, 1, values_t + k0, n.keys, gradients,
                      kBackwardKeys);
      for (int64_t r = 0; r < rows; ++r)
        DifferentiateScores(args, at, q0 + r, k0, count, totals[r], factors, scores + r * kBackwardKeys,
                            gradients + r * kBackwardKeys);
      const E* const scores_across = AcrossRows(scores, kBackwardKeys, rows, lanes, scores_space);
      const E* const gradients_across = AcrossRows(gradients, kBackwardKeys, rows, lanes, gradients_space);
      const E* const gradient_rows = AsElements(gradients, padded * kBackwardKeys, rows_space);
      Multiply<true>(a.unit, key_rows, n.value_width, pairs, scores_across, 1, kBackwardKeys, dy_across, n.value_width,
                     dv + k0 * n.value_width, n.value_width);
      Multiply<true>(a.unit, key_rows, n.width, pairs, gradients_across, 1, kBackwardKeys, queries_across, n.width,
                     dk + k0 * n.width, n.width);
      Multiply<true>(a.unit, padded, n.width, Elements<E>(count), gradient_rows, Elements<E>(kBackwardKeys), 1,
                     keys + Elements<E>(k0) * n.width, n.width, dq, n.width);
    }
    if (args.dq != nullptr)
      StoreRows(dq, n.width, rows, a.width, args.dq + a.q_at.base(b, h) + q0 * a.q_at.row, a.q_at.row);
  }
  if (args.dk != nullptr) StoreRows(dk, n.width, a.keys, a.width, args.dk + a.k_at.base(b, h), a.k_at.row);
  if (args.dv != nullptr) StoreRows(dv, n.value_width, a.keys, a.value_width, args.dv + a.v_at.base(b, h), a.v_at.row);
}

template <class T>
TENON_INLINE double Nanoseconds(const AttentionArgsOf<T>& a, double products) {
  return products * static_cast<double>(a.batch * a.heads * a.queries) * static_cast<double>(a.keys * a.width) /
         (2.0 * kLanes);
}

template <class T, class Head>
TENON_INLINE void EachHead(const AttentionArgsOf<T>& a, const Parallel& pool, double products, int64_t floats,
                           float* workspace, const Head& head) {
  const int64_t heads = a.batch * a.heads, pieces = Pieces(pool, heads, Nanoseconds(a, products));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range part = Piece(heads, pieces, i);
    const TileScope scope(a.unit);
    for (int64_t at = part.begin; at < part.end; ++at) head(at, workspace + i * floats);
  });
}

}  // namespace

template <class T>
int64_t AttentionForwardWorkspace(const AttentionArgsOf<T>& a, int64_t threads) {
  return RoundUp(ForwardFloats(a), 16) * Max(1, threads) * static_cast<int64_t>(sizeof(float));
}
template <class T>
int64_t AttentionGradWorkspace(const AttentionArgsOf<T>& a, int64_t threads) {
  return RoundUp(BackwardFloats(a), 16) * Max(1, threads) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void AttentionForward(const AttentionForwardArgsOf<T>& args, float* workspace, const Parallel& pool) {
  EachHead(args.of, pool, 2, RoundUp(ForwardFloats(args.of), 16), workspace,
           [&](int64_t at, float* space) { ForwardHead(args, at, space); });
}
template <class T>
void AttentionGrad(const AttentionGradArgsOf<T>& args, float* workspace, const Parallel& pool) {
  EachHead(args.of, pool, 5, RoundUp(BackwardFloats(args.of), 16), workspace,
           [&](int64_t at, float* space) { BackwardHead(args, at, space); });
}

template int64_t AttentionForwardWorkspace(const AttentionArgsOf<float>&, int64_t);
template int64_t AttentionForwardWorkspace(const AttentionArgsOf<Bf16>&, int64_t);
template int64_t AttentionGradWorkspace(const AttentionArgsOf<float>&, int64_t);
template int64_t AttentionGradWorkspace(const AttentionArgsOf<Bf16>&, int64_t);
template void AttentionForward(const AttentionForwardArgsOf<float>&, float*, const Parallel&);
template void AttentionForward(const AttentionForwardArgsOf<Bf16>&, float*, const Parallel&);
template void AttentionGrad(const AttentionGradArgsOf<float>&, float*, const Parallel&);
template void AttentionGrad(const AttentionGradArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
