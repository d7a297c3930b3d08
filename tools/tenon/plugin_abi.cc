#include "tools/tenon/plugin_abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/platform/file_identity.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_precheck.h"
#include "tools/cli/cli.h"
#include "tools/tenon/plugin_facts.h"

namespace tenon {
namespace {

using nlohmann::json;

// One difference: a part that is only in one file, or has another value.
struct Difference {
  std::string what;  // "slot", "kernel", "note" ...
  std::string name;
  std::string change;  // removed, added, changed
  std::string a, b;    // values, where it changed
};

std::string Text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Members of two sorted lists that only one of them has.
void CompareNames(const std::string& what, const json& a, const json& b, std::vector<Difference>& differences) {
  const auto names_a = a.get<std::vector<std::string>>(), names_b = b.get<std::vector<std::string>>();
  const auto only = [&](const std::vector<std::string>& here, const std::vector<std::string>& there,
                        const char* change) {
    for (const std::string& name : here) {
      if (!std::binary_search(there.begin(), there.end(), name)) differences.push_back({what, name, change, "", ""});
    }
  };
  only(names_a, names_b, "removed");
  only(names_b, names_a, "added");
}

void CompareValues(const std::string& what, const json& a, const json& b, std::vector<Difference>& differences) {
  for (const auto& item : a.items()) {
    if (item.value() != b.at(item.key()))
      differences.push_back({what, item.key(), "changed", Text(item.value()), Text(b.at(item.key()))});
  }
}

void CompareSlots(const std::string& id, const json& a, const json& b, std::vector<Difference>& differences) {
  for (const auto& slot : a.at("slots").items()) {
    const bool had = slot.value(), has = b.at("slots").at(slot.key());
    if (had != has) differences.push_back({"slot", id + "." + slot.key(), had ? "removed" : "added", "", ""});
  }
  if (a.at("bytes") != b.at("bytes"))
    differences.push_back({"table", id, "changed", Text(a.at("bytes")) + " bytes", Text(b.at("bytes")) + " bytes"});
}

void CompareInterfaces(const json& a, const json& b, std::vector<Difference>& differences) {
  for (const auto& item : a.items()) {
    const auto found = b.find(item.key());
    if (found == b.end()) {
      differences.push_back({"interface", item.key(), "removed", "", ""});
    } else if (item.value().contains("slots")) {
      CompareSlots(item.key(), item.value(), *found, differences);
    } else if (item.value() != *found) {
      differences.push_back({"interface", item.key(), "changed", "version " + Text(item.value().at("version")),
                             "version " + Text(found->at("version"))});
    }
  }
  for (const auto& item : b.items()) {
    if (!a.contains(item.key())) differences.push_back({"interface", item.key(), "added", "", ""});
  }
}

std::vector<Difference> Compare(const json& a, const json& b) {
  std::vector<Difference> differences;
  if (a.at("id") != b.at("id")) differences.push_back({"note", "id", "changed", Text(a.at("id")), Text(b.at("id"))});
  CompareValues("note", a.at("note"), b.at("note"), differences);
  if (a.contains("closed") || b.contains("closed")) return differences;
  CompareInterfaces(a.at("interfaces"), b.at("interfaces"), differences);
  CompareNames("operator", a.at("operators"), b.at("operators"), differences);
  CompareNames("kernel", a.at("kernels"), b.at("kernels"), differences);
  CompareNames("fused", a.at("fused"), b.at("fused"), differences);
  return differences;
}

json ToJson(const json& a, const json& b, const std::vector<Difference>& differences) {
  json list = json::array();
  for (const Difference& one : differences)
    list.push_back({{"what", one.what}, {"name", one.name}, {"change", one.change}, {"a", one.a}, {"b", one.b}});
  return {{"a", a},
          {"b", b},
          {"compared", !a.contains("closed") && !b.contains("closed")},
          {"differences", std::move(list)}};
}

void PrintDifferences(const json& a, const json& b, const std::vector<Difference>& differences) {
  fmt::print("a: {} {}\nb: {} {}\n", Text(a.at("id")), Text(a.at("version")), Text(b.at("id")), Text(b.at("version")));
  for (const Difference& one : differences) {
    const std::string values = one.change == "changed" ? fmt::format(": {} -> {}", one.a, one.b) : "";
    fmt::print("{:<8} {:<9} {}{}\n", one.change, one.what, one.name, values);
  }
  if (differences.empty()) fmt::print("no difference\n");
}

struct Version {
  std::uint16_t major = 0, minor = 0;
};

Result<Version> ParseVersion(const std::string& text) {
  Version version;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    if (minor.ec == std::errc() && minor.ptr == end) return version;
  }
  return InvalidArgument("--host-abi takes a version such as 1.0; '{}' is none.", text);
}

// This host, were it of another version. Of a draft only its own version is known.
HostAbi HostOf(const Version& version) {
  HostAbi host = ThisHostAbi();
  if (version.major == host.major && version.minor == host.minor) return host;
  host.major = version.major;
  host.minor = version.minor;
  host.oldest_plugin_minor = std::min(host.oldest_plugin_minor, version.minor);
  return host;
}

// Optional slots that such a host would call and the plugin lacks, and those of the plugin that it does not know.
void AddSlots(const json& interfaces, const Version& host, json* missing, json* unused) {
  for (const auto& item : interfaces.items()) {
    const InterfaceLayout* layout = FindInterfaceLayout(item.key());
    if (layout == nullptr) continue;
    for (const InterfaceSlot& slot : layout->slots) {
      const bool offered = item.value().at("slots").at(slot.name), known = slot.since <= host.minor;
      if (!offered && known) missing->push_back(item.key() + "." + slot.name);
      if (offered && !known) unused->push_back(item.key() + "." + slot.name);
    }
  }
}

Result<json> JudgeFile(const std::string& file, const Version& version) {
  const PluginPrecheck plugin =
      PrecheckPlugin({AbsolutePath(file, CurrentFolder()), PluginOrigin::kLoadPath, {}, {}}, TrustPolicy::kOff);
  const std::string name = FileName(file);
  json row = {{"path", plugin.path}, {"host_abi", fmt::format("{}.{}", version.major, version.minor)}};
  if (!plugin.has_note) {
    row.update({{"loads", false}, {"reason", plugin.status.message()}});
    return row;
  }
  TENON_ASSIGN(const json facts, PluginFacts(file));
  row["id"] = facts.at("id");
  row["version"] = facts.at("version");
  row["abi_built"] = facts.at("note").at("abi");
  const Status fits = CheckPluginNote(plugin.note, name, HostOf(version));
  const bool looked = !facts.contains("closed");
  // What is wrong with the file beside its versions is wrong for every host.
  const bool version_alone = !CheckPluginNote(plugin.note, name).ok();
  const bool loads = fits.ok() && (looked || version_alone);
  row["loads"] = loads;
  row["reason"] = loads ? "" : fits.ok() ? Text(facts.at("closed")) : fits.message();
  row["looked_inside"] = looked;
  json missing = json::array(), unused = json::array();
  if (looked) AddSlots(facts.at("interfaces"), version, &missing, &unused);
  row["missing"] = std::move(missing);
  row["unused"] = std::move(unused);
  row["abi_effective"] = fmt::format("{}.{}", version.major, std::min(version.minor, plugin.note.abi_minor));
  return row;
}

void PrintNames(const char* title, const json& names) {
  if (names.empty()) return;
  fmt::print("  {}\n", title);
  for (const json& name : names) fmt::print("    {}\n", Text(name));
}

void PrintJudgement(const json& row) {
  const bool loads = row.at("loads");
  fmt::print("{}: a host of plugin ABI {} {} it\n", Text(row.at("path")), Text(row.at("host_abi")),
             loads ? "would load" : "would not load");
  if (!loads) {
    fmt::print("  {}\n", Text(row.at("reason")));
    return;
  }
  fmt::print("  built for {}, both would speak {}\n", Text(row.at("abi_built")), Text(row.at("abi_effective")));
  if (!row.at("looked_inside")) fmt::print("  what it offers is not known: this Tenon cannot open it\n");
  PrintNames("missing (the host does without):", row.at("missing"));
  PrintNames("unused (newer than the host):", row.at("unused"));
}

}  // namespace

int RunPluginAbiDiff(const PluginAbiDiffOptions& options) {
  const auto a = PluginFacts(options.a), b = PluginFacts(options.b);
  for (const auto* facts : {&a, &b}) {
    if (facts->ok()) continue;
    cli::Report(facts->status());
    return 2;
  }
  const std::vector<Difference> differences = Compare(*a, *b);
  if (options.json) {
    fmt::print("{}\n", ToJson(*a, *b, differences).dump(2));
  } else {
    PrintDifferences(*a, *b, differences);
  }
  std::fflush(stdout);
  bool closed = false;
  for (const auto* facts : {&*a, &*b}) {
    if (!facts->contains("closed")) continue;
    closed = true;
    std::fprintf(stderr, "error: Only the notes were compared: %s\n", Text(facts->at("closed")).c_str());
  }
  if (closed) return 3;
  return differences.empty() ? 0 : 1;
}

int RunPluginHostAbi(const PluginHostAbiOptions& options) {
  const auto version = ParseVersion(options.host_abi);
  if (!version.ok()) return cli::Report(version.status());
  json rows = json::array();
  int exit_code = 0;
  for (const std::string& file : options.files) {
    const auto row = JudgeFile(file, *version);
    if (!row.ok()) return cli::Report(row.status());
    if (!row->at("loads").get<bool>()) exit_code = 3;
    if (!options.json) PrintJudgement(*row);
    rows.push_back(*row);
  }
  if (options.json) fmt::print("{}\n", rows.dump(2));
  return exit_code;
}

}  // namespace tenon
