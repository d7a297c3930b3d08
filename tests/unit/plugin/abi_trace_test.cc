#include "core/plugin/abi_trace.h"

#include <gtest/gtest.h>

#include "core/plugin/plugin_registry.h"
#include "tests/support/plugin_fixtures.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::BareOptions;
using testing_support::LoadFixtures;
using testing_support::ReadFile;
using testing_support::TempFolder;

std::int32_t Slot(tenon_plugin*, std::uint32_t, std::int64_t, double, tenon_str) { return TENON_NOT_FOUND; }
void Nothing(void*) {}

TEST(AbiTrace, WritesALineForEachCall) {
  const TempFolder folder;
  const std::string path = folder / "trace";
  const tenon_str empty = TENON_STR("");
  const tenon_str key = TENON_STR("key");
  EXPECT_EQ(CallAbi("tenon.test", "slot", &Slot, nullptr, 3U, 0, 0.0, empty), TENON_NOT_FOUND);  // off: only the call
  ASSERT_TRUE(StartAbiTrace(path).ok());
  EXPECT_EQ(CallAbi("tenon.test", "slot", &Slot, nullptr, 3U, -4, 0.5, key), TENON_NOT_FOUND);
  CallAbi("tenon.test", "nothing", &Nothing, nullptr);
  {
    PluginRegistry registry(BareOptions());
    ASSERT_TRUE(registry.Load(LoadFixtures({"device_null"})).ok());
  }
  StopAbiTrace();
  const std::string text = ReadFile(path);
  EXPECT_NE(text.find(" tenon.test.slot(NULL, 3, -4, 0.5, 'key') = 5 NOT_FOUND "), std::string::npos) << text;
  EXPECT_NE(text.find(" tenon.test.nothing(NULL) "), std::string::npos) << text;
  for (const char* slot :
       {"tenon.plugin.query(", "tenon.plugin.create(", "tenon.device.device_count(", "tenon.plugin.destroy("}) {
    EXPECT_NE(text.find(slot), std::string::npos) << slot << " is absent in\n" << text;
  }
  EXPECT_EQ(text.compare(text.size() - 4, 4, " ns\n"), 0);
}

TEST(AbiTrace, SaysWhenTheFileCannotBeWritten) {
  const Status status = StartAbiTrace("/nowhere/trace");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon
