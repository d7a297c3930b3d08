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

template <class Args, class F>
TENON_INLINE void Rows(const Args& a, const Parallel& pool, const F& f) {
  if (a.columns == 0) return;
  const int64_t pieces = Pieces(pool, a.rows, RowNanoseconds(a.rows, a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range rows = Piece(a.rows, pieces, i);
    for (int64_t r = rows.begin; r < rows.end; ++r) f(r);
  });
}

}  // namespace

void Softmax(const SoftmaxArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { SoftmaxRow(a, r); });
}
void SoftmaxGrad(const SoftmaxGradArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { SoftmaxGradRow(a, r); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
