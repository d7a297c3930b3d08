#include "core/plugin/plugin_message.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

// With TENON_UPDATE_EXPECT=1 the page is written instead.
TEST(PluginMessage, ThePageAgreesWithTheTable) {
  const std::string path = std::string(TENON_SOURCE_DIR) + "/docs/reference/plugin_messages.md";
  if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) std::ofstream(path) << PluginMessagePage();
  EXPECT_EQ(testing_support::ReadFile(path), PluginMessagePage());
}

TEST(PluginMessage, NumbersAreUniqueAndAscend) {
  int last = 0;
  for (const PluginMessageInfo& info : PluginMessages()) {
    EXPECT_GT(static_cast<int>(info.message), last);
    last = static_cast<int>(info.message);
  }
}

TEST(PluginMessage, TextsCarryTheirNumber) {
  const Status status = PluginError(PluginMessage::kNeedsNewerHost, "libvendor_npu.so", "needs host >= 1.{}.", 7);
  EXPECT_EQ(status.message(), "TN-PLG-012 libvendor_npu.so: needs host >= 1.7.");
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(PluginMessageOf(status.message()), PluginMessage::kNeedsNewerHost);
  EXPECT_EQ(PluginMessageOf("another text"), PluginMessage::kNone);
  EXPECT_EQ(PluginError(PluginMessage::kUnknownOption, "x.so", "no").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon
