#pragma once

#include <array>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/config/scalar.h"
#include "core/config/table.h"

// From plain structs to configs and back. The owner of a struct declares beside it
//
//   const ConfigTable& ConfigTableOf(const TrainConfig*);
//
// and defines it in the .cc file as the list of its keys: name, member, bounds, one sentence. Defaults are those of the
// struct itself.
//
//   const ConfigTable& ConfigTableOf(const TrainConfig*) {
//     using T = TrainConfig;
//     static const ConfigTable table = Table<T>("How long to train.", {
//         Field("epochs", &T::epochs, AtLeast(1), "passes over the training data"),
//         Field("steps",  &T::steps,  AtLeast(1), "stop after so many steps; absent: by epochs alone"),
//     });
//     return table;
//   }
//
// A struct that is one of several kinds, chosen by the key `type`, is an alternative of a std::variant and has
// `static constexpr const char* kType = "sgd";`. An enum has `std::vector<std::string> ConfigNamesOf(Enum)` with the
// names in the order of its values, from 0.

namespace tenon {

template <class T>
concept HasConfigTable = requires {
  { ConfigTableOf(static_cast<const T*>(nullptr)) } -> std::same_as<const ConfigTable&>;
};

template <class T>
concept HasConfigNames = std::is_enum_v<T> && requires(T value) {
  { ConfigNamesOf(value) } -> std::convertible_to<std::vector<std::string>>;
};

// How a C++ type is read, written and described. Specialise it for a type with a spelling of its own.
template <class T>
struct ConfigCodec;

template <>
struct ConfigCodec<bool> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kBool}; }
  static void Read(const ConfigNode& node, const Bounds&, bool& out, ConfigReader& reader) {
    std::string complaint;
    if (const auto value = ReadBool(node, complaint)) {
      out = *value;
    } else {
      reader.Complain(node, complaint);
    }
  }
  static ConfigNode Write(bool value) { return ConfigNode::Scalar(value ? "true" : "false"); }
};

template <std::signed_integral T>
struct ConfigCodec<T> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kInteger}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, T& out, ConfigReader& reader) {
    std::string complaint;
    const auto value = ReadInteger(node, complaint);
    if (!value) return reader.Complain(node, complaint);
    if (*value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
      return reader.Complain(node, fmt::format("must be between {} and {}, but is {}.", std::numeric_limits<T>::min(),
                                               std::numeric_limits<T>::max(), *value));
    }
    CheckNumber(static_cast<double>(*value), bounds, node, reader);
    out = static_cast<T>(*value);
  }
  static ConfigNode Write(T value) { return ConfigNode::Scalar(std::to_string(value)); }
};

template <std::floating_point T>
struct ConfigCodec<T> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kNumber}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, T& out, ConfigReader& reader) {
    std::string complaint;
    const bool infinite = bounds.high && *bounds.high == std::numeric_limits<double>::infinity();
    const auto value = ReadNumber(node, infinite, complaint);
    if (!value) return reader.Complain(node, complaint);
    CheckNumber(*value, bounds, node, reader);
    out = static_cast<T>(*value);
  }
  static ConfigNode Write(T value) { return ConfigNode::Scalar(NumberToText(static_cast<double>(value))); }
};

template <>
struct ConfigCodec<std::string> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kText}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, std::string& out, ConfigReader& reader) {
    if (!bounds.names.empty()) {
      if (const auto index = ReadName(node, bounds.names, reader)) out = bounds.names[*index];
      return;
    }
    if (bounds.is_path) {
      ConfigPath path;
      ReadPath(node, bounds, path, reader);
      out = path.resolved.string();
      return;
    }
    std::string complaint;
    if (const auto value = ReadText(node, complaint)) {
      out = *value;
    } else {
      reader.Complain(node, complaint);
    }
  }
  static ConfigNode Write(const std::string& value) { return TextNode(value); }
};

template <HasConfigNames T>
struct ConfigCodec<T> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kName, .names = ConfigNamesOf(T{})}; }
  static void Read(const ConfigNode& node, const Bounds&, T& out, ConfigReader& reader) {
    if (const auto index = ReadName(node, ConfigNamesOf(T{}), reader)) out = static_cast<T>(*index);
  }
  static ConfigNode Write(T value) { return TextNode(ConfigNamesOf(T{})[static_cast<std::size_t>(value)]); }
};

template <>
struct ConfigCodec<ConfigPath> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kPath}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, ConfigPath& out, ConfigReader& reader) {
    ReadPath(node, bounds, out, reader);
  }
  static ConfigNode Write(const ConfigPath& value) {
    if (value.empty()) return ConfigNode();
    return TextNode(value.resolved.empty() ? value.text : value.resolved.string());
  }
};

// A value that another module reads: kept as it is.
template <>
struct ConfigCodec<ConfigNode> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kAny}; }
  static void Read(const ConfigNode& node, const Bounds&, ConfigNode& out, ConfigReader&) { out = node; }
  static ConfigNode Write(const ConfigNode& value) { return value; }
};

template <class T>
struct ConfigCodec<std::optional<T>> {
  static ConfigType Type() {
    ConfigType type = ConfigCodec<T>::Type();
    type.optional = true;
    return type;
  }
  static void Read(const ConfigNode& node, const Bounds& bounds, std::optional<T>& out, ConfigReader& reader) {
    if (ReadsAsNothing(node)) {
      out.reset();
      return;
    }
    T value = out.value_or(T{});
    ConfigCodec<T>::Read(node, bounds, value, reader);
    out = std::move(value);
  }
  static ConfigNode Write(const std::optional<T>& value) {
    return value ? ConfigCodec<T>::Write(*value) : ConfigNode();
  }
};

template <class T>
struct ConfigCodec<std::vector<T>> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kList, .element = {ConfigCodec<T>::Type()}}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, std::vector<T>& out, ConfigReader& reader) {
    if (!node.is_list()) {
      return reader.Complain(node, node.is_null() ? std::string("needs a list, but has no value. An empty list is [].")
                                                  : fmt::format("needs a list, but is {}.", node.Describe()));
    }
    CheckCount(node.items().size(), bounds, node, reader);
    out.clear();
    for (const ConfigNode& item : node.items()) {
      const ConfigReader::Scope scope(reader, std::to_string(out.size()));
      T value{};
      ConfigCodec<T>::Read(item, bounds, value, reader);
      out.push_back(std::move(value));
    }
  }
  static ConfigNode Write(const std::vector<T>& value) {
    std::vector<ConfigNode> items;
    for (const T& item : value) items.push_back(ConfigCodec<T>::Write(item));
    return ConfigNode::List(std::move(items));
  }
};

template <class T, std::size_t N>
struct ConfigCodec<std::array<T, N>> {
  static ConfigType Type() { return ConfigCodec<std::vector<T>>::Type(); }
  static void Read(const ConfigNode& node, const Bounds& bounds, std::array<T, N>& out, ConfigReader& reader) {
    const std::size_t before = reader.problems().count();
    std::vector<T> values;
    ConfigCodec<std::vector<T>>::Read(node, bounds & Count(N), values, reader);
    if (reader.problems().count() > before) return;
    for (std::size_t i = 0; i < N; ++i) out[i] = values[i];
  }
  static ConfigNode Write(const std::array<T, N>& value) {
    return ConfigCodec<std::vector<T>>::Write(std::vector<T>(value.begin(), value.end()));
  }
};

template <class T>
struct ConfigCodec<std::map<std::string, T>> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kMap, .element = {ConfigCodec<T>::Type()}}; }
  static void Read(const ConfigNode& node, const Bounds& bounds, std::map<std::string, T>& out, ConfigReader& reader) {
    if (!node.is_map()) {
      return reader.Complain(node, node.is_null() ? std::string("needs a map, but has no value. An empty map is {}.")
                                                  : fmt::format("needs a map, but is {}.", node.Describe()));
    }
    out.clear();
    for (const ConfigEntry& entry : node.entries()) {
      const ConfigReader::Scope scope(reader, entry.key);
      ConfigCodec<T>::Read(entry.value, bounds, out[entry.key], reader);
    }
  }
  static ConfigNode Write(const std::map<std::string, T>& value) {
    std::vector<ConfigEntry> entries;
    for (const auto& item : value) entries.push_back({item.first, {}, ConfigCodec<T>::Write(item.second)});
    return ConfigNode::Map(std::move(entries));
  }
};

template <HasConfigTable T>
struct ConfigCodec<T> {
  static ConfigType Type() {
    return {.kind = ConfigType::Kind::kStruct, .table = &ConfigTableOf(static_cast<const T*>(nullptr))};
  }
  static void Read(const ConfigNode& node, const Bounds&, T& out, ConfigReader& reader) {
    ReadFields(ConfigTableOf(&out), node, &out, reader);
  }
  static ConfigNode Write(const T& value) { return ConfigNode::Map(WriteFields(ConfigTableOf(&value), &value)); }
};

// One of several structs, chosen by the key `type`. Without it the kind stays as it was (the default). Text stands for
// {type: text}.
template <class... Ts>
struct ConfigCodec<std::variant<Ts...>> {
  using Variant = std::variant<Ts...>;

  static ConfigType Type() {
    return {.kind = ConfigType::Kind::kUnion,
            .variants = {{Ts::kType, &ConfigTableOf(static_cast<const Ts*>(nullptr))}...}};
  }
  static void Read(const ConfigNode& node, const Bounds& bounds, Variant& out, ConfigReader& reader) {
    static const std::vector<std::string> names{Ts::kType...};
    static const ConfigType type = Type();
    if (node.is_scalar()) {
      const auto index = ReadName(node, names, reader);
      if (!index) return;
      Choose(*index, out);
      return ReadChosen(ConfigNode::Map({}, node.place()), {}, type, out, reader);
    }
    if (bounds.one_key_form && node.is_map() && node.entries().size() == 1 && node.entries()[0].key != "type") {
      const ConfigEntry& only = node.entries()[0];
      const ConfigReader::Scope scope(reader, only.key);
      const auto index = ReadName(ConfigNode::Scalar(only.key, ScalarStyle::kPlain, only.key_place), names, reader);
      if (!index) return;
      Choose(*index, out);
      return ReadChosen(only.value, {}, type, out, reader);
    }
    if (const ConfigNode* chosen = node.Find("type")) {
      const ConfigReader::Scope scope(reader, "type");
      const auto index = ReadName(*chosen, names, reader);
      if (!index) return;
      Choose(*index, out);
    }
    ReadChosen(node, "type", type, out, reader);
  }
  static ConfigNode Write(const Variant& value) {
    return std::visit(
        [](const auto& options) {
          using T = std::decay_t<decltype(options)>;
          std::vector<ConfigEntry> entries{{"type", {}, ConfigNode::Scalar(T::kType)}};
          for (ConfigEntry& entry : WriteFields(ConfigTableOf(&options), &options)) entries.push_back(std::move(entry));
          return ConfigNode::Map(std::move(entries));
        },
        value);
  }

 private:
  static void Choose(std::size_t index, Variant& out) {
    if (out.index() == index) return;
    std::size_t at = 0;
    ((at++ == index ? static_cast<void>(out = Ts{}) : static_cast<void>(0)), ...);
  }
  static void ReadChosen(const ConfigNode& node, std::string_view type_key, const ConfigType& type, Variant& out,
                         ConfigReader& reader) {
    std::visit(
        [&](auto& options) {
          using T = std::decay_t<decltype(options)>;
          ReadFields(ConfigTableOf(&options), node, &options, reader, type_key, &type, T::kType);
        },
        out);
  }
};

template <class S, class T>
ConfigField Field(std::string name, T S::*member, Bounds bounds, std::string sentence) {
  static const S defaults{};
  ConfigField field;
  field.name = std::move(name);
  field.type = ConfigCodec<T>::Type();
  if (bounds.is_path) (field.type.element.empty() ? field.type : field.type.element[0]).kind = ConfigType::Kind::kPath;
  field.bounds = bounds;
  field.sentence = std::move(sentence);
  field.default_value = ConfigCodec<T>::Write(defaults.*member);
  field.read = [member, bounds](const ConfigNode& node, void* object, ConfigReader& reader) {
    ConfigCodec<T>::Read(node, bounds, static_cast<S*>(object)->*member, reader);
  };
  field.write = [member](const void* object) { return ConfigCodec<T>::Write(static_cast<const S*>(object)->*member); };
  return field;
}

template <class S, class T>
ConfigField Field(std::string name, T S::*member, std::string sentence) {
  return Field(std::move(name), member, Bounds{}, std::move(sentence));
}

// A table for struct S; `check` looks at rules between fields.
template <class S>
ConfigTable Table(std::string sentence, std::vector<ConfigField> fields,
                  void (*check)(const ConfigNode&, S&, ConfigReader&) = nullptr) {
  ConfigTable table;
  table.sentence = std::move(sentence);
  table.fields = std::move(fields);
  if (check != nullptr) {
    table.check = [check](const ConfigNode& node, void* object, ConfigReader& reader) {
      check(node, *static_cast<S*>(object), reader);
    };
  }
  return table;
}

// Reads a whole tree into a struct with a table. Problems are added to `reader`.
template <HasConfigTable T>
T ReadConfig(const ConfigNode& root, ConfigReader& reader) {
  T out{};
  ConfigCodec<T>::Read(root, Bounds{}, out, reader);
  return out;
}

// The tree that reads back as `value`.
template <HasConfigTable T>
ConfigNode WriteConfig(const T& value) {
  return ConfigCodec<T>::Write(value);
}

}  // namespace tenon
