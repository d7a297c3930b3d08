#pragma once

#include <vector>

#include "core/ops/conv.h"
#include "core/ops/matrix_product.h"
#include "core/ops/quantization.h"

namespace tenon {

// Integer products of quantised operands, shared by MatMulInteger and QLinearMatMul, ConvInteger and QLinearConv. Sums are
// kept in 64 bits and wrap to int32.

// Elements less their zero point, one or one for each slice along `axis`; an absent zero point is 0.
inline std::vector<std::int32_t> Centred(const Tensor& tensor, const Tensor& zero_point, std::int64_t axis) {
  std::vector<std::int32_t> numbers = NumbersOf<std::int32_t>(tensor);
  const std::vector<std::int32_t> zero = NumbersOf<std::int32_t>(zero_point);
  if (zero.empty()) return numbers;
  const SliceWalk walk(tensor.shape(), static_cast<std::int64_t>(zero.size()), axis);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] -= EntryOf(zero, walk.SliceOf(static_cast<std::int64_t>(i)));
  return numbers;
}

// A quantity of matrix operand A is one, or one a row (axis -2), of B one, or one a column (axis -1).
inline Status CheckMatrixQuantity(std::string_view what, const SymShape& quantity, const SymShape& matrix, int axis) {
  return CheckQuantity(what, quantity, matrix.rank() >= 2 ? matrix[matrix.rank() + axis] : Dim(1));
}

// put(place in the product, row, column, sum) for every element of the product of A and B.
template <class Put>
Status QuantizedMatMul(const Tensor& a, const Tensor& a_zero, const Tensor& b, const Tensor& b_zero, Put put) {
  TENON_ASSIGN(const auto stacks, StacksOf(a.shape(), b.shape()));
  const std::vector<std::int32_t> left = Centred(a, a_zero, -2), right = Centred(b, b_zero, -1);
  const int rank = stacks.product.rank();
  const std::int64_t rows = stacks.product[rank - 2], columns = stacks.product[rank - 1];
  const std::int64_t inner = stacks.a[stacks.a.rank() - 1];
  ForEachBroadcast(BatchOf(stacks.product), BatchOf(stacks.a), BatchOf(stacks.b),
                   [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
                     const std::int32_t* x = left.data() + ia * rows * inner;
                     const std::int32_t* y = right.data() + ib * inner * columns;
                     for (std::int64_t r = 0; r < rows; ++r)
                       for (std::int64_t c = 0; c < columns; ++c) {
                         std::int64_t sum = 0;
                         for (std::int64_t k = 0; k < inner; ++k)
                           sum += std::int64_t{x[r * inner + k]} * y[k * columns + c];
                         put((i * rows + r) * columns + c, r, c, static_cast<std::int32_t>(sum));
                       }
                   });
  return {};
}

// put(place in the result, output channel, sum) for every element of the convolution of x with w; padding is the zero point.
template <class Put>
void QuantizedConv(const Attributes& attrs, const Tensor& x, const Tensor& x_zero, const Tensor& w,
                   const Tensor& w_zero, Put put) {
  const ConvGeometry g = ConvGeometryOf(attrs, x.shape(), w.shape());
  const std::vector<std::int32_t> image = Centred(x, x_zero, 1), weights = Centred(w, w_zero, 0);
  const Window& win = g.window;
  const std::int64_t in = win.inputs(), out = win.outputs(), taps = win.taps();
  for (std::int64_t n = 0; n < win.batch; ++n)
    for (std::int64_t m = 0; m < g.out_channels; ++m) {
      const std::int32_t* plane = image.data() + (n * win.channels + g.FirstInputOf(m)) * in;
      const std::int32_t* filter = weights.data() + m * g.in_per_group * taps;
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < g.in_per_group; ++c)
          ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t k) {
            sum += std::int64_t{plane[c * in + p]} * filter[c * taps + k];
          });
        put((n * g.out_channels + m) * out + o, m, static_cast<std::int32_t>(sum));
      });
    }
}

}  // namespace tenon
