// Products in register tiles (bf16_tile.h). The row operand is read in place when it is bf16 and its k are neighbours, and packed
// otherwise.
#include "plugins/device_cpu/compute/gemm_bf16.h"

#include "plugins/device_cpu/compute/bf16_tile.h"
#include "plugins/device_cpu/compute/product_pieces.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kMaxBlockPairs = 512;      // longer products are cut into equal blocks
constexpr int64_t kRowPairs = 64 * 1024;     // pairs of the row operand that meet one panel of columns after the other
constexpr int64_t kBlockPairs = 128 * 1024;  // pairs of the packed column operand that stay in the second-level cache

struct Blocks {
  int64_t pairs, columns;  // largest block of pairs and of columns (a multiple of kTileColumns)
  bool pack_rows, cut_k;
  int64_t column_pairs, row_pairs;  // of the packed operands, per piece
};

struct Vectors {
  static constexpr int64_t kRows = kTileRows;
  static constexpr double kRate = 256;

  template <class Args>
  static Blocks BlocksOf(const Args& g) {
    constexpr int64_t kPairsInCache = kBlockPairs / kParts<Args>;
    Blocks b{};
    const int64_t pairs = CeilDiv(g.k, 2);
    b.cut_k = pairs > kMaxBlockPairs;
    b.pairs = b.cut_k ? CeilDiv(pairs, CeilDiv(pairs, kMaxBlockPairs)) : pairs;
    b.columns =
        Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kPairsInCache / b.pairs / kTileColumns * kTileColumns));
    b.pack_rows = kParts<Args> > 1 || g.a_col != 1 || g.k % 2 != 0;
    b.column_pairs = RoundUp(b.columns * b.pairs * kParts<Args>, kLanes);
    b.row_pairs = b.pack_rows ? RoundUp(RoundUp(g.m, kTileRows) * b.pairs * kParts<Args>, kLanes) + kLanes : 0;
    return b;
  }

  template <class Args>
  static void Region(const Args& g, const Blocks& block, Range rows, Range columns, Pair* column_space, Pair* row_space,
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
        PackColumnsOf(g, pair0, pairs, pairs, c0, column_count, column_space);
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
};

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
    .products = kProductsOf<Vectors>,
    .mask_gradient = &MaskGradient,
    .attention_workspace = &AttentionForwardWorkspace<Bf16>,
    .attention = &AttentionForward<Bf16>,
    .attention_grad_workspace = &AttentionGradWorkspace<Bf16>,
    .attention_grad = &AttentionGrad<Bf16>,
    .winograd_forward_workspace = &WinogradForwardWorkspace<Bf16>,
    .winograd_forward = &WinogradForward<Bf16>,
    .winograd_weights_workspace = &WinogradWeightsWorkspace<Bf16>,
    .winograd_weights = &WinogradWeights<Bf16>,
    .conv_forward_workspace = &ConvBf16ForwardWorkspace,
    .conv_forward = &ConvBf16Forward,
    .conv_data_workspace = &ConvBf16DataWorkspace,
    .conv_data = &ConvBf16Data,
    .conv_weights_workspace = &ConvBf16WeightsWorkspace,
    .conv_weights = &ConvBf16Weights,
};

}  // namespace tenon::cpu::TENON_CPU_ISA
