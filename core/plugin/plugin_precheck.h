#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/platform/elf_file.h"
#include "core/platform/file_identity.h"
#include "core/platform/library_search.h"
#include "core/plugin/plugin_config.h"
#include "core/plugin/plugin_note.h"
#include "core/plugin/plugin_search.h"

namespace tenon {

// What a file tells without being opened as a library.
struct PluginPrecheck {
  std::string path;       // as found
  std::string real_path;  // without links; empty when the path leads nowhere
  FileIdentity identity;
  PluginOrigin origin = PluginOrigin::kDefaultFolder;
  bool has_note = false;
  PluginNote note;                      // when has_note
  std::string build_id;                 // hex, may be empty
  std::vector<std::string> warnings;    // trust findings that are tolerated
  std::vector<MissingLibrary> missing;  // libraries that the linker will probably not find
  Status status;                        // why it must not be opened; OK otherwise

  std::string file_name() const;
  // "/a/b.so (build id 8c82f1)" for messages
  std::string Describe() const;
};

// Trust, ELF structure, note, fit with this host. Reads the file, runs none of it.
PluginPrecheck PrecheckPlugin(const PluginFile& file, std::optional<TrustPolicy> trust);

// The same for a library of another interface, which has no note and is opened by an adapter.
Status PrecheckLegacyLibrary(const std::string& path, std::optional<TrustPolicy> trust);

// "TN-PLG-031 cannot open libx.so: needs liby.so.9, ..." for the forecast of `missing`, or for the linker's own words.
Status MissingLibraryError(const PluginPrecheck& plugin, const MissingLibrary& missing);

}  // namespace tenon
