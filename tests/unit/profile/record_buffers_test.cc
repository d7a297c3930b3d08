#include "core/profile/record_buffers.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tenon::profile {
namespace {

tenon_record RecordOf(std::uint64_t correlation) {
  tenon_record record{};
  record.header.kind = TENON_RECORD_KERNEL;
  record.header.size = sizeof(tenon_record);
  record.header.correlation_id = correlation;
  record.bytes = 10 * correlation;
  return record;
}

std::vector<tenon_record> All(const RecordBuffers& buffers) {
  std::vector<tenon_record> records;
  buffers.ForEach([&](const tenon_record& record, std::int64_t) { records.push_back(record); });
  return records;
}

TEST(RecordBuffers, KeepsWhatComesBack) {
  RecordBuffers buffers(1 << 20);
  std::uint64_t bytes = 0;
  auto* buffer = static_cast<char*>(RecordBuffers::Request(&buffers, &bytes));
  ASSERT_NE(buffer, nullptr);
  ASSERT_GE(bytes, 3 * sizeof(tenon_record));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const tenon_record record = RecordOf(i + 1);
    std::memcpy(buffer + i * sizeof record, &record, sizeof record);
  }
  EXPECT_EQ(buffers.missing(), 1);
  RecordBuffers::Return(&buffers, buffer, 3 * sizeof(tenon_record), 2);
  const auto records = All(buffers);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[2].header.correlation_id, 3U);
  EXPECT_EQ(records[2].bytes, 30U);
  EXPECT_EQ(buffers.dropped(), 2);
  EXPECT_EQ(buffers.missing(), 0);
}

// A plugin built against an older minor writes the header and less body, one against a newer minor more.
TEST(RecordBuffers, RecordsOfOtherSizes) {
  RecordBuffers buffers(1 << 20);
  std::uint64_t bytes = 0;
  auto* buffer = static_cast<char*>(RecordBuffers::Request(&buffers, &bytes));
  tenon_record small = RecordOf(1), large = RecordOf(2);
  small.header.size = sizeof(tenon_record_header) + 8;
  large.header.size = sizeof(tenon_record) + 16;
  std::memset(buffer, 0xAB, 512);
  std::memcpy(buffer, &small, small.header.size);
  std::memcpy(buffer + small.header.size, &large, sizeof large);
  RecordBuffers::Return(&buffers, buffer, static_cast<std::uint64_t>(small.header.size) + large.header.size, 0);
  const auto records = All(buffers);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].bytes, 0U);
  EXPECT_EQ(records[1].bytes, 20U);
}

TEST(RecordBuffers, WhatIsBrokenIsCountedAndLeftOut) {
  RecordBuffers buffers(1 << 20);
  std::uint64_t bytes = 0;
  auto* buffer = static_cast<char*>(RecordBuffers::Request(&buffers, &bytes));
  tenon_record bad = RecordOf(1);
  bad.header.size = 47;
  std::memcpy(buffer, &bad, sizeof bad);
  RecordBuffers::Return(&buffers, buffer, sizeof bad, 0);
  EXPECT_TRUE(All(buffers).empty());
  EXPECT_EQ(buffers.malformed(), 1);
  char foreign[64];
  RecordBuffers::Return(&buffers, foreign, 64, 0);
  RecordBuffers::Return(&buffers, buffer, 64, 0);  // it came back already
  EXPECT_EQ(buffers.malformed(), 3);
  auto* other = static_cast<char*>(RecordBuffers::Request(&buffers, &bytes));
  RecordBuffers::Return(&buffers, other, bytes + 8, 0);
  EXPECT_EQ(buffers.malformed(), 4);
}

TEST(RecordBuffers, TheLimitHoldsAndEmptyBuffersAreUsedAgain) {
  RecordBuffers buffers(2 * static_cast<std::int64_t>(RecordBuffers::kBufferBytes));
  std::uint64_t bytes = 0;
  void* first = RecordBuffers::Request(&buffers, &bytes);
  void* second = RecordBuffers::Request(&buffers, &bytes);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(RecordBuffers::Request(&buffers, &bytes), nullptr);
  EXPECT_EQ(bytes, 0U);
  RecordBuffers::Return(&buffers, first, 0, 0);
  EXPECT_EQ(RecordBuffers::Request(&buffers, &bytes), first);
  RecordBuffers::Return(&buffers, nullptr, 0, 5);  // a count alone
  EXPECT_EQ(buffers.dropped(), 5);
  EXPECT_EQ(buffers.malformed(), 0);
}

}  // namespace
}  // namespace tenon::profile
