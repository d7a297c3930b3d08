#include "core/plugin/interface_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plugin/plugin_message.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

struct HeaderSlot {
  std::string name;
  bool required;
  int since;
};

// Slots of one vtable as its header declares them: a contract block, then "type (*name)(".
std::vector<HeaderSlot> SlotsOf(const std::string& text, const std::string& struct_name) {
  std::vector<HeaderSlot> slots;
  const std::size_t begin = text.find("typedef struct " + struct_name + " {");
  const std::size_t end = text.find("} " + struct_name + ";", begin);
  if (begin == std::string::npos || end == std::string::npos) return slots;
  for (std::size_t at = text.find("/*", begin); at < end; at = text.find("/*", at)) {
    const std::size_t close = text.find("*/", at);
    const std::string contract = text.substr(at, close - at);
    at = close;
    const std::size_t since = contract.find("@since 1.");
    if (since == std::string::npos) continue;  // a heading, or the comment of a field
    const std::size_t pointer = text.find("(*", close);
    const std::size_t name_end = text.find(')', pointer);
    std::size_t fallback = contract.find("@fallback");
    fallback = contract.find_first_not_of(" \n*", fallback + 9);
    slots.push_back({text.substr(pointer + 2, name_end - pointer - 2), contract.compare(fallback, 8, "required") == 0,
                     std::stoi(contract.substr(since + 9))});
  }
  return slots;
}

TEST(InterfaceTable, AgreesWithTheContractsOfTheHeaders) {
  const std::map<std::string, const InterfaceLayout*> layouts = {{"device.h", &LayoutOf<tenon_device_vtable>()},
                                                                 {"memory.h", &LayoutOf<tenon_memory_vtable>()},
                                                                 {"stream.h", &LayoutOf<tenon_stream_vtable>()},
                                                                 {"subgraph.h", &LayoutOf<tenon_subgraph_vtable>()},
                                                                 {"collective.h", &LayoutOf<tenon_collective_vtable>()},
                                                                 {"profiler.h", &LayoutOf<tenon_profiler_vtable>()},
                                                                 {"op.h", &LayoutOf<tenon_op_vtable>()}};
  std::vector<std::pair<std::string, const InterfaceLayout*>> all(layouts.begin(), layouts.end());
  all.emplace_back("op.h", &LayoutOf<tenon_kernel_vtable>());
  for (const auto& entry : all) {
    const InterfaceLayout& layout = *entry.second;
    const std::string text =
        testing_support::ReadFile(std::string(TENON_SOURCE_DIR) + "/plugin_api/include/tenon/abi/" + entry.first);
    const std::vector<HeaderSlot> expected = SlotsOf(text, layout.struct_name);
    ASSERT_EQ(expected.size(), layout.slots.size()) << layout.struct_name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(expected[i].name, layout.slots[i].name) << layout.struct_name;
      EXPECT_EQ(expected[i].required, layout.slots[i].required) << layout.struct_name << "." << expected[i].name;
      EXPECT_EQ(expected[i].since, layout.slots[i].since) << layout.struct_name << "." << expected[i].name;
      EXPECT_EQ(layout.slots[i].offset, 8 + 8 * i);
    }
  }
}

TEST(InterfaceTable, IdsAndKindsAreComplete) {
  std::set<std::string> ids;
  for (const InterfaceLayout* layout : InterfaceLayouts()) ids.insert(layout->id);
  EXPECT_EQ(ids.size(), 7U);
  EXPECT_EQ(FindInterfaceLayout("tenon.memory"), &LayoutOf<tenon_memory_vtable>());
  EXPECT_EQ(FindInterfaceLayout("com.vendor.own"), nullptr);
}

std::int32_t ListKernels(tenon_plugin*, const tenon_kernel_def**, std::uint64_t*, std::uint64_t*, tenon_error*) {
  return 0;
}
std::int32_t ReleaseCaches(tenon_plugin*, tenon_error*) { return 0; }

tenon_op_vtable FullTable() {
  tenon_op_vtable table = TENON_INIT(tenon_op_vtable);
  table.list_kernels = &ListKernels;
  table.release_caches = &ReleaseCaches;
  return table;
}

TEST(InterfaceTable, CopiesWhatTheStatedSizeCovers) {
  tenon_op_vtable table = FullTable();
  auto full = PluginInterface<tenon_op_vtable>::Negotiate(&table, 0, "x.so");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ((**full).release_caches, &ReleaseCaches);
  table.struct_size = offsetof(tenon_op_vtable, release_caches);
  auto shorter = PluginInterface<tenon_op_vtable>::Negotiate(&table, 0, "x.so");
  ASSERT_TRUE(shorter.ok());
  EXPECT_EQ(shorter->get()->release_caches, nullptr);
  EXPECT_EQ(shorter->get()->list_kernels, &ListKernels);
  // In the middle of a slot: the slot does not count.
  table.struct_size = offsetof(tenon_op_vtable, release_caches) + 4;
  EXPECT_EQ(PluginInterface<tenon_op_vtable>::Negotiate(&table, 0, "x.so")->get()->release_caches, nullptr);
}

TEST(InterfaceTable, RefusesWhatIsTooSmallOrEmpty) {
  tenon_op_vtable table = FullTable();
  table.struct_size = 8;
  EXPECT_EQ(PluginMessageOf(PluginInterface<tenon_op_vtable>::Negotiate(&table, 0, "x.so").status().message()),
            PluginMessage::kSmallTable);
  table = FullTable();
  table.list_kernels = nullptr;
  EXPECT_EQ(PluginInterface<tenon_op_vtable>::Negotiate(&table, 0, "x.so").status().message(),
            "TN-PLG-075 x.so: leaves required slot of tenon_op_vtable NULL: list_kernels. Report it to the vendor.");
  EXPECT_FALSE(PluginInterface<tenon_op_vtable>::Negotiate(nullptr, 0, "x.so").ok());
}

}  // namespace
}  // namespace tenon
