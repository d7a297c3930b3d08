#include "core/config/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/config/scalar.h"

namespace tenon {

struct ConfigNode::Data {
  Kind kind = Kind::kNull;
  ScalarStyle style = ScalarStyle::kPlain;
  Place place;
  std::string text;
  std::vector<ConfigNode> items;
  std::vector<ConfigEntry> entries;
  std::int64_t size = 1;
};

namespace {

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;

std::int64_t AddSizes(std::int64_t a, std::int64_t b) { return std::min(kSizeLimit, a + b); }

}  // namespace

std::string Place::ToString() const {
  if (!origin) return "";
  if (!origin->is_file) return origin->name;
  return fmt::format("{}:{}:{}", origin->name, line, column);
}

ConfigNode::ConfigNode() {
  static const auto* const nothing = new std::shared_ptr<const Data>(std::make_shared<Data>());
  data_ = *nothing;
}

ConfigNode::ConfigNode(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

ConfigNode ConfigNode::Null(Place place) {
  auto data = std::make_shared<Data>();
  data->place = std::move(place);
  return ConfigNode(std::move(data));
}

ConfigNode ConfigNode::Scalar(std::string text, ScalarStyle style, Place place) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::kScalar;
  data->style = style;
  data->text = std::move(text);
  data->place = std::move(place);
  return ConfigNode(std::move(data));
}

ConfigNode ConfigNode::List(std::vector<ConfigNode> items, Place place) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::kList;
  data->items = std::move(items);
  data->place = std::move(place);
  for (const ConfigNode& item : data->items) data->size = AddSizes(data->size, item.size());
  return ConfigNode(std::move(data));
}

ConfigNode ConfigNode::Map(std::vector<ConfigEntry> entries, Place place) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::kMap;
  data->entries = std::move(entries);
  data->place = std::move(place);
  for (const ConfigEntry& entry : data->entries) data->size = AddSizes(data->size, entry.value.size());
  return ConfigNode(std::move(data));
}

ConfigNode::Kind ConfigNode::kind() const { return data_->kind; }
const Place& ConfigNode::place() const { return data_->place; }
const std::string& ConfigNode::text() const { return data_->text; }
ScalarStyle ConfigNode::style() const { return data_->style; }
const std::vector<ConfigNode>& ConfigNode::items() const { return data_->items; }
const std::vector<ConfigEntry>& ConfigNode::entries() const { return data_->entries; }
std::int64_t ConfigNode::size() const { return data_->size; }

const ConfigEntry* ConfigNode::FindEntry(std::string_view key) const {
  for (const ConfigEntry& entry : data_->entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const ConfigNode* ConfigNode::Find(std::string_view key) const {
  const ConfigEntry* entry = FindEntry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

std::string ConfigNode::Describe() const {
  switch (kind()) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
      break;
  }
  const std::string shown = Shortened(text());
  if (style() == ScalarStyle::kQuoted) return fmt::format("the quoted text '{}'", shown);
  const std::string_view after = style() == ScalarStyle::kExpanded ? " after the placeholders were filled in" : "";
  if (text().empty()) return fmt::format("empty{}", after);
  if (IsBoolText(text())) return fmt::format("{}{}", shown, after);
  if (IsNumberText(text())) return fmt::format("the number {}{}", shown, after);
  return fmt::format("the text '{}'{}", shown, after);
}

namespace {

// The element of a list at "0", "1" ..., or null.
const ConfigNode* ItemAt(const ConfigNode& list, std::string_view index) {
  std::size_t number = 0;
  if (index.empty() || index.size() > 9) return nullptr;
  for (const char digit : index) {
    if (digit < '0' || digit > '9') return nullptr;
    number = number * 10 + static_cast<std::size_t>(digit - '0');
  }
  return number < list.items().size() ? &list.items()[number] : nullptr;
}

}  // namespace

Place PlaceOf(const ConfigNode& root, std::string_view dotted_path) {
  const ConfigNode* node = &root;
  Place place = root.place();
  for (const std::string& part : Split(dotted_path, '.')) {
    const ConfigNode* next = node->is_list() ? ItemAt(*node, part) : node->Find(part);
    if (next == nullptr) break;
    node = next;
    if (node->place().known()) place = node->place();
  }
  return place;
}

}  // namespace tenon
