#include "plugins/device_cpu/compute/element_loss.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <ElementLoss kLoss>
TENON_INLINE Vec LossOf(Vec x, Vec t, Vec beta) {
  const Vec d = x - t, size = Abs(d);
  switch (kLoss) {
    case ElementLoss::kSquared:
      return d * d;
    case ElementLoss::kAbsolute:
      return size;
    case ElementLoss::kSmooth:
      return Select(size < beta, Set(0.5f) * d * d / beta, size - Set(0.5f) * beta);
    case ElementLoss::kLogits:
      return (Set(1.0f) - t) * x + Softplus(-x);
  }
}

TENON_INLINE Vec Sign(Vec d) { return Select(d > Zero(), Set(1.0f), Select(d < Zero(), Set(-1.0f), d)); }

template <ElementLoss kLoss>
TENON_INLINE Vec SlopeOf(Vec x, Vec t, Vec beta) {
  const Vec d = x - t;
  switch (kLoss) {
    case ElementLoss::kSquared:
      return d + d;
    case ElementLoss::kAbsolute:
      return Sign(d);
    case ElementLoss::kSmooth:
      return Select(Abs(d) < beta, d / beta, Sign(d));
    case ElementLoss::kLogits:
      return Sigmoid(x) - t;
  }
}

// Elements [r.begin, r.end), all of one block; the sum of their losses.
template <ElementLoss kLoss>
float LossBlock(const ElementLossArgs& a, Range r) {
  const Vec beta = Set(a.beta);
  Vec sums[4] = {Zero(), Zero(), Zero(), Zero()};
  int64_t i = r.begin;
  for (; i + 4 * kLanes <= r.end; i += 4 * kLanes) {
    TENON_UNROLL for (int k = 0; k < 4; ++k) {
      const Vec loss = LossOf<kLoss>(Load(a.x + i + k * kLanes), Load(a.t + i + k * kLanes), beta);
      if (a.out != nullptr) Store(a.out + i + k * kLanes, loss);
      sums[k] += loss;
    }
  }
  float rest = 0;
  for (; i < r.end; i += kLanes) {
    const int64_t n = Min(kLanes, r.end - i);
    const Vec loss = LossOf<kLoss>(LoadPartial(a.x + i, n), LoadPartial(a.t + i, n), beta);
    if (a.out != nullptr) StorePartial(a.out + i, loss, n);
    for (int64_t k = 0; k < n; ++k) rest += loss[k];
  }
  return SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

template <ElementLoss kLoss>
void GradRange(const ElementLossGradArgs& a, Range r) {
  const Vec beta = Set(a.beta), scale = Set(a.scale);
  for (int64_t i = r.begin; i < r.end; i += kLanes) {
    const int64_t n = r.end - i;
    Vec dx = SlopeOf<kLoss>(LoadPartial(a.x + i, n), LoadPartial(a.t + i, n), beta) * scale;
    if (a.dloss != nullptr) dx *= LoadPartial(a.dloss + i, n);
    StorePartial(a.dx + i, dx, n);
  }
}

float AnyBlock(const ElementLossArgs& a, Range r) {
  switch (a.loss) {
    case ElementLoss::kSquared:
      return LossBlock<ElementLoss::kSquared>(a, r);
    case ElementLoss::kAbsolute:
      return LossBlock<ElementLoss::kAbsolute>(a, r);
    case ElementLoss::kSmooth:
      return LossBlock<ElementLoss::kSmooth>(a, r);
    case ElementLoss::kLogits:
      return LossBlock<ElementLoss::kLogits>(a, r);
  }
  return 0;
}

void AnyGrad(const ElementLossGradArgs& a, Range r) {
  switch (a.loss) {
    case ElementLoss::kSquared:
      return GradRange<ElementLoss::kSquared>(a, r);
    case ElementLoss::kAbsolute:
      return GradRange<ElementLoss::kAbsolute>(a, r);
    case ElementLoss::kSmooth:
      return GradRange<ElementLoss::kSmooth>(a, r);
    case ElementLoss::kLogits:
      return GradRange<ElementLoss::kLogits>(a, r);
  }
}

}  // namespace

void ElementLosses(const ElementLossArgs& a, const Parallel& pool) {
  const int64_t blocks = CeilDiv(a.count, kLossBlock);
  const int64_t pieces = Pieces(pool, blocks, 0.3 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range mine = Piece(blocks, pieces, i);
    for (int64_t k = mine.begin; k < mine.end; ++k) {
      const float sum = AnyBlock(a, {k * kLossBlock, Min(a.count, (k + 1) * kLossBlock)});
      if (a.sums != nullptr) a.sums[k] = sum;
    }
  });
}

void ElementLossGrad(const ElementLossGradArgs& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), 0.3 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) { AnyGrad(a, Piece(a.count, pieces, i, 64)); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
