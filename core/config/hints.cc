#include "core/config/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text.h"

namespace tenon {
namespace {

// Lower case without '-' and '_': how names are compared.
std::string Folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '-' && c != '_') out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return out;
}

struct KnownKey {
  std::string path;
  std::string name;
};

void Collect(const ConfigTable& table, const std::string& prefix, std::vector<KnownKey>& out);

void CollectIn(const ConfigType& type, const std::string& prefix, std::vector<KnownKey>& out) {
  if (type.table != nullptr) Collect(*type.table, prefix, out);
  for (const auto& variant : type.variants) Collect(*variant.second, prefix, out);
  for (const ConfigType& element : type.element) CollectIn(element, prefix + "0.", out);
}

// Every key of the config with its path; a path that several kinds share appears once.
void Collect(const ConfigTable& table, const std::string& prefix, std::vector<KnownKey>& out) {
  for (const ConfigField& field : table.fields) {
    const std::string path = prefix + field.name;
    const bool known = std::any_of(out.begin(), out.end(), [&path](const KnownKey& key) { return key.path == path; });
    if (!known) out.push_back({path, field.name});
    CollectIn(field.type, path + ".", out);
  }
}

std::vector<std::string> NamesOf(const ConfigTable& table) {
  std::vector<std::string> names;
  for (const ConfigField& field : table.fields) names.push_back(field.name);
  return names;
}

std::string DidYouMean(std::string_view name) { return fmt::format(" Did you mean '{}'?", name); }

// Kinds of the same section, other than the chosen one, that have the key.
std::vector<std::string> KindsWith(const std::string& folded, const ConfigType& variants, std::string_view chosen) {
  std::vector<std::string> kinds;
  for (const auto& variant : variants.variants) {
    if (variant.first == chosen) continue;
    for (const ConfigField& field : variant.second->fields) {
      if (Folded(field.name) == folded) kinds.push_back(variant.first);
    }
  }
  return kinds;
}

std::string AtPaths(const std::vector<std::string>& paths) {
  std::string text = " Did you mean ";
  for (std::size_t i = 0; i < paths.size(); ++i) text += fmt::format("{}'{}'", i > 0 ? " or " : "", paths[i]);
  const bool top_level = paths.size() == 1 && paths[0].find('.') == std::string::npos;
  return text + (top_level ? " at the top level? Check the indentation." : "?");
}

}  // namespace

std::string UnknownKeyHint(std::string_view key, const ConfigTable& table, const ConfigReader& reader,
                           const ConfigType* variants, std::string_view chosen) {
  const std::string folded = Folded(key);
  if (variants != nullptr) {
    const std::vector<std::string> kinds = KindsWith(folded, *variants, chosen);
    if (!kinds.empty()) {
      return fmt::format(" It is a key of type {}, not of {}.", Join(kinds, " or "), chosen);
    }
  }
  for (const ConfigField& field : table.fields) {
    if (Folded(field.name) == folded) return DidYouMean(field.name);
  }

  std::vector<KnownKey> known;
  Collect(reader.root(), "", known);
  std::vector<std::string> elsewhere;
  for (const KnownKey& one : known) {
    if (Folded(one.name) == folded) elsewhere.push_back(one.path);
  }
  if (!elsewhere.empty() && elsewhere.size() <= 3) return AtPaths(elsewhere);
  if (reader.foreign_keys != nullptr) {
    for (const auto& [foreign, path] : *reader.foreign_keys) {
      if (Folded(foreign) == folded) return DidYouMean(path);
    }
  }

  const std::vector<std::string> names = NamesOf(table);
  if (const std::string near = NearestName(key, names); !near.empty()) return DidYouMean(near);
  std::vector<std::string> all_names;
  for (const KnownKey& one : known) all_names.push_back(one.name);
  if (const std::string near = NearestName(key, all_names); !near.empty()) {
    for (const KnownKey& one : known) {
      if (one.name == near) return AtPaths({one.path});
    }
  }
  if (names.empty()) return " No keys are known here.";
  return fmt::format(" Known keys: {}.", JoinAnd(names));
}

}  // namespace tenon
