#include "core/train/checkpoint_wire.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

std::string FromHex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

std::string Write(const Checkpoint& checkpoint, const CkptWriteOptions& options) {
  std::string out;
  const Status status = WriteCkpt(checkpoint, options, [&](const void* data, std::size_t bytes) {
    out.append(static_cast<const char*>(data), bytes);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out;
}

Result<Checkpoint> Read(const std::string& bytes, bool* checksum = nullptr) {
  return ReadCkpt({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, checksum);
}

std::string ErrorOf(const std::string& bytes) {
  const auto result = Read(bytes);
  return result.ok() ? "" : result.status().ToString();
}

const std::string kW = FromHex("0a1a0a0177121508021207466c6f617433321a080000803f00000040");
const std::string kB = FromHex("0a120a0162120d1205496e7433321a0407000000");
const std::string kTrailer = FromHex("6372635f6e756d0000000000007c948677");

Checkpoint WAndB() {
  Checkpoint checkpoint;
  checkpoint.Add("w", Tensor::Of<float>(Shape{2}, {1.0F, 2.0F}));
  checkpoint.Add("b", Tensor::Scalar<std::int32_t>(7));
  return checkpoint;
}

TEST(CkptFormat, KnownBytes) {
  EXPECT_EQ(kW.size(), 28U);
  EXPECT_EQ(Write(WAndB(), {.checksum = false}), kW + kB);
  EXPECT_EQ(Write(WAndB(), {}), kW + kB + kTrailer);
}

TEST(CkptFormat, ReadsKnownBytes) {
  bool checksum = true;
  const auto plain = Read(kW + kB, &checksum);
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_FALSE(checksum);
  ASSERT_EQ(plain->tensors.size(), 2U);
  EXPECT_EQ(plain->tensors[0].tensor.Describe(), "float32[2]");
  EXPECT_EQ(plain->Find("w")->data<float>()[1], 2.0F);
  EXPECT_EQ(plain->Find("b")->Describe(), "int32[]");
  EXPECT_EQ(plain->Find("b")->data<std::int32_t>()[0], 7);
  EXPECT_TRUE(Read(kW + kB + kTrailer, &checksum).ok());
  EXPECT_TRUE(checksum);
}

TEST(CkptFormat, EveryTypeAndEmptyTensorsSurvive) {
  Checkpoint checkpoint;
  for (const DType dtype : {DType::kF32, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32, DType::kI64,
                            DType::kBool, DType::kF16, DType::kF64, DType::kU32, DType::kU64, DType::kBF16}) {
    Tensor source = Tensor::Of<float>(Shape{2, 2}, {1.0F, 0.0F, 3.0F, 1.0F});
    checkpoint.Add(std::string(NameOf(dtype)), Cast(source, dtype));
    checkpoint.Add(std::string(NameOf(dtype)) + ".empty", Tensor(dtype, Shape{0, 3}));
    checkpoint.Add(std::string(NameOf(dtype)) + ".none", Tensor(dtype, Shape{0}));
    checkpoint.Add(std::string(NameOf(dtype)) + ".scalar", Tensor(dtype, Shape{}));
  }
  const auto read = Read(Write(checkpoint, {}));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->tensors.size(), checkpoint.tensors.size());
  for (std::size_t i = 0; i < read->tensors.size(); ++i) {
    const Tensor& a = checkpoint.tensors[i].tensor;
    const Tensor& b = read->tensors[i].tensor;
    EXPECT_EQ(checkpoint.tensors[i].name, read->tensors[i].name);
    ASSERT_EQ(a.Describe(), b.Describe());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())), 0);
  }
}

TEST(CkptFormat, LargeTensorsAreSplitAndJoined) {
  Checkpoint checkpoint = WAndB();
  Tensor big(DType::kF32, Shape{3, 100});
  for (int i = 0; i < 300; ++i) big.data<float>()[i] = static_cast<float>(i);
  checkpoint.Add("big", big);
  checkpoint.Add("last", Tensor::Scalar<std::int64_t>(-1));
  const std::string bytes = Write(checkpoint, {.piece_bytes = 500, .checksum = false});
  EXPECT_GT(bytes.size(), Write(checkpoint, {.checksum = false}).size());
  const auto read = Read(bytes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->tensors.size(), 4U);
  EXPECT_EQ(std::memcmp(read->Find("big")->raw(), big.raw(), 1200), 0);
}

TEST(CkptFormat, TheWholeFileIsAlsoOneMessageOfSeveralValues) {
  EXPECT_TRUE(Read(kB + kW).ok());
  // Dims may be packed; fields of later versions inside a value are passed over, beside the values they are not.
  const auto packed = Read(FromHex("0a1b0a017712160a01021207466c6f617433321a080000803f00000040"));
  ASSERT_TRUE(packed.ok()) << packed.status().ToString();
  EXPECT_EQ(packed->tensors[0].tensor.Describe(), "float32[2]");
  EXPECT_TRUE(Read(FromHex("0a1e0a0177121508021207466c6f617433321a080000803f00000040fa3e0161")).ok());
  EXPECT_FALSE(Read(kW + FromHex("fa3e0161")).ok());
}

TEST(CkptFormat, WrongSizesAreErrors) {
  // dims [3] with 8 bytes, then dims [1] with 8 bytes.
  const std::string short_error = ErrorOf(FromHex("0a1a0a0177121508031207466c6f617433321a080000803f00000040"));
  EXPECT_NE(short_error.find("'w' is Float32 [3], which takes"), std::string::npos) << short_error;
  const std::string with_more = ErrorOf(FromHex("0a1a0a0177121508031207466c6f617433321a080000803f00000040") + kB);
  EXPECT_NE(with_more.find("'w' is Float32 [3], which takes 12 bytes; the file has only 8 bytes"), std::string::npos)
      << with_more;
  const std::string long_error = ErrorOf(FromHex("0a1a0a0177121508011207466c6f617433321a080000803f00000040"));
  EXPECT_NE(long_error.find("'w' is Float32 [1], which takes 4 bytes; the file has 8 bytes"), std::string::npos)
      << long_error;
  EXPECT_NE(ErrorOf(FromHex("0a240a0177121f08ffffffffffffffff7f1207466c6f617433321a0b0000803f00000040000000")), "");
}

TEST(CkptFormat, NamesAreChecked) {
  EXPECT_NE(ErrorOf(kW + kB + kW).find("'w' appears twice"), std::string::npos);
  EXPECT_NE(ErrorOf(kW + kW).find("'w' appears twice"), std::string::npos);
  EXPECT_NE(ErrorOf(FromHex("0a190a00121508021207466c6f617433321a080000803f00000040")).find("no name"),
            std::string::npos);
  EXPECT_NE(ErrorOf(FromHex("0a17121508021207466c6f617433321a080000803f00000040")).find("no name"), std::string::npos);
  Checkpoint twice = WAndB();
  twice.Add("w", Tensor::Scalar<float>(1));
  EXPECT_FALSE(WriteCkpt(twice, {}, [](const void*, std::size_t) { return Status(); }).ok());
  Checkpoint unnamed;
  unnamed.Add("", Tensor::Scalar<float>(1));
  EXPECT_FALSE(WriteCkpt(unnamed, {}, [](const void*, std::size_t) { return Status(); }).ok());
}

TEST(CkptFormat, EveryTruncationIsSeen) {
  const std::string whole = Write(WAndB(), {});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto read = Read(whole.substr(0, length));
    // Without the checksum a file that ends between two tensors is one with fewer tensors.
    const bool between = length == 0 || length == kW.size() || length == kW.size() + kB.size();
    EXPECT_EQ(read.ok(), between) << length;
  }
}

TEST(CkptFormat, EveryChangedByteIsSeen) {
  const std::string whole = Write(WAndB(), {});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 0x80}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      EXPECT_FALSE(Read(changed).ok()) << at;
    }
  }
}

TEST(CkptFormat, BoolsAreZeroOrOne) {
  const std::string good = FromHex("0a100a0162120b08011204426f6f6c1a0101");
  const std::string bad = FromHex("0a100a0162120b08011204426f6f6c1a0102");
  EXPECT_TRUE(Read(good).ok()) << ErrorOf(good);
  EXPECT_NE(ErrorOf(bad).find("holds the value 2"), std::string::npos);
}

TEST(CkptFormat, EncryptedFilesAreKnown) {
  const auto name = [](const std::string& text) {
    return EncryptionOf({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(name(FromHex("d85e3a7f00")), "AES-GCM");
  EXPECT_EQ(name(FromHex("d95e3a7f00")), "AES-CBC");
  EXPECT_EQ(name(FromHex("da5e3a7f00")), "SM4-CBC");
  EXPECT_EQ(name(kW), "");
  EXPECT_EQ(name(""), "");
}

}  // namespace
}  // namespace tenon
