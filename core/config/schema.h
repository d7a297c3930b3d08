#pragma once

#include <string>

#include "core/config/table.h"

namespace tenon {

// The table as a JSON Schema (2020-12): names, types, bounds, defaults, sentences. Editors complete and check with it.
std::string SchemaJson(const ConfigTable& root, const std::string& title);

// The table as a reference page in Markdown: a section for each map, a line for each key.
std::string SchemaMarkdown(const ConfigTable& root, const std::string& title);

// The table's keys as rows of a Markdown table, with its head; without the keys that `left_out` has.
std::string KeysMarkdown(const ConfigTable& table, const ConfigTable* left_out = nullptr);

}  // namespace tenon
