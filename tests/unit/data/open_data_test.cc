#include "core/data/open_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Bytes;
using testing::Folder;
using testing::Idx;

ConfigPath PathTo(const std::string& path) {
  ConfigPath config;
  config.text = path;
  config.resolved = path;
  auto origin = std::make_shared<ConfigOrigin>();
  origin->name = "run.yaml";
  config.place.origin = origin;
  config.place.line = 3;
  config.place.column = 9;
  return config;
}

DataConfig CsvConfig(const std::string& path) {
  DataConfig config;
  config.type = "csv";
  config.path = PathTo(path);
  return config;
}

std::string Rows(int count, int classes) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += std::to_string(i) + ",0,0," + std::to_string(i + 1) + "," + std::to_string(i % classes) + "\n";
  return text;
}

std::vector<float> FirstValues(Loader& loader) {
  std::vector<float> values;
  EXPECT_TRUE(loader.Start(0).ok());
  while (true) {
    const auto batch = loader.Next();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok() || !*batch) return values;
    const std::int64_t width = (*batch)->samples.elements() / (*batch)->count;
    for (std::int64_t i = 0; i < (*batch)->count; ++i) values.push_back((*batch)->samples.data<float>()[i * width]);
  }
}

TEST(OpenData, SplitsACsvAndGivesBothParts) {
  const Folder folder;
  DataConfig config = CsvConfig(folder.Write("a.csv", Rows(12, 3)));
  config.split.every = 5;
  config.batch = 4;
  config.shuffle = false;
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->train_size(), 10);
  EXPECT_EQ(source->test_size(), 2);
  EXPECT_EQ(source->classes(), 3);
  EXPECT_EQ(source->layout().shape, (Shape{4}));
  EXPECT_EQ(source->description(),
            "csv " + folder.Path("a.csv") +
                ": 10 samples for training, 2 for testing; float32[4] stored, float32[4] given; 3 classes");
  EXPECT_EQ(FirstValues(**source->TrainLoader()), (std::vector<float>{0, 1, 2, 3, 5, 6, 7, 8, 10, 11}));
  EXPECT_EQ(FirstValues(**source->TestLoader()), (std::vector<float>{4, 9}));
  EXPECT_EQ(FirstValues(**source->TestLoader(1)), (std::vector<float>{4, 9}));
  EXPECT_EQ(
      source->CheckClasses(2).ToString(),
      folder.Path("a.csv") + ":3: error: The label of sample 2 is 2, but with 2 classes it must be between 0 and 1.");
}

// As masks of images have 255 and tokens -100.
TEST(OpenData, TheLabelThatTheLossLeavesOutNeedNotBeAClass) {
  const Folder folder;
  for (const std::int64_t ignored : {-100, 255}) {
    const std::string file = folder.Write("a.csv", fmt::format("0,0\n1,{}\n2,1\n", ignored));
    const auto source = OpenData(CsvConfig(file), {.ignored_label = ignored});
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    EXPECT_EQ(source->classes(), 2);
    EXPECT_TRUE(source->CheckClasses(2).ok());
    const auto other = OpenData(CsvConfig(file), {.ignored_label = ignored - 1});
    EXPECT_FALSE(other.ok() && other->CheckClasses(2).ok());
  }
}

TEST(OpenData, LimitsTheSamplesBeforeTheSplit) {
  const Folder folder;
  DataConfig config = CsvConfig(folder.Write("a.csv", Rows(12, 3)));
  config.split.every = 5;
  config.samples = 6;
  config.shuffle = false;
  auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->train_size(), 5);
  EXPECT_EQ(source->test_size(), 1);
  config.samples = 100;
  EXPECT_EQ(OpenData(config, {})->train_size(), 10);
  config.split = {};
  source = OpenData(config, {});
  EXPECT_EQ(source->train_size(), 12);
  EXPECT_FALSE(source->has_test());
  EXPECT_EQ(source->TestLoader().status().message(),
            "The data has no part for testing; 'data.split' or 'data.test' makes one.");
}

TEST(OpenData, ImagesAreShapedScaledAndResizedOnce) {
  const Folder folder;
  DataConfig config = CsvConfig(folder.Write("a.csv", Rows(6, 2)));
  config.image.emplace();
  config.image->shape = {1, 2, 2};
  config.image->scale = 0.5;
  config.image->resize = {{4, 4}};
  config.transforms.push_back(OneHotConfig{});
  config.shuffle = false;
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->layout().shape, (Shape{1, 4, 4}));
  EXPECT_EQ(source->layout().label_shape, (Shape{2}));
  EXPECT_NE(source->description().find("transformed samples are kept in memory"), std::string::npos);
  EXPECT_EQ(FirstValues(**source->TrainLoader()), (std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f}));
  config.image->shape = {1, 2, 3};
  EXPECT_EQ(OpenData(config, {}).status().ToString(),
            "error: A sample has 4 values (stored as [4]), but 'image.shape' is [1,2,3], which are 6.\n - While "
            "preparing the samples of 'csv " +
                folder.Path("a.csv") + "'");
}

TEST(OpenData, LabelsMustBeBelowTheConfiguredClasses) {
  const Folder folder;
  DataConfig config = CsvConfig(folder.Write("a.csv", "1,0\n2,5\n"));
  config.classes = 5;
  EXPECT_EQ(
      OpenData(config, {}).status().ToString(),
      folder.Path("a.csv") + ":2: error: The label of sample 1 is 5, but with 5 classes it must be between 0 and 4.");
}

TEST(OpenData, AnOwnTestBlockMustBeAlike) {
  const Folder folder;
  DataConfig config = CsvConfig(folder.Write("a.csv", Rows(6, 2)));
  config.test.emplace();
  config.test->path = PathTo(folder.Write("b.csv", Rows(4, 4)));
  config.test->samples = 3;
  auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->test_size(), 3);
  EXPECT_EQ(source->classes(), 4);
  config.test->path = PathTo(folder.Write("c.csv", "1,2,3\n"));
  EXPECT_EQ(OpenData(config, {}).status().message(), "The samples for testing ('csv " + folder.Path("c.csv") +
                                                         "') are float32[2] with labels int64[], those for training "
                                                         "float32[4] with labels int64[]; they must be alike.");
}

TEST(OpenData, ErrorsNameThePlaceInTheConfig) {
  const Folder folder;
  EXPECT_EQ(
      OpenData(CsvConfig(folder.Path("gone.csv")), {}).status().ToString(),
      folder.Path("gone.csv") + ": error: The file does not exist.\n - While opening 'data.path' of run.yaml:3:9");
  DataConfig idx;
  idx.type = "idx";
  idx.path = PathTo(folder.Path("gone"));
  EXPECT_EQ(OpenData(idx, {}).status().ToString(),
            folder.Path("gone") + ": error: The folder does not exist.\n - While opening 'data.path' of run.yaml:3:9");
}

TEST(OpenData, IdxFoldersBringTheirTestPart) {
  const Folder folder;
  folder.Write("train-images-idx3-ubyte", Idx(8, {4, 2, 2}, std::string(16, '\1')));
  folder.Write("train-labels-idx1-ubyte", Idx(8, {4}, Bytes({0, 1, 2, 3})));
  DataConfig config;
  config.type = "idx";
  config.path = PathTo(folder.path());
  config.samples = 3;
  auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_FALSE(source->has_test());
  folder.Write("t10k-images-idx3-ubyte", Idx(8, {2, 2, 2}, std::string(8, '\1')));
  folder.Write("t10k-labels-idx1-ubyte", Idx(8, {2}, Bytes({9, 1})));
  source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->train_size(), 3);
  EXPECT_EQ(source->test_size(), 2);
  EXPECT_EQ(source->classes(), 10);
  EXPECT_EQ(source->layout().shape, (Shape{1, 2, 2}));
  config.split.every = 3;
  EXPECT_EQ(OpenData(config, {})->test_size(), 1);
}

TEST(OpenData, SyntheticNeedsNoFile) {
  DataConfig config;
  config.type = "synthetic";
  config.samples = 20;
  config.classes = 5;
  config.image.emplace();
  config.image->shape = {1, 4, 4};
  config.split.fraction = 0.25;
  OpenDataOptions options;
  options.seed = 3;
  const auto source = OpenData(config, options);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->train_size(), 15);
  EXPECT_EQ(source->test_size(), 5);
  EXPECT_EQ(source->classes(), 5);
  EXPECT_EQ(source->description().find("synthetic images [1,4,4] (made up, seed 3): 15 samples"), 0u)
      << source->description();
}

TEST(OpenData, SyntheticTokensKeepTheirType) {
  DataConfig config;
  config.type = "synthetic";
  config.samples = 9;
  config.tokens = TokensConfig{.vocab = 50, .length = 16};
  config.batch = 4;
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->layout().dtype, DType::kI64);
  EXPECT_EQ(source->layout().shape, (Shape{16}));
  EXPECT_EQ(source->layout().label_shape, (Shape{16}));
  EXPECT_EQ(source->classes(), 50);
  const auto loader = source->TrainLoader();
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->Start(0).ok());
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ((*batch)->samples.Describe(), "int64[4,16]");
  EXPECT_EQ((*batch)->labels.Describe(), "int64[4,16]");
}

TEST(OpenData, DigitsOfTheRepository) {
  const std::string path = std::string(TENON_SOURCE_DIR) + "/data/optdigits.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  DataConfig config = CsvConfig(path);
  config.image.emplace();
  config.image->shape = {1, 8, 8};
  config.image->scale = 0.0625;
  config.image->resize = {{28, 28}};
  config.split.every = 5;
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->train_size(), 1438);
  EXPECT_EQ(source->test_size(), 359);
  EXPECT_EQ(source->classes(), 10);
  EXPECT_EQ(source->layout().shape, (Shape{1, 28, 28}));
}

}  // namespace
}  // namespace tenon
