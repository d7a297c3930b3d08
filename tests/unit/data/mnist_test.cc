// Needs the MNIST files below $TENON_SHARED/data/mnist (or ../shared beside the repository); skipped without them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/data/open_data.h"

namespace tenon {
namespace {

std::string MnistFolder() {
  const char* shared = std::getenv("TENON_SHARED");
  return (shared ? std::string(shared) : std::string(TENON_SOURCE_DIR) + "/../shared") + "/data/mnist";
}

TEST(Mnist, OpensAndGivesAnEpoch) {
  const std::string folder = MnistFolder();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  DataConfig config;
  config.type = "idx";
  config.path.text = folder;
  config.path.resolved = folder;
  config.image.emplace();
  config.image->scale = 1.0 / 255;
  config.transforms.push_back(NormalizeConfig{{0.1307}, {0.3081}});
  config.batch = 128;
  const auto source = OpenData(config, {});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->train_size(), 60000);
  EXPECT_EQ(source->test_size(), 10000);
  EXPECT_EQ(source->classes(), 10);
  const auto loader = source->TrainLoader();
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->Start(0).ok());
  double sum = 0;
  double squares = 0;
  std::vector<std::int64_t> counts(10);
  while (true) {
    const auto batch = (*loader)->Next();
    ASSERT_TRUE(batch.ok());
    if (!*batch) break;
    for (const float value : (*batch)->samples.values<float>()) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    for (const std::int64_t label : (*batch)->labels.values<std::int64_t>()) ++counts[static_cast<std::size_t>(label)];
  }
  const double values = 60000.0 * 784;
  EXPECT_NEAR(sum / values, 0, 1e-3);
  EXPECT_NEAR(squares / values, 1, 1e-3);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
}

}  // namespace
}  // namespace tenon
