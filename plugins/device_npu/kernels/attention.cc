// Scaled dot product attention and its gradient, head by head: products of matrices around a softmax of rows.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/map.h"
#include "kernels/philox.h"
#include "kernels/product.h"

namespace tenon::npu {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

// Element c of row i of head h of sample b lies at start + b * sample + h * head + i * row + c.
struct Place {
  int64_t start = 0, sample = 0, head = 0, row = 0;
  int64_t At(int64_t b, int64_t h) const { return start + b * sample + h * head; }
};

struct Attention {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  Place q, k, v, y;
  bool packed = false, causal = false;
  float scale = 1;
  double ratio = 0;
  uint32_t dtype = 0;
  // The mask: bool or a floating type, with strides in [batch, heads, queries, keys].
  uint32_t mask_input = 0, mask_dtype = 0;
  int64_t mask[4] = {};

  int64_t logits() const { return queries * keys; }
};

// Operands are [batch, heads, length, width], or [batch, length, heads * width] with `heads`.
Attention AttentionOf(const Request& request, uint32_t first) {
  request.RequireFloat(first);
  const sdk::Attributes& attributes = request.attributes();
  const int64_t heads = attributes.Int("heads", 0);
  const sdk::Dims q = request.input(first).dims();
  if (q.size() != (heads > 0 ? 3u : 4u)) Refuse("Q has shape ", q, " with heads ", heads);
  if (heads == 0 && !request.has_input(first + 1)) Refuse("queries, keys and values lie side by side, but heads is 0");
  Attention a;
  a.packed = !request.has_input(first + 1);
  const sdk::Dims k = a.packed ? q : request.input(first + 1).dims(),
                  v = a.packed ? q : request.input(first + 2).dims();
  a.dtype = request.input(first).dtype();
  a.batch = q[0];
  a.heads = heads > 0 ? heads : q[1];
  const uint32_t length = heads > 0 ? 1 : 2;
  a.queries = q[length];
  a.keys = k[length];
  const int64_t parts = heads > 0 ? heads : 1;
  a.width = a.packed ? q[2] / (3 * heads) : q[length + 1] / parts;
  a.value_width = a.packed ? a.width : v[length + 1] / parts;
  const auto place = [&](int64_t rows, int64_t width) -> Place {
    if (heads > 0) return {0, rows * heads * width, width, heads * width};
    return {0, a.heads * rows * width, rows * width, width};
  };
  a.q = place(a.queries, a.width);
  a.k = place(a.keys, a.width);
  a.v = place(a.keys, a.value_width);
  a.y = place(a.queries, a.value_width);
  if (a.packed) {
    const int64_t all = heads * a.width;
    a.q = a.k = a.v = {0, a.queries * 3 * all, a.width, 3 * all};
    a.k.start = all;
    a.v.start = 2 * all;
  }
  a.causal = attributes.Int("causal", 0) != 0;
  a.scale = FloatAttribute(request, "scale", 1.0 / std::sqrt(static_cast<double>(a.width)));
  a.ratio = attributes.Float("dropout", 0);
  a.mask_input = first + 3;
  if (request.has_input(a.mask_input)) {
    const sdk::Value mask = request.input(a.mask_input);
    a.mask_dtype = mask.dtype();
    if (a.mask_dtype != TENON_DTYPE_BOOL) request.RequireFloat(a.mask_input);
    const int64_t full[4] = {a.batch, a.heads, a.queries, a.keys};
    int64_t step = 1;
    for (int own = static_cast<int>(mask.rank()) - 1, axis = 3; own >= 0; --own, --axis) {
      const int64_t size = mask.dim(static_cast<uint32_t>(own));
      a.mask[axis] = size == 1 && full[axis] != 1 ? 0 : step;
      step *= size;
    }
  }
  return a;
}

float MaskAt(const Attention& a, const Operands& o, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (a.causal && j > i) return kOut;
  if (a.mask_dtype == 0) return 0;
  const int64_t at = b * a.mask[0] + h * a.mask[1] + i * a.mask[2] + j * a.mask[3];
  if (a.mask_dtype == TENON_DTYPE_BOOL) return o.in<uint8_t>(a.mask_input)[at] != 0 ? 0 : kOut;
  return ForFloat(a.mask_dtype, [&](auto type) { return Widen(o.in<decltype(type)>(a.mask_input)[at]); });
}

// Rows of a head, widened into a matrix of its own.
template <class T>
void ReadRows(const T* data, const Place& place, int64_t b, int64_t h, int64_t rows, int64_t width, float* to) {
  const T* from = data + place.At(b, h);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < width; ++c) *to++ = Widen(from[i * place.row + c]);
}
template <class T>
void WriteRows(T* data, const Place& place, int64_t b, int64_t h, int64_t rows, int64_t width, const float* from) {
  T* to = data + place.At(b, h);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < width; ++c) to[i * place.row + c] = Narrow<T>(*from++);
}

// The factors of the probabilities of one head: 0 where dropped.
void DropFactors(const Attention& a, uint64_t key, uint64_t offset, int64_t head, float* factors) {
  const int64_t first = head * a.logits();
  const uint64_t limit = DropLimit(a.ratio);
  const auto kept = static_cast<float>(1.0 / (1.0 - a.ratio));
  std::array<uint32_t, 4> words{};
  for (int64_t i = 0; i < a.logits(); ++i) {
    const int64_t at = first + i;
    if (i == 0 || at % 4 == 0) words = PhiloxBlock(key, offset, static_cast<uint64_t>(at / 4));
    factors[i] = words[static_cast<size_t>(at % 4)] >= limit ? kept : 0.0f;
  }
}

// y = left * right of row-major f32 matrices; the panels lie in `panels`.
struct Multiplier {
  const Operands& o;
  float* panels;

  void operator()(Matrix left, const float* a, Matrix right, const float* b, float* y) const {
    const int64_t rows = left.transposed ? left.columns : left.rows, depth = left.transposed ? left.rows : left.columns;
    const int64_t columns = right.transposed ? right.rows : right.columns;
    PackLeft(left, a, panels);
    PackRight(right, b, panels + LeftSize(rows, depth));
    Multiply(o, rows, columns, depth, panels, panels + LeftSize(rows, depth), y, false);
  }
};

Matrix Plain(int64_t rows, int64_t columns, bool transposed = false) {
  return {TENON_DTYPE_F32, TENON_LAYOUT_STRIDED, rows, columns, transposed};
}

// Room for the panels of every product of a head.
int64_t PanelFloats(const Attention& a) {
  const int64_t longest = std::max(a.queries, a.keys), widest = std::max(a.width, a.value_width);
  const int64_t big = std::max(longest, widest);
  return 2 * RightSize(big, big);
}

Work Start(const Request& request, const Attention& a, int64_t floats, int products) {
  Work work;
  work.workspace = static_cast<uint64_t>(floats + PanelFloats(a)) * sizeof(float);
  work.cost = ProductCost({a.batch * a.heads * products, a.queries, a.keys, std::max(a.width, a.value_width)}, a.dtype);
  work.cost.vector_ops += 2 * kTranscendental * static_cast<uint64_t>(a.batch * a.heads * a.logits());
  work.cost.bytes = request.bytes();
  return work;
}

Work MakeAttention(const Request& request) {
  const Attention a = AttentionOf(request, 0);
  for (uint32_t i = 1; i < 3; ++i)
    if (request.has_input(i)) request.RequireType(i, a.dtype);
  const int64_t nq = a.queries * a.width, nk = a.keys * a.width, nv = a.keys * a.value_width,
                ny = a.queries * a.value_width;
  Work work = Start(request, a, nq + nk + nv + ny + 2 * a.logits(), 2);
  ForFloat(a.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      float *q = o.workspace<float>(), *k = q + nq, *v = k + nk, *y = v + nv, *p = y + ny, *factors = p + a.logits();
      const Multiplier multiply{o, factors + a.logits()};
      const T* keys = a.packed ? o.in<T>(0) : o.in<T>(1);
      const T* values = a.packed ? o.in<T>(0) : o.in<T>(2);
      for (int64_t head = 0; head < a.batch * a.heads; ++head) {
        const int64_t b = head / a.heads, h = head % a.heads;
        ReadRows(o.in<T>(0), a.q, b, h, a.queries, a.width, q);
        ReadRows(keys, a.k, b, h, a.keys, a.width, k);
        ReadRows(values, a.v, b, h, a.keys, a.value_width, v);
        multiply(Plain(a.queries, a.width), q, Plain(a.keys, a.width, true), k, p);
        if (a.ratio > 0) DropFactors(a, o.rng_key(), o.rng_offset(), head, factors);
        for (int64_t i = 0; i < a.queries; ++i) {
          float *row = p + i * a.keys, top = kOut, total = 0;
          for (int64_t j = 0; j < a.keys; ++j) {
            const float added = MaskAt(a, o, b, h, i, j);
            row[j] = added == kOut ? kOut : row[j] * a.scale + added;
            top = row[j] > top || row[j] != row[j] ? row[j] : top;
          }
          for (int64_t j = 0; j < a.keys; ++j) {
            row[j] = row[j] == kOut ? 0.0f : std::exp(row[j] - top);
            total += row[j];
          }
          for (int64_t j = 0; j < a.keys; ++j) {
            row[j] = total == 0 ? 0.0f : row[j] / total;
            if (a.ratio > 0) row[j] *= factors[i * a.keys + j];
          }
          if (o.has_out(1)) o.out<float>(1)[head * a.queries + i] = total == 0 ? kOut : top + std::log(total);
        }
        multiply(Plain(a.queries, a.keys), p, Plain(a.keys, a.value_width), v, y);
        WriteRows(o.out<T>(0), a.y, b, h, a.queries, a.value_width, y);
      }
      if (!o.has_out(2)) return;
      o.out<int64_t>(2)[0] = static_cast<int64_t>(o.rng_key());
      o.out<int64_t>(2)[1] = static_cast<int64_t>(o.rng_offset());
    };
  });
  return work;
}

// Inputs: dY, Y, LogSumExp, Random, Q, K, V, Mask. Outputs: dQ, dK, dV, or dQ packed as Q.
Work MakeAttentionGrad(const Request& request) {
  const Attention a = AttentionOf(request, 4);
  for (const uint32_t i : {0u, 1u, 5u, 6u})
    if (request.has_input(i)) request.RequireType(i, a.dtype);
  request.RequireType(2, TENON_DTYPE_F32);
  const int64_t nq = a.queries * a.width, nk = a.keys * a.width, nv = a.keys * a.value_width,
                ny = a.queries * a.value_width;
  Work work = Start(request, a, 2 * (nq + nk + nv) + 2 * ny + 3 * a.logits(), 5);
  ForFloat(a.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      float *q = o.workspace<float>(), *k = q + nq, *v = k + nk, *dq = v + nv, *dk = dq + nq, *dv = dk + nk;
      float *y = dv + nv, *dy = y + ny, *p = dy + ny, *ds = p + a.logits(), *factors = ds + a.logits();
      const Multiplier multiply{o, factors + a.logits()};
      const T* keys = a.packed ? o.in<T>(4) : o.in<T>(5);
      const T* values = a.packed ? o.in<T>(4) : o.in<T>(6);
      const auto key = static_cast<uint64_t>(o.in<int64_t>(3)[0]), offset = static_cast<uint64_t>(o.in<int64_t>(3)[1]);
      for (int64_t head = 0; head < a.batch * a.heads; ++head) {
        const int64_t b = head / a.heads, h = head % a.heads;
        ReadRows(o.in<T>(4), a.q, b, h, a.queries, a.width, q);
        ReadRows(keys, a.k, b, h, a.keys, a.width, k);
        ReadRows(values, a.v, b, h, a.keys, a.value_width, v);
        ReadRows(o.in<T>(0), a.y, b, h, a.queries, a.value_width, dy);
        ReadRows(o.in<T>(1), a.y, b, h, a.queries, a.value_width, y);
        if (a.ratio > 0) DropFactors(a, key, offset, head, factors);
        multiply(Plain(a.queries, a.width), q, Plain(a.keys, a.width, true), k, p);
        multiply(Plain(a.queries, a.value_width), dy, Plain(a.keys, a.value_width, true), v, ds);
        for (int64_t i = 0; i < a.queries; ++i) {
          const float log_sum = o.in<float>(2)[head * a.queries + i];
          float total = 0;
          for (int64_t c = 0; c < a.value_width; ++c) total += dy[i * a.value_width + c] * y[i * a.value_width + c];
          for (int64_t j = 0; j < a.keys; ++j) {
            const int64_t at = i * a.keys + j;
            const float added = MaskAt(a, o, b, h, i, j), factor = a.ratio > 0 ? factors[at] : 1.0f;
            const float probability = added == kOut ? 0.0f : std::exp(p[at] * a.scale + added - log_sum);
            ds[at] = added == kOut ? 0.0f : probability * (factor * ds[at] - total) * a.scale;
            p[at] = probability * factor;
          }
        }
        multiply(Plain(a.queries, a.keys, true), p, Plain(a.queries, a.value_width), dy, dv);
        multiply(Plain(a.queries, a.keys), ds, Plain(a.keys, a.width), k, dq);
        multiply(Plain(a.queries, a.keys, true), ds, Plain(a.queries, a.width), q, dk);
        if (o.has_out(0)) WriteRows(o.out<T>(0), a.q, b, h, a.queries, a.width, dq);
        if (a.packed || o.has_out(1)) WriteRows(o.out<T>(a.packed ? 0 : 1), a.k, b, h, a.keys, a.width, dk);
        if (a.packed || o.has_out(2)) WriteRows(o.out<T>(a.packed ? 0 : 2), a.v, b, h, a.keys, a.value_width, dv);
      }
    };
  });
  return work;
}

}  // namespace

void AddAttention(EntryList& entries) {
  entries.push_back(
      {"tenon", "ScaledDotProductAttention", "cube_attention", MakeAttention, nullptr, TENON_TRAIT_RANDOM});
  entries.push_back({"tenon", "ScaledDotProductAttentionGrad", "cube_attention", MakeAttentionGrad});
}

}  // namespace tenon::npu
