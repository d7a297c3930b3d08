// Conv and its two gradients as matrix products: the windows of an image are the columns of a matrix (im2col), which is
// written straight into the panels of the product.
#include <algorithm>
#include <cstring>

#include "kernels/product.h"
#include "kernels/window.h"

namespace tenon::npu {
namespace {

// One group of one image is a product of [out][depth] and [depth][places] with depth = in * taps.
struct Convolution {
  Window window;
  int64_t groups = 1, in = 0, out = 0;  // channels of a group
  uint32_t dtype = 0;

  int64_t depth() const { return in * window.taps(); }
  int64_t places() const { return window.outputs(); }
  ProductShape shape() const { return {window.batch * groups, out, places(), depth()}; }
  // Elements of one group of one image, and of its weights.
  int64_t image() const { return in * window.inputs(); }
  int64_t result() const { return out * places(); }
  int64_t weights() const { return out * depth(); }
};

Convolution ConvolutionOf(const Request& request, sdk::Dims x, sdk::Dims w, sdk::Dims y) {
  request.RequireFloat(0);
  if (w.size() != x.size()) Refuse("W has shape ", w, " and X ", x);
  Convolution conv;
  conv.window = WindowOf(request, x, y, sdk::Dims(w.data() + 2, w.size() - 2));
  conv.groups = request.attributes().Int("group", 1);
  if (conv.groups < 1 || x[1] % conv.groups != 0 || w[0] % conv.groups != 0)
    Refuse("group ", conv.groups, " does not divide ", x[1], " and ", w[0], " channels");
  conv.in = x[1] / conv.groups;
  conv.out = w[0] / conv.groups;
  conv.dtype = request.input(0).dtype();
  return conv;
}

// fn(row of the window matrix, first place of a line, elements of the line) with the input position of each: place(i) is
// the offset in the image of line element i, or -1 in the padding.
template <class Fn>
void ForEachLine(const Convolution& conv, Fn fn) {
  const WindowAxis &a = conv.window.axis[0], &b = conv.window.axis[1], &c = conv.window.axis[2];
  int64_t row = 0;
  for (int64_t channel = 0; channel < conv.in; ++channel) {
    for (int64_t k0 = 0; k0 < a.kernel; ++k0) {
      for (int64_t k1 = 0; k1 < b.kernel; ++k1) {
        for (int64_t k2 = 0; k2 < c.kernel; ++k2, ++row) {
          int64_t place = 0;
          for (int64_t o0 = 0; o0 < a.output; ++o0) {
            for (int64_t o1 = 0; o1 < b.output; ++o1, place += c.output) {
              const int64_t p0 = a.position(o0, k0), p1 = b.position(o1, k1);
              const bool inside = a.inside(p0) && b.inside(p1);
              fn(row, place, inside ? ((channel * a.input + p0) * b.input + p1) * c.input : int64_t{-1}, k2);
            }
          }
        }
      }
    }
  }
}

// Line elements that lie inside the image: [begin, end).
struct Inside {
  int64_t begin, end;
  Inside(const WindowAxis& axis, int64_t k) {
    const int64_t first = axis.pad - k * axis.dilation;  // o * stride >= first
    begin = first <= 0 ? 0 : std::min(axis.output, (first + axis.stride - 1) / axis.stride);
    const int64_t beyond = axis.input + first;  // o * stride < beyond
    end = beyond <= 0 ? begin : std::max(begin, std::min(axis.output, (beyond + axis.stride - 1) / axis.stride));
  }
};

// The window matrix of one image as right operand. kTransposed: [places][depth], else [depth][places].
template <bool kTransposed, class T>
void PackWindows(const Convolution& conv, const T* image, float* to) {
  const int64_t inner = kTransposed ? conv.places() : conv.depth();
  const int64_t outer = kTransposed ? conv.depth() : conv.places();
  std::memset(to, 0, static_cast<size_t>(RightSize(outer, inner)) * sizeof(float));
  const WindowAxis& line = conv.window.axis[2];
  const auto at = [&](int64_t row, int64_t place) -> float& {
    const int64_t j = kTransposed ? row : place, k = kTransposed ? place : row;
    return to[j / kBlockColumns * kBlockColumns * inner + k * kBlockColumns + j % kBlockColumns];
  };
  ForEachLine(conv, [&](int64_t row, int64_t place, int64_t base, int64_t k2) {
    if (base < 0) return;
    const Inside inside(line, k2);
    const int64_t shift = base + line.position(0, k2);
    for (int64_t i = inside.begin; i < inside.end; ++i) at(row, place + i) = Widen(image[shift + i * line.stride]);
  });
}

// Adds a window matrix [depth][places] back to where its elements came from.
void AddWindows(const Convolution& conv, const float* windows, float* image) {
  const WindowAxis& line = conv.window.axis[2];
  ForEachLine(conv, [&](int64_t row, int64_t place, int64_t base, int64_t k2) {
    if (base < 0) return;
    const Inside inside(line, k2);
    const float* from = windows + row * conv.places() + place;
    float* to = image + base + line.position(0, k2);
    for (int64_t i = inside.begin; i < inside.end; ++i) to[i * line.stride] += from[i];
  });
}

Work Start(const Request& request, const Convolution& conv, int64_t floats) {
  Work work;
  work.workspace = static_cast<uint64_t>(floats) * sizeof(float);
  work.cost = ProductCost(conv.shape(), conv.dtype);
  work.cost.bytes = request.bytes();
  const int64_t images = conv.window.batch * conv.groups;
  work.cost.extra_cycles = PackCycles(images * conv.depth() * conv.places());
  return work;
}

Work MakeConv(const Request& request) {
  const Convolution conv =
      ConvolutionOf(request, request.input(0).dims(), request.input(1).dims(), request.output(0).dims());
  request.RequireType(1, conv.dtype);
  if (request.has_input(2)) request.RequireType(2, conv.dtype);
  const int64_t left = LeftSize(conv.out, conv.depth()), right = RightSize(conv.places(), conv.depth());
  Work work = Start(request, conv, conv.groups * left + right + conv.result());
  ForFloat(conv.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      float *filters = o.workspace<float>(), *windows = filters + conv.groups * left, *sums = windows + right;
      const Matrix filter{conv.dtype, TENON_LAYOUT_STRIDED, conv.out, conv.depth(), false};
      for (int64_t g = 0; g < conv.groups; ++g) PackLeft(filter, o.in<T>(1) + g * conv.weights(), filters + g * left);
      for (int64_t n = 0; n < conv.window.batch * conv.groups; ++n) {
        const int64_t g = n % conv.groups;
        PackWindows<false>(conv, o.in<T>(0) + n * conv.image(), windows);
        Multiply(o, conv.out, conv.places(), conv.depth(), filters + g * left, windows, sums, false);
        T* y = o.out<T>(0) + n * conv.result();
        for (int64_t m = 0; m < conv.out; ++m) {
          const float bias = o.has_in(2) ? Widen(o.in<T>(2)[g * conv.out + m]) : 0.0f;
          for (int64_t i = 0; i < conv.places(); ++i)
            y[m * conv.places() + i] = Narrow<T>(sums[m * conv.places() + i] + bias);
        }
      }
    };
  });
  return work;
}

// Inputs: dY, W.
Work MakeConvInputGrad(const Request& request) {
  const Convolution conv =
      ConvolutionOf(request, request.output(0).dims(), request.input(1).dims(), request.input(0).dims());
  request.RequireType(1, conv.dtype);
  const int64_t left = LeftSize(conv.depth(), conv.out), right = RightSize(conv.places(), conv.out);
  const int64_t windows = conv.depth() * conv.places();
  Work work = Start(request, conv, conv.groups * left + right + windows + conv.image());
  ForFloat(conv.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      float *filters = o.workspace<float>(), *grads = filters + conv.groups * left, *spread = grads + right;
      float* sums = spread + windows;
      const Matrix filter{conv.dtype, TENON_LAYOUT_STRIDED, conv.out, conv.depth(), true};
      const Matrix grad{conv.dtype, TENON_LAYOUT_STRIDED, conv.out, conv.places(), false};
      for (int64_t g = 0; g < conv.groups; ++g) PackLeft(filter, o.in<T>(1) + g * conv.weights(), filters + g * left);
      for (int64_t n = 0; n < conv.window.batch * conv.groups; ++n) {
        PackRight(grad, o.in<T>(0) + n * conv.result(), grads);
        Multiply(o, conv.depth(), conv.places(), conv.out, filters + n % conv.groups * left, grads, spread, false);
        std::memset(sums, 0, static_cast<size_t>(conv.image()) * sizeof(float));
        AddWindows(conv, spread, sums);
        T* dx = o.out<T>(0) + n * conv.image();
        for (int64_t i = 0; i < conv.image(); ++i) dx[i] = Narrow<T>(sums[i]);
      }
    };
  });
  return work;
}

// Inputs: X, dY. Outputs: dW, dB.
Work MakeConvWeightGrad(const Request& request) {
  if (!request.has_output(0)) Refuse("dW is not wanted");
  const Convolution conv =
      ConvolutionOf(request, request.input(0).dims(), request.output(0).dims(), request.input(1).dims());
  request.RequireType(1, conv.dtype);
  const int64_t left = LeftSize(conv.out, conv.places()), right = RightSize(conv.depth(), conv.places());
  const int64_t weights = conv.groups * conv.weights();
  Work work = Start(request, conv, left + right + weights);
  ForFloat(conv.dtype, [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      float *grads = o.workspace<float>(), *windows = grads + left, *sums = windows + right;
      const Matrix grad{conv.dtype, TENON_LAYOUT_STRIDED, conv.out, conv.places(), false};
      for (int64_t n = 0; n < conv.window.batch * conv.groups; ++n) {
        PackLeft(grad, o.in<T>(1) + n * conv.result(), grads);
        PackWindows<true>(conv, o.in<T>(0) + n * conv.image(), windows);
        Multiply(o, conv.out, conv.depth(), conv.places(), grads, windows, sums + n % conv.groups * conv.weights(),
                 n >= conv.groups);
      }
      for (int64_t i = 0; i < weights; ++i) o.out<T>(0)[i] = Narrow<T>(sums[i]);
      if (!o.has_out(1)) return;
      const int64_t channels = conv.groups * conv.out;
      for (int64_t m = 0; m < channels; ++m) {
        double sum = 0;
        for (int64_t n = 0; n < conv.window.batch; ++n) {
          const T* dy = o.in<T>(1) + (n * channels + m) * conv.places();
          for (int64_t i = 0; i < conv.places(); ++i) sum += static_cast<double>(Widen(dy[i]));
        }
        o.out<T>(1)[m] = Narrow<T>(static_cast<float>(sum));
      }
    };
  });
  return work;
}

}  // namespace

void AddConvolutions(EntryList& entries) {
  entries.push_back({"", "Conv", "cube_conv", MakeConv});
  entries.push_back({"tenon", "ConvInputGrad", "cube_conv", MakeConvInputGrad});
  entries.push_back({"tenon", "ConvWeightGrad", "cube_conv", MakeConvWeightGrad});
}

}  // namespace tenon::npu
