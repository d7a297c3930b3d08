#include "core/config/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/env.h"
#include "core/config/merge.h"
#include "core/config/scalar.h"
#include "core/config/yaml_reader.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
constexpr std::string_view kBaseKeys[] = {"_base_", "base_config", "__BASE__"};

// Reads a whole file; `place` is where the user named it (nowhere: on the command line).
Result<std::string> ReadFile(const std::string& name, const Place& place) {
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (!fs::exists(status)) {
    return Error(Code::kNotFound, "The config file '{}' does not exist.", name).At(place.ToString());
  }
  if (fs::is_directory(status)) {
    return InvalidArgument("'{}' is a folder, and a config is a file.", name).At(place.ToString());
  }
  errno = 0;
  std::ifstream in(name, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (in && text.size() <= kMaxFileBytes) {
    in.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
  }
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument("'{}' is larger than {} MiB: this is not a config.", name, kMaxFileBytes >> 20)
        .At(place.ToString());
  }
  if (!in.eof()) {
    return InvalidArgument("The config file '{}' cannot be read: {}.", name, std::strerror(errno)).At(place.ToString());
  }
  return text;
}

// Reads files and what they build on.
class Loader {
 public:
  explicit Loader(const EnvironmentLookup& environment) : environment_(environment) {}

  // The merged tree of one file. `place` is where it was named.
  Result<ConfigNode> Load(const std::string& name, const Place& place) {
    std::error_code error;
    const fs::path identity = fs::weakly_canonical(name, error);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].identity != identity) continue;
      std::string chain;
      for (std::size_t k = i; k < open_.size(); ++k) chain += fmt::format("'{}' builds on ", open_[k].name);
      return InvalidArgument("These files build on each other in a circle: {}'{}'.", chain, name).At(place.ToString());
    }
    TENON_ASSIGN(const std::string text, ReadFile(name, place));
    open_.push_back({name, identity});
    Result<ConfigNode> loaded = Combine(text, name);
    open_.pop_back();
    return loaded;
  }

  Result<ConfigNode> Parse(std::string_view text, const std::string& name, const fs::path& folder) {
    const auto origin = std::make_shared<ConfigOrigin>(ConfigOrigin{name, folder, true});
    TENON_ASSIGN(const ConfigNode parsed, ReadYaml(text, origin));
    ConfigProblems problems;
    if (!parsed.is_map()) {
      problems.Add(parsed.place(), "A config needs a map (key: value) at its top, but is {}.", parsed.Describe());
      return problems.ToStatus();
    }
    ConfigNode filled = FillPlaceholders(parsed, environment_, problems);
    if (!problems.empty()) return problems.ToStatus();
    return filled;
  }

  // The entry that names the files to build on; null when there is none.
  static Result<const ConfigEntry*> FindBases(const ConfigNode& root) {
    const ConfigEntry* found = nullptr;
    for (const std::string_view key : kBaseKeys) {
      const ConfigEntry* entry = root.FindEntry(key);
      if (entry == nullptr) continue;
      if (found != nullptr) {
        return InvalidArgument("'{}' and '{}' (line {}) mean the same. Keep one.", entry->key, found->key,
                               found->key_place.line)
            .At(entry->key_place.ToString());
      }
      found = entry;
    }
    return found;
  }

 private:
  struct OpenFile {
    std::string name;
    fs::path identity;
  };

  Result<ConfigNode> Combine(const std::string& text, const std::string& name) {
    const fs::path folder = fs::path(name).parent_path();
    TENON_ASSIGN(const ConfigNode own, Parse(text, name, folder));
    TENON_ASSIGN(const ConfigEntry* const bases, FindBases(own));
    ConfigProblems problems;
    if (bases == nullptr) {
      ConfigNode result = WithoutDeleteKeys(own, problems);
      if (!problems.empty()) return problems.ToStatus();
      return result;
    }

    ConfigNode merged = ConfigNode::Map({}, own.place());
    const std::vector<ConfigNode> names =
        bases->value.is_list() ? bases->value.items() : std::vector<ConfigNode>{bases->value};
    for (const ConfigNode& base : names) {
      std::string complaint;
      const std::optional<std::string> path = ReadText(base, complaint);
      if (!path || path->empty()) {
        return InvalidArgument("'{}' needs a path or a list of paths, but is {}.", bases->key, base.Describe())
            .At(base.place().ToString());
      }
      TENON_ASSIGN(const ConfigNode loaded, Load((folder / *path).lexically_normal().string(), base.place()));
      merged = Merge(merged, loaded, problems);
    }
    std::vector<ConfigEntry> entries;
    for (const ConfigEntry& entry : own.entries()) {
      if (entry.key != bases->key) entries.push_back(entry);
    }
    merged = Merge(merged, ConfigNode::Map(std::move(entries), own.place()), problems);
    if (!problems.empty()) return problems.ToStatus();
    return merged;
  }

  const EnvironmentLookup& environment_;
  std::vector<OpenFile> open_;
};

EnvironmentLookup OrProcess(const EnvironmentLookup& environment) {
  if (environment) return environment;
  return [](const std::string& name) { return GetEnv(name.c_str()); };
}

}  // namespace

Result<ConfigNode> LoadConfig(const ConfigSource& source) {
  const EnvironmentLookup environment = OrProcess(source.environment);
  TENON_ASSIGN(ConfigNode root, Loader(environment).Load(source.path, Place{}));
  ConfigProblems problems;
  for (const std::string& assignment : source.overrides) root = ApplyOverride(root, assignment, fs::path(), problems);
  if (!problems.empty()) return problems.ToStatus();
  return root;
}

Result<ConfigNode> LoadConfigText(std::string_view text, const std::string& name, const fs::path& folder,
                                  const EnvironmentLookup& environment) {
  const EnvironmentLookup lookup = OrProcess(environment);
  TENON_ASSIGN(const ConfigNode root, Loader(lookup).Parse(text, name, folder));
  TENON_ASSIGN(const ConfigEntry* const bases, Loader::FindBases(root));
  if (bases != nullptr) {
    return InvalidArgument("'{}' works in files only.", bases->key).At(bases->key_place.ToString());
  }
  ConfigProblems problems;
  ConfigNode result = WithoutDeleteKeys(root, problems);
  if (!problems.empty()) return problems.ToStatus();
  return result;
}

}  // namespace tenon
