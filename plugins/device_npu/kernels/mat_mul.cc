// MatMul and Gemm. Operands and results may be strided or tiled.
#include "kernels/map.h"
#include "kernels/product.h"
#include "kernels/walk.h"

namespace tenon::npu {
namespace {

// Both operators as a stack of products Y = alpha * A' B' + beta * C.
struct Product {
  ProductShape shape;
  Matrix a, b;
  uint32_t dtype = 0, y_layout = 0;
  Walk<2> stacks;  // places of A and B in their stacks, in matrices
  float alpha = 1, beta = 1;
  bool has_c = false;
  int64_t c_row = 0, c_column = 0;         // strides of C, which broadcasts
  int64_t a_elements = 0, b_elements = 0;  // of one stored matrix, padding included
};

int64_t StoredMatrix(const Matrix& m) {
  return m.layout == kTiled ? Tiling{1, m.rows, m.columns}.matrix() : m.rows * m.columns;
}

void CheckTypes(const Request& request) {
  request.RequireFloat(0);
  request.RequireType(1, request.input(0).dtype());
}

Product GemmOf(const Request& request) {
  CheckTypes(request);
  const sdk::Attributes& attributes = request.attributes();
  const sdk::Value a = request.input(0), b = request.input(1), y = request.output(0);
  Product p;
  p.dtype = a.dtype();
  p.a = {p.dtype, a.layout(), a.dim(0), a.dim(1), attributes.Int("transA", 0) != 0};
  p.b = {p.dtype, b.layout(), b.dim(0), b.dim(1), attributes.Int("transB", 0) != 0};
  p.y_layout = y.layout();
  p.shape = {1, y.dim(0), y.dim(1), p.a.transposed ? a.dim(0) : a.dim(1)};
  p.alpha = FloatAttribute(request, "alpha", 1);
  p.beta = FloatAttribute(request, "beta", 1);
  p.has_c = request.has_input(2);
  if (p.has_c) {
    request.RequireType(2, p.dtype);
    const auto strides = BroadcastStrides(request.input(2).dims(), y.dims());
    p.c_row = strides[0];
    p.c_column = strides[1];
  }
  return p;
}

// Leading dims broadcast; a vector is a row on the left and a column on the right.
Product MatMulOf(const Request& request) {
  CheckTypes(request);
  const sdk::Value a = request.input(0), b = request.input(1);
  std::vector<int64_t> x, z;
  if (a.rank() == 1) x.push_back(1);
  for (const int64_t dim : a.dims()) x.push_back(dim);
  for (const int64_t dim : b.dims()) z.push_back(dim);
  if (b.rank() == 1) z.push_back(1);
  Product p;
  p.dtype = a.dtype();
  p.a = {p.dtype, a.layout(), x[x.size() - 2], x.back(), false};
  p.b = {p.dtype, b.layout(), z[z.size() - 2], z.back(), false};
  p.y_layout = request.output(0).layout();
  p.shape = {1, p.a.rows, p.b.columns, p.a.columns};
  const uint32_t rank = static_cast<uint32_t>(std::max(x.size(), z.size())) - 2;
  const sdk::Dims batch_a(x.data(), static_cast<uint32_t>(x.size()) - 2),
      batch_b(z.data(), static_cast<uint32_t>(z.size()) - 2);
  const auto size = [&](sdk::Dims dims, uint32_t axis) {
    return axis + dims.size() < rank ? 1 : dims[axis + dims.size() - rank];
  };
  std::vector<int64_t> batch(rank);
  for (uint32_t axis = 0; axis < rank; ++axis) batch[axis] = std::max(size(batch_a, axis), size(batch_b, axis));
  const sdk::Dims all(batch.data(), rank);
  const auto sa = BroadcastStrides(batch_a, all), sb = BroadcastStrides(batch_b, all);
  for (uint32_t axis = 0; axis < rank; ++axis) p.stacks.Add(batch[axis], {sa[axis], sb[axis]});
  p.shape.stack = all.Elements();
  return p;
}

// Rows of the result in f32 become the result in its type and layout.
template <class T>
void Store(const Product& p, const float* sums, const T* c, T* y) {
  const int64_t rows = p.shape.rows, columns = p.shape.columns;
  const auto value = [&](int64_t i, int64_t j) {
    const float product = p.alpha * sums[i * columns + j];
    return Narrow<T>(c == nullptr ? product : product + p.beta * Widen(c[i * p.c_row + j * p.c_column]));
  };
  if (p.y_layout == TENON_LAYOUT_STRIDED) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) y[i * columns + j] = value(i, j);
    return;
  }
  const Tiling tiling{1, rows, columns};
  for (int64_t tile_column = 0; tile_column < columns; tile_column += kTile) {
    for (int64_t i = 0; i < tiling.tile_rows() * kTile; ++i) {
      for (int64_t j = tile_column; j < tile_column + kTile; ++j)
        *y++ = i < rows && j < columns ? value(i, j) : Narrow<T>(0.0f);
    }
  }
}

bool WritesInPlace(const Product& p) {
  return p.dtype == TENON_DTYPE_F32 && p.y_layout == TENON_LAYOUT_STRIDED && p.alpha == 1 && !p.has_c;
}

uint64_t PackingCycles(const Product& p) {
  const ProductShape& s = p.shape;
  const int64_t sizes[] = {s.rows * s.depth, s.depth * s.columns, s.rows * s.columns};
  const uint32_t layouts[] = {p.a.layout, p.b.layout, p.y_layout};
  uint64_t cycles = 0;
  for (int i = 0; i < 3; ++i) cycles += layouts[i] == kTiled ? 0 : PackCycles(s.stack * sizes[i]);
  return cycles;
}

Work WorkOf(const Request& request, Product p) {
  const ProductShape& s = p.shape;
  p.a_elements = StoredMatrix(p.a);
  p.b_elements = StoredMatrix(p.b);
  const int64_t left = LeftSize(s.rows, s.depth), right = RightSize(s.columns, s.depth);
  const int64_t y_elements = p.y_layout == kTiled ? Tiling{1, s.rows, s.columns}.matrix() : s.rows * s.columns;
  Work work;
  work.workspace = static_cast<uint64_t>(left + right + (WritesInPlace(p) ? 0 : s.rows * s.columns)) * sizeof(float);
  work.cost = ProductCost(s, p.dtype);
  work.cost.bytes = request.bytes();
  work.cost.extra_cycles = PackingCycles(p);
  ForFloat(p.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [p, left, right, y_elements](const Operands& o) {
      float *a = o.workspace<float>(), *b = a + left, *sums = b + right;
      int64_t stack = 0;
      const auto one = [&](int64_t at_a, int64_t at_b) {
        T* y = o.out<T>(0) + stack++ * y_elements;
        float* to = sums;
        if constexpr (std::is_same_v<T, float>) {
          if (WritesInPlace(p)) to = y;
        }
        PackLeft(p.a, o.in<T>(0) + at_a * p.a_elements, a);
        PackRight(p.b, o.in<T>(1) + at_b * p.b_elements, b);
        Multiply(o, p.shape.rows, p.shape.columns, p.shape.depth, a, b, to, false);
        if (!WritesInPlace(p)) Store<T>(p, sums, p.has_c ? o.in<T>(2) : nullptr, y);
      };
      const auto step = p.stacks.step();
      p.stacks.Rows(0, p.stacks.rows(), [&](const Walk<2>::Places& at) {
        for (int64_t i = 0; i < p.stacks.row(); ++i) one(at[0] + i * step[0], at[1] + i * step[1]);
      });
    };
  });
  return work;
}

Work MakeGemm(const Request& request) { return WorkOf(request, GemmOf(request)); }
Work MakeMatMul(const Request& request) { return WorkOf(request, MatMulOf(request)); }

// Every operand and the result strided or tiled: what is not tiled costs a pass.
void Offer(const Request& request, Product p, sdk::LayoutEmitter& emitter) {
  // With a vector on one side the last two dims of the result are no matrix of the product.
  const bool left = request.input(0).rank() > 1, right = request.input(1).rank() > 1,
             can[] = {left, right, left && right};
  for (uint32_t choice = 0; choice < 8; ++choice) {
    uint32_t layouts[3];
    bool possible = true;
    for (uint32_t i = 0; i < 3; ++i) {
      layouts[i] = (choice >> i & 1) != 0 ? uint32_t{kTiled} : uint32_t{TENON_LAYOUT_STRIDED};
      possible = possible && (can[i] || layouts[i] == TENON_LAYOUT_STRIDED);
    }
    if (!possible) continue;
    p.a.layout = layouts[0];
    p.b.layout = layouts[1];
    p.y_layout = layouts[2];
    Cost cost = ProductCost(p.shape, p.dtype);
    cost.extra_cycles = PackingCycles(p);
    const uint32_t inputs[] = {layouts[0], layouts[1], TENON_LAYOUT_STRIDED};
    emitter.Emit(static_cast<double>(cost.Cycles()), inputs, request.input_count(), &layouts[2], 1);
  }
}
void OfferGemm(const Request& request, sdk::LayoutEmitter& emitter) { Offer(request, GemmOf(request), emitter); }
void OfferMatMul(const Request& request, sdk::LayoutEmitter& emitter) { Offer(request, MatMulOf(request), emitter); }

}  // namespace

void AddProducts(EntryList& entries) {
  entries.push_back({"", "Gemm", "cube_gemm", MakeGemm, OfferGemm});
  entries.push_back({"", "MatMul", "cube_mat_mul", MakeMatMul, OfferMatMul});
}

}  // namespace tenon::npu
