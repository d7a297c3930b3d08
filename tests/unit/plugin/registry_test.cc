#include "core/plugin/plugin_registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/plugin/plugin_message.h"
#include "tests/support/plugin_fixtures.h"
#include "tests/support/temp_folder.h"
#include "tests/support/yaml_text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::BareOptions;
using testing_support::FixtureFile;
using testing_support::FixtureFolder;
using testing_support::LoadFixtures;
using testing_support::NameEntry;
using testing_support::PathEntry;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;
using testing_support::Yaml;

constexpr const char* kGood = "org.tenon.fixture.good";

const PluginReport* Row(const std::vector<PluginReport>& reports, const std::string& path) {
  for (const PluginReport& report : reports) {
    if (report.path == path) return &report;
  }
  return nullptr;
}

TEST(PluginRegistry, LoadsByPathAndReports) {
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(LoadFixtures({"good"}));
  ASSERT_TRUE(status.ok()) << status.ToString();
  Plugin* plugin = registry.FindPlugin(kGood);
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->version(), "1.0.0");
  EXPECT_NE(plugin->instance(), nullptr);
  EXPECT_NE(plugin->Interface<tenon_op_vtable>(), nullptr);
  EXPECT_EQ(plugin->Interface<tenon_op_vtable>()->list_operators, nullptr);  // optional, absent: NULL (G02)
  EXPECT_EQ(plugin->Interface<tenon_device_vtable>(), nullptr);
  ASSERT_EQ(plugin->options().schema().size(), 4U);
  EXPECT_EQ(plugin->options().schema()[0].bounds, "0 to 9");
  const std::vector<PluginReport> reports = registry.Reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].state, PluginState::kLoaded);
  EXPECT_EQ(reports[0].abi_built, "1.0");
  EXPECT_EQ(reports[0].abi_effective, "1.0");
  EXPECT_EQ(reports[0].build_id.size(), 40U);
  EXPECT_TRUE(registry.warnings().empty());
}

TEST(PluginRegistry, ReadsOptionsWithTypes) {
  PluginsConfig config = LoadFixtures({"good"});
  config.load[0].options = Yaml("level: 7\npool: {ratio: 1e-2}\nverbose: true\nlabel: x y\n");
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(config);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// G01: older and newer neighbours, one field short and several slots long.
TEST(PluginRegistry, ShorterAndLongerStructsWork) {
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(LoadFixtures({"short_structs", "long_structs"}));
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Plugin* older = registry.FindPlugin("org.tenon.fixture.short_structs");
  const Plugin* newer = registry.FindPlugin("org.tenon.fixture.long_structs");
  ASSERT_NE(older, nullptr);
  ASSERT_NE(newer, nullptr);
  EXPECT_EQ(older->Interface<tenon_op_vtable>()->release_caches, nullptr);
  EXPECT_EQ(older->library().descriptor().get_experimental, nullptr);
  EXPECT_EQ(newer->abi_minor(), std::uint32_t{TENON_ABI_MINOR});
  EXPECT_EQ(newer->Interface<tenon_op_vtable>()->struct_size, sizeof(tenon_op_vtable));
  EXPECT_NE(newer->library().VendorInterface("tenon.from_the_future", nullptr), nullptr);
}

// G03
TEST(PluginRegistry, OneFileThroughLinksIsLoadedOnce) {
  const TempFolder folder;
  fs::create_directory(folder / "a");
  fs::copy_file(FixtureFile("good"), folder / "a/good.so");
  fs::create_directory_symlink(folder / "a", folder / "b");
  fs::create_symlink(folder / "a/good.so", folder / "other_name.so");
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {folder / "a", folder / "b", folder.path()};
  config.load = {PathEntry(folder / "a/good.so"), PathEntry(folder / "b/good.so"), PathEntry(folder / "other_name.so"),
                 NameEntry("good")};
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(config);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(registry.Reports().size(), 1U);
  EXPECT_EQ(registry.plugins().size(), 1U);
  EXPECT_TRUE(registry.warnings().empty());
}

TEST(PluginRegistry, ACopyOfTheSameBuildIsUsedOnce) {
  const TempFolder folder;
  fs::copy_file(FixtureFile("good"), folder / "copy.so");
  PluginsConfig config;
  config.search = {FixtureFolder("good"), folder.path()};
  config.load = {NameEntry("good")};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  const std::vector<PluginReport> reports = registry.Reports();
  EXPECT_EQ(Row(reports, FixtureFile("good"))->state, PluginState::kLoaded);
  EXPECT_EQ(Row(reports, folder / "copy.so")->state, PluginState::kSkipped);
}

TEST(PluginRegistry, APinOrAPathChoosesBetweenTwoFilesOfOneId) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {FixtureFolder("good"), FixtureFolder("same_id")};
  config.load = {NameEntry("good")};
  config.pin[kGood] = FixtureFile("same_id");
  {
    PluginRegistry registry(BareOptions());
    const Status status = registry.Load(config);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(registry.FindPlugin(kGood)->version(), "1.1.0");
  }
  config.pin.clear();
  config.load = {PathEntry(FixtureFile("good"))};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  EXPECT_EQ(registry.FindPlugin(kGood)->version(), "1.0.0");
}

// Two files with one id that nothing needs: listed with the reason, no error.
TEST(PluginRegistry, AnUnneededConflictIsAWarning) {
  PluginsConfig config = LoadFixtures({"device_null"});
  config.search = {FixtureFolder("good"), FixtureFolder("same_id")};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  EXPECT_EQ(Row(registry.Reports(), FixtureFile("good"))->code, "TN-PLG-051");
  ASSERT_EQ(registry.warnings().size(), 1U);
}

// G04
TEST(PluginRegistry, BrokenNeighboursAreWarnings) {
  const TempFolder folder;
  fs::copy_file(FixtureFile("device_null"), folder / "device_null.so");
  fs::copy_file(FixtureFile("missing_library"), folder / "missing_library.so");
  const std::string bytes = ReadFile(FixtureFile("good"));
  WriteFile(folder / "truncated.so", bytes.substr(0, 700));
  WriteFile(folder / "text.so", "not a library");
  std::string other = bytes;
  other[18] = static_cast<char>(183);
  WriteFile(folder / "other_machine.so", other);
  fs::copy_file(FixtureFile("no_note"), folder / "just_a_library.so");
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {folder.path()};
  {
    PluginRegistry registry(BareOptions());
    ASSERT_TRUE(registry.Load(config).ok());
    const Result<const PluginDevice*> device = registry.FindDevice("null");
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    EXPECT_EQ((*device)->name, "Null device");
    ASSERT_EQ(registry.warnings().size(), 4U);
    bool names_library = false;
    for (const std::string& warning : registry.warnings())
      names_library = names_library || warning.find("libtenon_fixture_absent.so.9") != std::string::npos;
    EXPECT_TRUE(names_library);
    EXPECT_EQ(Row(registry.Reports(), folder / "just_a_library.so")->code, "TN-PLG-021");
  }
  config.load = {PathEntry(folder / "missing_library.so")};
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(config);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.ToString().find("libtenon_fixture_absent.so.9"), std::string::npos);
}

TEST(PluginRegistry, AnEntryThatIsNotRequiredIsAWarning) {
  PluginsConfig config;
  config.load = {NameEntry("nothing_of_that_name", /*required=*/false)};
  PluginRegistry registry(BareOptions());
  EXPECT_TRUE(registry.Load(config).ok());
  EXPECT_EQ(registry.warnings().size(), 1U);
  const Status absent = registry.FindDevice("cpu").status();
  EXPECT_EQ(absent.code(), Code::kUnavailable);
  EXPECT_NE(absent.message().find("TN-PLG-001 nothing_of_that_name"), std::string::npos) << absent.message();
}

TEST(PluginRegistry, SearchOrderIsFlagThenConfigThenEnvironmentThenDefault) {
  const TempFolder folder;
  for (const char* name : {"flag", "config", "environment", "default"}) fs::create_directory(folder / name);
  PluginRegistry::Options options;
  options.search.plugin_dirs = {folder / "flag"};
  options.search.default_folder = folder / "default";
  ::setenv("TENON_PLUGIN_PATH", (folder / "environment").c_str(), 1);
  PluginsConfig config;
  config.search = {folder / "config"};
  PluginRegistry registry(options);
  ASSERT_TRUE(registry.Load(config).ok());
  ::unsetenv("TENON_PLUGIN_PATH");
  std::vector<std::string> folders;
  for (const SearchedFolder& searched : registry.searched().folders)
    folders.push_back(fs::path(searched.path).filename());
  EXPECT_EQ(folders, (std::vector<std::string>{"flag", "config", "environment", "default"}));
}

TEST(PluginRegistry, NeverTheCurrentFolder) {
  const TempFolder folder;
  fs::copy_file(FixtureFile("good"), folder / "good.so");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  PluginsConfig config;
  config.load = {NameEntry("good")};
  PluginRegistry registry(BareOptions());
  EXPECT_EQ(registry.Load(config).code(), Code::kUnavailable);
  fs::current_path(before);
}

TEST(PluginRegistry, FindsADeviceBySearchAndByPriority) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {FixtureFolder("device_null"), FixtureFolder("device_twin"), FixtureFolder("good")};
  {
    PluginRegistry registry(BareOptions());
    ASSERT_TRUE(registry.Load(config).ok());
    EXPECT_TRUE(registry.plugins().empty());
    EXPECT_EQ(PluginMessageOf(registry.FindDevice("null").status().message()), PluginMessage::kSameDeviceKind);
    EXPECT_EQ(Row(registry.Reports(), FixtureFile("good"))->state, PluginState::kSkipped);
  }
  config.priority["org.tenon.fixture.device_twin"] = 1;
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  const Result<const PluginDevice*> device = registry.FindDevice("null");
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ((*device)->plugin->id(), "org.tenon.fixture.device_twin");
  EXPECT_EQ(registry.plugins().front()->id(), "org.tenon.fixture.device_twin");
}

TEST(PluginRegistry, EachProcessOfANodeTakesItsOwnDevice) {
  PluginsConfig config;
  config.load = {PathEntry(FixtureFolder("") + "../lib/tenon/plugins/device_npu.so")};
  config.load[0].options = Yaml("devices: 2\n");
  PluginRegistry registry(BareOptions());
  const Status loaded = registry.Load(config);
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  const auto index = [&registry](const char* device, std::uint32_t local_rank) {
    const Result<const PluginDevice*> found = registry.FindDevice(device, local_rank);
    return found.ok() ? std::to_string((*found)->kind_index) : found.status().message();
  };
  EXPECT_EQ(index("npu", 0), "0");
  EXPECT_EQ(index("npu", 1), "1");
  EXPECT_EQ(index("npu:0", 1), "0");
  EXPECT_EQ(
      index("npu", 2),
      "TN-PLG-066 this process is number 2 of its node, counted from 0, and org.tenon.device_npu offers 2 devices "
      "of kind 'npu': start at most 2 on a node, or name the device that they share, such as npu:0.");
}

TEST(PluginRegistry, AnUnknownKindNamesTheKindsThatThereAre) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {FixtureFolder("device_null")};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  const Status status = registry.FindDevice("nul").status();
  EXPECT_NE(status.message().find("did you mean 'null'? Known kinds: null."), std::string::npos) << status.message();
  EXPECT_TRUE(registry.plugins().empty());  // nothing was started for a message
}

TEST(PluginRegistry, NamesWhatWasSearchedForCollectives) {
  PluginsConfig config;
  config.search = {FixtureFolder("device_null"), FixtureFolder("good")};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  const Status missing = registry.FindCollectives("auto").status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_NE(missing.message().find(FixtureFolder("good")), std::string::npos) << missing.message();
  EXPECT_TRUE(registry.plugins().empty());
}

// G06: the host destroys plugins before it ends, and a late call gets a code.
TEST(PluginRegistry, StaticDestructorsMeetAClosedHost) {
  const TempFolder folder;
  const std::string report = folder / "report";
  for (const bool orderly : {true, false}) {
    std::error_code ignored;
    fs::remove(report, ignored);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      PluginsConfig config = LoadFixtures({"static_destructor"});
      config.load[0].options = Yaml("report: " + report);
      static auto* registry = new PluginRegistry(BareOptions());
      if (!registry->Load(config).ok()) ::_exit(9);
      if (orderly) delete registry;
      std::exit(0);  // with orderly false: an early end, nothing was shut down
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(ReadFile(report), orderly ? "destroyed 1, late call 9\n" : "destroyed 0, late call 0\n");
  }
}

// G08
extern "C" int fixture_clash_helper();
extern "C" int fixture_clash_helper() { return 100; }  // the program has one, too

TEST(PluginRegistry, PluginsWithTheSameHelperKeepTheirOwn) {
  struct ClashTable {
    std::uint32_t struct_size;
    std::uint32_t flags;
    int (*helper)();
    int (*count)();
  };
  // A library stays open until its process ends: each order in a process of its own.
  for (const auto& order : {std::pair("clash_1", "clash_2"), std::pair("clash_2", "clash_1")}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool right = true;
      PluginRegistry registry(BareOptions());
      right = registry.Load(LoadFixtures({order.first, order.second})).ok();
      for (int version = 1; right && version <= 2; ++version) {
        const Plugin* plugin = registry.FindPlugin("org.tenon.fixture.clash_" + std::to_string(version));
        const auto* table =
            static_cast<const ClashTable*>(plugin->library().VendorInterface("org.tenon.fixture.clash", nullptr));
        right = table != nullptr && table->helper() == version && table->count() == 1;
      }
      ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << order.first << " first";
  }
  EXPECT_EQ(fixture_clash_helper(), 100);
}

TEST(PluginRegistry, ToldWhenAPluginChangesTheProcess) {
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(LoadFixtures({"signal_handler"})).ok());
  ASSERT_EQ(registry.warnings().size(), 1U);
  EXPECT_EQ(registry.warnings()[0],
            "TN-PLG-037 signal_handler.so: changed the process while it was opened: it changed the handler of SIGUSR2 "
            "(User defined signal 2).");
}

TEST(PluginRegistry, AfterShutdownEverythingRefuses) {
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(LoadFixtures({"good"})).ok());
  Plugin* plugin = registry.FindPlugin(kGood);
  const tenon_host_api* api = plugin->host_api();
  EXPECT_TRUE(plugin->Usable().ok());
  registry.Shutdown();
  EXPECT_EQ(registry.plugins().size(), 0U);
  EXPECT_EQ(plugin->Usable().code(), Code::kFailedPrecondition);
  void* memory = nullptr;
  EXPECT_EQ(api->mem_alloc(api->host, 8, 8, TENON_STR("test"), &memory, nullptr), TENON_FAILED_PRECONDITION);
}

TEST(PluginRegistry, AForkedChildMayNotUsePlugins) {
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(LoadFixtures({"good"})).ok());
  const Plugin* plugin = registry.FindPlugin(kGood);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = plugin->Usable().message().find("TN-PLG-092") == 0;
    // A plugin opened in the child works.
    PluginRegistry own(BareOptions());
    const bool works = own.Load(LoadFixtures({"good"})).ok();
    ::_exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(plugin->Usable().ok());
}

TEST(PluginRegistry, SetsWhatLibrariesReadOnceUnlessTheUserDid) {
  ::unsetenv("OMP_WAIT_POLICY");
  ::setenv("OMP_NUM_THREADS", "7", 1);
  ThreadPool pool(3);
  PluginRegistry registry(BareOptions(&pool));
  ASSERT_TRUE(registry.Load({}).ok());
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), "passive");
  EXPECT_STREQ(std::getenv("OMP_NUM_THREADS"), "7");
  ::unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace tenon
