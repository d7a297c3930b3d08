#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/platform/file_identity.h"
#include "core/plugin/plugin_config.h"

namespace tenon {

// Where a candidate was found. The order is the order of the search.
enum class PluginOrigin { kLoadPath, kPinned, kPluginDir, kSearch, kEnvironment, kDefaultFolder };

// "--plugin-dir", "plugins.search", ...
const char* PluginOriginName(PluginOrigin origin);

// A file that could be a plugin. Nothing of it was read yet.
struct PluginFile {
  std::string path;  // absolute, as found
  PluginOrigin origin = PluginOrigin::kDefaultFolder;
  std::vector<std::string> aliases;      // further paths that lead to the same file
  std::optional<FileIdentity> identity;  // none: the path leads nowhere
};

struct SearchedFolder {
  std::string path;
  PluginOrigin origin;
  int files = 0;        // *.so in it
  std::string problem;  // why it could not be read; empty = read
};

// Folders to search besides those of the config.
struct PluginSearchOptions {
  std::vector<std::string> plugin_dirs;       // --plugin-dir, relative to the current folder
  std::optional<std::string> default_folder;  // none: <exe>/../lib/tenon/plugins; empty: not searched
  bool use_environment = true;                // TENON_PLUGIN_PATH; never used when the process has raised rights
};

// The files found, each once, in the order of the search, and for each entry of `config.load` the index of its file
// (-1: not found).
struct PluginSearchResult {
  std::vector<PluginFile> files;
  std::vector<SearchedFolder> folders;
  std::vector<int> load_files;

  // "/a (2 files), /b (no such folder)"; "none" when nothing was searched.
  std::string DescribeFolders() const;
};

// Looks for files; opens none. The current folder, the program's own folder, LD_LIBRARY_PATH and home are never
// searched, folders not recursively. An empty element of a search path is an error (TN-PLG-002).
Result<PluginSearchResult> SearchPlugins(const PluginsConfig& config, const PluginSearchOptions& options);

}  // namespace tenon
