#include "core/data/transform.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/data/memory_dataset.h"
#include "core/data/prepared_data.h"

namespace tenon {
namespace {

SampleLayout Stored(const Shape& shape, DType dtype) {
  SampleLayout layout;
  layout.shape = shape;
  layout.dtype = dtype;
  return layout;
}

template <class T>
std::vector<float> Applied(const TransformSpec& spec, const Shape& shape, const std::vector<T>& values) {
  const auto transform = Transform::Compile(spec, Stored(shape, kDTypeOf<T>), 10);
  EXPECT_TRUE(transform.ok()) << transform.status().ToString();
  std::vector<float> out(static_cast<std::size_t>(transform->output().shape.elements()), -99.0f);
  std::vector<float> scratch(static_cast<std::size_t>(transform->scratch()));
  transform->ApplySample(values.data(), out.data(), scratch.data());
  return out;
}

TEST(Transform, FloatsAreCopiedWhenNothingIsAsked) {
  EXPECT_EQ(Applied<float>({}, {3}, {1, 2, -0.5f}), (std::vector<float>{1, 2, -0.5f}));
  EXPECT_TRUE(Transform::Compile({}, Stored({3}, DType::kF32), 0)->copies_samples());
}

TEST(Transform, BytesBecomeScaledFloats) {
  TransformSpec spec;
  spec.scale = 0.5;
  EXPECT_EQ(Applied<std::uint8_t>(spec, {1, 1, 3}, {0, 255, 3}), (std::vector<float>{0, 127.5f, 1.5f}));
  EXPECT_EQ(Applied<double>({}, {2}, {0.25, 1e300 * 0}), (std::vector<float>{0.25f, 0}));
  EXPECT_EQ(Applied<std::int16_t>({}, {2}, {-7, 300}), (std::vector<float>{-7, 300}));
}

TEST(Transform, NormalisesEachChannel) {
  TransformSpec spec;
  spec.scale = 0.1;
  spec.mean = {1, 2};
  spec.std = {0.5, 0.25};
  const auto out = Applied<std::uint8_t>(spec, {2, 1, 2}, {10, 20, 20, 30});
  const std::vector<float> expected = {0, 2, 0, 4};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6);
}

TEST(Transform, PadsWithZerosBeforeNormalising) {
  TransformSpec spec;
  spec.pad = 1;
  EXPECT_EQ(Applied<float>(spec, {1, 1, 2}, {5, 6}), (std::vector<float>{0, 0, 0, 0, 0, 5, 6, 0, 0, 0, 0, 0}));
  spec.mean = {1};
  spec.std = {2};
  EXPECT_EQ(Applied<float>(spec, {1, 1, 1}, {5}),
            (std::vector<float>{-0.5f, -0.5f, -0.5f, -0.5f, 2, -0.5f, -0.5f, -0.5f, -0.5f}));
}

TEST(Transform, ResizesWithHalfPixelCentres) {
  TransformSpec spec;
  spec.resize = {1, 4};
  EXPECT_EQ(Applied<float>(spec, {1, 1, 2}, {0, 4}), (std::vector<float>{0, 1, 3, 4}));
  spec.resize = {4, 1};
  EXPECT_EQ(Applied<float>(spec, {1, 2, 1}, {0, 4}), (std::vector<float>{0, 1, 3, 4}));
  spec.resize = {2, 2};
  EXPECT_EQ(Applied<float>(spec, {1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
            (std::vector<float>{2.5f, 4.5f, 10.5f, 12.5f}));
  // 3 -> 5 rows and columns: weights 0, 0.4, 1, 0.6 ... of the definition.
  spec.resize = {5, 1};
  const auto five = Applied<float>(spec, {1, 3, 1}, {0, 10, 20});
  const std::vector<float> expected = {0, 4, 10, 16, 20};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(five[i], expected[i], 1e-5);
  spec.resize_mode = ResizeMode::kNearest;
  EXPECT_EQ(Applied<float>(spec, {1, 3, 1}, {0, 10, 20}), (std::vector<float>{0, 0, 10, 20, 20}));
}

TEST(Transform, ShapeSaysHowARowIsSeenAndPadGoesAroundTheResized) {
  TransformSpec spec;
  spec.shape = Shape{1, 1, 2};
  spec.scale = 2;
  spec.resize = {1, 4};
  spec.pad = 1;
  const auto transform = Transform::Compile(spec, Stored({2}, DType::kF32), 10);
  EXPECT_EQ(transform->output().shape, (Shape{1, 3, 6}));
  EXPECT_EQ(Applied<float>(spec, {2}, {0, 4}),
            (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 2, 6, 8, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Transform, LargeIntegersWithoutAnImageAreIds) {
  const auto transform = Transform::Compile({}, Stored({2}, DType::kI32), 0);
  ASSERT_TRUE(transform.ok());
  EXPECT_EQ(transform->output().dtype, DType::kI64);
  const std::vector<std::int32_t> stored = {7, -1};
  std::vector<std::int64_t> out(2);
  transform->ApplySample(stored.data(), out.data(), nullptr);
  EXPECT_EQ(out, (std::vector<std::int64_t>{7, -1}));
  TransformSpec image;
  image.image = true;
  EXPECT_EQ(Applied<std::int32_t>(image, {2}, stored), (std::vector<float>{7, -1}));
}

TEST(Transform, OneHotLabels) {
  TransformSpec spec;
  spec.one_hot = true;
  const auto transform = Transform::Compile(spec, Stored({2}, DType::kF32), 3);
  ASSERT_TRUE(transform.ok());
  EXPECT_EQ(transform->output().label_shape, (Shape{3}));
  EXPECT_EQ(transform->output().label_dtype, DType::kF32);
  const std::vector<std::int64_t> labels = {2, 0};
  std::vector<float> out(6, 5.0f);
  transform->ApplyLabels(labels.data(), 2, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 0, 1, 1, 0, 0}));
}

std::string ErrorOf(const TransformSpec& spec, const SampleLayout& stored) {
  const auto transform = Transform::Compile(spec, stored, 0);
  return transform.ok() ? "" : transform.status().message();
}

TEST(Transform, RefusesWhatDoesNotFit) {
  TransformSpec spec;
  spec.shape = Shape{1, 8, 9};
  EXPECT_EQ(ErrorOf(spec, Stored({64}, DType::kF32)),
            "A sample has 64 values (stored as [64]), but 'image.shape' is [1,8,9], which are 72.");
  spec = {};
  spec.resize = {2, 2};
  EXPECT_EQ(ErrorOf(spec, Stored({64}, DType::kF32)),
            "Only images can be resized or padded, but a sample has shape [64]; 'image.shape' says how its values are "
            "laid out.");
  spec.resize = {0, 2};
  EXPECT_EQ(ErrorOf(spec, Stored({1, 8, 8}, DType::kF32)),
            "'image.resize' is [0, 2]; both must be between 1 and 1048576.");
  spec = {};
  spec.mean = {0, 0};
  spec.std = {1};
  EXPECT_EQ(ErrorOf(spec, Stored({3, 8, 8}, DType::kF32)),
            "'normalize' has 2 values of 'mean', but a sample of shape [3,8,8] has 3 channels.");
  spec.mean = {0};
  spec.std = {0};
  EXPECT_EQ(ErrorOf(spec, Stored({3, 8, 8}, DType::kF32)),
            "'normalize' has mean 0 and std 0 for channel 0; std must be above 0, both finite.");
  spec = {};
  spec.scale = 2;
  EXPECT_EQ(
      ErrorOf(spec, Stored({3}, DType::kI64)),
      "The samples are int64 without an 'image:' block, which are ids; they cannot be scaled, resized or normalised.");
  spec = {};
  spec.one_hot = true;
  EXPECT_EQ(ErrorOf(spec, Stored({3}, DType::kF32)), "'one_hot' needs the number of classes.");
}

TEST(CachedDataset, KeepsResizedSamplesAndOnlyThose) {
  auto made = MemoryDataset::Create(Tensor::Of<float>({2, 2}, {0, 4, 4, 0}), Tensor::Of<std::int64_t>({2}, {1, 0}),
                                    {"test", "labels", Provenance::Unit::kByte, 0, 8});
  ASSERT_TRUE(made.ok());
  const std::shared_ptr<const Dataset> data = std::move(*made);
  TransformSpec spec;
  spec.shape = Shape{1, 1, 2};
  spec.one_hot = true;
  const auto plain = PrepareData(data, *Transform::Compile(spec, data->layout(), 2));
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->dataset, data);

  spec.resize = {1, 4};
  const Transform transform = *Transform::Compile(spec, data->layout(), 2);
  const auto cached = PrepareData(data, transform);
  ASSERT_TRUE(cached.ok());
  EXPECT_NE(cached->dataset, data);
  EXPECT_TRUE(cached->transform.copies_samples());
  EXPECT_TRUE(cached->transform.changes_labels());
  EXPECT_EQ(cached->transform.output().shape, (Shape{1, 1, 4}));
  EXPECT_EQ(cached->dataset->Place(1), "labels: record 1 at byte 8");
  std::vector<float> out(8);
  std::vector<std::int64_t> labels(2);
  ASSERT_TRUE(cached->dataset->ReadBatch(std::vector<std::int64_t>{1, 0}, out.data(), labels.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{4, 3, 1, 0, 0, 1, 3, 4}));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 1}));
}

}  // namespace
}  // namespace tenon
