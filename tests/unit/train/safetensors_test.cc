#include "core/train/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tenon {
namespace {

std::string Write(const Checkpoint& checkpoint, bool checksum = true) {
  std::string out;
  const Status status = WriteSafetensors(checkpoint, checksum, [&](const void* data, std::size_t bytes) {
    out.append(static_cast<const char*>(data), bytes);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out;
}

Result<Checkpoint> Read(const std::string& bytes, bool* checksum = nullptr) {
  return ReadSafetensors({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, checksum);
}

// A file with this header and so many bytes of values.
std::string File(const std::string& header, std::size_t data_bytes) {
  std::string out(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(data_bytes, '\0');
}

std::string ErrorOf(const std::string& bytes) {
  const auto result = Read(bytes);
  return result.ok() ? "" : result.status().ToString();
}

Checkpoint Some() {
  Checkpoint checkpoint;
  checkpoint.Add("flag", Tensor::Of<bool>(Shape{3}, {true, false, true}));
  checkpoint.Add("w", Tensor::Of<float>(Shape{2}, {1.0F, 2.0F}));
  checkpoint.Add("empty", Tensor(DType::kF16, Shape{0, 4}));
  checkpoint.Add("n", Tensor::Scalar<std::int64_t>(7));
  return checkpoint;
}

TEST(Safetensors, RoundTrip) {
  bool checksum = false;
  const auto read = Read(Write(Some()), &checksum);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(checksum);
  ASSERT_EQ(read->tensors.size(), 4U);
  EXPECT_EQ(read->tensors[0].name, "n");  // wide types first
  EXPECT_EQ(read->Find("w")->data<float>()[1], 2.0F);
  EXPECT_EQ(read->Find("n")->Describe(), "int64[]");
  EXPECT_EQ(read->Find("empty")->Describe(), "float16[0,4]");
  EXPECT_TRUE(read->Find("flag")->data<bool>()[2]);
  EXPECT_EQ(Write(Some()), Write(Some()));
}

TEST(Safetensors, TheHeaderIsPaddedToEightBytes) {
  const std::string bytes = Write(Some(), false);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.substr(8, 34), R"({"__metadata__":{"format":"ms"},"n)");
}

TEST(Safetensors, EveryTruncationAndChangeIsSeen) {
  const std::string whole = Write(Some());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(Read(whole.substr(0, length)).ok()) << length;
  EXPECT_FALSE(Read(whole + "x").ok());
  for (std::size_t at = whole.size() - 11 - 8; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(Read(changed).ok()) << at;
  }
}

TEST(Safetensors, HeadersAreChecked) {
  const auto file = [](const std::string& entry, std::size_t bytes) { return File("{\"w\":" + entry + "}", bytes); };
  EXPECT_EQ(ErrorOf(file(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8)), "");
  const auto expect = [](const std::string& error, std::string_view part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4)), "only 4 bytes of values");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8)),
         "3 elements of 4 bytes; the file has 8");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", 12)), "Bytes 0 to 4");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 12)), "take 8 bytes");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8)), "lies at bytes 8 to 0");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8)), "dim -2");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,8]})", 8)), "dim 1.5");
  expect(ErrorOf(file(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0)), "w");
  expect(ErrorOf(file(R"({"dtype":"C64","shape":[1],"data_offsets":[0,8]})", 8)), "'C64', which Tenon does not read");
  expect(ErrorOf(file(R"({"shape":[1],"data_offsets":[0,8]})", 8)), "no dtype");
  expect(ErrorOf(file(R"([1])", 8)), "no object");
  expect(
      ErrorOf(File(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6)),
      "'a' and 'b' overlap");
  expect(
      ErrorOf(File(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1)),
      "'a' appears twice");
  expect(ErrorOf(File(R"({"a":)", 1)), "not valid JSON");
  expect(ErrorOf(File("[]", 1)), "does not begin");
  expect(ErrorOf(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "says that its header has");
  expect(ErrorOf(File(R"({"__metadata__":{"crc_num":"5"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1)),
         "checksum is wrong");
}

TEST(Safetensors, NamesAreChecked) {
  Checkpoint twice = Some();
  twice.Add("w", Tensor::Scalar<float>(1));
  EXPECT_FALSE(WriteSafetensors(twice, true, [](const void*, std::size_t) { return Status(); }).ok());
  Checkpoint reserved;
  reserved.Add("__metadata__", Tensor::Scalar<float>(1));
  EXPECT_FALSE(WriteSafetensors(reserved, true, [](const void*, std::size_t) { return Status(); }).ok());
}

}  // namespace
}  // namespace tenon
