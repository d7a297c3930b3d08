// Convolutions of random shapes and their gradients on device_cpu, in float32 and bf16, against the operator's definition: the core's
// reference kernels in double precision over the same numbers. Libraries below the plugin have computed some shapes wrongly without
// an error; those that were found stand in a list.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace {

namespace tn = tenon::api;
using Ints = std::vector<std::int64_t>;

struct Convolution {
  tn::Shape x, w;  // w [out, in / group, window...], of a transposed one [in, out / group, window...]
  Ints strides, dilations, pads;
  std::int64_t group = 1;
  bool transposed = false;

  std::int64_t Channels() const { return transposed ? w[1] * group : w[0]; }
};

std::ostream& operator<<(std::ostream& out, const Convolution& c) {
  const auto list = [&](const char* name, const Ints& values) {
    out << name;
    for (const std::int64_t value : values) out << ' ' << value;
  };
  out << (c.transposed ? "ConvTranspose" : "Conv");
  list(", x", c.x), list(", w", c.w), list(", strides", c.strides), list(", dilations", c.dilations);
  list(", pads", c.pads);
  return out << ", group " << c.group;
}

std::int64_t Elements(const tn::Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

class RandomConvolutions : public testing::TestWithParam<tn::DType> {
 protected:
  tn::Tensor Random(const tn::Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(Elements(shape)));
    std::normal_distribution<double> normal;
    for (double& value : values) value = normal(generator_);
    return As(tn::Tensor::Of<double>(runtime_, shape, values), GetParam());
  }
  static tn::Tensor As(const tn::Tensor& tensor, tn::DType dtype) {
    return tn::Op("Cast", {tensor.Detached()}, {{"to", static_cast<std::int64_t>(dtype)}});
  }

  // y, and the gradients of x, w and the bias where y has the gradient dy.
  static std::vector<tn::Tensor> Results(const Convolution& c, const std::vector<tn::Tensor>& operands,
                                         const tn::Tensor& dy) {
    std::vector<tn::Tensor> start;
    for (const tn::Tensor& operand : operands) start.push_back(operand.RequireGradient());
    const tn::Tensor y =
        tn::Op(c.transposed ? "ConvTranspose" : "Conv", start,
               {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}, {"group", c.group}});
    std::vector<tn::Tensor> results = tn::Gradients(tn::ops::ReduceSum(tn::ops::Mul(y, dy)), start);
    results.insert(results.begin(), y);
    return results;
  }

  // Relative; sums that cancel count as 1.
  static double Error(const tn::Tensor& got, const tn::Tensor& want) {
    const std::vector<double> a = As(got, tn::DType::kF64).Values<double>(), b = want.Values<double>();
    double error = 0, square = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      error += (a[i] - b[i]) * (a[i] - b[i]);
      square += b[i] * b[i];
    }
    return std::sqrt(error / (square + 1));
  }

  void Check(const Convolution& c) {
    const std::vector<tn::Tensor> operands{Random(c.x), Random(c.w), Random({c.Channels()})};
    std::vector<tn::Tensor> exact;
    for (const tn::Tensor& operand : operands) exact.push_back(As(operand, tn::DType::kF64));
    const tn::Shape y =
        tn::Op(c.transposed ? "ConvTranspose" : "Conv", operands,
               {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}, {"group", c.group}})
            .shape();
    const tn::Tensor dy = Random(y);
    const std::vector<tn::Tensor> got = Results(c, operands, dy), want = Results(c, exact, As(dy, tn::DType::kF64));
    const char* const names[] = {"y", "gradient of x", "gradient of w", "gradient of the bias"};
    const double tolerance = GetParam() == tn::DType::kBF16 ? 8e-3 : 1e-5;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(Error(got[i], want[i]), tolerance) << names[i] << " of " << c;
  }

  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  std::int64_t Pick(const Ints& values) {
    return values[static_cast<std::size_t>(Int(0, static_cast<int>(values.size()) - 1))];
  }

  // May have no outputs or be large.
  Convolution Draw() {
    Convolution c;
    const int axes = Int(1, 3);
    c.group = Pick({1, 1, 1, 2, 3, 8});
    c.transposed = Int(0, 7) == 0;
    const Ints channels = c.group > 1 ? Ints{1, 1, 2, 3, 5, 8} : Ints{1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 48};
    const std::int64_t in = Pick(channels), out = Pick(channels), window = Pick({1, 1, 2, 3, 3, 5, 7});
    const std::int64_t longest = axes == 1 ? Pick({40, 700}) : axes == 2 ? Pick({8, 40}) : Pick({5, 10});
    c.x = {Pick({1, 2, 5}), in * c.group};
    c.w = c.transposed ? tn::Shape{in * c.group, out} : tn::Shape{out * c.group, in};
    for (int i = 0; i < axes; ++i) {
      c.x.push_back(Int(1, static_cast<int>(longest)));
      c.w.push_back(Int(0, 3) != 0 ? window : Int(1, 5));
      c.strides.push_back(Pick({1, 1, 1, 2, 3}));
      c.dilations.push_back(Pick({1, 1, 1, 2, 3}));
    }
    for (int i = 0; i < 2 * axes; ++i) {
      const auto axis = static_cast<std::size_t>(i % axes);
      const std::int64_t reach = (c.w[axis + 2] - 1) * c.dilations[axis];
      c.pads.push_back(Pick({0, reach / 2, Int(0, static_cast<int>(reach))}));
    }
    return c;
  }
  static bool HasOutputs(const Convolution& c) {
    const std::size_t axes = c.strides.size();
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t reach = (c.w[i + 2] - 1) * c.dilations[i], pads = c.pads[i] + c.pads[i + axes];
      const std::int64_t last =
          c.transposed ? (c.x[i + 2] - 1) * c.strides[i] + reach - pads : c.x[i + 2] + pads - reach - 1;
      if (last < 0) return false;
    }
    return true;
  }
  static bool IsSmall(const Convolution& c) {
    return Elements(c.x) <= 40000 && Elements(c.x) / c.x[1] * Elements(c.w) <= 3000000;
  }

  std::mt19937 generator_{1};
  tn::Runtime runtime_;
};
INSTANTIATE_TEST_SUITE_P(Types, RandomConvolutions, testing::Values(tn::DType::kF32, tn::DType::kBF16),
                         [](const auto& tested) { return std::string(tn::NameOf(tested.param)); });

TEST_P(RandomConvolutions, AgreeWithTheDefinition) {
  for (int done = 0; done < 400;) {
    const Convolution c = Draw();
    if (!HasOutputs(c) || !IsSmall(c)) continue;
    Check(c);
    ++done;
  }
}

TEST_P(RandomConvolutions, AgreeWhereALibraryWasWrong) {
  const Convolution wrong[] = {
      // Gradient of x in bf16: windows of 1, an odd number of channels.
      {{1, 5, 600}, {5, 5, 1}, {1}, {1}, {0, 0}},
      {{1, 5, 30, 40}, {5, 5, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 16, 6, 10, 10}, {5, 16, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
      {{8, 3, 1080}, {3, 3, 1}, {1}, {1}, {0, 0}, 1, true},
      // y: windows that reach over the sides of a volume.
      {{2, 9, 2, 7, 7}, {64, 9, 1, 5, 5}, {1, 1, 1}, {2, 2, 2}, {0, 0, 4, 0, 4, 4}},
      {{2, 7, 6, 10, 9}, {16, 7, 1, 1, 3}, {1, 4, 4}, {2, 3, 2}, {0, 0, 3, 0, 0, 0}},
      {{1, 24, 10, 3, 8}, {1, 24, 4, 4, 4}, {3, 4, 4}, {1, 1, 1}, {1, 0, 3, 0, 1, 0}},
      {{1, 16, 4, 3, 8}, {64, 16, 3, 3, 5}, {4, 1, 1}, {2, 2, 2}, {3, 2, 3, 3, 0, 4}},
      // Gradient of w in bf16: dilated.
      {{1, 4, 25, 39}, {12, 1, 3, 5}, {1, 1}, {3, 1}, {3, 3, 3, 2}, 4},
      {{2, 8, 18, 32}, {64, 1, 1, 1}, {1, 1}, {3, 3}, {0, 0, 0, 0}, 8},
      {{1, 24, 33, 36}, {33, 24, 5, 5}, {1, 1}, {3, 1}, {6, 2, 6, 0}},
      // Gradient of w in bf16: a row of the window beside the image.
      {{2, 16, 1, 12}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      // Gradient of w: steps through the depth, over both of its ends.
      {{2, 6, 3, 9, 6}, {3, 6, 3, 3, 3}, {2, 2, 1}, {1, 1, 1}, {1, 0, 1, 1, 1, 1}},
      {{3, 3, 7, 8, 7}, {6, 1, 7, 7, 7}, {2, 1, 4}, {1, 1, 2}, {3, 3, 6, 2, 3, 6}, 3},
      // Gradient of w in bf16: windows deeper than the volume (oneDNN 3.2).
      {{5, 1, 4, 5, 6}, {2, 1, 5, 1, 5}, {1, 1, 1}, {1, 1, 1}, {2, 0, 2, 2, 0, 2}},
      {{8, 9, 3, 1, 4}, {8, 9, 4, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 0, 0, 1, 0, 0}},
      // Gradient of w: a part of the window beside the volume.
      {{5, 7, 2, 3, 4}, {24, 7, 7, 1, 7}, {1, 1, 1}, {1, 1, 1}, {6, 0, 0, 3, 0, 3}},
      {{1, 6, 2, 7, 11}, {2, 3, 7, 7, 7}, {1, 1, 1}, {1, 1, 1}, {6, 0, 1, 3, 0, 3}, 2},
  };
  for (const Convolution& c : wrong) Check(c);
}

}  // namespace
