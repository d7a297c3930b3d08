#pragma once

#include <string>
#include <string_view>

#include "core/config/node.h"
#include "core/config/problems.h"

namespace tenon {

// `later` over `earlier`: maps are merged key by key at every depth; everything else (lists, scalars, nothing) is
// replaced as a whole. A map with `_delete_: true` in `later` drops what `earlier` had at that place.
ConfigNode Merge(const ConfigNode& earlier, const ConfigNode& later, ConfigProblems& problems);

// Removes the `_delete_` keys of a tree that has nothing below it.
ConfigNode WithoutDeleteKeys(const ConfigNode& root, ConfigProblems& problems);

// Applies one `--set a.b.0.c=value`. Parts are separated by '.'; a part that contains one is put in double quotes
// (plugins.pin."vendor.npu"=./x.so). A number is the index of a list entry that exists. A value that starts with
// '[', '{', '"' or "'" is flow YAML; any other value is taken as it stands and typed by its field. The value replaces
// what was there, maps too. Placeholders are not filled: a shell does that. Relative paths start from `folder`.
ConfigNode ApplyOverride(const ConfigNode& root, std::string_view assignment, const std::filesystem::path& folder,
                         ConfigProblems& problems);

}  // namespace tenon
