#include "plugins/device_cpu/compute/cross_entropy.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/row_sums.h"
#include "plugins/device_cpu/compute/softmax_rows.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The shares of one call by class.
struct Shares {
  const float* weights;
  float hot, each;  // of the label, and of every class, before weights
  float all = 0;    // sum of the weights

  TENON_INLINE Shares(const ClassShares& s, int64_t classes)
      : weights(s.weights), hot(1 - s.smoothing), each(s.smoothing / static_cast<float>(classes)) {
    for (int64_t c = 0; c < classes; ++c) all += Weight(c);
  }
  TENON_INLINE float Weight(int64_t c) const { return weights != nullptr ? weights[c] : 1.0f; }
  TENON_INLINE Vec Weights(int64_t c, int64_t count) const {
    return weights != nullptr ? LoadPartial(weights + c, count) : Set(1.0f);
  }
  // Sum of the shares of a position.
  TENON_INLINE float Whole(int64_t label) const { return hot * Weight(label) + each * all; }
};

// ---- area 1: the classes of a position are neighbours.

void LossOfRow(const CrossEntropyArgs& a, const Shares& shares, int64_t r) {
  const int64_t n = a.classes, label = a.labels[r];
  const float* x = a.scores + r * n;
  const float top = RowMax(x, n), log_sum = top + LogOne(SumOfExp(x, n, top, nullptr));
  float loss = label < 0 ? 0.0f : shares.hot * shares.Weight(label) * (log_sum - x[label]);
  if (shares.each != 0 && label >= 0) {
    loss += shares.each * SumOver(n, [&](int64_t c, int64_t count) {
              return FirstLanes(shares.Weights(c, count) * (Set(log_sum) - LoadPartial(x + c, count)), count);
            });
  }
  a.loss[r] = loss;
  for (int64_t c = 0; a.log_prob != nullptr && c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    StorePartial(a.log_prob + r * n + c, LoadPartial(x + c, count) - Set(log_sum), count);
  }
}

void GradOfRow(const CrossEntropyGradArgs& a, const Shares& shares, int64_t r) {
  const int64_t n = a.classes, label = a.labels[r];
  float* d = a.d_scores + r * n;
  const float scale = a.scale * (a.position_scale != nullptr ? a.position_scale[r] : 1.0f);
  const Vec whole = Set(label < 0 ? 0.0f : scale * shares.Whole(label)), each = Set(scale * shares.each);
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    Vec v = Zero();
    if (label >= 0) v = Exp(LoadPartial(a.log_prob + r * n + c, count)) * whole;
    if (label >= 0 && shares.each != 0) v -= each * shares.Weights(c, count);
    StorePartial(d + c, v, count);
  }
  if (label >= 0) d[label] -= scale * shares.hot * shares.Weight(label);
}

// ---- a larger area: neighbours are positions. A lane is one of them.

// `count` positions of image `image` from `at` on.
struct Positions {
  int64_t image, at, count;
  template <class Args>
  TENON_INLINE int64_t Of(const Args& a, int64_t c) const {
    return (image * a.classes + c) * a.area + at;
  }
};

void LossOfPositions(const CrossEntropyArgs& a, const Shares& shares, const Positions& p) {
  const auto score = [&](int64_t c) { return LoadPartial(a.scores + p.Of(a, c), p.count); };
  Vec top = score(0), sum = Zero(), weighted = Zero();
  for (int64_t c = 1; c < a.classes; ++c) {
    const Vec v = score(c);
    top = Select((v > top) | (v != v), v, top);
  }
  for (int64_t c = 0; c < a.classes; ++c) sum += Exp(score(c) - top);
  const Vec log_sum = top + Log(sum);
  for (int64_t c = 0; c < a.classes && (a.log_prob != nullptr || shares.each != 0); ++c) {
    const Vec log_prob = score(c) - log_sum;
    if (shares.each != 0) weighted += log_prob * Set(shares.Weight(c));
    if (a.log_prob != nullptr) StorePartial(a.log_prob + p.Of(a, c), log_prob, p.count);
  }
  alignas(64) float sums[kLanes], others[kLanes];
  Store(sums, log_sum);
  Store(others, weighted);
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t position = p.image * a.area + p.at + i, label = a.labels[position];
    if (label < 0) {
      a.loss[position] = 0.0f;
      continue;
    }
    const float own = sums[i] - a.scores[p.Of(a, label) + i];
    a.loss[position] = shares.hot * shares.Weight(label) * own - shares.each * others[i];
  }
}

void GradOfPositions(const CrossEntropyGradArgs& a, const Shares& shares, const Positions& p) {
  alignas(64) float whole[kLanes] = {}, scale[kLanes] = {};
  alignas(64) int32_t labels[kLanes] = {};
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t position = p.image * a.area + p.at + i, label = a.labels[position];
    labels[i] = static_cast<int32_t>(label);
    if (label < 0) continue;
    scale[i] = a.scale * (a.position_scale != nullptr ? a.position_scale[position] : 1.0f);
    whole[i] = scale[i] * shares.Whole(label);
  }
  const IVec label = *reinterpret_cast<const IVecAny*>(labels);
  const Vec of_all = Load(whole), times = Load(scale);
  for (int64_t c = 0; c < a.classes; ++c) {
    const float weight = shares.Weight(c);
    const Vec hot = KeepWhere(label == SetI(static_cast<int32_t>(c)), Set(shares.hot * weight));
    const Vec slope = Exp(LoadPartial(a.log_prob + p.Of(a, c), p.count)) * of_all;
    const Vec d = slope - times * (hot + Set(shares.each * weight));
    StorePartial(a.d_scores + p.Of(a, c), label < SetI(0) ? Zero() : d, p.count);
  }
}

// Calls row(r) for rows of neighbouring classes, or positions(p) for neighbouring positions, on the pool.
template <class Args, class Row, class Lanes>
TENON_INLINE void ForPositions(const Args& a, const Parallel& pool, const Row& row, const Lanes& positions) {
  const int64_t blocks = CeilDiv(a.area, kLanes), units = a.images * blocks;
  const double work = 20.0 + 0.7 * static_cast<double>(a.classes * Min(a.area, kLanes));
  const int64_t pieces = Pieces(pool, units, work * static_cast<double>(units));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(units, pieces, i);
    for (int64_t u = own.begin; u < own.end; ++u) {
      if (a.area == 1) {
        row(u);
        continue;
      }
      const int64_t at = u % blocks * kLanes;
      positions(Positions{u / blocks, at, Min(kLanes, a.area - at)});
    }
  });
}

}  // namespace

void CrossEntropy(const CrossEntropyArgs& a, const Parallel& pool) {
  const Shares shares(a.shares, a.classes);
  ForPositions(
      a, pool, [&](int64_t r) { LossOfRow(a, shares, r); }, [&](const Positions& p) { LossOfPositions(a, shares, p); });
}
void CrossEntropyGrad(const CrossEntropyGradArgs& a, const Parallel& pool) {
  const Shares shares(a.shares, a.classes);
  ForPositions(
      a, pool, [&](int64_t r) { GradOfRow(a, shares, r); }, [&](const Positions& p) { GradOfPositions(a, shares, p); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
