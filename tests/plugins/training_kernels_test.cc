// Gradients, optimisers and what else a training step has beside its forward pass, through the kernels of a plugin.
// Expected: the reference kernels of the same operators in double precision, whose values and gradients tests/ops compares
// with outside sources and finite differences.
#include <tuple>

#include <gtest/gtest.h>

#include "tests/plugins/compare.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor Low(const Tensor& tensor, DType dtype) { return IsFloating(tensor.dtype()) ? Cast(tensor, dtype) : tensor; }

// In float32, and with all tensors (no scalars) rounded to bfloat16.
void Check(const std::string& op, const Attributes& attrs, const std::vector<Tensor>& inputs, int outputs,
           const std::string& domain = "tenon", bool low = true) {
  CompareWithReference({domain, op, 0, attrs, inputs, outputs, {}}, 1e-5, op);
  if (!low) return;
  std::vector<Tensor> rounded;
  for (const Tensor& input : inputs) rounded.push_back(input.defined() ? Low(input, DType::kBF16) : input);
  CompareWithReference({domain, op, 0, attrs, rounded, outputs, {}}, 2e-2, op + " in bf16");
}

const Shape kMatrix{18, 21};

TEST(TrainingKernels, ElementwiseGradients) {
  const Tensor dy = Random(kMatrix, -2, 2, 1), x = Random(kMatrix, -4, 4, 2);
  for (const char* op : {"ReluGrad", "SigmoidGrad", "TanhGrad", "ErfGrad", "SoftplusGrad", "AbsGrad", "LeakyReluGrad",
                         "EluGrad", "SwishGrad", "HardSigmoidGrad", "HardSwishGrad"})
    Check(op, {}, {dy, x}, 1);
  for (const char* form : {"none", "tanh"}) Check("GeluGrad", {{"approximate", std::string(form)}}, {dy, x}, 1);
  Check("ClipGrad", {}, {dy, x, F32({}, {-1.5}), F32({}, {2})}, 1);
  Check("ClipGrad", {}, {dy, x, Tensor(), F32({}, {0.5})}, 1);
}

TEST(TrainingKernels, Normalisations) {
  const Tensor dy = Random({3, 5, 4, 2}, -1, 1, 1), x = Random({3, 5, 4, 2}, -2, 3, 2), scale = Random({5}, 0.5, 2, 3);
  const Tensor mean = Random({5}, -0.5, 0.5, 4), inverse = Random({5}, 0.5, 1.5, 5);
  for (const std::int64_t training : {0, 1})
    Check("BatchNormalizationGrad", {{"training_mode", training}}, {dy, x, scale, mean, inverse}, 3, "tenon", false);
  const Tensor rows = Random(kMatrix, -1, 1, 6), of = Random(kMatrix, -2, 2, 7), weight = Random({21}, 0.5, 1.5, 8);
  const Tensor row_mean = Random({18, 1}, -0.3, 0.3, 9), row_inverse = Random({18, 1}, 0.5, 1.5, 10);
  Check("LayerNormalizationGrad", {}, {rows, of, weight, row_mean, row_inverse}, 3, "tenon", false);
}

TEST(TrainingKernels, GroupsAndRoots) {
  for (const Shape& shape : {Shape{3, 6, 5, 7}, Shape{2, 18, 4, 4}, Shape{2, 60}, Shape{2, 6, 40}}) {
    const Tensor dy = Random(shape, -1, 1, 1), x = Random(shape, -2, 3, 2), scale = Random({shape[1]}, 0.5, 2, 3);
    for (const std::int64_t groups : {std::int64_t{1}, std::int64_t{3}, shape[1]}) {
      if (shape.rank() == 2 && groups == shape[1]) continue;  // a value is its own mean
      Check("GroupNormalizationGrad", {{"num_groups", groups}}, {dy, x, scale}, 3);
    }
  }
  const Tensor dy = Random({3, 50, 21}, -1, 1, 4), x = Random({3, 50, 21}, -2, 3, 5);
  Check("RMSNormalizationGrad", {}, {dy, x, Random({21}, 0.5, 2, 6)}, 2);
  Check("RMSNormalizationGrad", {{"axis", std::int64_t{1}}}, {dy, x, Random({50, 21}, 0.5, 2, 7)}, 2);
}

TEST(TrainingKernels, PReluGradient) {
  for (const Shape& slope : {Shape{1}, Shape{6, 1, 1}, Shape{5, 7}, Shape{7}, Shape{6, 1, 7}, Shape{}}) {
    Check("PReluGrad", {},
          {Random({3, 6, 5, 7}, -1, 1, 1), Random({3, 6, 5, 7}, -2, 2, 2), Random(slope, -0.5, 0.5, 3)}, 2);
  }
}

TEST(TrainingKernels, SoftmaxAndLosses) {
  const Tensor dy = Random(kMatrix, -1, 1, 1), y = Random(kMatrix, 0, 0.5, 2), log = Random(kMatrix, -6, -0.1, 3);
  for (const std::int64_t axis : {0, -1}) {
    Check("SoftmaxGrad", {{"axis", axis}}, {dy, y}, 1);
    Check("LogSoftmaxGrad", {{"axis", axis}}, {dy, log}, 1);
  }
  const Tensor scores = Random({4, 5, 3}, -5, -0.1, 4), weights = Random({5}, 0.5, 2, 5);
  const Tensor labels = I64({4, 3}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 4, 2});
  for (const char* reduction : {"none", "sum", "mean"}) {
    const bool none = std::string(reduction) == "none";
    const Tensor dloss = none ? Random({4, 3}, -1, 1, 6) : F32({}, {1.5});
    for (const bool weighted : {false, true}) {
      for (const bool ignore : {false, true}) {
        Attributes attrs = {{"reduction", std::string(reduction)}};
        if (ignore) attrs.Set("ignore_index", std::int64_t{2});
        std::vector<Tensor> inputs = {dloss, scores, labels};
        if (weighted) inputs.push_back(weights);
        Check("SoftmaxCrossEntropyLossGrad", attrs, inputs, 1, "tenon", none);
        Check("NegativeLogLikelihoodLossGrad", attrs, inputs, 1, "tenon", none);
        attrs.Set("label_smoothing", 0.2);
        Check("SmoothedCrossEntropyLossGrad", attrs, inputs, 1, "tenon", none);
      }
    }
    const Tensor share = none ? Random(kMatrix, -1, 1, 7) : F32({}, {0.5});
    const Tensor x = Random(kMatrix, -2, 2, 8), t = Random(kMatrix, 0, 1, 9);
    for (const char* op : {"MeanSquaredErrorLossGrad", "L1LossGrad", "SmoothL1LossGrad"})
      Check(op, {{"reduction", std::string(reduction)}}, {share, x, t}, 1, "tenon", none);
    Check("BinaryCrossEntropyWithLogitsLossGrad", {{"reduction", std::string(reduction)}},
          {share, x, t, Random({21}, 0.5, 2, 10)}, 1, "tenon", none);
  }
}

TEST(TrainingKernels, PoolsGatherAndDropout) {
  const Attributes window = {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}};
  for (const std::int64_t pad : {0, 1}) {
    Attributes attrs = window;
    attrs.Set("count_include_pad", pad);
    attrs.Set("x_shape", Ints{2, 3, 7, 6});
    Check("AveragePoolGrad", attrs, {Random({2, 3, 4, 3}, -1, 1, 1)}, 1);
  }
  Check("GatherGrad", {{"axis", std::int64_t{1}}, {"x_shape", Ints{2, 5, 3}}},
        {Random({2, 4, 3}, -1, 1, 2), I64({4}, {4, 0, -1, 0})}, 1);
  Check("DropoutGrad", {},
        {Random(kMatrix, -1, 1, 3), Cast(Random(kMatrix, -1, 1, 4), DType::kBool), F32({}, {0.4}), Bool({}, {1})}, 1);
}

TEST(TrainingKernels, PadAndResize) {
  for (const char* mode : {"constant", "reflect", "edge"}) {
    Check("PadGrad", {{"mode", std::string(mode)}, {"x_shape", Ints{2, 3, 5}}},
          {Random({2, 7, 5}, -1, 1, 1), I64({6}, {0, 1, 2, 0, 3, -2})}, 1);
    Check("PadGrad", {{"mode", std::string(mode)}, {"x_shape", Ints{2, 3, 5}}},
          {Random({2, 3, 11}, -1, 1, 2), I64({2}, {4, 2}), I64({1}, {-1})}, 1);
  }
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* grid :
         {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"}) {
      const Attributes attrs = {{"mode", std::string(mode)},
                                {"coordinate_transformation_mode", std::string(grid)},
                                {"x_shape", Ints{2, 3, 4, 5}}};
      for (const Shape& to : {Shape{2, 3, 8, 10}, Shape{2, 3, 3, 7}, Shape{2, 3, 4, 13}}) {
        const Tensor sizes = I64({4}, {to[0], to[1], to[2], to[3]});
        Check("ResizeGrad", attrs, {Random(to, -1, 1, 3), Tensor(), sizes}, 1);
      }
    }
  }
}

TEST(TrainingKernels, ElementIndices) {
  for (const std::int64_t axis : {0, 1, -1}) {
    const Tensor indices = I64({3, 2, 4}, {0, 1, 0, 1, -1, 1, 0, 0, 1, 1, -2, 0, 0, 0, 1, 1, -1, 0, 1, 0, 1, 0, 1, -1});
    Check("GatherElementsGrad", {{"axis", axis}, {"x_shape", Ints{3, 2, 4}}}, {Random({3, 2, 4}, -1, 1, 1), indices},
          1);
  }
}

TEST(TrainingKernels, ManyOfTheBest) {
  for (const std::int64_t count : {5, 40}) {
    for (const std::int64_t largest : {0, 1})
      Check("TopK", {{"axis", std::int64_t{1}}, {"largest", largest}},
            {Random({3, 100, 2}, -1, 1, 1), I64({1}, {count})}, 2, "", false);
  }
}

TEST(TrainingKernels, PowerGradient) {
  for (const Shape& exponent : {Shape{}, Shape{1}, Shape{21}, Shape{18, 1}, kMatrix})
    Check("PowGrad", {}, {Random(kMatrix, -1, 1, 1), Random(kMatrix, 0.2, 3, 2), Random(exponent, -2, 3, 3)}, 2);
  for (const double exponent : {2.0, 3.0, 0.5, -1.0, 0.0, 1.0})
    Check("PowGrad", {}, {Random({2, 3, 4, 5}, -1, 1, 1), Random({2, 3, 4, 5}, 0.2, 3, 2), F32({}, {exponent})}, 1);
}

// Whole numbers from -2 to 2, so that many are equal.
Tensor Whole(const Shape& shape, std::uint64_t seed) {
  return Cast(Cast(Random(shape, -3, 3, seed), DType::kI32), DType::kF32);
}

TEST(TrainingKernels, GradientsOfTheBest) {
  const Shape shape{3, 4, 50};
  const Tensor a = Whole(shape, 1), b = Whole(shape, 2), dy = Random(shape, -1, 1, 3);
  for (const bool one : {false, true}) {
    const Tensor other = one ? F32({1}, {1}) : b;
    Tensor best = Whole(shape, 1);
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      best.data<float>()[i] = std::max(a.data<float>()[i], other.data<float>()[one ? 0 : i]);
    Check("MaxGrad", {}, {dy, best, a, other}, 2);
  }
  for (int axis = 0; axis < 3; ++axis) {
    Shape kept = shape;
    kept.set_dim(axis, 1);
    Check("ReduceMaxGrad", {},
          {Random(kept, -1, 1, 4), a, F32(kept, std::vector<double>(static_cast<std::size_t>(kept.elements()), 2))}, 1);
  }
}

TEST(TrainingKernels, TileGradient) {
  const auto check = [](const Ints& x, const Ints& repeats) {
    Ints y = x;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= repeats[i];
    const auto rank = static_cast<std::int64_t>(x.size());
    Check("TileGrad", {{"x_shape", x}}, {Random(Shape::Make(y).value(), -1, 1, 1), I64({rank}, repeats)}, 1);
  };
  check({4, 6}, {1, 3});
  check({4, 6}, {5, 1});
  check({4, 6}, {2, 3});
  check({5, 1, 3}, {2, 4, 1});
  check({2, 3, 4, 5}, {1, 2, 2, 3});
  check({7}, {1});
  check({2, 0}, {2, 2});
}

TEST(TrainingKernels, Transpositions) {
  const Tensor x = Random({3, 41, 5, 7}, -1, 1, 1);
  for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2}, Ints{2, 3, 0, 1}, Ints{0, 2, 1, 3}, Ints{3, 2, 1, 0}})
    Check("Transpose", {{"perm", perm}}, {x}, 1, "");
}

TEST(TrainingKernels, PoolsOfVolumesAndLines) {
  const Attributes volume = {
      {"kernel_shape", Ints{2, 3, 3}}, {"strides", Ints{2, 2, 1}}, {"pads", Ints{0, 1, 1, 1, 1, 1}}};
  const Attributes line = {{"kernel_shape", Ints{4}}, {"strides", Ints{4}}};
  for (const auto& [attrs, x, y] : {std::tuple(volume, Shape{2, 3, 5, 7, 20}, Shape{2, 3, 3, 4, 20}),
                                    std::tuple(line, Shape{2, 3, 90}, Shape{2, 3, 22})}) {
    Check("MaxPool", attrs, {Random(x, -1, 1, 1)}, 2, "", false);
    Check("AveragePool", attrs, {Random(x, -1, 1, 2)}, 1, "");
    Check("GlobalAveragePool", {}, {Random(x, -1, 1, 3)}, 1, "");
    Attributes grad = attrs;
    grad.Set("x_shape", Ints(x.dims().begin(), x.dims().end()));
    Check("AveragePoolGrad", grad, {Random(y, -1, 1, 4)}, 1);
  }
}

// What reads and writes images in each layout: pieces, parts, values per channel and sums.
TEST(TrainingKernels, ImagesInEveryLayout) {
  const Shape shape{2, 6, 3, 5};
  const Tensor x = Random(shape, -1, 1, 1);
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    Check("Concat", {{"axis", axis}}, {x, Random(shape, -1, 1, 2)}, 1, "");
    for (const std::int64_t step : {1, 2}) {
      const std::vector<Tensor> bounds = {I64({1}, {1}), I64({1}, {100}), I64({1}, {axis}), I64({1}, {step})};
      std::vector<Tensor> inputs = {x};
      inputs.insert(inputs.end(), bounds.begin(), bounds.end());
      const auto y = CompareWithReference({"", "Slice", 0, {}, inputs, 1, {}}, 0, "Slice");
      ASSERT_EQ(y.size(), 1u);
      inputs[0] = y[0];
      Check("SliceGrad", {{"x_shape", Ints{2, 6, 3, 5}}}, inputs, 1);
    }
  }
  Check("Split", {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}}, {x}, 2, "");
  for (const Shape& channel : {Shape{2, 6, 1, 1}, Shape{6, 1, 1}, Shape{2, 1, 1, 1}, Shape{1}, Shape{}}) {
    Check("Mul", {}, {x, Random(channel, -1, 1, 3)}, 1, "");
    Check("Sub", {}, {Random(channel, -1, 1, 4), x}, 1, "");
  }
  for (const Ints& axes : {Ints{2, 3}, Ints{0, 2, 3}, Ints{0, 1, 2, 3}}) {
    const Tensor list = I64({static_cast<std::int64_t>(axes.size())}, axes);
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare"})
      Check(op, {}, {x, list}, 1, "");
  }
}

TEST(TrainingKernels, AttentionGradient) {
  const Shape wide{2, 5, 3 * 12}, narrow{2, 5, 12}, sums{2, 3, 5};
  for (const std::int64_t causal : {0, 1}) {
    for (const double dropout : {0.0, 0.3}) {
      const Attributes attrs = {{"heads", std::int64_t{3}}, {"causal", causal}, {"dropout", dropout}};
      const std::vector<Tensor> tail = {Random(sums, 2, 3, 3), I64({2}, {77, 5})};
      Check("ScaledDotProductAttentionGrad", attrs,
            {Random(narrow, -1, 1, 1), Random(narrow, -1, 1, 2), tail[0], tail[1], Random(wide, -1, 1, 4)}, 1, "tenon",
            false);
      Check("ScaledDotProductAttentionGrad", attrs,
            {Random(narrow, -1, 1, 1), Random(narrow, -1, 1, 2), tail[0], tail[1], Random(narrow, -1, 1, 4),
             Random(narrow, -1, 1, 5), Random(narrow, -1, 1, 6), Random({5, 5}, -1, 0, 7)},
            3, "tenon", false);
    }
  }
}

// Two parameters of different shapes: lists, one a matrix that a device may keep in a layout of its own.
std::vector<Tensor> Lists(std::vector<Tensor> scalars, int groups) {
  for (int group = 0; group < groups; ++group) {
    scalars.push_back(Random(kMatrix, group == 2 ? 0 : -1, 1, static_cast<std::uint64_t>(group) + 1));
    scalars.push_back(Random({7}, group == 2 ? 0 : -1, 1, static_cast<std::uint64_t>(group) + 11));
  }
  return scalars;
}

TEST(TrainingKernels, Optimisers) {
  const Tensor rate = F32({}, {0.1}), step = I64({}, {3});
  const std::int64_t two = 2;
  Check("SGD", {{"count", two}, {"weight_decay", 0.2}}, Lists({rate}, 2), 2, "tenon", false);
  for (const std::int64_t nesterov : {0, 1})
    Check("SGD", {{"count", two}, {"momentum", 0.9}, {"nesterov", nesterov}}, Lists({rate}, 3), 4, "tenon", false);
  for (const char* op : {"Adam", "AdamW"})
    Check(op, {{"count", two}, {"weight_decay", 0.1}, {"epsilon", 1e-3}}, Lists({rate, step}, 4), 6, "tenon", false);
  Check("MovingAverage", {{"count", two}, {"decay", 0.9}}, Lists({}, 2), 2, "tenon", false);
  for (const std::int64_t start : {0, 1})
    Check("Accumulate", {{"count", two}}, Lists({F32({}, {0.25}), I64({}, {start})}, 2), 2, "tenon", false);
}

TEST(TrainingKernels, NormsAndFiniteness) {
  for (const double limit : {0.5, 500.0}) Check("ClipFactor", {{"max_norm", limit}}, Lists({}, 2), 2);
  Check("AllFinite", {}, Lists({}, 2), 1);
  std::vector<Tensor> broken = Lists({}, 2);
  broken[1].data<float>()[3] = INFINITY;
  Check("AllFinite", {}, broken, 1);
}

}  // namespace
}  // namespace tenon::testing
