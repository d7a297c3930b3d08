#include "plugins/device_cpu/compute/optimizer.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <bool kMomentum>
void SgdRange(const SgdArgs& a, Range range) {
  const Vec lr = Set(a.lr), momentum = Set(a.momentum), decay = Set(a.weight_decay), scale = Set(a.grad_scale);
  for (int64_t i = range.begin; i < range.end; i += kLanes) {
    const int64_t n = range.end - i;
    Vec p = LoadPartial(a.p + i, n);
    Vec g = LoadPartial(a.g + i, n) * scale + decay * p;
    if constexpr (kMomentum) {
      const Vec m = momentum * LoadPartial(a.m + i, n) + g;
      StorePartial(a.m_out + i, m, n);
      g = a.nesterov ? g + momentum * m : m;
    }
    StorePartial(a.p_out + i, p - lr * g, n);
  }
}

void AdamRange(const AdamArgs& a, Range range) {
  const float keep = a.decoupled ? 1.0f - a.lr * a.weight_decay : 1.0f;
  const Vec decay = Set(a.decoupled ? 0.0f : a.weight_decay), shrink = Set(keep), scale = Set(a.grad_scale);
  const Vec b1 = Set(a.beta1), b2 = Set(a.beta2), c1 = Set(1.0f - a.beta1), c2 = Set(1.0f - a.beta2);
  const Vec step = Set(static_cast<float>(static_cast<double>(a.lr) / a.bias1));
  const Vec root = Set(static_cast<float>(1.0 / __builtin_sqrt(a.bias2))), epsilon = Set(a.epsilon);
  for (int64_t i = range.begin; i < range.end; i += kLanes) {
    const int64_t n = range.end - i;
    const Vec p = LoadPartial(a.p + i, n);
    const Vec g = LoadPartial(a.g + i, n) * scale + decay * p;
    const Vec m = b1 * LoadPartial(a.m + i, n) + c1 * g;
    const Vec v = b2 * LoadPartial(a.v + i, n) + c2 * g * g;
    StorePartial(a.m_out + i, m, n);
    StorePartial(a.v_out + i, v, n);
    StorePartial(a.p_out + i, p * shrink - step * m / (Sqrt(v) * root + epsilon), n);
  }
}

struct LambConstants {
  Vec b1, b2, c1, c2, decay, root, epsilon, first;
  TENON_INLINE explicit LambConstants(const LambArgs& a)
      : b1(Set(a.beta1)),
        b2(Set(a.beta2)),
        c1(Set(1.0f - a.beta1)),
        c2(Set(1.0f - a.beta2)),
        decay(Set(a.weight_decay)),
        root(Set(static_cast<float>(1.0 / __builtin_sqrt(a.bias2)))),
        epsilon(Set(a.epsilon)),
        first(Set(static_cast<float>(1.0 / a.bias1))) {}
  TENON_INLINE Vec Direction(Vec p, Vec m, Vec v) const { return m * first / (Sqrt(v) * root + epsilon) + decay * p; }
};

// Moments of one block, and the squares of p and of the direction.
void LambMoments(const LambArgs& a, Range range, float* sums) {
  const LambConstants k(a);
  Vec p_squares = Zero(), r_squares = Zero();
  for (int64_t i = range.begin; i < range.end; i += kLanes) {
    const int64_t n = range.end - i;
    const Vec p = LoadPartial(a.p + i, n), g = LoadPartial(a.g + i, n);
    const Vec m = k.b1 * LoadPartial(a.m + i, n) + k.c1 * g;
    const Vec v = k.b2 * LoadPartial(a.v + i, n) + k.c2 * g * g;
    StorePartial(a.m_out + i, m, n);
    StorePartial(a.v_out + i, v, n);
    const Vec r = k.Direction(p, m, v);  // 0 in the lanes behind the end
    p_squares += p * p;
    r_squares += r * r;
  }
  sums[0] = SumLanes(p_squares);
  sums[1] = SumLanes(r_squares);
}

void LambStep(const LambArgs& a, Range range, float step) {
  const LambConstants k(a);
  for (int64_t i = range.begin; i < range.end; i += kLanes) {
    const int64_t n = range.end - i;
    const Vec p = LoadPartial(a.p + i, n);
    const Vec r = k.Direction(p, LoadPartial(a.m_out + i, n), LoadPartial(a.v_out + i, n));
    StorePartial(a.p_out + i, p - Set(step) * r, n);
  }
}

void BlendRange(const BlendArgs& a, Range range) {
  const Vec keep = Set(a.keep), take = Set(a.take);
  for (int64_t i = range.begin; i < range.end; i += kLanes) {
    const int64_t n = range.end - i;
    Vec v = take * LoadPartial(a.now + i, n);
    if (a.old != nullptr) v += keep * LoadPartial(a.old + i, n);
    StorePartial(a.out + i, v, n);
  }
}

// Denormal operands and results are zero on this thread while it lives.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  TENON_INLINE FlushDenormals() : old_(_mm_getcsr()) { _mm_setcsr(old_ | 0x8040); }
  TENON_INLINE ~FlushDenormals() { _mm_setcsr(old_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned old_;
#endif
};

template <class Args, class F>
TENON_INLINE void Flat(const Args& a, double nanoseconds, const Parallel& pool, const F& f) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), nanoseconds * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const FlushDenormals flush;
    f(Piece(a.count, pieces, i, 64));
  });
}

}  // namespace

void Sgd(const SgdArgs& a, const Parallel& pool) {
  Flat(a, 0.2, pool, [&](Range r) {
    if (a.momentum != 0.0f)
      SgdRange<true>(a, r);
    else
      SgdRange<false>(a, r);
  });
}

void Lamb(const LambArgs& a, float* sums, const Parallel& pool) {
  const int64_t blocks = CeilDiv(a.count, kLambBlock);
  const int64_t pieces = Pieces(pool, blocks, 0.6 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const FlushDenormals flush;
    const Range mine = Piece(blocks, pieces, i);
    for (int64_t b = mine.begin; b < mine.end; ++b)
      LambMoments(a, {b * kLambBlock, Min(a.count, (b + 1) * kLambBlock)}, sums + 2 * b);
  });
  double p_squares = 0, r_squares = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    p_squares += static_cast<double>(sums[2 * b]);
    r_squares += static_cast<double>(sums[2 * b + 1]);
  }
  const bool scales = p_squares > 0 && r_squares > 0;
  const double ratio = scales ? __builtin_sqrt(p_squares) / __builtin_sqrt(r_squares) : 1.0;
  const float step = static_cast<float>(static_cast<double>(a.lr) * ratio);
  Flat(a, 0.4, pool, [&](Range r) { LambStep(a, r, step); });
}

void Adam(const AdamArgs& a, const Parallel& pool) {
  Flat(a, 0.5, pool, [&](Range r) { AdamRange(a, r); });
}

void Blend(const BlendArgs& a, const Parallel& pool) {
  Flat(a, 0.2, pool, [&](Range r) { BlendRange(a, r); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
