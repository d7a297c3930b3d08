#include "plugins/device_cpu/compute/softmax.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/softmax_rows.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE double RowNanoseconds(int64_t rows, int64_t columns) {
  return static_cast<double>(rows) * (20.0 + 0.7 * static_cast<double>(columns));
}

void SoftmaxRow(const SoftmaxArgs& a, int64_t r) {
  const float* x = a.x + r * a.columns;
  float* y = a.y + r * a.columns;
  const float top = RowMax(x, a.columns);
  const float sum = SumOfExp(x, a.columns, top, a.log ? nullptr : y);
  const Vec shift = Set(a.log ? top + LogOne(sum) : 0.0f), factor = Set(1.0f / sum);
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    StorePartial(y + c, a.log ? LoadPartial(x + c, count) - shift : LoadPartial(y + c, count) * factor, count);
  }
}

void SoftmaxGradRow(const SoftmaxGradArgs& a, int64_t r) {
  const float* y = a.y + r * a.columns;
  const float* dy = a.dy + r * a.columns;
  Vec sum = Zero();
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    const Vec d = LoadPartial(dy + c, count);
    sum += a.log ? d : d * LoadPartial(y + c, count);
  }
  const Vec total = Set(SumLanes(sum));
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    const Vec d = LoadPartial(dy + c, count), v = LoadPartial(y + c, count);
    StorePartial(a.dx + r * a.columns + c, a.log ? d - Exp(v) * total : (d - total) * v, count);
  }
}

// A lane is one of `count` neighbouring positions i from `at` on; columns are a.inner apart.
void SoftmaxLanes(const SoftmaxArgs& a, int64_t at, int64_t count) {
  const auto value = [&](int64_t c) { return LoadPartial(a.x + at + c * a.inner, count); };
  Vec top = value(0), sum = Zero();
  for (int64_t c = 1; c < a.columns; ++c) {
    const Vec v = value(c);
    top = Select((v > top) | (v != v), v, top);
  }
  for (int64_t c = 0; c < a.columns; ++c) {
    const Vec e = Exp(value(c) - top);
    if (!a.log) StorePartial(a.y + at + c * a.inner, e, count);
    sum += e;
  }
  const Vec shift = top + Log(sum), factor = Set(1.0f) / sum;
  for (int64_t c = 0; c < a.columns; ++c) {
    float* const y = a.y + at + c * a.inner;
    StorePartial(y, a.log ? value(c) - shift : LoadPartial(y, count) * factor, count);
  }
}

void SoftmaxGradLanes(const SoftmaxGradArgs& a, int64_t at, int64_t count) {
  Vec total = Zero();
  for (int64_t c = 0; c < a.columns; ++c) {
    const Vec d = LoadPartial(a.dy + at + c * a.inner, count);
    total += a.log ? d : d * LoadPartial(a.y + at + c * a.inner, count);
  }
  for (int64_t c = 0; c < a.columns; ++c) {
    const int64_t place = at + c * a.inner;
    const Vec d = LoadPartial(a.dy + place, count), y = LoadPartial(a.y + place, count);
    StorePartial(a.dx + place, a.log ? d - Exp(y) * total : (d - total) * y, count);
  }
}

// Calls row(r), or lanes(at, count) where positions are neighbours, for the whole tensor on the pool.
template <class Args, class Row, class Lanes>
TENON_INLINE void ForRows(const Args& a, const Parallel& pool, const Row& row, const Lanes& lanes) {
  if (a.columns == 0) return;
  const int64_t blocks = CeilDiv(a.inner, kLanes), units = a.rows * blocks;
  const int64_t pieces = Pieces(pool, units, RowNanoseconds(units, a.columns * Min(a.inner, kLanes)));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(units, pieces, i);
    for (int64_t u = own.begin; u < own.end; ++u) {
      const int64_t first = u % blocks * kLanes;
      if (a.inner == 1)
        row(u);
      else
        lanes(u / blocks * a.columns * a.inner + first, Min(kLanes, a.inner - first));
    }
  });
}

}  // namespace

void Softmax(const SoftmaxArgs& a, const Parallel& pool) {
  ForRows(
      a, pool, [&](int64_t r) { SoftmaxRow(a, r); }, [&](int64_t at, int64_t count) { SoftmaxLanes(a, at, count); });
}
void SoftmaxGrad(const SoftmaxGradArgs& a, const Parallel& pool) {
  ForRows(
      a, pool, [&](int64_t r) { SoftmaxGradRow(a, r); },
      [&](int64_t at, int64_t count) { SoftmaxGradLanes(a, at, count); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
