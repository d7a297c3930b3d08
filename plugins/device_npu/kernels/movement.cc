// Operators that only move elements, of 8, 16, 32 or 64 bits: each is one or more walks with strides on both sides.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/walk.h"
#include "kernels/work.h"

namespace tenon::npu {
namespace {

// to[to_first + ..] = from[from_first + ..]
struct Piece {
  Walk<2> walk;  // from, to
  int64_t from = 0, to = 0;
  uint32_t input = 0, output = 0;
};

template <class T>
void CopyPiece(const Operands& o, const Piece& piece) {
  const T* from = o.in<T>(piece.input) + piece.from;
  T* to = o.out<T>(piece.output) + piece.to;
  const int64_t row = piece.walk.row(), source = piece.walk.step()[0], target = piece.walk.step()[1];
  o.Each(piece.walk.rows(), 1 + 16384 / row, [&](int64_t begin, int64_t end) {
    piece.walk.Rows(begin, end, [&](const Walk<2>::Places& at) {
      const T* x = from + at[0];
      T* y = to + at[1];
      if (source == 1 && target == 1) {
        std::memcpy(y, x, static_cast<size_t>(row) * sizeof(T));
      } else {
        for (int64_t i = 0; i < row; ++i) y[i * target] = x[i * source];
      }
    });
  });
}

constexpr uint32_t kZero = UINT32_MAX;

// All pieces in order. `cleared`: output 0 is filled first, with zeros or with the number in input `filler`.
Work Move(const Request& request, std::vector<Piece> pieces, bool cleared = false, uint32_t filler = kZero) {
  const uint32_t dtype = request.input(0).dtype(), bits = sdk::DTypeBits(dtype);
  const uint64_t bytes = cleared ? sdk::DTypeBytes(dtype, request.output(0).elements()) : 0;
  Work work;
  work.cost = {0, 0, request.bytes() + bytes};
  const auto of = [&](auto type) {
    using T = decltype(type);
    work.run = [pieces, bytes, filler](const Operands& o) {
      if (bytes > 0) std::fill_n(o.out<T>(0), bytes / sizeof(T), filler == kZero ? T{0} : *o.in<T>(filler));
      for (const Piece& piece : pieces) {
        if (o.has_out(piece.output)) CopyPiece<T>(o, piece);
      }
    };
  };
  if (bits == 8) {
    of(uint8_t{});
  } else if (bits == 16) {
    of(uint16_t{});
  } else if (bits == 32) {
    of(uint32_t{});
  } else if (bits == 64) {
    of(uint64_t{});
  } else {
    Refuse("elements are ", sdk::DTypeName(dtype));
  }
  return work;
}

uint32_t AxisOf(int64_t axis, uint32_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) Refuse("axis ", axis, " is outside rank ", rank);
  return static_cast<uint32_t>(axis < 0 ? axis + limit : axis);
}

// A block of `sizes`, read and written with the given strides.
Piece PieceOf(sdk::Dims sizes, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  Piece piece;
  for (uint32_t axis = 0; axis < sizes.size(); ++axis) piece.walk.Add(sizes[axis], {from[axis], to[axis]});
  return piece;
}

Work MakeTranspose(const Request& request) {
  const sdk::Dims x = request.input(0).dims(), y = request.output(0).dims();
  const auto own = ContiguousStrides(x);
  const sdk::Dims perm = request.attributes().Ints("perm");
  if (perm.size() != 0 && perm.size() != x.size()) Refuse("perm has ", perm.size(), " axes for rank ", x.size());
  std::vector<int64_t> from(x.size());
  for (uint32_t axis = 0; axis < x.size(); ++axis)
    from[axis] = own[perm.size() > 0 ? AxisOf(perm[axis], x.size()) : x.size() - 1 - axis];
  return Move(request, {PieceOf(y, from, ContiguousStrides(y))});
}

Work MakeExpand(const Request& request) {
  const sdk::Dims y = request.output(0).dims();
  return Move(request, {PieceOf(y, BroadcastStrides(request.input(0).dims(), y), ContiguousStrides(y))});
}

Work MakeCopy(const Request& request) {
  Piece piece;
  piece.walk.Add(request.input(0).elements(), {1, 1});
  return Move(request, {piece});
}

Work MakeConcat(const Request& request) {
  const sdk::Dims y = request.output(0).dims();
  const uint32_t axis = AxisOf(request.attributes().Int("axis", 0), y.size());
  const auto to = ContiguousStrides(y);
  std::vector<Piece> pieces;
  int64_t before = 0;
  for (uint32_t i = 0; i < request.input_count(); ++i) {
    const sdk::Dims x = request.input(i).dims();
    Piece piece = PieceOf(x, ContiguousStrides(x), to);
    piece.input = i;
    piece.to = before * to[axis];
    before += x[axis];
    pieces.push_back(piece);
  }
  return Move(request, std::move(pieces));
}

Work MakeSplit(const Request& request) {
  const sdk::Dims x = request.input(0).dims();
  const uint32_t axis = AxisOf(request.attributes().Int("axis", 0), x.size());
  const auto from = ContiguousStrides(x);
  std::vector<Piece> pieces;
  int64_t before = 0;
  for (uint32_t i = 0; i < request.output_count(); ++i) {
    if (!request.has_output(i)) Refuse("output ", i, " is not wanted, so that its size is not known");
    const sdk::Dims y = request.output(i).dims();
    Piece piece = PieceOf(y, from, ContiguousStrides(y));
    piece.output = i;
    piece.from = before * from[axis];
    before += y[axis];
    pieces.push_back(piece);
  }
  return Move(request, std::move(pieces));
}

// Start and step of each axis of a slice of a tensor of dims `whole` that has dims `part`.
struct SliceAxis {
  int64_t start = 0, step = 1;
};
std::vector<SliceAxis> SliceOf(const Request& request, sdk::Dims whole, uint32_t first) {
  const auto list = [&](std::string_view name, uint32_t index) -> std::vector<int64_t> {
    if (request.has_input(first + index)) return request.Ints(first + index);
    const sdk::Dims given = request.attributes().Ints(name);
    return {given.begin(), given.end()};
  };
  const std::vector<int64_t> starts = list("starts", 0), ends = list("ends", 1), axes = list("axes", 2),
                             steps = request.has_input(first + 3) ? request.Ints(first + 3) : std::vector<int64_t>();
  std::vector<SliceAxis> out(whole.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    if (!axes.empty() && axes.size() != starts.size())
      Refuse("there are ", axes.size(), " axes and ", starts.size(), " starts");
    if (!steps.empty() && steps.size() != starts.size())
      Refuse("there are ", steps.size(), " steps and ", starts.size(), " starts");
    const uint32_t axis = AxisOf(axes.empty() ? static_cast<int64_t>(i) : axes[i], whole.size());
    const int64_t step = steps.empty() ? 1 : steps[i], extent = whole[axis];
    const int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    out[axis] = {step > 0 ? std::clamp<int64_t>(start, 0, extent) : std::clamp<int64_t>(start, 0, extent - 1), step};
  }
  return out;
}

// dims of a slice are those of the smaller tensor.
void Place(const std::vector<SliceAxis>& axes, sdk::Dims part, std::vector<int64_t>& strides, int64_t& first) {
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    first += axes[axis].start * strides[axis];
    strides[axis] = part[static_cast<uint32_t>(axis)] == 1 ? 0 : strides[axis] * axes[axis].step;
  }
}

Work MakeSlice(const Request& request) {
  const sdk::Dims x = request.input(0).dims(), y = request.output(0).dims();
  std::vector<int64_t> from = ContiguousStrides(x);
  int64_t first = 0;
  Place(SliceOf(request, x, 1), y, from, first);
  Piece piece = PieceOf(y, from, ContiguousStrides(y));
  piece.from = first;
  return Move(request, {piece});
}

Work MakeSliceGrad(const Request& request) {
  const sdk::Dims dy = request.input(0).dims(), dx = request.output(0).dims();
  std::vector<int64_t> to = ContiguousStrides(dx);
  int64_t first = 0;
  Place(SliceOf(request, dx, 1), dy, to, first);
  Piece piece = PieceOf(dy, ContiguousStrides(dy), to);
  piece.to = first;
  return Move(request, {piece}, /*cleared=*/true);
}

// Every axis is an axis of repeats, which stands still in the source, and the axis itself.
Work MakeTile(const Request& request) {
  const sdk::Dims x = request.input(0).dims(), y = request.output(0).dims();
  if (2 * x.size() > kMaxRank) Refuse("rank ", x.size(), " is above ", kMaxRank / 2);
  const auto from = ContiguousStrides(x), to = ContiguousStrides(y);
  Piece piece;
  for (uint32_t axis = 0; axis < x.size(); ++axis) {
    piece.walk.Add(y[axis] / x[axis], {0, x[axis] * to[axis]});
    piece.walk.Add(x[axis], {from[axis], to[axis]});
  }
  return Move(request, {piece});
}

// Constant padding, nothing removed.
Work MakePad(const Request& request) {
  if (request.attributes().String("mode", "constant") != "constant") Refuse("the mode is not constant");
  if (request.attributes().Float("value", 0) != 0) Refuse("the padding is not 0");
  const sdk::Dims x = request.input(0).dims(), y = request.output(0).dims();
  const sdk::Dims given = request.attributes().Ints("pads");
  const std::vector<int64_t> pads =
      request.has_input(1) ? request.Ints(1) : std::vector<int64_t>(given.begin(), given.end());
  std::vector<int64_t> axes;
  if (request.has_input(3)) axes = request.Ints(3);
  const auto to = ContiguousStrides(y);
  Piece piece = PieceOf(x, ContiguousStrides(x), to);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0) Refuse("a pad is negative");
    const size_t half = pads.size() / 2;
    if (i >= half) continue;
    if (!axes.empty() && axes.size() != half) Refuse("there are ", axes.size(), " axes and ", pads.size(), " pads");
    piece.to += pads[i] * to[AxisOf(axes.empty() ? static_cast<int64_t>(i) : axes[i], x.size())];
  }
  return Move(request, {piece}, /*cleared=*/true, request.has_input(2) ? 2 : kZero);
}

}  // namespace

void AddMovement(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn make) { entries.push_back({"", op, "move", make}); };
  add("Transpose", MakeTranspose);
  add("Expand", MakeExpand);
  add("Concat", MakeConcat);
  add("Split", MakeSplit);
  add("Slice", MakeSlice);
  add("Tile", MakeTile);
  add("Pad", MakePad);
  for (const std::string_view op : {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}) add(op, MakeCopy);
  entries.push_back({"tenon", "SliceGrad", "move", MakeSliceGrad});
}

}  // namespace tenon::npu
