#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/ops/op_def.h"
#include "core/ops/philox.h"

namespace tenon {

// Sizes of an attention. Operands are [batch, heads, length, width], or with the attribute `heads` above 0
// [batch, length, heads * width]: what a linear layer gives, without a transpose. Without K and V (null here) Q is packed:
// queries, keys and values side by side, [batch, length, 3 * heads * width].
template <class D>
struct AttentionDims {
  D batch, heads, queries, keys, width, value_width;
};

// `size` / parts, for a last dim.
inline Result<std::int64_t> SplitEvenly(std::int64_t size, std::int64_t parts, std::int64_t heads) {
  TENON_INVALID_IF(size % parts != 0, "The last dim of an attention operand ({}) is not a multiple of {} heads ({}).",
                   size, parts == heads ? "its" : "three times its", heads);
  return size / parts;
}
inline Result<std::int64_t> SplitEvenly(const Dim& size, std::int64_t parts, std::int64_t heads) {
  TENON_INVALID_IF(!size.known(), "The last dim of an attention operand must be known to split it into {} heads.",
                   heads);
  return SplitEvenly(size.value(), parts, heads);
}

template <class S>
using DimOf = std::decay_t<decltype(std::declval<const S&>()[0])>;

template <class S>
Result<AttentionDims<DimOf<S>>> AttentionDimsOf(const Attributes& attrs, const S& q, const S* k, const S* v) {
  using D = DimOf<S>;
  const std::int64_t heads = attrs.Int("heads");
  const int rank = heads > 0 ? 3 : 4;
  TENON_INVALID_IF(heads < 0, "Attention heads is {}; it is 0 for operands [batch, heads, length, width], or a count.",
                   heads);
  TENON_INVALID_IF((k == nullptr) != (v == nullptr), "Attention takes both K and V, or neither.");
  if (k == nullptr) {
    TENON_INVALID_IF(heads == 0 || q.rank() != 3,
                     "Attention without K and V takes Q [batch, length, 3 * heads * width] and the attribute heads; Q "
                     "has shape {} and heads is {}.",
                     q, heads);
    TENON_ASSIGN(const std::int64_t width, SplitEvenly(q[2], 3 * heads, heads));
    return AttentionDims<D>{q[0], D(heads), q[1], q[1], D(width), D(width)};
  }
  TENON_INVALID_IF(q.rank() != rank || k->rank() != rank || v->rank() != rank,
                   "Attention takes operands of rank {} (heads is {}); Q has shape {}, K has shape {}, V has shape {}.",
                   rank, heads, q, *k, *v);
  const int last = rank - 1, length = rank - 2;
  const bool batches = q[0] == (*k)[0] && q[0] == (*v)[0] && (heads > 0 || (q[1] == (*k)[1] && q[1] == (*v)[1]));
  TENON_INVALID_IF(!batches, "Attention operands differ in batch or heads: Q {}, K {}, V {}.", q, *k, *v);
  TENON_INVALID_IF(!((*k)[length] == (*v)[length]), "Attention has {} keys and {} values: K {}, V {}.", (*k)[length],
                   (*v)[length], *k, *v);
  TENON_INVALID_IF(!(q[last] == (*k)[last]), "Attention queries have width {}, keys {}: Q {}, K {}.", q[last],
                   (*k)[last], q, *k);
  if (heads == 0) return AttentionDims<D>{q[0], q[1], q[2], (*k)[2], q[3], (*v)[3]};
  TENON_ASSIGN(const std::int64_t width, SplitEvenly(q[last], heads, heads));
  TENON_ASSIGN(const std::int64_t value_width, SplitEvenly((*v)[last], heads, heads));
  return AttentionDims<D>{q[0], D(heads), q[1], (*k)[1], D(width), D(value_width)};
}

// An operand as rows: element c of row i of head h of sample b lies at start + b * sample + h * head + i * row + c.
struct AttentionRows {
  std::int64_t start = 0, sample = 0, head = 0, row = 0;
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return start + b * sample + h * head + i * row;
  }
};

// Where queries, keys, values and results lie in their tensors; packed, the first three lie in one.
struct AttentionPlaces {
  AttentionRows q, k, v, y;
};
inline AttentionPlaces AttentionPlacesOf(const Attributes& attrs, const AttentionDims<std::int64_t>& n, bool packed) {
  const auto rows = [&](std::int64_t length, std::int64_t width) -> AttentionRows {
    if (attrs.Int("heads") > 0) return {0, length * n.heads * width, width, n.heads * width};
    return {0, n.heads * length * width, length * width, width};
  };
  AttentionPlaces places{rows(n.queries, n.width), rows(n.keys, n.width), rows(n.keys, n.value_width),
                         rows(n.queries, n.value_width)};
  if (!packed) return places;
  const std::int64_t all = n.heads * n.width;
  places.q = places.k = places.v = {0, n.queries * 3 * all, n.width, 3 * all};
  places.k.start = all;
  places.v.start = 2 * all;
  return places;
}

inline double AttentionScale(const Attributes& attrs, std::int64_t width) {
  return attrs.Float("scale", 1.0 / std::sqrt(static_cast<double>(width)));
}

// The factor of probability (i, j) of head `at` = b * heads + h: 0 where dropped, 1 / (1 - ratio) where kept. Element
// (at * queries + i) * keys + j of a tensor of probabilities draws as a Dropout of it would (philox.h).
struct AttentionDropout {
  double ratio = 0;
  RandomState random;
  std::int64_t queries = 0, keys = 0;

  double operator()(std::int64_t at, std::int64_t i, std::int64_t j) const {
    if (ratio == 0) return 1.0;
    const auto element = static_cast<std::uint64_t>((at * queries + i) * keys + j);
    const auto limit = static_cast<std::uint64_t>(std::floor(ratio * 4294967296.0));
    return PhiloxBlock(random.key, random.offset, element / 4)[element % 4] >= limit ? 1.0 / (1.0 - ratio) : 0.0;
  }
};

// What is added to the logits of head (b, h): a mask of dims that broadcast to [batch, heads, queries, keys], and -inf
// at keys behind the query where `causal`.
class AttentionMask {
 public:
  AttentionMask(const Attributes& attrs, const Tensor& mask, const AttentionDims<std::int64_t>& dims)
      : causal_(attrs.Int("causal") != 0), mask_(mask) {
    if (!mask.defined()) return;
    const std::int64_t full[4] = {dims.batch, dims.heads, dims.queries, dims.keys};
    std::int64_t step = 1;
    for (int axis = 3, own = mask.shape().rank() - 1; own >= 0; --axis, --own) {
      strides_[axis] = mask.shape()[own] == 1 && full[axis] != 1 ? 0 : step;
      step *= mask.shape()[own];
    }
    if (mask.dtype() != DType::kBool) mask_ = Cast(mask, DType::kF64);
  }

  double operator()(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    constexpr double kOut = -std::numeric_limits<double>::infinity();
    if (causal_ && j > i) return kOut;
    if (!mask_.defined()) return 0;
    const std::int64_t at = b * strides_[0] + h * strides_[1] + i * strides_[2] + j * strides_[3];
    if (mask_.dtype() == DType::kBool) return mask_.data<bool>()[at] ? 0 : kOut;
    return mask_.data<double>()[at];
  }

 private:
  bool causal_;
  Tensor mask_;
  std::int64_t strides_[4] = {};
};

// Attributes that the operator and its gradient share.
inline OpDef& AttentionAttributes(OpDef& def) {
  return def.Attr("heads", 0).Attr("causal", 0).OptionalAttr("scale", AttrType::kFloat).Attr("dropout", 0.0);
}

// Of `products` matrix products (scores, values, and their gradients); queries are input `q`, keys and values follow.
inline Dim AttentionFlops(const FlopArgs& args, std::size_t q, std::int64_t products) {
  if (args.input(q) == nullptr) return 0;
  const auto dims = AttentionDimsOf(args.attrs, *args.input(q), args.input(q + 1), args.input(q + 2));
  if (!dims.ok()) return 0;
  return Dim(products) * dims->batch * dims->heads * dims->queries * dims->keys * (dims->width + dims->value_width);
}

}  // namespace tenon
