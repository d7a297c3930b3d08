// Both operands are packed into groups of neighbouring k, 32 bits each: four bytes where the processor multiplies bytes
// (VNNI), else two 16-bit numbers. A is shifted to 0 .. 255 and B to -128 .. 127, as VNNI wants them; shifts and zero points
// are taken off the sums afterwards, with the sums of rows of A and columns of B that packing gives.
#include "plugins/device_cpu/compute/gemm_int8.h"

#include "plugins/device_cpu/compute/vec.h"

#define TENON_CPU_TEXT_(x) #x
#define TENON_CPU_TEXT(x) TENON_CPU_TEXT_(x)

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

#if (TENON_CPU_LANES == 16 && defined(__AVX512VNNI__)) || (TENON_CPU_LANES == 8 && defined(__AVXVNNI__))
constexpr int kGroup = 4;
using Left = uint8_t;
#else
constexpr int kGroup = 2;
using Left = int16_t;
#endif
constexpr int kTileRows = kAccumulators / 2;
constexpr int kTileColumns = 2 * kLanes;
constexpr int64_t kRowGroups = 64 * 1024;     // groups of packed rows that meet one panel of columns after the other
constexpr int64_t kBlockGroups = 128 * 1024;  // groups of packed columns that stay in the second-level cache

TENON_INLINE IVec LoadI(const void* p) { return *reinterpret_cast<const IVecAny*>(p); }

// sum + the products of each lane's group with the group `a`.
TENON_INLINE IVec Product(IVec sum, int32_t a, IVec b) {
#if TENON_CPU_LANES == 16 && defined(__AVX512VNNI__)
  return reinterpret_cast<IVec>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), _mm512_set1_epi32(a), reinterpret_cast<__m512i>(b)));
#elif TENON_CPU_LANES == 8 && defined(__AVXVNNI__)
  return reinterpret_cast<IVec>(
      _mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum), _mm256_set1_epi32(a), reinterpret_cast<__m256i>(b)));
#elif TENON_CPU_LANES == 16 && defined(__AVX512BW__)
  return sum + reinterpret_cast<IVec>(_mm512_madd_epi16(_mm512_set1_epi32(a), reinterpret_cast<__m512i>(b)));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  return sum + reinterpret_cast<IVec>(_mm256_madd_epi16(_mm256_set1_epi32(a), reinterpret_cast<__m256i>(b)));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  return sum + reinterpret_cast<IVec>(_mm_madd_epi16(_mm_set1_epi32(a), reinterpret_cast<__m128i>(b)));
#else
  const IVec low = (b << 16) >> 16, high = b >> 16;
  return sum + low * static_cast<int32_t>(static_cast<int16_t>(a)) + high * (a >> 16);
#endif
}

// sum + each lane's bytes of A.
TENON_INLINE IVec Sums(IVec sum, IVec a) {
#if TENON_CPU_LANES == 16 && defined(__AVX512VNNI__)
  return reinterpret_cast<IVec>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), _mm512_set1_epi8(1)));
#elif TENON_CPU_LANES == 8 && defined(__AVXVNNI__)
  return reinterpret_cast<IVec>(
      _mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(a), _mm256_set1_epi8(1)));
#else
  const IVec low = SetI(0xff);
  return sum + (a & low) + (a >> 8 & low) + (a >> 16 & low) + (a >> 24 & low);
#endif
}

// Nearest whole numbers, halves to even.
TENON_INLINE IVec Round(Vec v) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  return reinterpret_cast<IVec>(_mm512_cvtps_epi32(reinterpret_cast<__m512>(v)));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  return reinterpret_cast<IVec>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(v)));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  return reinterpret_cast<IVec>(_mm_cvtps_epi32(reinterpret_cast<__m128>(v)));
#else
  IVec out;
  for (int i = 0; i < kLanes; ++i) out[i] = static_cast<int32_t>(__builtin_nearbyintf(v[i]));
  return out;
#endif
}

// An element of A as 0 .. 255, of B as -128 .. 127, and what that added to it.
TENON_INLINE int32_t ShiftOfA(const Int8Operand& a) { return a.is_signed ? 128 : 0; }
TENON_INLINE int32_t ShiftOfB(const Int8Operand& b) { return b.is_signed ? 0 : -128; }
TENON_INLINE int32_t ZeroOf(const Int8Operand& o, int64_t i) {
  const uint8_t zero = o.zero.at(i);
  return o.is_signed ? static_cast<int8_t>(zero) : zero;
}

// kRun neighbouring elements of A with `flip`, and `sums` plus what they add up to.
constexpr int64_t kRun = kLanes * kGroup;
TENON_INLINE IVec PackRun(const uint8_t* from, uint8_t flip, Left* to, IVec sums) {
  if constexpr (kGroup == 4) {
    const IVec bytes = LoadI(from) ^ SetI(static_cast<int32_t>(flip * 0x01010101U));
    Store(reinterpret_cast<float*>(to), Floats(bytes));
    return Sums(sums, bytes);
  }
  TENON_UNROLL for (int half = 0; half < kRun; half += kLanes) {
    const IVec values = LoadBytes(from + half) ^ SetI(flip);
    for (int i = 0; i < kLanes; ++i) to[half + i] = static_cast<Left>(values[i]);
    sums += values;
  }
  return sums;
}

struct Sizes {
  int64_t groups, columns;          // of k; of the largest block of columns (a multiple of kTileColumns)
  int64_t column_words, row_words;  // packed, per piece
  int64_t per_column, per_row;      // sums and zero points, per piece
  int64_t all() const { return column_words + row_words + 2 * per_column + per_row; }
};
TENON_INLINE Sizes SizesOf(const GemmInt8Args& g) {
  Sizes s{};
  s.groups = Max(1, CeilDiv(g.k, kGroup));
  s.columns = Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kBlockGroups / s.groups / kTileColumns * kTileColumns));
  s.column_words = s.columns * s.groups;
  s.row_words = RoundUp(g.m * s.groups, 16);
  s.per_column = s.columns;
  s.per_row = RoundUp(g.m, 16);
  return s;
}

// Rows [row0, row0 + rows) of A as groups [row][group], and the sum of each.
void PackRows(const GemmInt8Args& g, int64_t row0, int64_t rows, int64_t groups, int32_t* out, int32_t* sums) {
  const uint8_t flip = g.a.is_signed ? 0x80 : 0;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t* from = g.a.data + (row0 + i) * g.a.row;
    Left* to = reinterpret_cast<Left*>(out + i * groups);
    int64_t k = 0;
    int32_t sum = 0;
    if (g.a.col == 1) {
      IVec parts = IVec{};
      for (; k + kRun <= g.k; k += kRun) parts = PackRun(from + k, flip, to + k, parts);
      TENON_UNROLL for (int lane = 0; lane < kLanes; ++lane) sum += parts[lane];
    }
    for (; k < g.k; ++k) {
      const uint8_t value = from[k * g.a.col] ^ flip;
      to[k] = static_cast<Left>(value);
      sum += value;
    }
    for (; k < groups * kGroup; ++k) to[k] = 0;
    sums[i] = sum;
  }
}

// The four or two rows of B of one group, a panel wide: in place where a whole row of it is there, else copied.
struct GroupRows {
  const uint8_t* row[kGroup];
  alignas(64) uint8_t copies[kGroup][kTileColumns];

  // Elements beyond `count` columns and g.k rows are `zero`. `from` is the first element of the panel's first column.
  TENON_INLINE void Read(const GemmInt8Args& g, const uint8_t* from, int64_t p, int64_t count, uint8_t zero) {
    TENON_UNROLL for (int q = 0; q < kGroup; ++q) {
      const bool exists = p * kGroup + q < g.k;
      const uint8_t* at = from + (p * kGroup + q) * g.b.row;
      if (exists && g.b.col == 1 && count == kTileColumns) {
        row[q] = at;
        continue;
      }
      for (int64_t j = 0; j < kTileColumns; ++j) copies[q][j] = exists && j < count ? at[j * g.b.col] : zero;
      row[q] = copies[q];
    }
  }
  // The groups of kLanes columns.
  TENON_INLINE IVec Groups(int64_t column, uint8_t flip) const {
    const IVec flips = SetI(flip);
    IVec words = IVec{};
    TENON_UNROLL for (int q = 0; q < kGroup; ++q) {
      const IVec bytes = LoadBytes(row[q] + column) ^ flips;
      if constexpr (kGroup == 4)
        words |= bytes << (8 * q);
      else
        words |= q == 0 ? ((bytes << 24) >> 24) & SetI(0xffff) : ((bytes << 24) >> 24) << 16;
    }
    return words;
  }
};

constexpr int32_t kOnes = kGroup == 4 ? 0x01010101 : 0x00010001;  // a group of A: its product is the sum of B's group

// Columns whose k are neighbours in memory, as many whole vectors of groups as there are; returns the groups done.
int64_t PackNeighbours(const GemmInt8Args& g, const uint8_t* from, int64_t count, int64_t width, uint8_t flip,
                       int32_t* to, IVec (&sums)[2]) {
  if (kGroup != 4 || g.b.row != 1) return 0;
  const IVec flips = SetI(static_cast<int32_t>(flip * 0x01010101U));
  int64_t p = 0;
  for (; (p + kLanes) * 4 <= g.k; p += kLanes) {
    TENON_UNROLL for (int v = 0; v < 2; ++v) {
      Vec t[kLanes];
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) {
        const int64_t column = v * kLanes + j;
        t[j] = column < count ? Floats(LoadI(from + column * g.b.col + p * 4) ^ flips) : Zero();
      }
      Transpose(t);
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) {
        Store(reinterpret_cast<float*>(to + (p + j) * width + v * kLanes), t[j]);
        sums[v] = Product(sums[v], kOnes, Bits(t[j]));
      }
    }
  }
  return p;
}

// Columns [column0, column0 + columns) of B as panels of kTileColumns, [group][column], zero beyond; and for each column
// its sum less k times its zero point, and that zero point.
void PackColumns(const GemmInt8Args& g, int64_t column0, int64_t columns, int64_t groups, int32_t* out, int32_t* sums,
                 int32_t* zeros) {
  const uint8_t flip = g.b.is_signed ? 0 : 0x80;
  for (int64_t c = 0; c < columns; c += kTileColumns) {
    const int64_t count = Min(kTileColumns, columns - c);
    const uint8_t* from = g.b.data + (column0 + c) * g.b.col;
    int32_t* to = out + c * groups;
    IVec sum[2] = {};
    GroupRows rows;
    for (int64_t p = PackNeighbours(g, from, count, kTileColumns, flip, to, sum); p < groups; ++p) {
      rows.Read(g, from, p, count, flip);
      TENON_UNROLL for (int v = 0; v < 2; ++v) {
        const IVec words = rows.Groups(v * kLanes, flip);
        Store(reinterpret_cast<float*>(to + p * kTileColumns + v * kLanes), Floats(words));
        sum[v] = Product(sum[v], kOnes, words);
      }
    }
    for (int64_t j = 0; j < kTileColumns; ++j) {
      const int32_t zero = j < count ? ZeroOf(g.b, column0 + c + j) + ShiftOfB(g.b) : 0;
      zeros[c + j] = zero;
      sums[c + j] = sum[j / kLanes][j % kLanes] - static_cast<int32_t>(g.k) * zero;
    }
  }
}

TENON_INLINE void StoreSums(const GemmInt8Args& g, IVec sum, int64_t row, int64_t column, int64_t count) {
  if (g.sums != nullptr)
    return StorePartial(reinterpret_cast<float*>(g.sums + row * g.c_row + column), Floats(sum), count);
  alignas(64) float scales[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) scales[j] = g.b_scale.at(column + (j < count ? j : 0));
  const Vec scale = Set(g.a_scale.at(row)) * Load(scales) / Set(g.c_scale);
  const Vec low = Set(static_cast<float>((g.c_signed ? -128 : 0) - g.c_zero));
  const Vec high = Set(static_cast<float>((g.c_signed ? 127 : 255) - g.c_zero));
  Vec value = __builtin_convertvector(sum, Vec) * scale;
  value = value < low ? low : value;
  value = value > high ? high : value;
  const IVec whole = (Round(value) + SetI(g.c_zero)) & SetI(0xff);
  uint8_t* to = g.quantized + row * g.c_row + column;
  if (count >= kLanes) return StoreBytes(to, whole);
  uint8_t bytes[kLanes];
  StoreBytes(bytes, whole);
  for (int64_t j = 0; j < count; ++j) to[j] = bytes[j];
}

struct Panel {
  const int32_t *groups, *sums, *zeros;  // of its first column; no zeros: null
};

// R rows by two vectors of columns.
template <int R>
void Tile(const GemmInt8Args& g, int64_t groups, const int32_t* a, const int32_t* row_sums, const Panel& b, int64_t row,
          int64_t column, int64_t columns) {
  IVec acc[R][2];
  TENON_UNROLL for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = IVec{};
  const int32_t* at = b.groups;
  for (int64_t p = 0; p < groups; ++p, at += kTileColumns) {
    const IVec b0 = LoadI(at), b1 = LoadI(at + kLanes);
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const int32_t group = a[i * groups + p];
      acc[i][0] = Product(acc[i][0], group, b0);
      acc[i][1] = Product(acc[i][1], group, b1);
    }
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < 2; ++j) {
    const int64_t count = Min(columns - j * kLanes, kLanes);
    if (count <= 0) continue;
    const int32_t zero = ZeroOf(g.a, row + i) + ShiftOfA(g.a);
    IVec sum = acc[i][j] + SetI(g.bias.at(row + i));
    if (zero != 0) sum -= LoadI(b.sums + j * kLanes) * zero;
    if (b.zeros != nullptr) sum -= LoadI(b.zeros + j * kLanes) * row_sums[i];
    StoreSums(g, sum, row + i, column + j * kLanes, count);
  }
}

using TileFn = void (*)(const GemmInt8Args&, int64_t, const int32_t*, const int32_t*, const Panel&, int64_t, int64_t,
                        int64_t);
template <int... R>
TileFn TileFor(int64_t rows) {
  static constexpr TileFn kTable[] = {&Tile<R>...};
  return kTable[rows - 1];
}
TENON_INLINE TileFn AnyTile(int64_t rows) {
#if TENON_CPU_LANES == 16
  return TileFor<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
#else
  return TileFor<1, 2, 3, 4, 5, 6>(rows);
#endif
}

void Region(const GemmInt8Args& g, const Sizes& s, Range rows, Range columns, int32_t* space) {
  int32_t* column_space = space;
  int32_t* row_space = column_space + s.column_words;
  int32_t* column_sums = row_space + s.row_words;
  int32_t* column_zeros = column_sums + s.per_column;
  int32_t* row_sums = column_zeros + s.per_column;
  const int64_t row_count = rows.end - rows.begin, tiles = CeilDiv(row_count, kTileRows);
  const bool has_zeros = g.b.zero.step != 0 || ZeroOf(g.b, 0) + ShiftOfB(g.b) != 0;
  PackRows(g, rows.begin, row_count, s.groups, row_space, row_sums);
  for (int64_t c0 = columns.begin; c0 < columns.end; c0 += s.columns) {
    const int64_t column_count = Min(s.columns, columns.end - c0);
    PackColumns(g, c0, column_count, s.groups, column_space, column_sums, column_zeros);
    const int64_t tiles_at_once = Max(1, kRowGroups / (s.groups * kTileRows));
    for (int64_t t0 = 0; t0 < tiles; t0 += tiles_at_once)
      for (int64_t c = 0; c < column_count; c += kTileColumns) {
        const Panel panel{column_space + c * s.groups, column_sums + c, has_zeros ? column_zeros + c : nullptr};
        for (int64_t t = t0; t < Min(tiles, t0 + tiles_at_once); ++t) {
          const Range r = Piece(row_count, tiles, t);
          AnyTile(r.end - r.begin)(g, s.groups, row_space + r.begin * s.groups, row_sums + r.begin, panel,
                                   rows.begin + r.begin, c0 + c, Min(column_count - c, kTileColumns));
        }
      }
  }
}

int64_t GemmInt8Workspace(const GemmInt8Args& g, int64_t threads) {
  if (g.m == 0 || g.n == 0) return 0;
  return RoundUp(SizesOf(g).all(), 16) * Max(1, threads) * static_cast<int64_t>(sizeof(int32_t));
}

void GemmInt8(const GemmInt8Args& g, void* workspace, const Parallel& pool) {
  if (g.m == 0 || g.n == 0) return;
  const Sizes s = SizesOf(g);
  const int64_t panels = CeilDiv(g.n, kTileColumns), tiles = CeilDiv(g.m, kTileRows);
  const bool cut_columns = panels >= 2 * pool.threads || panels >= tiles;
  const double nanoseconds =
      static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / (8.0 * kLanes * kGroup);
  const int64_t pieces = Pieces(pool, cut_columns ? panels : tiles, nanoseconds);
  int32_t* space = static_cast<int32_t*>(workspace);
  ForEach(pool, pieces, [&](int64_t i) {
    const Range all_rows{0, g.m}, all_columns{0, g.n};
    Region(g, s, cut_columns ? all_rows : Piece(g.m, pieces, i, kTileRows),
           cut_columns ? Piece(g.n, pieces, i, kTileColumns) : all_columns, space + i * RoundUp(s.all(), 16));
  });
}

// One row of the matrix: a tap of a channel at every pixel of the result.
void WindowRow(const WindowColumnsArgs& g, int64_t row) {
  const int64_t x = row % g.kw, y = row / g.kw % g.kh, channel = row / (g.kw * g.kh);
  const uint8_t* plane = g.planes + channel * g.h * g.w;
  uint8_t* to = g.to + row * g.out_h * g.out_w;
  const int64_t left = x * g.dilation_w - g.pad_left;
  for (int64_t oy = 0; oy < g.out_h; ++oy, to += g.out_w) {
    const int64_t iy = oy * g.stride_h - g.pad_top + y * g.dilation_h;
    if (iy < 0 || iy >= g.h) {
      __builtin_memset(to, g.fill, static_cast<unsigned long>(g.out_w));
      continue;
    }
    const uint8_t* from = plane + iy * g.w;
    for (int64_t ox = 0; ox < g.out_w; ++ox) {
      const int64_t ix = ox * g.stride_w + left;
      to[ox] = ix >= 0 && ix < g.w ? from[ix] : g.fill;
    }
  }
}

void WindowColumns(const WindowColumnsArgs& g, const Parallel& pool) {
  const int64_t rows = g.channels * g.kh * g.kw;
  const int64_t pieces = Pieces(pool, rows, static_cast<double>(rows * g.out_h * g.out_w) * 0.3);
  ForEach(pool, pieces, [&](int64_t i) {
    const Range mine = Piece(rows, pieces, i);
    for (int64_t row = mine.begin; row < mine.end; ++row) WindowRow(g, row);
  });
}

}  // namespace

extern const Int8Routines kInt8Routines;
const Int8Routines kInt8Routines = {
    .name = TENON_CPU_TEXT(TENON_CPU_ISA),
    .gemm_workspace = &GemmInt8Workspace,
    .gemm = &GemmInt8,
    .window_columns = &WindowColumns,
};

}  // namespace tenon::cpu::TENON_CPU_ISA
