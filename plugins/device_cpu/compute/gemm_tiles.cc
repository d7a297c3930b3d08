// Products of bf16 on the tile unit (AMX): blocks of two by two tiles of sums, 32 rows by 32 columns. Both operands are packed, the row
// operand into whole tiles [16 rows][16 pairs], and filled up with zeros to whole tiles of k.
#include <cstring>

#include "plugins/device_cpu/compute/bf16_finish.h"
#include "plugins/device_cpu/compute/bf16_panels.h"
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/compute/product_pieces.h"
#include "plugins/device_cpu/compute/tile_block.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBlockRows = 2 * kTileSide;
constexpr int64_t kMaxBlockPairs = 512;      // longer products are cut into equal blocks
constexpr int64_t kRowPairs = 64 * 1024;     // pairs of the row operand that meet one panel of columns after the other
constexpr int64_t kBlockPairs = 128 * 1024;  // pairs of the packed column operand that stay in the second-level cache

struct Blocks {
  int64_t pairs, columns, rows;  // largest block: pairs whole tiles, columns whole panels, rows whole blocks
  bool cut_k;
  int64_t column_pairs, row_pairs;  // of the packed operands, per piece
};

// Part by part, the tile of up to 16 rows and up to 32 elements of k that begins at `at`.
template <int P, class T>
TENON_INLINE void PackTile(const T* at, int64_t row_step, int64_t column_step, int64_t rows, int64_t elements,
                           Pair* out) {
  if (column_step == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      const T* row = at + i * row_step;
      const Bits16 first = PartsOf<P>(row, Min(kLanes, elements)),
                   second = elements > kLanes ? PartsOf<P>(row + kLanes, elements - kLanes) : NoParts();
      TENON_UNROLL for (int part = 0; part < P; ++part) {
        auto* to = reinterpret_cast<__m256i*>(out + part * kTileSize + i * kTileSide);
        _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(first.part[part]));
        _mm256_storeu_si256(to + 1, _mm512_cvtepi32_epi16(second.part[part]));
      }
    }
    return;
  }
  Vec pairs[P][kTileSide];  // of all rows
  for (int p = 0; p < kTileSide; ++p) {
    const T* low = at + 2 * p * column_step;
    const Bits16 low_bits = 2 * p < elements ? PartsOf<P>(low, rows) : NoParts(),
                 high_bits = 2 * p + 1 < elements ? PartsOf<P>(low + column_step, rows) : NoParts();
    TENON_UNROLL for (int part = 0; part < P; ++part) pairs[part][p] =
        reinterpret_cast<Vec>(_mm512_or_si512(low_bits.part[part], _mm512_slli_epi32(high_bits.part[part], 16)));
  }
  TENON_UNROLL for (int part = 0; part < P; ++part) {
    Transpose(pairs[part]);
    for (int i = 0; i < kTileSide; ++i)
      Store(reinterpret_cast<float*>(out + part * kTileSize + i * kTileSide), pairs[part][i]);
  }
}

// Rows [row0, row0 + rows) of A, pairs from pair0 on in `tiles` tiles, as [rows / 16][tiles][part] tiles.
template <class Args>
void PackRows(const Args& g, int64_t pair0, int64_t tiles, int64_t row0, int64_t rows, Pair* out) {
  constexpr int P = kParts<Args>;
  for (int64_t i = 0; i < rows; i += kTileSide)
    for (int64_t t = 0; t < tiles; ++t, out += P * kTileSize) {
      const int64_t k = 2 * (pair0 + t * kTileSide);
      PackTile<P>(g.a + (row0 + i) * g.a_row + k * g.a_col, g.a_row, g.a_col, Min(kTileSide, rows - i),
                  Min(2 * kTileSide, g.k - k), out);
    }
}

// Panels of `columns` columns have room for whole tiles; what is beyond `pairs` becomes zero.
void FillPanels(int64_t pairs, int64_t panel_pairs, int64_t columns, int64_t parts, Pair* panels) {
  for (int64_t c = 0; pairs < panel_pairs && c < columns; c += kTileColumns) {
    const int64_t width = columns - c > kLanes ? kTileColumns : kLanes;
    std::memset(panels + (c * panel_pairs + pairs * width) * parts, 0,
                static_cast<size_t>((panel_pairs - pairs) * width * parts) * sizeof(Pair));
  }
}

// The sums of a block of R x 16 rows and V x 16 columns, in rows of 32.
template <int P, int R, int V>
void Sums(int64_t tiles, const Pair* a, const Pair* b, float* sums) {
  constexpr int64_t kStep = P * V * kTileSide * static_cast<int64_t>(sizeof(Pair)), kRowStep = kTileSide * sizeof(Pair),
                    kSumStep = kTileColumns * sizeof(float);
  const int64_t group = tiles * P * kTileSize;
  using Block = TileBlock<R, V>;
  Block::Zero();
  for (int64_t t = 0; t < tiles; ++t, a += P * kTileSize, b += P * V * kTileSize) {
    Block::LoadRows(a, a + group, kRowStep);
    Block::LoadColumns(b, kStep);
    Block::AddProducts();
    if constexpr (P == 2) {
      Block::LoadColumns(b + V * kTileSide, kStep);  // high rows by low columns
      Block::AddProducts();
      Block::LoadRows(a + kTileSize, a + kTileSize + group, kRowStep);  // low rows by high columns
      Block::LoadColumns(b, kStep);
      Block::AddProducts();
    }
  }
  Block::StoreSums(sums, kSumStep);
}

template <class Args>
void FinishBlock(const Finish<Args>& finish, const float* sums, int64_t row, int64_t rows, int64_t column,
                 int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    const Vec low = Load(sums + i * kTileColumns), high = Load(sums + i * kTileColumns + kLanes);
    if constexpr (kParts<Args> == 1) {
      if (finish.last && columns == kTileColumns) {
        FinishTwo(finish, low, high, row + i, column);
        continue;
      }
    }
    FinishVec(finish, low, row + i, column, Min(columns, kLanes));
    if (columns > kLanes) FinishVec(finish, high, row + i, column + kLanes, columns - kLanes);
  }
}

template <class Args>
void Block(const Finish<Args>& finish, int64_t tiles, const Pair* a, const Pair* b, int64_t row, int64_t rows,
           int64_t column, int64_t columns) {
  constexpr int P = kParts<Args>;
  alignas(64) float sums[kBlockRows * kTileColumns];
  const bool tall = rows > kTileSide, wide = columns > kLanes;
  if (tall && wide) Sums<P, 2, 2>(tiles, a, b, sums);
  if (tall && !wide) Sums<P, 2, 1>(tiles, a, b, sums);
  if (!tall && wide) Sums<P, 1, 2>(tiles, a, b, sums);
  if (!tall && !wide) Sums<P, 1, 1>(tiles, a, b, sums);
  FinishBlock(finish, sums, row, rows, column, columns);
}

struct Tiles {
  static constexpr int64_t kRows = kBlockRows;
  static constexpr double kRate = 512;

  template <class Args>
  static Blocks BlocksOf(const Args& g) {
    constexpr int64_t P = kParts<Args>;
    Blocks b{};
    const int64_t pairs = CeilDiv(g.k, 2);
    b.cut_k = pairs > kMaxBlockPairs;
    b.pairs = RoundUp(b.cut_k ? CeilDiv(pairs, CeilDiv(pairs, kMaxBlockPairs)) : pairs, kTileSide);
    b.columns =
        Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kBlockPairs / P / b.pairs / kTileColumns * kTileColumns));
    b.rows = Min(RoundUp(g.m, kBlockRows), Max(kBlockRows, kRowPairs / P / b.pairs / kBlockRows * kBlockRows));
    b.column_pairs = b.columns * b.pairs * P;
    b.row_pairs = b.rows * b.pairs * P;
    return b;
  }

  template <class Args>
  static void Region(const Args& g, const Blocks& block, Range rows, Range columns, Pair* column_space, Pair* row_space,
                     float* partial) {
    constexpr int P = kParts<Args>;
    TileUnit::Begin();
    const int64_t all_pairs = CeilDiv(g.k, 2);
    for (int64_t pair0 = 0; pair0 < all_pairs; pair0 += block.pairs) {
      const int64_t pairs = Min(block.pairs, all_pairs - pair0), tiles = CeilDiv(pairs, kTileSide);
      const Finish<Args> finish{&g, block.cut_k ? partial : nullptr, pair0 == 0, pair0 + pairs == all_pairs};
      for (int64_t c0 = columns.begin; c0 < columns.end; c0 += block.columns) {
        const int64_t column_count = Min(block.columns, columns.end - c0);
        PackColumnsOf(g, pair0, pairs, tiles * kTileSide, c0, column_count, column_space);
        FillPanels(pairs, tiles * kTileSide, column_count, P, column_space);
        for (int64_t r0 = rows.begin; r0 < rows.end; r0 += block.rows) {
          const int64_t row_count = Min(block.rows, rows.end - r0);
          PackRows(g, pair0, tiles, r0, row_count, row_space);
          for (int64_t c = 0; c < column_count; c += kTileColumns)
            for (int64_t r = 0; r < row_count; r += kBlockRows)
              Block(finish, tiles, row_space + r * tiles * kTileSide * P, column_space + c * tiles * kTileSide * P,
                    r0 + r, Min(kBlockRows, row_count - r), c0 + c, Min(kTileColumns, column_count - c));
          Activate(finish, {r0, r0 + row_count}, c0, column_count);
        }
      }
    }
    TileUnit::End();
  }
};

}  // namespace

extern const Bf16Products kTileProducts;
const Bf16Products kTileProducts = kProductsOf<Tiles>;

}  // namespace tenon::cpu::TENON_CPU_ISA
