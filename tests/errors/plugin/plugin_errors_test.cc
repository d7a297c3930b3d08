// Every broken plugin of tests/fixtures, and some made here by damaging a sound one, ends with exactly the text of
// <case>.expect. Paths are shown as <dir>, build ids as <build>, hashes of headers as <hash>.
// With TENON_UPDATE_EXPECT=1 the .expect files are written instead, to be read and committed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_registry.h"
#include "tests/support/plugin_fixtures.h"
#include "tests/support/temp_folder.h"
#include "tests/support/yaml_text.h"

namespace tenon {
namespace {

using testing_support::BareOptions;
using testing_support::FixtureFile;
using testing_support::FixtureFolder;
using testing_support::NameEntry;
using testing_support::PathEntry;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;
using testing_support::Yaml;

constexpr const char* kFolder = "tests/errors/plugin";

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (std::size_t at = text->find(from); !from.empty() && at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// Hex words after `mark` become `name`.
void HideHex(std::string* text, const std::string& mark, const std::string& name) {
  for (std::size_t at = text->find(mark); at != std::string::npos; at = text->find(mark, at + mark.size())) {
    const std::size_t begin = at + mark.size();
    std::size_t end = begin;
    while (end < text->size() && std::isxdigit(static_cast<unsigned char>((*text)[end])) != 0) ++end;
    if (end - begin >= 8) text->replace(begin, end - begin, name);
  }
}

// The part of a text that differs between machines.
std::string Neutral(std::string text, const std::string& folder) {
  ReplaceAll(&text, folder, "<dir>");
  ReplaceAll(&text, std::filesystem::weakly_canonical(folder).string(), "<dir>");
  HideHex(&text, "build id ", "<build>");
  HideHex(&text, "build ", "<build>");
  HideHex(&text, "this host has ", "<hash>");
  const std::size_t with = text.find("this host with ");
  if (with != std::string::npos) text.replace(with + 15, text.find(". Opening") - with - 15, "<sanitizer>");
  const std::size_t checked = text.find(" Checked: ");
  const std::size_t install = text.find(". Install the package");
  if (checked != std::string::npos && install != std::string::npos) {
    text.replace(checked + 10, install - checked - 10, "<folders>");
  }
  return text;
}

void ExpectText(const std::string& name, const std::string& text) {
  const std::string path = std::string(kFolder) + "/" + name + ".expect";
  if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) {
    std::ofstream(path) << text << "\n";
    return;
  }
  EXPECT_EQ(text + "\n", ReadFile(path)) << "case " << name;
}

// The error of loading the file as a plugin that is required.
Status LoadError(const PluginsConfig& config) {
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(config);
  EXPECT_FALSE(status.ok());
  return status;
}

PluginsConfig Config(const std::string& path) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.file = "run.yaml";
  config.load.push_back(PathEntry(path));
  return config;
}

TEST(PluginErrors, FixturesFailWithTheirText) {
  for (const char* name : {"no_note", "no_entry", "wrong_major", "newer_host", "other_draft", "other_sanitizer",
                           "cpu_feature", "small_table", "null_slots", "kind_mismatch", "bad_magic", "note_differs",
                           "query_refuses", "create_fails", "undefined_symbol", "missing_library", "throwing"}) {
    const Status status = LoadError(Config(FixtureFile(name)));
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    ExpectText(name, Neutral(status.ToString(), FixtureFolder(name)));
  }
}

// ---- files made by damaging a sound plugin ----

std::string Damaged(const TempFolder& folder, const std::function<void(std::string*)>& damage) {
  std::string bytes = ReadFile(FixtureFile("good"));
  damage(&bytes);
  const std::string path = folder / "damaged.so";
  WriteFile(path, bytes);
  return path;
}

void ExpectDamage(const std::string& name, const std::function<void(std::string*)>& damage) {
  const TempFolder folder;
  std::string text = Neutral(LoadError(Config(Damaged(folder, damage))).ToString(), folder.path());
  // Offsets follow from what the linker made of the fixture.
  for (const char* mark : {"ends at byte ", "lie at bytes ", "the file has "}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + std::string(mark).size();
      std::size_t end = begin;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      text.replace(begin, end - begin, "<n>");
    }
  }
  const std::size_t segment = text.find("its segment ");
  if (segment != std::string::npos) text.replace(segment + 12, 1, "<i>");
  ExpectText(name, text);
}

TEST(PluginErrors, DamagedFilesAreNeverOpened) {
  ExpectDamage("truncated", [](std::string* bytes) { bytes->resize(700); });
  ExpectDamage("truncated_header", [](std::string* bytes) { bytes->resize(40); });
  ExpectDamage("empty", [](std::string* bytes) { bytes->clear(); });
  ExpectDamage("text_file", [](std::string* bytes) { *bytes = "This is a text that was renamed.\n"; });
  ExpectDamage("wrong_machine", [](std::string* bytes) { (*bytes)[18] = static_cast<char>(243), (*bytes)[19] = 0; });
  ExpectDamage("wrong_class", [](std::string* bytes) { (*bytes)[4] = 1; });
  ExpectDamage("big_endian", [](std::string* bytes) { (*bytes)[5] = 2; });
  ExpectDamage("program", [](std::string* bytes) { (*bytes)[16] = 2; });
  ExpectDamage("bad_note", [](std::string* bytes) {
    const std::size_t note = bytes->find("TNNO");
    const std::size_t other = bytes->find("TNNT");  // the bytes of the magic as a little-endian number spells
    (*bytes)[note != std::string::npos ? note : other] = 'X';
  });
}

TEST(PluginErrors, ThrowingSomethingElse) {
  PluginsConfig config = Config(FixtureFile("throwing"));
  config.load[0].options = Yaml("object: true");
  ExpectText("throwing_object", Neutral(LoadError(config).ToString(), FixtureFolder("throwing")));
}

TEST(PluginErrors, AbsentFiles) {
  const TempFolder folder;
  ExpectText("absent_path", Neutral(LoadError(Config(folder / "nothing.so")).ToString(), folder.path()));
  PluginsConfig config;
  config.search = {folder.path()};
  config.load.push_back(NameEntry("vendor_npu"));
  ExpectText("absent_name", Neutral(LoadError(config).ToString(), folder.path()));
  std::filesystem::create_directory(folder / "folder.so");
  ExpectText("folder", Neutral(LoadError(Config(folder / "folder.so")).ToString(), folder.path()));
}

TEST(PluginErrors, CollectivesThatAreThere) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {FixtureFolder("comm_loopback")};
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Find(config).ok());
  const auto found = registry.FindCollectives("nccl");
  ASSERT_FALSE(found.ok());
  ExpectText("collective_unknown", Neutral(found.status().ToString(), FixtureFolder("comm_loopback")));
}

TEST(PluginErrors, SameIdTwice) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  config.search = {FixtureFolder("good"), FixtureFolder("same_id")};
  config.load.push_back(NameEntry("good"));
  std::string text = LoadError(config).ToString();
  ReplaceAll(&text, FixtureFolder("good"), "<dir a>");
  ExpectText("same_id", Neutral(text, FixtureFolder("same_id")));
}

TEST(PluginErrors, WorldWritableFolder) {
  const TempFolder folder;
  const std::string open = folder / "open";
  std::filesystem::create_directory(open);
  std::filesystem::copy_file(FixtureFile("good"), open + "/good.so");
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  PluginsConfig config = Config(open + "/good.so");
  config.trust = TrustPolicy::kStrict;
  ExpectText("world_writable_strict", Neutral(LoadError(config).ToString(), folder.path()));
  config.trust = TrustPolicy::kWarn;
  PluginRegistry registry(BareOptions());
  const Status status = registry.Load(config);
  EXPECT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(registry.warnings().size(), 1U);
  ExpectText("world_writable_warn", Neutral(registry.warnings()[0], folder.path()));
}

// G31
TEST(PluginErrors, Options) {
  const std::map<std::string, std::string> cases = {
      {"option_unknown", "levl: 3"},        {"option_unknown_nested", "pool:\n  ratoi: 0.25\nverbose: true"},
      {"option_wrong_type", "level: high"}, {"option_out_of_range", "level: 12"},
      {"option_no_boolean", "verbose: on"},
  };
  for (const auto& entry : cases) {
    PluginsConfig config = Config(FixtureFile("good"));
    config.load[0].required = false;  // a bad option is an error anyhow
    config.load[0].options = Yaml(entry.second);
    const Status status = LoadError(config);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    ExpectText(entry.first, Neutral(status.ToString(), FixtureFolder("good")));
  }
}

TEST(PluginErrors, SearchPaths) {
  PluginsConfig config;
  PluginRegistry::Options options = BareOptions();
  options.search.plugin_dirs = {""};
  EXPECT_EQ(PluginRegistry(options).Load(config).ToString(),
            "error: TN-PLG-002 --plugin-dir is empty; it needs a folder. The current folder is written as '.'.");
  options = BareOptions();
  options.search.use_environment = true;
  ::setenv("TENON_PLUGIN_PATH", "/a::/b", 1);
  EXPECT_EQ(PluginRegistry(options).Load(config).ToString(),
            "error: TN-PLG-002 TENON_PLUGIN_PATH='/a::/b' has an empty element; it does not mean the current folder. "
            "Remove the extra "
            "colon.");
  ::unsetenv("TENON_PLUGIN_PATH");
}

TEST(PluginErrors, Pins) {
  PluginsConfig config;
  config.pin["org.tenon.fixture.good"] = FixtureFile("no_note");
  ExpectText("pin_unusable", Neutral(LoadError(config).ToString(), FixtureFolder("no_note")));
  config.pin["org.tenon.fixture.good"] = FixtureFile("create_fails");
  ExpectText("pin_other_id", Neutral(LoadError(config).ToString(), FixtureFolder("create_fails")));
}

// G05
TEST(PluginErrors, Devices) {
  PluginsConfig config = Config(FixtureFile("device_null"));
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  ExpectText("device_misspelled", registry.FindDevice("nul").status().ToString());
  ExpectText("device_index", registry.FindDevice("null:3").status().ToString());
  ExpectText("device_text", registry.FindDevice("null:x").status().ToString());

  config.load[0].options = Yaml("devices: 0");
  PluginRegistry empty(BareOptions());
  ASSERT_TRUE(empty.Load(config).ok());
  ExpectText("device_none_there", empty.FindDevice("null").status().ToString());

  PluginRegistry absent(BareOptions());
  PluginsConfig broken = Config(FixtureFile("missing_library"));
  broken.load[0].required = false;
  ASSERT_TRUE(absent.Load(broken).ok());
  ExpectText("device_nothing", Neutral(absent.FindDevice("npu").status().ToString(), FixtureFolder("missing_library")));
}

TEST(PluginErrors, TwoPluginsForOneDeviceKind) {
  PluginsConfig config = Config(FixtureFile("device_null"));
  config.load.push_back(PathEntry(FixtureFile("device_twin")));
  PluginRegistry registry(BareOptions());
  ASSERT_TRUE(registry.Load(config).ok());
  std::string text = registry.FindDevice("null").status().ToString();
  ReplaceAll(&text, FixtureFolder("device_twin"), "<dir b>");
  ExpectText("device_two_plugins", Neutral(text, FixtureFolder("device_null")));
}

// Every number of the table has a text that can really appear; the rest is listed here with the reason.
TEST(PluginErrors, TextsNameKnownNumbers) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".expect") continue;
    const std::string text = ReadFile(entry.path().string());
    const std::size_t at = text.find("TN-PLG-");
    if (at == std::string::npos) continue;
    const PluginMessage message = PluginMessageOf(text.substr(at));
    bool known = false;
    for (const PluginMessageInfo& info : PluginMessages()) known = known || info.message == message;
    EXPECT_TRUE(known) << entry.path();
  }
}

}  // namespace
}  // namespace tenon
