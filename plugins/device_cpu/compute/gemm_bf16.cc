// A register tile of 12 rows (broadcast operand, two neighbouring k at a time) by two vectors of 16 columns. The column
// operand is packed into panels of pairs [k / 2][part][column][2]; the row operand is read in place when it is bf16 and
// its k are neighbours, and packed otherwise. Elements of bf16 have one part; f32 is split into two of bf16.
#include "plugins/device_cpu/compute/gemm_bf16.h"

#include <type_traits>

#include "plugins/device_cpu/compute/gelu_value.h"
#include "plugins/device_cpu/compute/isa_functions.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileRows = 12;
constexpr int kTileColumns = 2 * kLanes;
constexpr int64_t kMaxBlockPairs = 512;      // longer products are cut into equal blocks
constexpr int64_t kPairsAtOnce = 8;          // of neighbouring rows, packed before the next ones are touched
constexpr int64_t kRowPairs = 64 * 1024;     // pairs of the row operand that meet one panel of columns after the other
constexpr int64_t kBlockPairs = 128 * 1024;  // pairs of the packed column operand that stay in the second-level cache
using Pair = uint32_t;                       // elements k and k + 1

// Args is GemmBf16Args or GemmArgs.
template <class Args>
constexpr int kParts = 1;
template <>
constexpr int kParts<GemmArgs> = 2;

TENON_INLINE __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
}
TENON_INLINE Vec WidenVec(const uint16_t* p, int64_t count) {
  const __m256i low = _mm256_maskz_loadu_epi16(FirstLanes(count), p);
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16));
}
TENON_INLINE void NarrowVec(uint16_t* p, Vec v, int64_t count) {
  const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  if (count >= kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits);
  _mm256_mask_storeu_epi16(p, FirstLanes(count), bits);
}
TENON_INLINE Vec Product(Vec sum, Pair a, Vec b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                                                reinterpret_cast<__m512bh>(b)));
}

// The nearest bf16 numbers, as floats.
TENON_INLINE Vec Rounded(Vec v) {
  const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
// 16 pairs of neighbours.
TENON_INLINE Vec LoadPairs(const uint16_t* p) { return reinterpret_cast<Vec>(_mm512_loadu_si512(p)); }
TENON_INLINE Vec LoadPairs(const float* p) {
  return reinterpret_cast<Vec>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(p + kLanes), _mm512_loadu_ps(p)));
}

// The bits of up to 16 elements, a part at a time, each in the low half of its lane.
struct Bits16 {
  __m512i part[2];
};
template <int P>
TENON_INLINE Bits16 PartsOf(const uint16_t* p, int64_t count) {
  return {{_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(FirstLanes(count), p)), _mm512_setzero_si512()}};
}
TENON_INLINE __m512i NearestBf16(__m512 x) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}
// The nearest bf16, and with two parts the nearest to what that leaves. Those of a finite number are finite; NaN and infinity leave nothing.
template <int P>
TENON_INLINE Bits16 PartsOf(Vec v) {
  if constexpr (P == 1) return {{NearestBf16(reinterpret_cast<__m512>(v)), _mm512_setzero_si512()}};
  constexpr int kNaNOrInfinity = 0x99;
  const __m512 x = reinterpret_cast<__m512>(v), most = _mm512_castsi512_ps(_mm512_set1_epi32(0x7f7f0000));
  const __mmask16 finite = static_cast<__mmask16>(~_mm512_fpclass_ps_mask(x, kNaNOrInfinity));
  const __m512 bounded =
      _mm512_mask_max_ps(x, finite, _mm512_min_ps(x, most), _mm512_sub_ps(_mm512_setzero_ps(), most));
  const __m512i high = NearestBf16(bounded);
  return {{high, NearestBf16(_mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(_mm512_slli_epi32(high, 16))))}};
}
template <int P>
TENON_INLINE Bits16 PartsOf(const float* p, int64_t count) {
  return PartsOf<P>(LoadPartial(p, count));
}
TENON_INLINE Bits16 NoParts() { return {{_mm512_setzero_si512(), _mm512_setzero_si512()}}; }

struct Blocks {
  int64_t pairs, columns;  // largest block of pairs and of columns (a multiple of kTileColumns)
  bool pack_rows, cut_k;
  int64_t column_pairs, row_pairs;  // of the packed operands, per piece
};
template <class Args>
TENON_INLINE Blocks BlocksOf(const Args& g) {
  constexpr int64_t kPairsInCache = kBlockPairs / kParts<Args>;
  Blocks b{};
  const int64_t pairs = CeilDiv(g.k, 2);
  b.cut_k = pairs > kMaxBlockPairs;
  b.pairs = b.cut_k ? CeilDiv(pairs, CeilDiv(pairs, kMaxBlockPairs)) : pairs;
  b.columns = Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kPairsInCache / b.pairs / kTileColumns * kTileColumns));
  b.pack_rows = kParts<Args> > 1 || g.a_col != 1 || g.k % 2 != 0;
  b.column_pairs = RoundUp(b.columns * b.pairs * kParts<Args>, kLanes);
  b.row_pairs = b.pack_rows ? RoundUp(RoundUp(g.m, kTileRows) * b.pairs * kParts<Args>, kLanes) + kLanes : 0;
  return b;
}

// 32 numbers of a row that will be packed next time; processors do not foresee steps from row to row.
TENON_INLINE void PrefetchRow(const uint16_t* at) { __builtin_prefetch(at, 0, 2); }
TENON_INLINE void PrefetchRow(const float* at) {
  __builtin_prefetch(at, 0, 2);
  __builtin_prefetch(at + 16, 0, 2);
}
template <class T>
TENON_INLINE void PrefetchPair(const T* at, int64_t row_step) {
  PrefetchRow(at);
  PrefetchRow(at + row_step);
}

// Pairs of the elements whose parts are `low` and `high`; those of part i go to `to + i * step`.
template <int P>
TENON_INLINE void StorePairs(const Bits16& low, const Bits16& high, Pair* to, int64_t step, int64_t count = kLanes) {
  TENON_UNROLL for (int i = 0; i < P; ++i) _mm512_mask_storeu_epi32(
      to + i * step, FirstLanes(count), _mm512_or_si512(low.part[i], _mm512_slli_epi32(high.part[i], 16)));
}

// Columns j of pairs [0, pairs) whose elements are neighbours in memory: a transpose. The vectors of pair p go to
// `to + p * step`, those of its parts `width` apart. Returns how many pairs it did; the rest does not fill a vector.
template <int P, class T>
TENON_INLINE int64_t PackNeighbours(const T* from, int64_t column_step, int64_t count, int64_t pairs, Pair* to,
                                    int64_t step, int64_t width) {
  constexpr int kPairs = kLanes / P;  // of each column at a time
  int64_t p = 0;
  for (; p + kPairs <= pairs; p += kPairs) {
    Vec t[kLanes];
    if constexpr (P == 1) {
      if constexpr (sizeof(T) == 4) {  // the next columns
        TENON_UNROLL for (int j = 0; j < kLanes; ++j) PrefetchRow(from + (j + kLanes) * column_step + 2 * p);
      }
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] =
          j < count ? LoadPairs(from + j * column_step + 2 * p) : Zero();
      Transpose(t);
      TENON_UNROLL for (int j = 0; j < kPairs; ++j) Store(reinterpret_cast<float*>(to + (p + j) * step), t[j]);
    } else {
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] = j < count ? Load(from + j * column_step + 2 * p) : Zero();
      Transpose(t);
      TENON_UNROLL for (int j = 0; j < kPairs; ++j)
          StorePairs<P>(PartsOf<P>(t[2 * j]), PartsOf<P>(t[2 * j + 1]), to + (p + j) * step, width);
    }
  }
  return p;
}

// Columns of the matrix of pairs p of B whose first element is at `at`, `count` of them, as `width` pairs of each part.
template <int P, class T>
TENON_INLINE void PackPair(const T* at, int64_t row_step, int64_t column_step, bool has_next, int64_t count,
                           int64_t width, Pair* to) {
  for (int64_t v = 0; v < width; v += kLanes, at += kLanes * column_step, to += kLanes) {
    const int64_t some = Max(0, Min(kLanes, count - v));
    if (column_step == 1) {
      StorePairs<P>(PartsOf<P>(at, some), has_next ? PartsOf<P>(at + row_step, some) : NoParts(), to, width);
      continue;
    }
    T low[kLanes] = {}, high[kLanes] = {};
    for (int64_t j = 0; j < some; ++j) {
      low[j] = at[j * column_step];
      if (has_next) high[j] = at[j * column_step + row_step];
    }
    StorePairs<P>(PartsOf<P>(low, kLanes), PartsOf<P>(high, kLanes), to, width);
  }
}
// The same for a whole panel of neighbouring columns of bf16.
template <class T>
TENON_INLINE void PackWholePair(const T* at, int64_t row_step, Pair* to) {
  alignas(64) static constexpr uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first = reinterpret_cast<__m512i>(LoadPairs(at)),
                second = reinterpret_cast<__m512i>(LoadPairs(at + row_step));
  const __m512i low = _mm512_load_si512(kLow), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, low, second));
  _mm512_storeu_si512(to + kLanes, _mm512_permutex2var_epi16(first, high, second));
}

// Columns [column0, column0 + columns) of B, pairs [pair0, pair0 + pairs), as panels of kTileColumns (the last one
// kLanes wide if that is enough). Panel p begins at out + p * kTileColumns * pairs * parts. Rows of B that are neighbours in
// memory are read a few at a time along all panels.
template <class Args, class T>
void PackColumns(const Args& g, const T* b, int64_t pair0, int64_t pairs, int64_t column0, int64_t columns, Pair* out) {
  constexpr int P = kParts<Args>;
  const int64_t whole = Min(pairs, g.k / 2 - pair0), step = g.b_col == 1 ? kPairsAtOnce : pairs;
  for (int64_t p0 = 0; p0 < pairs; p0 += step)
    for (int64_t c = 0; c < columns; c += kTileColumns) {
      const int64_t width = columns - c > kLanes ? kTileColumns : kLanes, count = Min(width, columns - c);
      const T* from = b + pair0 * 2 * g.b_row + (column0 + c) * g.b_col;
      Pair* to = out + c * pairs * P;
      int64_t p = p0;
      if (g.b_row == 1 && p0 == 0 && step == pairs) {
        for (int64_t v = 0; v < width; v += kLanes)
          p = PackNeighbours<P>(from + v * g.b_col, g.b_col, Max(0, Min(kLanes, count - v)), whole, to + v, width * P,
                                width);
      }
      for (; p < Min(pairs, p0 + step); ++p) {
        const T* at = from + 2 * p * g.b_row;
        const bool has_next = 2 * (pair0 + p) + 1 < g.k;
        if constexpr (P == 1) {
          if (has_next && g.b_col == 1 && count == kTileColumns) {
            PrefetchPair(at + 2 * kPairsAtOnce * g.b_row, g.b_row);
            PackWholePair(at, g.b_row, to + p * kTileColumns);
            continue;
          }
        }
        PackPair<P>(at, g.b_row, g.b_col, has_next, count, width, to + p * width * P);
      }
    }
}

TENON_INLINE void PackColumnsOf(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t column0, int64_t columns,
                                Pair* out) {
  if (g.wide_b != nullptr) return PackColumns(g, g.wide_b, pair0, pairs, column0, columns, out);
  PackColumns(g, g.b, pair0, pairs, column0, columns, out);
}
TENON_INLINE void PackColumnsOf(const GemmArgs& g, int64_t pair0, int64_t pairs, int64_t column0, int64_t columns,
                                Pair* out) {
  PackColumns(g, g.b, pair0, pairs, column0, columns, out);
}

// Where the pairs of packed rows lie: pair p of part i of row r at p * pair + i * part + r * row.
struct RowSteps {
  int64_t pair, part, row;
};
// Rows that are neighbours in memory are packed pair after pair, others row after row.
template <class Args>
TENON_INLINE RowSteps StepsOf(const Args& g, int64_t pairs, int64_t rows) {
  if (g.a_row == 1 || kParts<Args> == 1) return {rows * kParts<Args>, rows, 1};
  return {1, pairs, pairs * kParts<Args>};
}

// Rows [row0, row0 + rows) of A, of which there are at most kTileRows.
TENON_INLINE void PackRows(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t row0, int64_t rows, Pair* out) {
  const uint16_t* from = g.a + row0 * g.a_row + pair0 * 2 * g.a_col;
  for (int64_t p = 0; p < pairs; ++p) {
    const bool has_next = 2 * (pair0 + p) + 1 < g.k;
    const uint16_t* at = from + 2 * p * g.a_col;
    if (g.a_row == 1) {
      PrefetchPair(at + 2 * kPairsAtOnce * g.a_col, g.a_col);
      StorePairs<1>(PartsOf<1>(at, rows), has_next ? PartsOf<1>(at + g.a_col, rows) : NoParts(), out + p * rows, 0,
                    rows);
      continue;
    }
    for (int64_t i = 0; i < rows; ++i) {
      const uint16_t* x = at + i * g.a_row;
      out[p * rows + i] = x[0] | (has_next ? static_cast<Pair>(x[g.a_col]) << 16 : 0);
    }
  }
}
TENON_INLINE void PackRows(const GemmArgs& g, int64_t pair0, int64_t pairs, int64_t row0, int64_t rows, Pair* out) {
  const RowSteps steps = StepsOf(g, pairs, rows);
  const float* from = g.a + row0 * g.a_row + pair0 * 2 * g.a_col;
  if (g.a_row == 1) {
    for (int64_t p = 0; p < pairs; ++p) {
      const bool has_next = 2 * (pair0 + p) + 1 < g.k;
      const float* at = from + 2 * p * g.a_col;
      StorePairs<2>(PartsOf<2>(at, rows), has_next ? PartsOf<2>(at + g.a_col, rows) : NoParts(), out + p * steps.pair,
                    steps.part, rows);
    }
    return;
  }
  const int64_t elements = Min(2 * pairs, g.k - 2 * pair0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t e = 0; e < elements; e += kLanes) {  // 16 elements are 8 pairs
      const int64_t count = Min(kLanes, elements - e);
      const Bits16 bits = PartsOf<2>(from + i * g.a_row + e, count);
      Pair* to = out + i * steps.row + e / 2;
      const __mmask16 mask = FirstLanes(count + count % 2);
      TENON_UNROLL for (int part = 0; part < 2; ++part)
          _mm256_mask_storeu_epi16(to + part * steps.part, mask, _mm512_cvtepi32_epi16(bits.part[part]));
    }
  }
}

// What becomes of a tile's sums; `partial` holds those of the blocks of k before (rows of length n), in f32 C does.
template <class Args>
struct Finish {
  const Args* g;
  float* partial;
  bool first, last;
};

TENON_INLINE Vec BiasOf(const GemmBf16Args& g, int64_t column, int64_t count) {
  if (g.wide_bias != nullptr) return Rounded(LoadPartial(g.wide_bias + column, count));
  return g.bias != nullptr ? WidenVec(g.bias + column, count) : Zero();
}
TENON_INLINE void FinishVec(const Finish<GemmBf16Args>& f, Vec sum, int64_t row, int64_t column, int64_t count) {
  const GemmBf16Args& g = *f.g;
  if (f.partial != nullptr) {
    float* partial = f.partial + row * g.n + column;
    if (!f.first) sum += LoadPartial(partial, count);
    if (!f.last) return StorePartial(partial, sum, count);
  }
  const int64_t at = row * g.c_row + column;
  sum = sum * Set(g.alpha) + BiasOf(g, column, count);
  if (g.relu) sum = Relu(sum);
  if (g.wide_c != nullptr) return StorePartial(g.wide_c + at, Rounded(sum), count);
  NarrowVec(g.c + at, sum, count);
}
TENON_INLINE void FinishVec(const Finish<GemmArgs>& f, Vec sum, int64_t row, int64_t column, int64_t count) {
  const GemmArgs& g = *f.g;
  float* c = g.c + row * g.c_row + column;
  sum = sum * Set(g.alpha);
  if (g.accumulate || !f.first) sum += LoadPartial(c, count);
  if (f.last) {
    if (g.bias != nullptr) sum += LoadPartial(g.bias + column, count);
    if (g.relu) sum = Relu(sum);
    if (g.mask != nullptr) sum = KeepWhere(~(LoadPartial(g.mask + row * g.mask_row + column, count) <= Zero()), sum);
  }
  StorePartial(c, sum, count);
}

// Two neighbouring vectors of C at once, of the last block of k.
TENON_INLINE void FinishTwo(const Finish<GemmBf16Args>& f, Vec low, Vec high, int64_t row, int64_t column) {
  const GemmBf16Args& g = *f.g;
  if (f.partial != nullptr) {
    const float* partial = f.partial + row * g.n + column;
    if (!f.first) low += Load(partial), high += Load(partial + kLanes);
  }
  const int64_t at = row * g.c_row + column;
  low = low * Set(g.alpha) + BiasOf(g, column, kLanes), high = high * Set(g.alpha) + BiasOf(g, column + kLanes, kLanes);
  if (g.relu) low = Relu(low), high = Relu(high);
  if (g.wide_c != nullptr) {
    Store(g.wide_c + at, Rounded(low));
    return Store(g.wide_c + at + kLanes, Rounded(high));
  }
  const __m512bh both = _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low));
  _mm512_storeu_si512(g.c + at, reinterpret_cast<__m512i>(both));
}

TENON_INLINE void GeluOf(const uint16_t* c, int64_t count, bool tanh, uint16_t* y) {
  const Vec x = WidenVec(c, count);
  NarrowVec(y, tanh ? GeluValue<true>(x) : GeluValue<false>(x), count);
}
TENON_INLINE void GeluOf(const float* c, int64_t count, bool tanh, float* y) {
  const Vec x = LoadPartial(c, count);
  StorePartial(y, tanh ? GeluValue<true>(x) : GeluValue<false>(x), count);
}
// Gelu of a finished area of C, if it is wanted.
template <class Args>
void Activate(const Finish<Args>& f, Range rows, int64_t column, int64_t columns) {
  const Args& g = *f.g;
  if (!f.last || g.gelu == nullptr) return;
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = 0; j < columns; j += kLanes) {
      const int64_t at = i * g.c_row + column + j;
      GeluOf(g.c + at, Min(kLanes, columns - j), g.gelu_tanh, g.gelu + at);
    }
}

TENON_INLINE Pair LoadPair(const uint16_t* p) {
  Pair pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return pair;
}

// R rows by V vectors; `steps` of the row operand in elements of bf16.
template <class Args, int R, int V>
void Tile(int64_t pairs, const uint16_t* a, const RowSteps& steps, const Pair* b, const Finish<Args>& finish,
          int64_t row, int64_t column, int64_t columns) {
  constexpr int P = kParts<Args>;
  const int64_t am = steps.row, ap = steps.pair, part = steps.part;
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t p = 0; p < pairs; ++p) {
    Vec bv[P][V];
    TENON_UNROLL for (int q = 0; q < P; ++q) TENON_UNROLL for (int j = 0; j < V; ++j) bv[q][j] =
        Load(reinterpret_cast<const float*>(b + (q * V + j) * kLanes));
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const Pair high = LoadPair(a + i * am);
      TENON_UNROLL for (int q = 0; q < P; ++q) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] =
          Product(acc[i][j], high, bv[q][j]);
      if constexpr (P > 1) {
        const Pair low = LoadPair(a + part + i * am);
        TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Product(acc[i][j], low, bv[0][j]);
      }
    }
    a += ap;
    b += P * V * kLanes;
  }
  if constexpr (P == 1 && V == 2) {
    if (finish.last && columns == kTileColumns) {
      TENON_UNROLL for (int i = 0; i < R; ++i) FinishTwo(finish, acc[i][0], acc[i][1], row + i, column);
      return;
    }
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) {
    const int64_t count = Min(columns - j * kLanes, kLanes);
    if (count > 0) FinishVec(finish, acc[i][j], row + i, column + j * kLanes, count);
  }
}

template <class Args>
using TileFn = void (*)(int64_t, const uint16_t*, const RowSteps&, const Pair*, const Finish<Args>&, int64_t, int64_t,
                        int64_t);

template <class Args, int V, int... R>
TileFn<Args> TileFor(int64_t rows) {
  static constexpr TileFn<Args> kTable[] = {&Tile<Args, R, V>...};
  return kTable[rows - 1];
}
template <class Args, int V>
TileFn<Args> AnyTile(int64_t rows) {
  return TileFor<Args, V, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
}

template <class Args>
void Region(const Args& g, const Blocks& block, Range rows, Range columns, Pair* column_space, Pair* row_space,
            float* partial) {
  constexpr int P = kParts<Args>;
  const int64_t all_pairs = CeilDiv(g.k, 2), row_count = rows.end - rows.begin;
  const int64_t tiles = CeilDiv(row_count, kTileRows);
  for (int64_t pair0 = 0; pair0 < all_pairs; pair0 += block.pairs) {
    const int64_t pairs = Min(block.pairs, all_pairs - pair0);
    const Finish<Args> finish{&g, block.cut_k ? partial : nullptr, pair0 == 0, pair0 + pairs == all_pairs};
    if (block.pack_rows) {
      const int64_t step = g.a_row == 1 ? kPairsAtOnce : pairs;
      for (int64_t p = 0; p < pairs; p += step)
        for (int64_t t = 0; t < tiles; ++t) {
          const Range r = Piece(row_count, tiles, t);
          const int64_t height = r.end - r.begin;
          PackRows(g, pair0 + p, Min(step, pairs - p), rows.begin + r.begin, height,
                   row_space + (r.begin * pairs + p * height) * P);
        }
    }
    const int64_t tiles_at_once = Max(1, kRowPairs / (pairs * kTileRows * P));
    for (int64_t c0 = columns.begin; c0 < columns.end; c0 += block.columns) {
      const int64_t column_count = Min(block.columns, columns.end - c0);
      PackColumnsOf(g, pair0, pairs, c0, column_count, column_space);
      for (int64_t t0 = 0; t0 < tiles; t0 += tiles_at_once) {
        for (int64_t c = 0; c < column_count; c += kTileColumns)
          for (int64_t t = t0; t < Min(tiles, t0 + tiles_at_once); ++t) {
            const Range r = Piece(row_count, tiles, t);
            const int64_t height = r.end - r.begin, row = rows.begin + r.begin, left = column_count - c;
            const uint16_t* a = reinterpret_cast<const uint16_t*>(row_space + r.begin * pairs * P);
            RowSteps steps = StepsOf(g, pairs, height);
            steps = {2 * steps.pair, 2 * steps.part, 2 * steps.row};
            if constexpr (P == 1) {
              if (!block.pack_rows) a = g.a + row * g.a_row + pair0 * 2, steps = {2, 0, g.a_row};
            }
            const TileFn<Args> tile = left > kLanes ? AnyTile<Args, 2>(height) : AnyTile<Args, 1>(height);
            tile(pairs, a, steps, column_space + c * pairs * P, finish, row, c0 + c, Min(left, kTileColumns));
          }
        const Range done{Piece(row_count, tiles, t0).begin,
                         Piece(row_count, tiles, Min(tiles, t0 + tiles_at_once) - 1).end};
        Activate(finish, {rows.begin + done.begin, rows.begin + done.end}, c0, column_count);
      }
    }
  }
}

template <class Args>
void FinishOnly(const Args& g) {
  const Finish<Args> finish{&g, nullptr, true, true};
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; j += kLanes) FinishVec(finish, Zero(), i, j, Min(kLanes, g.n - j));
  Activate(finish, {0, g.m}, 0, g.n);
}

template <class Args>
int64_t GemmWorkspace(const Args& g, int64_t threads) {
  if (g.m == 0 || g.n == 0 || g.k == 0) return 0;
  const Blocks block = BlocksOf(g);
  const int64_t partial = block.cut_k && kParts<Args> == 1 ? RoundUp(g.m * g.n, kLanes) : 0;
  return ((block.column_pairs + block.row_pairs) * Max(1, threads) + partial) * static_cast<int64_t>(sizeof(float));
}

template <class Args>
void Gemm(const Args& g, float* workspace, const Parallel& pool) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return FinishOnly(g);
  const Blocks block = BlocksOf(g);
  const int64_t panels = CeilDiv(g.n, kTileColumns), tiles = CeilDiv(g.m, kTileRows);
  const bool cut_columns = panels >= 2 * pool.threads || panels >= tiles;
  constexpr double kProducts = kParts<Args> == 1 ? 1 : 3;
  const double nanoseconds =
      kProducts * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / 256;
  const int64_t pieces = Pieces(pool, cut_columns ? panels : tiles, nanoseconds);
  Pair* packed = reinterpret_cast<Pair*>(workspace);
  const int64_t packed_size = block.column_pairs + block.row_pairs;
  float* partial = workspace + packed_size * Max(1, pool.threads);
  ForEach(pool, pieces, [&](int64_t i) {
    Pair* space = packed + i * packed_size;
    const Range all_rows{0, g.m}, all_columns{0, g.n};
    Region(g, block, cut_columns ? all_rows : Piece(g.m, pieces, i, kTileRows),
           cut_columns ? Piece(g.n, pieces, i, kTileColumns) : all_columns, space, space + block.column_pairs, partial);
  });
}

void MaskGradient(const MaskBf16Args& args, const Parallel& pool) {
  const int64_t panels = CeilDiv(args.columns, kLanes);
  const int64_t pieces = Pieces(pool, panels, static_cast<double>(args.rows * args.columns) * 0.2);
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range columns = Piece(args.columns, pieces, piece, kLanes);
    for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
      const int64_t count = Min(kLanes, columns.end - j);
      Vec sum = Zero();
      for (int64_t i = 0; i < args.rows; ++i) {
        const int64_t at = i * args.columns + j;
        const Vec g = KeepWhere(~(WidenVec(args.y + at, count) <= Zero()), WidenVec(args.dy + at, count));
        sum += g;
        NarrowVec(args.g + at, g, count);
      }
      if (args.column_sums != nullptr) NarrowVec(args.column_sums + j, sum * Set(args.scale), count);
    }
  });
}

}  // namespace

extern const Bf16Routines kBf16Routines;
const Bf16Routines kBf16Routines = {
    .gemm_workspace = &GemmWorkspace<GemmBf16Args>,
    .gemm = &Gemm<GemmBf16Args>,
    .split_workspace = &GemmWorkspace<GemmArgs>,
    .split_gemm = &Gemm<GemmArgs>,
    .mask_gradient = &MaskGradient,
    .attention_workspace = &AttentionForwardWorkspace<Bf16>,
    .attention = &AttentionForward<Bf16>,
    .attention_grad_workspace = &AttentionGradWorkspace<Bf16>,
    .attention_grad = &AttentionGrad<Bf16>,
    .winograd_forward_workspace = &WinogradForwardWorkspace<Bf16>,
    .winograd_forward = &WinogradForward<Bf16>,
    .winograd_weights_workspace = &WinogradWeightsWorkspace<Bf16>,
    .winograd_weights = &WinogradWeights<Bf16>,
};

}  // namespace tenon::cpu::TENON_CPU_ISA
