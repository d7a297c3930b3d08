#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Where values come from: a file, or one `--set` of a command line. Shared by all places in it.
struct ConfigOrigin {
  std::string name;              // as shown to people: "configs/run.yaml" or "--set train.epochs=3"
  std::filesystem::path folder;  // relative paths written here start from this folder
  bool is_file = true;           // an override has no lines
};

// A position in a user's file. Line and column count from 1, columns in characters. Without an origin: nowhere, as the
// default values have it.
struct Place {
  std::shared_ptr<const ConfigOrigin> origin;
  int line = 0;
  int column = 0;

  bool known() const { return origin != nullptr; }
  // "run.yaml:14:3", "--set train.epochs=3", or empty.
  std::string ToString() const;
};

// How a scalar was written. Text that came out of a placeholder (${NAME}) is typed by the field that reads it, whatever
// quotes stood around it; otherwise quotes make it text.
enum class ScalarStyle { kPlain, kQuoted, kExpanded };

struct ConfigEntry;

// One value of a config: nothing, a scalar (text until a field reads it), a list or a map. Immutable and shared: copies
// are cheap, and reading never changes it. Safe to read from any thread.
class ConfigNode {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  ConfigNode();  // nothing, nowhere
  static ConfigNode Null(Place place = {});
  static ConfigNode Scalar(std::string text, ScalarStyle style = ScalarStyle::kPlain, Place place = {});
  static ConfigNode List(std::vector<ConfigNode> items, Place place = {});
  // Keys must differ.
  static ConfigNode Map(std::vector<ConfigEntry> entries, Place place = {});

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_scalar() const { return kind() == Kind::kScalar; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_map() const { return kind() == Kind::kMap; }

  const Place& place() const;
  const std::string& text() const;                  // of a scalar; else empty
  ScalarStyle style() const;                        // of a scalar
  const std::vector<ConfigNode>& items() const;     // of a list; else empty
  const std::vector<ConfigEntry>& entries() const;  // of a map, in the order written; else empty
  const ConfigNode* Find(std::string_view key) const;
  const ConfigEntry* FindEntry(std::string_view key) const;

  // How many nodes this tree has when every alias is written out; stops counting at 2^40.
  std::int64_t size() const;

  // For messages: "nothing", "the text 'fast'", "the number 2.5", "true", "a list", "a map".
  std::string Describe() const;

 private:
  struct Data;
  explicit ConfigNode(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

struct ConfigEntry {
  std::string key;
  Place key_place;
  ConfigNode value;
};

// The place of the value at a dotted path ("data.path", "plugins.load.0"); the nearest enclosing place when the path
// is not written there. For errors that are found after reading.
Place PlaceOf(const ConfigNode& root, std::string_view dotted_path);

// A file or folder that the user named. `resolved` is what to open; `text` is what was written.
struct ConfigPath {
  std::string text;
  std::filesystem::path resolved;
  Place place;

  bool empty() const { return text.empty(); }
};

}  // namespace tenon
