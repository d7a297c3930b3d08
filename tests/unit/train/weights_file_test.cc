#include "core/train/weights_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/train/checkpoint_state.h"
#include "core/train/npz.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::TempFolder;
using testing_support::WriteFile;

std::string FromHex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// numpy.savez(w=[[1, 2], [3, 4]] as float32, **{"b.c": int64 7}) and the same by savez_compressed.
const std::string kStored = FromHex(
    "504b03042d0000000000000021004efb2075ffffffffffffffff05001400772e6e7079010010009000000000000000900000"
    "0000000000934e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046"
    "616c73652c20277368617065273a2028322c2032292c207d2020202020202020202020202020202020202020202020202020"
    "20202020202020202020202020202020202020202020202020202020202020200a0000803f00000040000040400000804050"
    "4b03042d00000000000000210023b8f06cffffffffffffffff07001400622e632e6e70790100100088000000000000008800"
    "000000000000934e554d5059010076007b276465736372273a20273c6938272c2027666f727472616e5f6f72646572273a20"
    "46616c73652c20277368617065273a2028292c207d2020202020202020202020202020202020202020202020202020202020"
    "2020202020202020202020202020202020202020202020202020202020202020200a0700000000000000504b01022d032d00"
    "00000000000021004efb20759000000090000000050000000000000000000000800100000000772e6e7079504b01022d032d"
    "00000000000000210023b8f06c88000000880000000700000000000000000000008001c7000000622e632e6e7079504b0506"
    "000000000200020068000000880100000000");
const std::string kPacked = FromHex(
    "504b03042d0000000800000021004efb2075ffffffffffffffff05001400772e6e7079010010009000000000000000530000"
    "00000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc"
    "294e058a17672416a402f91a463a0a469a3a0ab50a64032e0686067b060606072002e2060700504b03042d00000008000000"
    "210023b8f06cffffffffffffffff07001400622e632e6e707901001000880000000000000046000000000000009bec17ea1b"
    "10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402"
    "f91a9a3a0ab50a14012e7606080000504b01022d032d0000000800000021004efb2075530000009000000005000000000000"
    "0000000000800100000000772e6e7079504b01022d032d00000008000000210023b8f06c4600000088000000070000000000"
    "00000000000080018a000000622e632e6e7079504b0506000000000200020068000000090100000000");

Result<Checkpoint> Read(const std::string& bytes) {
  return ReadNpz({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

TEST(Npz, ReadsBothForms) {
  for (const std::string& bytes : {kStored, kPacked}) {
    const auto read = Read(bytes);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->tensors.size(), 2U);
    EXPECT_EQ(read->Find("w")->Describe(), "float32[2,2]");
    EXPECT_EQ(read->Find("w")->data<float>()[3], 4.0F);
    EXPECT_EQ(read->Find("b.c")->Describe(), "int64[]");
    EXPECT_EQ(read->Find("b.c")->data<std::int64_t>()[0], 7);
  }
}

TEST(Npz, EveryTruncationAndMostChangesAreSeen) {
  for (const std::string& bytes : {kStored, kPacked}) {
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(Read(bytes.substr(0, length)).ok()) << length;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {1, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const auto read = Read(changed);  // dates and the like are not read
        if (!read.ok() || read->tensors.size() != 2) continue;
        EXPECT_EQ(read->tensors[0].tensor.data<float>()[3], 4.0F) << at;
      }
    }
  }
}

TEST(WeightsFile, TakesParametersAndPassesOverTheRest) {
  TempFolder folder;
  RunState state;
  state.parameters.push_back({"net.w", Tensor::Of<float>(Shape{2, 2}, {1, 2, 3, 4})});
  state.optimizer_state.push_back({"moments.net.w", Tensor(DType::kF32, Shape{2, 2})});
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(state), folder / "a.ckpt").ok());
  const std::vector<TensorTarget> targets = {{"w", DType::kF32, Shape{2, 2}}};
  const auto weights = LoadWeights(folder / "a.ckpt");
  ASSERT_TRUE(weights.ok());
  InitFrom from{folder / "a.ckpt", {}, true};
  EXPECT_FALSE(MatchWeights(*weights, targets, from).ok());
  from.rename = {{"net.", ""}};
  const auto report = MatchWeights(*weights, targets, from);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->loaded, 1);
}

TEST(WeightsFile, RefusesWhatIsNotFinite) {
  RunState state;
  state.parameters.push_back({"w", Tensor::Of<float>(Shape{3}, {1, 2, std::nanf("")})});
  const std::vector<TensorTarget> targets = {{"w", DType::kF32, Shape{3}}};
  const Checkpoint weights = ToCheckpoint(state);
  const auto report = MatchWeights(weights, targets, {"a.ckpt", {}, true});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), "The first weights are not finite: element 2 of 'w' in 'a.ckpt'.");
}

TEST(WeightsFile, ErrorsNameTheFile) {
  TempFolder folder;
  WriteFile(folder / "a.npz", "PK nothing");
  const auto damaged = LoadWeights(folder / "a.npz");
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.status().ToString().find("a.npz"), std::string::npos);
  WriteFile(folder / "b.npz", kStored);
  EXPECT_TRUE(LoadWeights(folder / "b.npz").ok());
  EXPECT_NE(LoadWeights(folder / "a.pt").status().message().find(".ckpt, .safetensors or .npz"), std::string::npos);
}

}  // namespace
}  // namespace tenon
