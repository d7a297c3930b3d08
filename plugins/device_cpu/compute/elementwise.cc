#include "plugins/device_cpu/compute/elementwise.h"

#include "plugins/device_cpu/compute/broadcast_rows.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// ---- gradient mask with column sums

template <class T>
void MaskColumns(const MaskArgsOf<T>& a, Range columns) {
  for (int64_t c = columns.begin; c < columns.end; c += kLanes) {
    const int64_t count = Min(kLanes, columns.end - c);
    Vec sum[2] = {Zero(), Zero()};
    for (int64_t r = 0; r < a.rows; ++r) {
      Vec g = LoadPartial(a.dy + r * a.columns + c, count);
      if (a.y != nullptr) g = KeepWhere(~(LoadPartial(a.y + r * a.columns + c, count) <= Zero()), g);
      if (a.g != nullptr) StorePartial(a.g + r * a.columns + c, g, count);
      sum[r & 1] += g;
    }
    if (a.column_sums != nullptr) StorePartial(a.column_sums + c, (sum[0] + sum[1]) * Set(a.sum_scale), count);
  }
}

// Attributes of an operator in every lane.
struct Constants {
  Vec alpha, beta;
};

// ---- unary

template <UnaryOp kOp>
TENON_INLINE Vec Apply(Vec x, const Constants& k) {
  switch (kOp) {
    case UnaryOp::kRelu:
      return Relu(x);
    case UnaryOp::kLeakyRelu:
      return x < Zero() ? x * k.alpha : x;
    case UnaryOp::kSigmoid:
      return Sigmoid(x);
    case UnaryOp::kTanh:
      return Tanh(x);
    case UnaryOp::kExp:
      return Exp(x);
    case UnaryOp::kLog:
      return Log(x);
    case UnaryOp::kSqrt:
      return Sqrt(x);
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return Abs(x);
    case UnaryOp::kReciprocal:
      return Set(1.0f) / x;
    case UnaryOp::kElu:
      return x < Zero() ? k.alpha * Expm1OfNegative(x) : x;
    case UnaryOp::kHardSigmoid: {
      const Vec line = k.alpha * x + k.beta;
      return Select(line < Zero(), Zero(), Select(line > Set(1.0f), Set(1.0f), line));
    }
    case UnaryOp::kHardSwish: {
      const Vec bend = x * (x + Set(3.0f)) * Set(1.0f / 6);
      return Select(x <= Set(-3.0f), Zero(), Select(x >= Set(3.0f), x, bend));
    }
    case UnaryOp::kSoftplus:
      return Softplus(x);
    case UnaryOp::kSwish:
      return x * Sigmoid(k.alpha * x);
    case UnaryOp::kErf:
      return Erf(x);
    case UnaryOp::kSin:
      return Sin(x);
    case UnaryOp::kCos:
      return Cos(x);
    case UnaryOp::kFloor:
      return Floor(x);
    case UnaryOp::kCeil:
      return Ceil(x);
    case UnaryOp::kRound:
      return Round(x);
    case UnaryOp::kSign:
      return Select(x > Zero(), Set(1.0f), Select(x < Zero(), Set(-1.0f), Select(x == Zero(), Zero(), x)));
    case UnaryOp::kClip: {
      const Vec raised = Select(x < k.alpha, k.alpha, x);
      return Select(raised > k.beta, k.beta, raised);
    }
  }
}

template <UnaryOp kOp, class T>
void UnaryLoop(const UnaryArgsOf<T>& a, Range r) {
  const Constants k{Set(a.alpha), Set(a.beta)};
  int64_t i = r.begin;
  for (; i + kLanes <= r.end; i += kLanes) Store(a.y + i, Apply<kOp>(Load(a.x + i), k));
  if (i < r.end) StorePartial(a.y + i, Apply<kOp>(LoadPartial(a.x + i, r.end - i), k), r.end - i);
}

template <class T>
void UnaryRange(const UnaryArgsOf<T>& a, Range r) {
  switch (a.op) {
    case UnaryOp::kRelu:
      return UnaryLoop<UnaryOp::kRelu>(a, r);
    case UnaryOp::kLeakyRelu:
      return UnaryLoop<UnaryOp::kLeakyRelu>(a, r);
    case UnaryOp::kSigmoid:
      return UnaryLoop<UnaryOp::kSigmoid>(a, r);
    case UnaryOp::kTanh:
      return UnaryLoop<UnaryOp::kTanh>(a, r);
    case UnaryOp::kExp:
      return UnaryLoop<UnaryOp::kExp>(a, r);
    case UnaryOp::kLog:
      return UnaryLoop<UnaryOp::kLog>(a, r);
    case UnaryOp::kSqrt:
      return UnaryLoop<UnaryOp::kSqrt>(a, r);
    case UnaryOp::kNeg:
      return UnaryLoop<UnaryOp::kNeg>(a, r);
    case UnaryOp::kAbs:
      return UnaryLoop<UnaryOp::kAbs>(a, r);
    case UnaryOp::kReciprocal:
      return UnaryLoop<UnaryOp::kReciprocal>(a, r);
    case UnaryOp::kElu:
      return UnaryLoop<UnaryOp::kElu>(a, r);
    case UnaryOp::kHardSigmoid:
      return UnaryLoop<UnaryOp::kHardSigmoid>(a, r);
    case UnaryOp::kHardSwish:
      return UnaryLoop<UnaryOp::kHardSwish>(a, r);
    case UnaryOp::kSoftplus:
      return UnaryLoop<UnaryOp::kSoftplus>(a, r);
    case UnaryOp::kSwish:
      return UnaryLoop<UnaryOp::kSwish>(a, r);
    case UnaryOp::kErf:
      return UnaryLoop<UnaryOp::kErf>(a, r);
    case UnaryOp::kSin:
      return UnaryLoop<UnaryOp::kSin>(a, r);
    case UnaryOp::kCos:
      return UnaryLoop<UnaryOp::kCos>(a, r);
    case UnaryOp::kFloor:
      return UnaryLoop<UnaryOp::kFloor>(a, r);
    case UnaryOp::kCeil:
      return UnaryLoop<UnaryOp::kCeil>(a, r);
    case UnaryOp::kRound:
      return UnaryLoop<UnaryOp::kRound>(a, r);
    case UnaryOp::kSign:
      return UnaryLoop<UnaryOp::kSign>(a, r);
    case UnaryOp::kClip:
      return UnaryLoop<UnaryOp::kClip>(a, r);
  }
}

// ---- binary

template <BinaryOp kOp>
TENON_INLINE Vec Apply(Vec a, Vec b, const Constants& k) {
  switch (kOp) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kMax:
      return Select((a > b) | (a != a), a, b);
    case BinaryOp::kMin:
      return Select((a < b) | (a != a), a, b);
    case BinaryOp::kReluGrad:
      return KeepWhere(~(b <= Zero()), a);
    case BinaryOp::kLeakyReluGrad:
      return b >= Zero() ? a : a * k.alpha;
    case BinaryOp::kSigmoidGrad:
      return a * (b * (Set(1.0f) - b));
    case BinaryOp::kTanhGrad:
      return a * (Set(1.0f) - b * b);
    case BinaryOp::kEluGrad:
      return b > Zero() ? a : a * (k.alpha * Exp(b));
    case BinaryOp::kHardSigmoidGrad: {
      const Vec line = k.alpha * b + k.beta;
      return Select((line <= Zero()) | (line >= Set(1.0f)), Zero(), a * k.alpha);
    }
    case BinaryOp::kHardSwishGrad: {
      const Vec bend = a * (b * Set(1.0f / 3) + Set(0.5f));
      return Select(b <= Set(-3.0f), Zero(), Select(b >= Set(3.0f), a, bend));
    }
    case BinaryOp::kSoftplusGrad:
      return a * Sigmoid(b);
    case BinaryOp::kSwishGrad: {
      const Vec z = k.alpha * b, s = Sigmoid(z);
      return a * (s * (Set(1.0f) + z * (Set(1.0f) - s)));
    }
    case BinaryOp::kErfGrad:
      return a * (Set(1.12837917f) * Exp(-(b * b)));
    case BinaryOp::kAbsGrad:
      return Select(b > Zero(), a, Select(b < Zero(), -a, a * b));
    case BinaryOp::kPRelu:
      return a < Zero() ? a * b : a;
    case BinaryOp::kClipGrad:
      return Select((b < k.alpha) | (b > k.beta), Zero(), a);
  }
}

// One inner row; steps are 0 or 1.
template <BinaryOp kOp, bool kStepA, bool kStepB, class T>
TENON_INLINE void BinaryRow(const T* a, const T* b, T* out, int64_t n, const Constants& k) {
  const Vec one_a = Set(ToFloat(*a)), one_b = Set(ToFloat(*b));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    Store(out + i, Apply<kOp>(kStepA ? Load(a + i) : one_a, kStepB ? Load(b + i) : one_b, k));
  if (i < n) {
    const int64_t left = n - i;
    const Vec va = kStepA ? LoadPartial(a + i, left) : one_a, vb = kStepB ? LoadPartial(b + i, left) : one_b;
    StorePartial(out + i, Apply<kOp>(va, vb, k), left);
  }
}

// Outer rows [rows.begin, rows.end), part `part` of the inner dim.
template <BinaryOp kOp, class T>
void BinaryRows(const BinaryArgsOf<T>& p, Range rows, Range part) {
  const int inner = p.rank - 1;
  const Constants k{Set(p.alpha), Set(p.beta)};
  const int64_t step_a = p.a_strides[inner], step_b = p.b_strides[inner], n = part.end - part.begin;
  ForBroadcastRows(p, rows, part.begin, [&](int64_t at_a, int64_t at_b, int64_t at) {
    const T* a = p.a + at_a;
    const T* b = p.b + at_b;
    T* out = p.out + at;
    if (step_a != 0 && step_b != 0)
      BinaryRow<kOp, true, true>(a, b, out, n, k);
    else if (step_a != 0)
      BinaryRow<kOp, true, false>(a, b, out, n, k);
    else if (step_b != 0)
      BinaryRow<kOp, false, true>(a, b, out, n, k);
    else
      BinaryRow<kOp, false, false>(a, b, out, n, k);
  });
}

template <class T>
void BinaryAny(const BinaryArgsOf<T>& p, Range rows, Range part) {
  switch (p.op) {
    case BinaryOp::kAdd:
      return BinaryRows<BinaryOp::kAdd>(p, rows, part);
    case BinaryOp::kSub:
      return BinaryRows<BinaryOp::kSub>(p, rows, part);
    case BinaryOp::kMul:
      return BinaryRows<BinaryOp::kMul>(p, rows, part);
    case BinaryOp::kDiv:
      return BinaryRows<BinaryOp::kDiv>(p, rows, part);
    case BinaryOp::kMax:
      return BinaryRows<BinaryOp::kMax>(p, rows, part);
    case BinaryOp::kMin:
      return BinaryRows<BinaryOp::kMin>(p, rows, part);
    case BinaryOp::kReluGrad:
      return BinaryRows<BinaryOp::kReluGrad>(p, rows, part);
    case BinaryOp::kLeakyReluGrad:
      return BinaryRows<BinaryOp::kLeakyReluGrad>(p, rows, part);
    case BinaryOp::kSigmoidGrad:
      return BinaryRows<BinaryOp::kSigmoidGrad>(p, rows, part);
    case BinaryOp::kTanhGrad:
      return BinaryRows<BinaryOp::kTanhGrad>(p, rows, part);
    case BinaryOp::kEluGrad:
      return BinaryRows<BinaryOp::kEluGrad>(p, rows, part);
    case BinaryOp::kHardSigmoidGrad:
      return BinaryRows<BinaryOp::kHardSigmoidGrad>(p, rows, part);
    case BinaryOp::kHardSwishGrad:
      return BinaryRows<BinaryOp::kHardSwishGrad>(p, rows, part);
    case BinaryOp::kSoftplusGrad:
      return BinaryRows<BinaryOp::kSoftplusGrad>(p, rows, part);
    case BinaryOp::kSwishGrad:
      return BinaryRows<BinaryOp::kSwishGrad>(p, rows, part);
    case BinaryOp::kErfGrad:
      return BinaryRows<BinaryOp::kErfGrad>(p, rows, part);
    case BinaryOp::kAbsGrad:
      return BinaryRows<BinaryOp::kAbsGrad>(p, rows, part);
    case BinaryOp::kPRelu:
      return BinaryRows<BinaryOp::kPRelu>(p, rows, part);
    case BinaryOp::kClipGrad:
      return BinaryRows<BinaryOp::kClipGrad>(p, rows, part);
  }
}

}  // namespace

template <class T>
void MaskGradient(const MaskArgsOf<T>& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.columns, 4 * kLanes), 0.3 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) { MaskColumns(a, Piece(a.columns, pieces, i, kLanes)); });
}

template <class T>
void Unary(const UnaryArgsOf<T>& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), 0.5 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) { UnaryRange(a, Piece(a.count, pieces, i, 64)); });
}

template <class T>
void Binary(const BinaryArgsOf<T>& p, const Parallel& pool) {
  ForBroadcastPieces(p, 0.3, pool, [&](Range rows, Range part) { BinaryAny(p, rows, part); });
}

template void MaskGradient(const MaskArgsOf<float>&, const Parallel&);
template void MaskGradient(const MaskArgsOf<Bf16>&, const Parallel&);
template void Unary(const UnaryArgsOf<float>&, const Parallel&);
template void Unary(const UnaryArgsOf<Bf16>&, const Parallel&);
template void Binary(const BinaryArgsOf<float>&, const Parallel&);
template void Binary(const BinaryArgsOf<Bf16>&, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
