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

void Adam(const AdamArgs& a, const Parallel& pool) {
  Flat(a, 0.5, pool, [&](Range r) { AdamRange(a, r); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
