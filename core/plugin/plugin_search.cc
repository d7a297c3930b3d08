#include "core/plugin/plugin_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/env.h"
#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class Search {
 public:
  Search(const PluginsConfig& config, const PluginSearchOptions& options) : config_(config), options_(options) {}

  Result<PluginSearchResult> Run() {
    for (const PluginLoadEntry& entry : config_.load) {
      result_.load_files.push_back(entry.path.empty() ? -1 : AddFile(entry.path, PluginOrigin::kLoadPath));
    }
    for (const auto& pin : config_.pin) AddFile(pin.second, PluginOrigin::kPinned);
    TENON_TRY(AddFolders());
    for (std::size_t i = 0; i < config_.load.size(); ++i) {
      if (!config_.load[i].name.empty()) result_.load_files[i] = FindByName(config_.load[i].name);
    }
    return std::move(result_);
  }

 private:
  // Index of the file, also when it was there already under this or another path.
  int AddFile(const std::string& path, PluginOrigin origin) {
    Result<FileIdentity> identity = IdentityOf(path);
    for (std::size_t i = 0; i < result_.files.size(); ++i) {
      PluginFile& known = result_.files[i];
      const bool same = known.path == path || (identity.ok() && known.identity && *known.identity == *identity);
      if (!same) continue;
      if (known.path != path && std::find(known.aliases.begin(), known.aliases.end(), path) == known.aliases.end()) {
        known.aliases.push_back(path);
      }
      return static_cast<int>(i);
    }
    PluginFile file;
    file.path = path;
    file.origin = origin;
    if (identity.ok()) file.identity = *identity;
    result_.files.push_back(std::move(file));
    return static_cast<int>(result_.files.size()) - 1;
  }

  Status AddFolders() {
    for (const std::string& folder : options_.plugin_dirs) {
      if (folder.empty())
        return PluginError(PluginMessage::kEmptySearchElement, "",
                           "--plugin-dir is empty; it needs a folder. The current folder is written as '.'.");
      AddFolder(AbsolutePath(folder, CurrentFolder()), PluginOrigin::kPluginDir);
    }
    for (const std::string& folder : config_.search) {
      if (folder.empty())
        return PluginError(
            PluginMessage::kEmptySearchElement, "",
            "plugins.search has an empty element; each needs a folder. The folder of the file is written as './'.");
      AddFolder(folder, PluginOrigin::kSearch);
    }
    if (options_.use_environment && !IsSecureExec()) {
      const std::string path = GetEnv("TENON_PLUGIN_PATH").value_or("");
      if (!path.empty()) {
        for (const std::string& folder : Split(path, ':')) {
          if (folder.empty()) {
            return PluginError(PluginMessage::kEmptySearchElement, "",
                               "TENON_PLUGIN_PATH='{}' has an empty element; it does not mean the current folder. "
                               "Remove the extra colon.",
                               path);
          }
          AddFolder(AbsolutePath(folder, CurrentFolder()), PluginOrigin::kEnvironment);
        }
      }
    }
    const std::string last = options_.default_folder.value_or(AbsolutePath("../lib/tenon/plugins", ExecutableFolder()));
    if (!last.empty()) AddFolder(last, PluginOrigin::kDefaultFolder);
    return Status();
  }

  void AddFolder(const std::string& path, PluginOrigin origin) {
    for (const SearchedFolder& known : result_.folders) {
      if (known.path == path) return;
    }
    SearchedFolder folder{path, origin, 0, ""};
    Result<std::vector<std::string>> names = ListFolder(path);
    if (names.ok()) {
      for (const std::string& name : *names) {
        if (!EndsWith(name, ".so") || IsFolder(path + "/" + name)) continue;
        ++folder.files;
        AddFile(path + "/" + name, origin);
      }
    } else {
      folder.problem = names.status().message();
    }
    result_.folders.push_back(std::move(folder));
  }

  // The first folder in the order of the search that has the file.
  int FindByName(const std::string& name) {
    const std::string base = EndsWith(name, ".so") ? name.substr(0, name.size() - 3) : name;
    for (const SearchedFolder& folder : result_.folders) {
      for (const std::string& candidate : {folder.path + "/" + base + ".so", folder.path + "/lib" + base + ".so"}) {
        for (std::size_t i = 0; i < result_.files.size(); ++i) {
          const PluginFile& file = result_.files[i];
          if (file.path == candidate ||
              std::find(file.aliases.begin(), file.aliases.end(), candidate) != file.aliases.end()) {
            return static_cast<int>(i);
          }
        }
      }
    }
    return -1;
  }

  const PluginsConfig& config_;
  const PluginSearchOptions& options_;
  PluginSearchResult result_;
};

}  // namespace

const char* PluginOriginName(PluginOrigin origin) {
  switch (origin) {
    case PluginOrigin::kLoadPath:
      return "plugins.load";
    case PluginOrigin::kPinned:
      return "plugins.pin";
    case PluginOrigin::kPluginDir:
      return "--plugin-dir";
    case PluginOrigin::kSearch:
      return "plugins.search";
    case PluginOrigin::kEnvironment:
      return "TENON_PLUGIN_PATH";
    case PluginOrigin::kDefaultFolder:
      return "the default folder";
  }
  return "";
}

std::string PluginSearchResult::DescribeFolders() const {
  std::string text;
  for (const SearchedFolder& folder : folders) {
    if (!text.empty()) text += ", ";
    if (folder.problem.empty()) {
      text += fmt::format("{} ({} {})", folder.path, folder.files, folder.files == 1 ? "file" : "files");
    } else {
      text += fmt::format("{} ({})", folder.path, folder.problem);
    }
  }
  return text.empty() ? "none" : text;
}

Result<PluginSearchResult> SearchPlugins(const PluginsConfig& config, const PluginSearchOptions& options) {
  return Search(config, options).Run();
}

}  // namespace tenon
