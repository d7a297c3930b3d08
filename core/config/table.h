#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/node.h"
#include "core/config/problems.h"

namespace tenon {

class ConfigReader;
struct ConfigTable;

// What a value must fulfil beyond its type. Numbers in lists, maps and optional fields are checked one by one.
//   AtLeast(0) & Below(1) & Required()
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
  bool low_excluded = false;
  bool high_excluded = false;
  std::vector<std::string> names;        // the texts allowed; empty: all
  std::optional<std::size_t> min_count;  // entries of a list
  std::optional<std::size_t> max_count;
  bool required = false;             // the key must be written
  bool one_key_form = false;         // a map {adam: {lr: 1}} may stand for {type: adam, lr: 1}
  bool is_path = false;              // the text names a file or folder and is made absolute
  bool from_current_folder = false;  // a relative path starts from the current folder, not from the file

  // "at least 0 and below 1"; empty when there is no bound on numbers.
  std::string NumberText() const;
};

Bounds operator&(Bounds a, const Bounds& b);
Bounds AtLeast(double low);
Bounds Above(double low);
Bounds AtMost(double high);
Bounds Below(double high);
Bounds Between(double low, double high);  // both included
Bounds OneOf(std::vector<std::string> names);
Bounds Count(std::size_t count);
Bounds Count(std::size_t min, std::size_t max);
Bounds Required();
Bounds OneKeyForm();
Bounds PathText();
Bounds FromCurrentFolder();

// What a field holds, for reading, schema and reference page.
struct ConfigType {
  enum class Kind { kBool, kInteger, kNumber, kText, kPath, kName, kAny, kList, kMap, kStruct, kUnion, kCustom };
  Kind kind = Kind::kAny;
  bool optional = false;
  std::vector<ConfigType> element{};   // one: of a list or map
  const ConfigTable* table = nullptr;  // kStruct; kCustom when a map is one of its forms
  std::vector<std::pair<std::string, const ConfigTable*>> variants{};  // kUnion: value of `type` and its options
  std::string chosen_by{};           // kUnion: the key beside the map that takes the place of `type` in it
  std::vector<std::string> names{};  // kName
  std::string spelling{};            // kCustom: what may be written, in words

  // "integer", "list of numbers", "sgd, adam or adamw" ...
  std::string Text() const;
};

// One key of a section.
struct ConfigField {
  std::string name;
  ConfigType type;
  Bounds bounds;
  std::string sentence;
  ConfigNode default_value;
  std::function<void(const ConfigNode& node, void* object, ConfigReader& reader)> read;
  std::function<ConfigNode(const void* object)> write;
};

// All keys of a section.
struct ConfigTable {
  std::string sentence;
  std::vector<ConfigField> fields;
  // Rules that need several fields; called when each field by itself was fine. May be empty.
  std::function<void(const ConfigNode& node, void* object, ConfigReader& reader)> check;

  const ConfigField* Find(std::string_view name) const;
};

// Keys that people bring from elsewhere, with the path that is meant here: {"learning_rate", "optimizer.lr"}.
using ForeignKeys = std::vector<std::pair<std::string, std::string>>;

// One reading of a tree into structs: collects problems and knows the path of keys that leads to the current value.
class ConfigReader {
 public:
  // `root` describes the whole config, for hints on misplaced keys; it and `problems` must outlive the reader.
  ConfigReader(const ConfigTable& root, ConfigProblems& problems) : root_(root), problems_(problems) {}

  const ForeignKeys* foreign_keys = nullptr;
  bool required_keys = true;  // false: absent keys are no problem (only a part of the config is wanted)

  ConfigProblems& problems() { return problems_; }
  const ConfigTable& root() const { return root_; }

  // "'train.epochs'"; "The config" at the top.
  std::string Subject() const;
  // "train.epochs" with `key` behind it.
  std::string PathTo(std::string_view key) const;

  // Adds "'<path>' <rest>" at the node's place.
  void Complain(const ConfigNode& node, std::string_view rest);
  template <class... Args>
  void Fail(const Place& place, fmt::format_string<Args...> format, Args&&... args) {
    problems_.AddText(place, fmt::format(format, std::forward<Args>(args)...));
  }

  // Goes one key deeper while it lives.
  class Scope {
   public:
    Scope(ConfigReader& reader, std::string key) : reader_(reader) { reader_.path_.push_back(std::move(key)); }
    ~Scope() { reader_.path_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ConfigReader& reader_;
  };

 private:
  const ConfigTable& root_;
  ConfigProblems& problems_;
  std::vector<std::string> path_;
};

// Reads the keys of a map into `object` as `table` says: unknown and missing keys, each field, then the table's check.
// `type_key` names a further key that was read already (the `type` of a union); `variants` are the other options of
// that union, for hints, and `chosen` is the one in use.
void ReadFields(const ConfigTable& table, const ConfigNode& node, void* object, ConfigReader& reader,
                std::string_view type_key = {}, const ConfigType* variants = nullptr, std::string_view chosen = {});

// The map of all fields of `object`. Fields that are nothing, and nothing by default, are left out.
std::vector<ConfigEntry> WriteFields(const ConfigTable& table, const void* object);

// Bounds of one number or one name; a problem when they do not hold.
void CheckNumber(double value, const Bounds& bounds, const ConfigNode& node, ConfigReader& reader);
// Index of the text in `names`; a problem with the nearest name when it is not there.
std::optional<std::size_t> ReadName(const ConfigNode& node, const std::vector<std::string>& names,
                                    ConfigReader& reader);
// Number of entries; a problem when it does not fit the bounds.
void CheckCount(std::size_t count, const Bounds& bounds, const ConfigNode& node, ConfigReader& reader);
// The path and what it is relative to; a problem when it is not text.
void ReadPath(const ConfigNode& node, const Bounds& bounds, ConfigPath& out, ConfigReader& reader);

}  // namespace tenon
