// Files that MindSpore wrote, with the values that it read back itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/train/checkpoint.h"

namespace tenon {
namespace {

using Json = nlohmann::json;

std::string Folder() {
  const char* shared = std::getenv("TENON_SHARED");
  return (shared != nullptr ? std::string(shared) : std::string(TENON_SOURCE_DIR) + "/../shared") + "/data/mindspore/";
}

class ForeignCheckpoint : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Folder())) GTEST_SKIP() << Folder() << " is not there";
  }
};

double Expected(const Json& value) {
  if (value.is_string()) return std::strtod(value.get<std::string>().c_str(), nullptr);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.get<double>();
}

void ExpectSame(double a, double b, const std::string& name) {
  if (std::isnan(b)) {
    EXPECT_TRUE(std::isnan(a)) << name;
  } else {
    EXPECT_EQ(a, b) << name;
    EXPECT_EQ(std::signbit(a), std::signbit(b)) << name;
  }
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void ExpectTensor(const Json& expected, const Tensor& tensor) {
  const std::string name = expected["name"];
  EXPECT_EQ(NameOf(tensor.dtype()), Lower(expected["dtype"]));
  const std::vector<std::int64_t> dims = expected["shape"];
  ASSERT_EQ(tensor.shape(), Shape(dims)) << name;
  const Tensor wide = Cast(tensor, DType::kF64);
  const double* values = wide.data<double>();
  const Json& first = expected["first"];
  for (std::size_t i = 0; i < first.size(); ++i) ExpectSame(values[i], Expected(first[i]), name);
  if (expected.contains("last")) ExpectSame(values[tensor.elements() - 1], Expected(expected["last"]), name);
  if (!expected.contains("sum")) return;
  double sum = 0;
  for (const double value : wide.values<double>()) sum += value;
  const double wanted = Expected(expected["sum"]);
  if (std::isfinite(wanted)) {
    EXPECT_NEAR(sum, wanted, 1e-9 * std::max(1.0, std::abs(wanted))) << name;
  }
}

TEST_P(ForeignCheckpoint, LoadsToItsValues) {
  const std::string file = GetParam();
  const Json expected = Json::parse(std::ifstream(Folder() + file.substr(0, file.rfind('.')) + ".json"));
  CheckpointFileInfo info;
  const auto checkpoint = LoadCheckpoint(Folder() + file, &info);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().ToString();
  EXPECT_EQ(info.checksum, file.find("crc") != std::string::npos);
  for (const Json& tensor : expected["tensors"]) {
    const Tensor* found = checkpoint->Find(tensor["name"].get<std::string>());
    ASSERT_NE(found, nullptr) << tensor["name"];
    ExpectTensor(tensor, *found);
  }
  const Json& order = expected["read_back_order"];
  ASSERT_EQ(order.size(), checkpoint->tensors.size());
  if (file.ends_with(".ckpt")) {
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], checkpoint->tensors[i].name);
  }
  if (expected.contains("append_dict")) {
    for (const auto& [name, value] : expected["append_dict"].items()) {
      const Tensor* found = checkpoint->Find(name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->Describe(), "int64[]");
      EXPECT_EQ(*found->data<std::int64_t>(), value.get<std::int64_t>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ForeignCheckpoint,
                         testing::Values("lenet.ckpt", "half.ckpt", "dtypes.ckpt", "crc.ckpt", "chunked.ckpt",
                                         "weights.safetensors", "weights_crc.safetensors"));

class RefusedCheckpoint : public ForeignCheckpoint {};

TEST_F(RefusedCheckpoint, ComplexIsNamed) {
  const auto result = LoadCheckpoint(Folder() + "complex.ckpt");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("'Complex64', which Tenon does not read"), std::string::npos);
}

TEST_F(RefusedCheckpoint, EncryptionIsNamed) {
  EXPECT_NE(LoadCheckpoint(Folder() + "enc_gcm.ckpt").status().message().find("encrypted (AES-GCM)"),
            std::string::npos);
  EXPECT_NE(LoadCheckpoint(Folder() + "enc_cbc.ckpt").status().message().find("encrypted (AES-CBC)"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
