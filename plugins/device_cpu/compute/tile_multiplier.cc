#include "plugins/device_cpu/compute/tile_multiplier.h"

#include "plugins/device_cpu/compute/tile_block.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kSide = kTileSide, kBlock = 2 * kTileSide;
constexpr int64_t kMostPairs = 256;  // summed at a time, so that rows which are copied stay in the first-level cache

TENON_INLINE int64_t Bytes(int64_t elements) { return elements * static_cast<int64_t>(sizeof(Pair)); }
TENON_INLINE Vec LoadPairs(const Pair* from, int64_t count) {
  return LoadPartial(reinterpret_cast<const float*>(from), count);
}
TENON_INLINE void StorePairs(Pair* to, Vec pairs) { Store(reinterpret_cast<float*>(to), pairs); }

// Rows of a block: tile t of its first 16 begins at `at` + t * next, that of the others `below` further on.
struct RowTiles {
  const Pair* at;
  int64_t step, next, below;
};

// The tile of up to 16 rows and pairs of A that begins at `from`; zero beyond them.
TENON_INLINE void CopyTile(const PairMatrices& m, const Pair* from, int64_t rows, int64_t pairs, Pair* to) {
  Vec v[kSide];
  const bool by_rows = m.a_pair == 1;
  const int64_t lines = by_rows ? rows : pairs, length = by_rows ? pairs : rows, step = by_rows ? m.a_row : m.a_pair;
  TENON_UNROLL for (int i = 0; i < kSide; ++i) v[i] = i < lines ? LoadPairs(from + i * step, length) : Zero();
  if (!by_rows) Transpose(v);
  TENON_UNROLL for (int i = 0; i < kSide; ++i) StorePairs(to + i * kSide, v[i]);
}

// Rows [row, row + rows) and pairs [first, first + pairs) of A: where they lie, if they fill whole tiles, else in `space`.
TENON_INLINE RowTiles RowTilesOf(const PairMatrices& m, int64_t row, int64_t rows, int64_t first, int64_t pairs,
                                 Pair* space) {
  const Pair* const a = static_cast<const Pair*>(m.a) + row * m.a_row + first * m.a_pair;
  if (m.a_pair == 1 && rows % kSide == 0 && pairs % kSide == 0) return {a, Bytes(m.a_row), kSide, kSide * m.a_row};
  const int64_t tiles = CeilDiv(pairs, kSide);
  for (int64_t i = 0; i < rows; i += kSide)
    for (int64_t t = 0; t < tiles; ++t)
      CopyTile(m, a + i * m.a_row + t * kSide * m.a_pair, Min(kSide, rows - i), Min(kSide, pairs - t * kSide),
               space + (i / kSide * tiles + t) * kTileSize);
  return {space, Bytes(kSide), kTileSize, tiles * kTileSize};
}

// Up to 32 columns from `b` on: the pairs beyond the last whole tile, filled up with zeros, in rows of 32.
TENON_INLINE void CopyLastPairs(const PairMatrices& m, const Pair* b, int64_t pairs, int64_t columns, Pair* to) {
  for (int64_t p = 0; p < kSide; ++p)
    for (int64_t c = 0; c < columns; c += kSide)
      StorePairs(to + p * kBlock + c, p < pairs ? LoadPairs(b + p * m.b_pair + c, kSide) : Zero());
}

// The sums of a block; `last` are the pairs of B beyond the whole tiles, or null.
template <int R, int V>
void Sum(const RowTiles& a, const Pair* b, int64_t b_pair, int64_t tiles, const Pair* last, bool add, float* c,
         int64_t c_step) {
  using Block = TileBlock<R, V>;
  if (add)
    Block::LoadSums(c, c_step);
  else
    Block::Zero();
  const Pair* rows = a.at;
  for (int64_t t = 0; t < tiles; ++t, rows += a.next, b += kSide * b_pair) {
    Block::LoadRows(rows, rows + a.below, a.step);
    Block::LoadColumns(b, Bytes(b_pair));
    Block::AddProducts();
  }
  if (last != nullptr) {
    Block::LoadRows(rows, rows + a.below, a.step);
    Block::LoadColumns(last, Bytes(kBlock));
    Block::AddProducts();
  }
  Block::StoreSums(c, c_step);
}
using SumFn = void (*)(const RowTiles&, const Pair*, int64_t, int64_t, const Pair*, bool, float*, int64_t);
TENON_INLINE SumFn FindSum(bool tall, bool wide) {
  static constexpr SumFn kTable[2][2] = {{&Sum<1, 1>, &Sum<1, 2>}, {&Sum<2, 1>, &Sum<2, 2>}};
  return kTable[tall][wide];
}

// Numbers [rows][columns], `from_row` and `to_row` apart.
TENON_INLINE void CopySums(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                           int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < columns; c += kSide) Store(to + i * to_row + c, Load(from + i * from_row + c));
}

// Rows [row, row + rows) of C: what pairs [first, first + pairs) give.
void MultiplyRows(const PairMatrices& m, int64_t row, int64_t rows, int64_t first, int64_t pairs, bool add) {
  alignas(64) Pair row_space[kBlock * kMostPairs], last[kSide * kBlock];
  alignas(64) float sums[kBlock * kBlock];
  const RowTiles a = RowTilesOf(m, row, rows, first, pairs, row_space);
  const int64_t tiles = pairs / kSide, rest = pairs % kSide;
  const bool whole = rows % kSide == 0;
  for (int64_t c0 = 0; c0 < m.columns; c0 += kBlock) {
    const int64_t columns = Min(kBlock, m.columns - c0);
    const Pair* const b = static_cast<const Pair*>(m.b) + first * m.b_pair + c0;
    float* const c = m.c + row * m.c_row + c0;
    if (rest > 0) CopyLastPairs(m, b + tiles * kSide * m.b_pair, rest, columns, last);
    if (!whole && add) CopySums(c, m.c_row, rows, columns, sums, kBlock);
    FindSum(rows > kSide, columns > kSide)(a, b, m.b_pair, tiles, rest > 0 ? last : nullptr, add, whole ? c : sums,
                                           Bytes(whole ? m.c_row : kBlock));
    if (!whole) CopySums(sums, kBlock, rows, columns, c, m.c_row);
  }
}

void Multiply(const PairMatrices& m) {
  for (int64_t row = 0; row < m.rows; row += kBlock)
    for (int64_t first = 0; first < m.pairs; first += kMostPairs)
      MultiplyRows(m, row, Min(kBlock, m.rows - row), first, Min(kMostPairs, m.pairs - first), m.add || first > 0);
}

}  // namespace

extern const TileMultiplier kTileMultiplier;
const TileMultiplier kTileMultiplier = {&TileUnit::Begin, &Multiply, &TileUnit::End};

}  // namespace tenon::cpu::TENON_CPU_ISA
