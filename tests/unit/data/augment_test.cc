// Chances of samples: batches are a function of (seed, epoch, sample), whatever the number of workers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "core/data/mixup.h"
#include "core/data/open_data.h"
#include "core/data/plane_view.h"
#include "tests/unit/data/data_files.h"
#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing::Folder;

void WriteImages(const Folder& folder) {
  int number = 0;
  for (const char* name :
       {"halved.jpg", "full.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "rgb.png", "rgba.png", "large.png"}) {
    const auto bytes = testing::FixtureBytes(name);
    for (const char* label : {"cats", "dogs", "owls"}) {
      std::filesystem::create_directories(folder.path() + "/" + label + "/inner");
      folder.Write(fmt::format("{}/inner/{}_{}", label, number++, name), std::string(bytes.begin(), bytes.end()));
    }
  }
}

DataConfig ImagesConfig(const std::string& path) {
  DataConfig config;
  config.type = "images";
  config.path.text = path;
  config.path.resolved = path;
  config.batch = 5;
  config.split.fraction = 0.25;
  config.image.emplace();
  config.image->scale = 1.0 / 255;
  config.transforms = {
      RandomResizedCropConfig{{24, 20, false}}, RandomFlipConfig{}, ColorJitterConfig{0.4, 0.4, 0.4, 0.1},
      NormalizeConfig{{0.5}, {0.25}},           OneHotConfig{},     MixupConfig{}};
  return config;
}

// All values of two epochs, samples and labels.
std::vector<float> AllValues(DataConfig config, std::int64_t workers, std::uint64_t seed = 3) {
  config.workers = workers;
  OpenDataOptions options;
  options.seed = seed;
  const auto source = OpenData(config, options);
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  if (!source.ok()) return {};
  const auto loader = source->TrainLoader();
  std::vector<float> values;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_TRUE((*loader)->Start(epoch).ok());
    while (true) {
      const auto batch = (*loader)->Next();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok() || !*batch) break;
      for (const Tensor* tensor : {&(*batch)->samples, &(*batch)->labels}) {
        if (tensor->dtype() == DType::kF32)
          values.insert(values.end(), tensor->data<float>(), tensor->data<float>() + tensor->elements());
      }
    }
  }
  return values;
}

TEST(Augment, ImagesAreTheSameForAnyNumberOfWorkers) {
  const Folder folder;
  WriteImages(folder);
  const DataConfig config = ImagesConfig(folder.path());
  const std::vector<float> expected = AllValues(config, 0);
  const std::size_t per_epoch = 18 * (3 * 24 * 20 + 3);
  ASSERT_EQ(expected.size(), 2 * per_epoch);
  for (const std::int64_t workers : {1, 2, 4}) EXPECT_EQ(AllValues(config, workers), expected) << workers;
  EXPECT_NE(AllValues(config, 0, 4), expected);
  EXPECT_FALSE(std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(per_epoch),
                          expected.begin() + static_cast<std::ptrdiff_t>(per_epoch)));
}

TEST(Augment, PlanesAreTheSameForAnyNumberOfWorkers) {
  DataConfig config;
  config.type = "synthetic";
  config.samples = 37;
  config.classes = 4;
  config.batch = 8;
  config.image.emplace();
  config.image->shape = {2, 9, 7};
  config.transforms = {RandomCropConfig{{9, 7, false}, 2}, RandomFlipConfig{}, OneHotConfig{}, MixupConfig{1.0}};
  const std::vector<float> expected = AllValues(config, 0);
  ASSERT_EQ(expected.size(), 2u * 37 * (2 * 9 * 7 + 4));
  for (const std::int64_t workers : {1, 2, 4}) EXPECT_EQ(AllValues(config, workers), expected) << workers;
}

TEST(Augment, TestingHasNoChance) {
  const Folder folder;
  WriteImages(folder);
  DataConfig config = ImagesConfig(folder.path());
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const auto loader = source->TestLoader();
  std::vector<float> first;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE((*loader)->Start(epoch).ok());
    const auto batch = (*loader)->Next();
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    const float* values = (*batch)->samples.data<float>();
    const std::vector<float> now(values, values + (*batch)->samples.elements());
    if (epoch == 0) first = now;
    EXPECT_EQ(now, first);
    const float* labels = (*batch)->labels.data<float>();
    for (std::int64_t i = 0; i < (*batch)->labels.elements(); ++i) EXPECT_TRUE(labels[i] == 0 || labels[i] == 1);
  }
}

// Against torchvision: resize of the short side to 35, then center_crop.
TEST(Augment, TheCentreIsThatOfTorchvision) {
  const Folder folder;
  std::filesystem::create_directories(folder.path() + "/a");
  const auto bytes = testing::FixtureBytes("large.png");
  folder.Write("a/1.png", std::string(bytes.begin(), bytes.end()));
  DataConfig config = ImagesConfig(folder.path());
  config.split = {};
  config.image.reset();
  config.transforms = {ResizeConfig{{35, 35, true}}, CenterCropConfig{{32, 32, true}}};
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const auto loader = source->TrainLoader();
  ASSERT_TRUE((*loader)->Start(0).ok());
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  const auto expected = testing::FixtureBytes("large_short_35_centre_32.rgb");
  const float* planes = (*batch)->samples.data<float>();
  for (std::size_t i = 0; i < 32 * 32; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(planes[c * 32 * 32 + i], static_cast<float>(expected[3 * i + c]));
  }
}

// Decoding at half the size keeps the low frequencies of each block: near a resize of the whole, and not the same.
TEST(Augment, FastShrinkStaysNearTheResizeOfTheWhole) {
  const Folder folder;
  std::filesystem::create_directories(folder.path() + "/a");
  const auto bytes = testing::FixtureBytes("full.jpg");
  folder.Write("a/1.jpg", std::string(bytes.begin(), bytes.end()));
  DataConfig config = ImagesConfig(folder.path());
  config.split = {};
  config.image->scale = 1;
  config.transforms = {ResizeConfig{{9, 12, false}}};
  const std::vector<float> fast = AllValues(config, 0);
  config.image->fast_shrink = false;
  const std::vector<float> whole = AllValues(config, 0);
  ASSERT_EQ(fast.size(), 2u * 3 * 9 * 12);
  double sum = 0;
  for (std::size_t i = 0; i < fast.size(); ++i) sum += std::abs(static_cast<double>(fast[i] - whole[i]));
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum / static_cast<double>(fast.size()), 6.0);  // of 255; the waves of this picture are 12 pixels long
}

TEST(Augment, UnreadableFilesFailOrAreSkippedAndCounted) {
  const Folder folder;
  WriteImages(folder);
  folder.Write("cats/inner/0_broken.jpg", "");
  folder.Write("dogs/inner/0_broken.png", "no image");
  DataConfig config = ImagesConfig(folder.path());
  config.split = {};
  config.shuffle = false;
  config.batch = 26;
  const auto run = [&](DataConfig now) {
    const auto source = OpenData(now, {});
    const auto loader = source->TrainLoader();
    EXPECT_TRUE((*loader)->Start(0).ok());
    const auto batch = (*loader)->Next();
    if (!batch.ok()) return batch.status().ToString();
    const auto& stats = (*loader)->stats();
    return fmt::format("{} samples, {} skipped, {}", (*batch)->count, stats.skipped, (*batch)->skipped);
  };
  EXPECT_EQ(run(config), folder.Path("cats/inner/0_broken.jpg") +
                             ": error: The file is empty.\n - While preparing batch 0 of epoch 0");
  config.on_error = OnError::kSkip;
  EXPECT_EQ(run(config), "26 samples, 2 skipped, 2");
  config.skip_limit = 1;
  EXPECT_EQ(
      run(config),
      folder.Path("dogs/inner/0_broken.png") +
          ": error: The file is neither JPEG (ff d8 ff) nor PNG (89 50 4e 47 0d 0a 1a 0a): it starts with 6e 6f 20 69 "
          "6d 61 67 65.\n - While "
          "skipping the 2. unreadable sample of epoch 0; 'data.skip_limit' is 1\n - While preparing batch 0 of epoch "
          "0");
}

TEST(PlaneView, CropsAndMirrorsPlanes) {
  SampleLayout layout;
  layout.shape = Shape{1, 2, 3};
  const auto centre = PlaneView::Compile(WindowSpec{4, 5, 0, false}, 1.0, layout, {-1});
  ASSERT_TRUE(centre.ok());
  std::vector<float> out(20);
  const std::vector<float> in = {1, 2, 3, 4, 5, 6};
  centre->Apply(in.data(), SampleRandom(1, 0, 0), out.data());
  EXPECT_EQ(out, (std::vector<float>{-1, -1, -1, -1, -1, -1, 3, 2, 1, -1, -1, 6, 5, 4, -1, -1, -1, -1, -1, -1}));
  // Every place of a 2x3 window in the picture with a border of 1 is met: 3 x 3 of them.
  const auto window = PlaneView::Compile(WindowSpec{2, 3, 1, true}, 0.0, layout, {0});
  ASSERT_TRUE(window.ok());
  std::set<std::vector<float>> seen;
  std::vector<float> part(6);
  for (std::int64_t sample = 0; sample < 300; ++sample) {
    window->Apply(in.data(), SampleRandom(1, 0, sample), part.data());
    seen.insert(part);
  }
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_TRUE(seen.count({0, 0, 0, 0, 1, 2}) == 1 && seen.count({5, 6, 0, 0, 0, 0}) == 1);
}

// Mean 1/2 and variance 1 / (4 (2 alpha + 1)), the moments of the distribution.
TEST(Mixup, SharesFollowBeta) {
  for (const double alpha : {0.2, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const double share = DrawBeta(alpha, CounterRng(9, i));
      ASSERT_TRUE(share >= 0 && share <= 1);
      sum += share;
      squares += share * share;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kDraws - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.01) << alpha;
  }
}

TEST(Mixup, EachRowMeetsTheOneBeforeIt) {
  std::vector<float> rows = {0, 1, 2, 3, 4, 5}, spare;
  MixRows(0.75f, rows.data(), 3, 2, &spare);
  EXPECT_EQ(rows, (std::vector<float>{1, 2, 1.5, 2.5, 3.5, 4.5}));
}

}  // namespace
}  // namespace tenon
