#include "plugins/device_cpu/compute/gelu.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/gelu_value.h"
#include "plugins/device_cpu/compute/isa_functions.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <bool kApproximate, class T>
void Forward(const GeluArgsOf<T>& a, Range r) {
  int64_t i = r.begin;
  for (; i + kLanes <= r.end; i += kLanes) Store(a.y + i, GeluValue<kApproximate>(Load(a.x + i)));
  if (i < r.end) StorePartial(a.y + i, GeluValue<kApproximate>(LoadPartial(a.x + i, r.end - i)), r.end - i);
}

template <bool kApproximate, class T>
TENON_INLINE Vec One(const GeluGradArgsOf<T>& a, int64_t at, int64_t count) {
  const Vec dx = LoadPartial(a.dy + at, count) * GeluSlope<kApproximate>(LoadPartial(a.x + at, count));
  StorePartial(a.dx + at, dx, count);
  return dx;
}

template <bool kApproximate, class T>
void Backward(const GeluGradArgsOf<T>& a, Range rows, float* sums) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t c = 0; c < a.columns; c += kLanes) {
      const int64_t count = Min(kLanes, a.columns - c);
      const Vec dx = One<kApproximate>(a, r * a.columns + c, count);
      if (sums != nullptr) AddTo(sums + c, dx, count);
    }
  }
}

}  // namespace

template <class T>
void Gelu(const GeluArgsOf<T>& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), 0.5 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range part = Piece(a.count, pieces, i, 64);
    a.approximate ? Forward<true>(a, part) : Forward<false>(a, part);
  });
}

template <class T>
int64_t GeluGradWorkspace(const GeluGradArgsOf<T>& a) {
  return PartsOf(a.rows) * RoundUp(a.columns, 16) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void GeluGrad(const GeluGradArgsOf<T>& a, float* workspace, const Parallel& pool) {
  const int64_t parts = PartsOf(a.rows), stride = RoundUp(a.columns, 16);
  const int64_t pieces = Pieces(pool, parts, 1.0 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(parts, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) {
      float* sums = a.column_sums != nullptr ? workspace + p * stride : nullptr;
      if (sums != nullptr) ClearSums(sums, a.columns);
      const Range rows = RowsOfPart(a.rows, p);
      a.approximate ? Backward<true>(a, rows, sums) : Backward<false>(a, rows, sums);
    }
  });
  if (a.column_sums != nullptr) SumParts(workspace, parts, stride, a.columns, a.column_sums);
}

template void Gelu(const GeluArgsOf<float>&, const Parallel&);
template void Gelu(const GeluArgsOf<Bf16>&, const Parallel&);
template int64_t GeluGradWorkspace(const GeluGradArgsOf<float>&);
template int64_t GeluGradWorkspace(const GeluGradArgsOf<Bf16>&);
template void GeluGrad(const GeluGradArgsOf<float>&, float*, const Parallel&);
template void GeluGrad(const GeluGradArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
