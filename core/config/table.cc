#include "core/config/table.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/config/hints.h"
#include "core/config/scalar.h"

namespace tenon {

// --- Bounds ---------------------------------------------------------------------------------------------------------

std::string Bounds::NumberText() const {
  if (low && high && !low_excluded && !high_excluded) {
    return fmt::format("between {} and {}", tenon::NumberToText(*low), tenon::NumberToText(*high));
  }
  std::string text;
  if (low) text = fmt::format("{} {}", low_excluded ? "above" : "at least", tenon::NumberToText(*low));
  if (high) {
    if (low) text += " and ";
    text += fmt::format("{} {}", high_excluded ? "below" : "at most", tenon::NumberToText(*high));
  }
  return text;
}

Bounds operator&(Bounds a, const Bounds& b) {
  if (b.low) {
    a.low = b.low;
    a.low_excluded = b.low_excluded;
  }
  if (b.high) {
    a.high = b.high;
    a.high_excluded = b.high_excluded;
  }
  if (!b.names.empty()) a.names = b.names;
  if (b.min_count) a.min_count = b.min_count;
  if (b.max_count) a.max_count = b.max_count;
  a.required = a.required || b.required;
  a.one_key_form = a.one_key_form || b.one_key_form;
  a.is_path = a.is_path || b.is_path;
  a.from_current_folder = a.from_current_folder || b.from_current_folder;
  return a;
}

Bounds AtLeast(double low) {
  Bounds bounds;
  bounds.low = low;
  return bounds;
}
Bounds Above(double low) {
  Bounds bounds;
  bounds.low = low;
  bounds.low_excluded = true;
  return bounds;
}
Bounds AtMost(double high) {
  Bounds bounds;
  bounds.high = high;
  return bounds;
}
Bounds Below(double high) {
  Bounds bounds;
  bounds.high = high;
  bounds.high_excluded = true;
  return bounds;
}
Bounds Between(double low, double high) { return AtLeast(low) & AtMost(high); }
Bounds OneOf(std::vector<std::string> names) {
  Bounds bounds;
  bounds.names = std::move(names);
  return bounds;
}
Bounds Count(std::size_t count) { return Count(count, count); }
Bounds Count(std::size_t min, std::size_t max) {
  Bounds bounds;
  bounds.min_count = min;
  bounds.max_count = max;
  return bounds;
}
Bounds Required() {
  Bounds bounds;
  bounds.required = true;
  return bounds;
}
Bounds OneKeyForm() {
  Bounds bounds;
  bounds.one_key_form = true;
  return bounds;
}
Bounds PathText() {
  Bounds bounds;
  bounds.is_path = true;
  return bounds;
}
Bounds FromCurrentFolder() {
  Bounds bounds;
  bounds.from_current_folder = true;
  return bounds;
}

// --- Types and tables -----------------------------------------------------------------------------------------------

namespace {

std::string JoinOr(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i].empty() ? "''" : names[i];
  }
  return text;
}

std::string Plural(const ConfigType& type) {
  switch (type.kind) {
    case ConfigType::Kind::kInteger:
    case ConfigType::Kind::kNumber:
    case ConfigType::Kind::kText:
    case ConfigType::Kind::kPath:
      return type.Text() + "s";
    default:
      return type.Text();
  }
}

}  // namespace

std::string ConfigType::Text() const {
  switch (kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return "integer";
    case Kind::kNumber:
      return "number";
    case Kind::kText:
      return "text";
    case Kind::kPath:
      return "path";
    case Kind::kName:
      return JoinOr(names);
    case Kind::kAny:
      return "any";
    case Kind::kList:
      return fmt::format("list of {}", Plural(element[0]));
    case Kind::kMap:
      return fmt::format("map of name: {}", element[0].Text());
    case Kind::kStruct:
      return "map";
    case Kind::kCustom:
      return spelling;
    case Kind::kUnion:
      break;
  }
  std::vector<std::string> kinds;
  for (const auto& variant : variants) kinds.push_back(variant.first);
  if (!chosen_by.empty()) return fmt::format("map, by {}", chosen_by);
  return fmt::format("map with type {}", JoinOr(kinds));
}

const ConfigField* ConfigTable::Find(std::string_view name) const {
  for (const ConfigField& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// --- Reading --------------------------------------------------------------------------------------------------------

std::string ConfigReader::Subject() const {
  return path_.empty() ? "The config" : fmt::format("'{}'", Join(path_, "."));
}

std::string ConfigReader::PathTo(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", Join(path_, "."), key);
}

void ConfigReader::Complain(const ConfigNode& node, std::string_view rest) {
  problems_.Add(node.place(), "{} {}", Subject(), rest);
}

namespace {

void ReportUnknown(const ConfigEntry& entry, const ConfigTable& table, const ConfigNode& map, ConfigReader& reader,
                   const ConfigType* variants, std::string_view chosen) {
  std::string hint = UnknownKeyHint(entry.key, table, reader, variants, chosen);
  const ConfigEntry* type = map.FindEntry("type");
  const bool other_kind = hint.rfind(" It is a key of type", 0) == 0;
  const bool inherited = other_kind && type != nullptr && type->key_place.origin != entry.key_place.origin &&
                         type->key_place.known() && entry.key_place.known() && entry.key_place.origin->is_file;
  if (inherited) {
    hint += fmt::format(" The type is set in {}; '_delete_: true' beside it drops what was inherited.",
                        type->key_place.ToString());
  }
  reader.Fail(entry.key_place, "Unknown key '{}'.{}", reader.PathTo(Shortened(entry.key)), hint);
}

}  // namespace

void ReadFields(const ConfigTable& table, const ConfigNode& node, void* object, ConfigReader& reader,
                std::string_view type_key, const ConfigType* variants, std::string_view chosen) {
  if (!node.is_map()) {
    return reader.Complain(node, node.is_null()
                                     ? std::string("needs a map (key: value), but has no value. An empty map is {}.")
                                     : fmt::format("needs a map (key: value), but is {}.", node.Describe()));
  }
  const std::size_t before = reader.problems().count();
  for (const ConfigEntry& entry : node.entries()) {
    if (!type_key.empty() && entry.key == type_key) continue;
    const ConfigField* field = table.Find(entry.key);
    if (field == nullptr) {
      ReportUnknown(entry, table, node, reader, variants, chosen);
      continue;
    }
    const ConfigReader::Scope scope(reader, entry.key);
    field->read(entry.value, object, reader);
  }
  for (const ConfigField& field : table.fields) {
    if (!field.bounds.required || !reader.required_keys || node.Find(field.name) != nullptr) continue;
    reader.Fail(node.place(), "The key '{}' is missing: {}.", reader.PathTo(field.name), field.sentence);
  }
  if (table.check && reader.problems().count() == before) table.check(node, object, reader);
}

std::vector<ConfigEntry> WriteFields(const ConfigTable& table, const void* object) {
  std::vector<ConfigEntry> entries;
  for (const ConfigField& field : table.fields) {
    ConfigNode value = field.write(object);
    if (value.is_null() && field.default_value.is_null()) continue;
    entries.push_back({field.name, {}, std::move(value)});
  }
  return entries;
}

void CheckNumber(double value, const Bounds& bounds, const ConfigNode& node, ConfigReader& reader) {
  const bool too_low = bounds.low && (bounds.low_excluded ? !(value > *bounds.low) : !(value >= *bounds.low));
  const bool too_high = bounds.high && (bounds.high_excluded ? !(value < *bounds.high) : !(value <= *bounds.high));
  if (too_low || too_high) {
    reader.Complain(node, fmt::format("must be {}, but is {}.", bounds.NumberText(), Shortened(node.text())));
  }
}

std::optional<std::size_t> ReadName(const ConfigNode& node, const std::vector<std::string>& names,
                                    ConfigReader& reader) {
  const std::string choices = JoinOr(names);
  if (!node.is_scalar()) {
    reader.Complain(node, node.is_null() ? fmt::format("needs {}, but has no value.", choices)
                                         : fmt::format("needs {}, but is {}.", choices, node.Describe()));
    return std::nullopt;
  }
  const auto found = std::find(names.begin(), names.end(), node.text());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string near = NearestName(node.text(), names);
  reader.Complain(node, fmt::format("must be {}, but is {}.{}", choices, node.Describe(),
                                    near.empty() ? "" : fmt::format(" Did you mean '{}'?", near)));
  return std::nullopt;
}

void CheckCount(std::size_t count, const Bounds& bounds, const ConfigNode& node, ConfigReader& reader) {
  const std::size_t min = bounds.min_count.value_or(0);
  const std::size_t max = bounds.max_count.value_or(count);
  if (count >= min && count <= max) return;
  const std::string wanted = !bounds.max_count ? fmt::format("at least {}", min)
                             : min == max      ? fmt::format("{}", min)
                             : min == 0        ? fmt::format("at most {}", max)
                                               : fmt::format("{} to {}", min, max);
  reader.Complain(node, fmt::format("needs {} {}, but has {}.", wanted, wanted == "1" ? "entry" : "entries", count));
}

void ReadPath(const ConfigNode& node, const Bounds& bounds, ConfigPath& out, ConfigReader& reader) {
  if (!node.is_scalar() || node.text().empty()) {
    return reader.Complain(node, node.is_null() ? std::string("needs a path, but has no value.")
                                                : fmt::format("needs a path, but is {}.", node.Describe()));
  }
  const std::string& text = node.text();
  if (text.compare(0, 2, "~/") == 0) {
    return reader.Complain(node, fmt::format("is '{}', and '~' is not filled in here. Write ${{HOME}}{}.",
                                             Shortened(text), Shortened(text.substr(1))));
  }
  if (text.find('\0') != std::string::npos) return reader.Complain(node, "holds a zero byte, which no path has.");
  out.text = text;
  out.place = node.place();
  std::filesystem::path path(text);
  if (path.is_relative() && node.place().known() && !bounds.from_current_folder) {
    path = node.place().origin->folder / path;
  }
  if (path.is_relative() && !bounds.from_current_folder) {
    std::error_code error;
    const std::filesystem::path current = std::filesystem::current_path(error);
    if (!error) path = current / path;
  }
  out.resolved = path.lexically_normal();
}

}  // namespace tenon
