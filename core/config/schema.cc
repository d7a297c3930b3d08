#include "core/config/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/config/scalar.h"
#include "core/config/yaml_writer.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

Json TableSchema(const ConfigTable& table, const std::string& type_name, bool type_required);

void AddNumberBounds(const Bounds& bounds, Json& schema) {
  if (bounds.low) schema[bounds.low_excluded ? "exclusiveMinimum" : "minimum"] = *bounds.low;
  if (bounds.high && *bounds.high < 1e308) schema[bounds.high_excluded ? "exclusiveMaximum" : "maximum"] = *bounds.high;
}

Json TypeSchema(const ConfigType& type, const Bounds& bounds);

Json UnionSchema(const ConfigType& type, const std::string& default_kind) {
  Json choices = Json::array();
  if (!type.chosen_by.empty()) {
    for (const auto& variant : type.variants) choices.push_back(TableSchema(*variant.second, "", false));
    choices.push_back({{"type", "null"}});
    return {{"anyOf", choices}};
  }
  Json names = Json::array();
  for (const auto& variant : type.variants) {
    names.push_back(variant.first);
    choices.push_back(TableSchema(*variant.second, variant.first, variant.first != default_kind));
  }
  choices.push_back({{"enum", names}});
  return {{"anyOf", choices}};
}

// A name, or a map of one name to its options.
Json OneKeySchema(const ConfigType& type) {
  Json names = Json::array();
  Json entries = Json::object();
  for (const auto& variant : type.variants) {
    names.push_back(variant.first);
    entries[variant.first] = {{"anyOf", Json::array({TableSchema(*variant.second, "", false), {{"type", "null"}}})}};
  }
  const Json map = {{"type", "object"},
                    {"properties", entries},
                    {"minProperties", 1},
                    {"maxProperties", 1},
                    {"additionalProperties", false}};
  return {{"anyOf", Json::array({map, {{"enum", names}}})}};
}

Json TypeSchema(const ConfigType& type, const Bounds& bounds) {
  using Kind = ConfigType::Kind;
  Json schema = Json::object();
  switch (type.kind) {
    case Kind::kBool:
      schema["type"] = "boolean";
      break;
    case Kind::kInteger:
      schema["type"] = "integer";
      AddNumberBounds(bounds, schema);
      break;
    case Kind::kNumber:
      schema["type"] = "number";
      AddNumberBounds(bounds, schema);
      break;
    case Kind::kText:
      if (bounds.names.empty()) {
        schema["type"] = {"string", "number", "boolean"};
      } else {
        schema["enum"] = bounds.names;
      }
      break;
    case Kind::kPath:
      schema["type"] = "string";
      break;
    case Kind::kName:
      schema["enum"] = type.names;
      break;
    case Kind::kAny:
      break;
    case Kind::kList:
      schema["type"] = "array";
      schema["items"] = TypeSchema(type.element[0], bounds);
      if (bounds.min_count) schema["minItems"] = *bounds.min_count;
      if (bounds.max_count) schema["maxItems"] = *bounds.max_count;
      break;
    case Kind::kMap:
      schema["type"] = "object";
      schema["additionalProperties"] = TypeSchema(type.element[0], bounds);
      break;
    case Kind::kStruct:
      schema = TableSchema(*type.table, "", false);
      break;
    case Kind::kUnion:
      schema = UnionSchema(type, "");
      break;
    case Kind::kCustom:
      if (!type.variants.empty()) return OneKeySchema(type);
      if (type.table != nullptr)
        schema["anyOf"] = Json::array({TableSchema(*type.table, "", false), {{"type", {"string", "number"}}}});
      break;
  }
  if (type.optional) schema = Json{{"anyOf", Json::array({schema, {{"type", "null"}}})}};
  return schema;
}

Json FieldSchema(const ConfigField& field) {
  Json schema = TypeSchema(field.type, field.bounds);
  const bool custom = field.type.kind == ConfigType::Kind::kCustom;
  schema["description"] = custom ? fmt::format("{}: {}", field.type.spelling, field.sentence) : field.sentence;
  if (!field.bounds.required) schema["default"] = ToJson(field.default_value);
  return schema;
}

Json TableSchema(const ConfigTable& table, const std::string& type_name, bool type_required) {
  Json properties = Json::object();
  Json required = Json::array();
  if (!type_name.empty()) {
    properties["type"] = {{"const", type_name}};
    if (type_required) required.push_back("type");
  }
  for (const ConfigField& field : table.fields) {
    properties[field.name] = FieldSchema(field);
    if (field.bounds.required) required.push_back(field.name);
  }
  Json schema = {{"type", "object"}, {"description", table.sentence}, {"properties", properties}};
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  return schema;
}

// --- Markdown -------------------------------------------------------------------------------------------------------

// Cells of a table: no bars, no tags.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string KindText(const ConfigField& field) {
  std::string text = field.type.Text();
  if (!field.bounds.names.empty()) {
    const bool list = field.type.kind == ConfigType::Kind::kList;
    text = list ? "list of " : "";
    for (const std::string& name : field.bounds.names)
      text += (&name == &field.bounds.names.front() ? "" : ", ") + name;
  }
  if (const std::string bound = field.bounds.NumberText(); !bound.empty()) text += ", " + bound;
  if (field.bounds.min_count && field.bounds.max_count == field.bounds.min_count) {
    text += fmt::format(", {} entries", *field.bounds.min_count);
  }
  return text;
}

std::string DefaultText(const ConfigField& field) {
  if (field.bounds.required) return "required";
  if (field.default_value.is_null()) return "absent";
  if (field.type.kind == ConfigType::Kind::kStruct) return "below";
  if (field.type.kind == ConfigType::Kind::kUnion) {
    const ConfigNode* kind = field.default_value.Find("type");
    return kind == nullptr ? "below" : fmt::format("`{}`", kind->text());
  }
  return fmt::format("`{}`", WriteFlowYaml(field.default_value));
}

void AppendTable(const ConfigTable& table, const std::string& path, const std::string& kind, std::string& out);

void AppendNested(const ConfigType& type, const std::string& path, std::string& out) {
  if (type.kind == ConfigType::Kind::kCustom && !type.variants.empty()) return;  // has a page of its own
  if (type.table != nullptr) AppendTable(*type.table, path, "", out);
  for (const auto& variant : type.variants) {
    AppendTable(*variant.second, path,
                fmt::format("{}: {}", type.chosen_by.empty() ? "type" : type.chosen_by, variant.first), out);
  }
  for (const ConfigType& element : type.element) AppendNested(element, path + "[]", out);
}

void AppendTable(const ConfigTable& table, const std::string& path, const std::string& kind, std::string& out) {
  const std::string heading = path.empty() ? "Top level" : fmt::format("`{}`", path);
  out += fmt::format("\n## {}{}\n\n{}\n", heading, kind.empty() ? "" : fmt::format(" with `{}`", kind), table.sentence);
  if (table.fields.empty()) {
    out += "\nNo further keys.\n";
    return;
  }
  out += "\n" + KeysMarkdown(table);
  for (const ConfigField& field : table.fields) {
    AppendNested(field.type, path.empty() ? field.name : path + "." + field.name, out);
  }
}

}  // namespace

std::string KeysMarkdown(const ConfigTable& table, const ConfigTable* left_out) {
  std::string out = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const ConfigField& field : table.fields) {
    if (left_out != nullptr && left_out->Find(field.name) != nullptr) continue;
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, Escaped(KindText(field)), Escaped(DefaultText(field)),
                       Escaped(field.sentence));
  }
  return out;
}

std::string SchemaJson(const ConfigTable& root, const std::string& title) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  const Json body = TableSchema(root, "", false);
  for (const auto& item : body.items()) schema[item.key()] = item.value();
  return schema.dump(2) + "\n";
}

std::string SchemaMarkdown(const ConfigTable& root, const std::string& title) {
  std::string out = fmt::format("# {}\n", title);
  out += R"(
This page is written by `tenon config schema --markdown`; a test compares the two.

How files are read:

- YAML 1.2. A key that is unknown or written twice is an error, and so are tabs in indentation, tags and a second
  document. `true` and `false` are the only booleans; `no` and `off` are text.
- Numbers are decimal: `10`, `-3`, `1e-4`, `.5`. A whole number in any of these spellings is an integer. `0x10`, leading
  zeros, `1,000` and quoted numbers are errors. `null`, `~` or an empty value is nothing.
- `_base_: file.yaml` (or a list; `base_config` and `__BASE__` mean the same) reads other files first, relative to this
  one. A later file wins over an earlier one, the file itself over all of them. Maps are merged key by key, lists are
  replaced. `_delete_: true` in a map drops what the files before had there.
- `${NAME}` is replaced by an environment variable after parsing, `${NAME:default}` by the default when the variable is
  not set or empty. `$${` is a plain `${`. The key that reads the value decides on its type. Inside `{ }` and `[ ]` a
  placeholder needs quotes.
- `&name`, `*name` and `<<: *name` work; a key that is written directly wins over one that `<<` brings.
- `--set a.b.0.c=value` comes last. A key with a dot is put in double quotes. `[..]` and `{..}` are flow YAML and
  replace what was there.
- Relative paths start from the file they stand in; in `--set` and in `output` from the current folder.
- Where a key takes a map with `type`, the bare type is enough: `loss: mse` means `loss: {type: mse}`.
)";
  AppendTable(root, "", "", out);
  return out;
}

}  // namespace tenon
