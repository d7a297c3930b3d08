#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/config/node.h"
#include "core/config/placeholders.h"

namespace tenon {

// How a config is put together.
struct ConfigSource {
  std::string path;                    // the file, as the user named it
  std::vector<std::string> overrides;  // "a.b.c=value", applied in order after the file and its bases
  EnvironmentLookup environment;       // empty: the process environment
};

// Reads a YAML file, the files it builds on, and the overrides, into one tree:
//   1. `_base_` (or `base_config`, `__BASE__`; a path or a list of paths relative to the file) is read first, in order;
//      a later one wins over an earlier one, the file itself over all of them. Merging is described in merge.h.
//   2. Placeholders of each file are filled after parsing (placeholders.h).
//   3. `overrides` come last.
// The result has no `_base_` and no `_delete_` keys. Any error is INVALID_ARGUMENT with file, line and column; a file
// that cannot be read is NOT_FOUND or INVALID_ARGUMENT with the place that names it. Reads files only.
Result<ConfigNode> LoadConfig(const ConfigSource& source);

// As LoadConfig for text that is at hand; `_base_` is an error. `name` is shown in messages; relative paths start from
// `folder`.
Result<ConfigNode> LoadConfigText(std::string_view text, const std::string& name, const std::filesystem::path& folder,
                                  const EnvironmentLookup& environment = {});

}  // namespace tenon
