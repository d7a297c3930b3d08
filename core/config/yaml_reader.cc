#include "core/config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "core/config/problems.h"
#include "core/config/scalar.h"
#include "core/config/yaml_text.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::int64_t kMaxNodes = 1000000;

// Leaves the parser when going on makes no sense. Never leaves this file.
struct StopReading {};

// Collects the events of the parser into a tree.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlText& text, ConfigProblems& problems) : text_(text), problems_(problems) {}

  bool has_root() const { return has_root_; }
  const ConfigNode& root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    problems_.Add(At(mark), "A second document starts here. A config file holds one.");
    throw StopReading{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // The parser reports a missing value at the token after it; the key is what a person looks for.
    const bool in_value = !open_.empty() && open_.back().is_map && open_.back().has_key;
    Place place = in_value ? open_.back().key_place : At(mark);
    Put(ConfigNode::Null(std::move(place)), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto index = static_cast<std::size_t>(anchor);
    if (index >= anchors_.size() || !anchors_[index].finished) {
      problems_.Add(At(mark), "This alias stands inside the value that it names.");
      throw StopReading{};
    }
    Put(anchors_[index].node, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const Place place = At(mark);
    RefuseTag(tag, place);
    CheckQuotes(mark);
    const bool plain = tag == "?";
    if (plain && IsNullText(value) && !ExpectsKey()) return Put(ConfigNode::Null(place), anchor);
    Put(ConfigNode::Scalar(value, plain ? ScalarStyle::kPlain : ScalarStyle::kQuoted, place), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override {
    OpenNode done = Close();
    Put(ConfigNode::List(std::move(done.items), std::move(done.place)), done.anchor);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, true);
  }
  void OnMapEnd() override {
    OpenNode done = Close();
    for (const ConfigNode& source : done.merged) {
      for (const ConfigEntry& entry : source.entries()) {
        if (done.lines.emplace(entry.key, entry.key_place.line).second) done.entries.push_back(entry);
      }
    }
    Put(ConfigNode::Map(std::move(done.entries), std::move(done.place)), done.anchor);
  }

 private:
  struct OpenNode {
    bool is_map = false;
    YAML::anchor_t anchor = 0;
    Place place;
    std::vector<ConfigNode> items;
    std::vector<ConfigEntry> entries;
    std::unordered_map<std::string, int> lines;  // of the keys so far
    std::vector<ConfigNode> merged;              // values of `<<`, the strongest first
    bool has_merge = false;
    Place merge_place;
    bool has_key = false;  // a key was read and waits for its value
    bool key_is_merge = false;
    std::string key;
    Place key_place;
  };
  struct Anchor {
    bool finished = false;
    ConfigNode node;
  };

  Place At(const YAML::Mark& mark) const { return text_.PlaceAt(static_cast<std::size_t>(std::max(0, mark.pos))); }

  bool ExpectsKey() const { return !open_.empty() && open_.back().is_map && !open_.back().has_key; }

  void RefuseTag(const std::string& tag, const Place& place) {
    if (tag == "?" || tag == "!" || tag.empty()) return;
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    const bool core = tag.compare(0, kCore.size(), kCore) == 0;
    problems_.Add(place, "Tags are not used here: write the value without '{}{}'.", core ? "!!" : "",
                  Shortened(core ? tag.substr(kCore.size()) : tag));
    throw StopReading{};
  }

  // The parser takes a quote that is never closed as if it ended with the file.
  void CheckQuotes(const YAML::Mark& mark) {
    const std::string& text = text_.text();
    auto at = static_cast<std::size_t>(std::max(0, mark.pos));
    while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
      at = text.find_first_not_of(" \t\n", std::min(text.find_first_of(" \t\n", at), text.size()));
    }
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return;
    const char quote = text[at];
    for (std::size_t i = at + 1; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return;
        ++i;
      }
    }
    problems_.Add(text_.PlaceAt(at), "The quote that starts here is never closed.");
    throw StopReading{};
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    const Place place = At(mark);
    RefuseTag(tag, place);
    if (ExpectsKey()) {
      problems_.Add(place, "A key must be text, but this one is a {}.", is_map ? "map" : "list");
      throw StopReading{};
    }
    if (open_.size() >= kMaxDepth) {
      problems_.Add(place, "Values are nested deeper than {} levels here.", kMaxDepth);
      throw StopReading{};
    }
    OpenNode node;
    node.is_map = is_map;
    node.anchor = anchor;
    node.place = place;
    open_.push_back(std::move(node));
  }

  OpenNode Close() {
    OpenNode done = std::move(open_.back());
    open_.pop_back();
    return done;
  }

  void Put(ConfigNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      const auto index = static_cast<std::size_t>(anchor);
      if (anchors_.size() <= index) anchors_.resize(index + 1);
      anchors_[index] = {true, node};
    }
    if (node.size() > kMaxNodes) {
      problems_.Add(node.place(), "With its aliases written out this value has more than {} parts.", kMaxNodes);
      throw StopReading{};
    }
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
    } else if (!open_.back().is_map) {
      open_.back().items.push_back(std::move(node));
    } else if (!open_.back().has_key) {
      PutKey(node);
    } else {
      PutValue(std::move(node));
    }
  }

  void PutKey(const ConfigNode& node) {
    OpenNode& map = open_.back();
    if (!node.is_scalar()) {
      problems_.Add(node.place(), "A key must be text, but this one is {}.", node.Describe());
      throw StopReading{};
    }
    map.has_key = true;
    map.key = node.text();
    map.key_place = node.place();
    map.key_is_merge = node.text() == "<<" && node.style() == ScalarStyle::kPlain;
  }

  void PutValue(ConfigNode node) {
    OpenNode& map = open_.back();
    map.has_key = false;
    if (map.key_is_merge) return PutMerge(std::move(node));
    const auto [known, is_new] = map.lines.emplace(map.key, map.key_place.line);
    if (!is_new) {
      problems_.Add(map.key_place, "The key '{}' is repeated: it is already in line {}. Keep one of the two.",
                    Shortened(map.key), known->second);
      return;
    }
    map.entries.push_back({std::move(map.key), map.key_place, std::move(node)});
  }

  void PutMerge(ConfigNode node) {
    OpenNode& map = open_.back();
    if (map.has_merge) {
      problems_.Add(map.key_place, "The key '<<' is repeated: it is already in line {}. Write one list: <<: [*a, *b].",
                    map.merge_place.line);
      return;
    }
    map.has_merge = true;
    map.merge_place = map.key_place;
    const std::vector<ConfigNode> sources = node.is_list() ? node.items() : std::vector<ConfigNode>{node};
    for (const ConfigNode& source : sources) {
      if (source.is_map()) {
        map.merged.push_back(source);
      } else {
        problems_.Add(map.key_place, "'<<' needs a map or a list of maps to merge, but is {}.", source.Describe());
      }
    }
  }

  const YamlText& text_;
  ConfigProblems& problems_;
  std::vector<OpenNode> open_;
  std::vector<Anchor> anchors_;
  ConfigNode root_;
  bool has_root_ = false;
  int documents_ = 0;
};

// The parser's words, turned into sentences that say what to do.
std::string ExplainSyntax(const std::string& words, std::string_view line) {
  const auto has = [&words](std::string_view part) { return words.find(part) != std::string::npos; };
  if (line.find("${") != std::string_view::npos && has("flow")) {
    return "Inside { } and [ ] a placeholder needs quotes: \"${NAME}\".";
  }
  if (has("illegal map value")) {
    return "A ':' is not expected here. Check the indentation of this line and of the one before it, and that a space "
           "follows each ':'; text with ': ' in it needs quotes.";
  }
  if (has("end of map flow not found"))
    return "This does not continue the map in { }: a ',' or the closing '}' is missing.";
  if (has("end of sequence flow not found")) {
    return "This does not continue the list in [ ]: a ',' or the closing ']' is missing.";
  }
  if (has("illegal flow end")) return "This bracket closes nothing.";
  if (has("end of map not found")) {
    return "This does not continue the map above it. Check the indentation, and that a ': ' follows each key.";
  }
  if (has("end of sequence not found")) {
    return "This does not continue the list above it. Check the indentation, and that each entry starts with '- '.";
  }
  if (has("anchor is not defined")) return "This alias names no anchor: '&name' must stand above its '*name'.";
  if (has("illegal EOF in scalar")) return "The quote that starts here is never closed.";
  if (has("unknown token")) return "Text cannot start with this character. Put it in quotes.";
  if (has("map keys") || has("illegal map key"))
    return "A key is not expected here. Check the indentation of this line.";
  if (has("illegal block entry")) return "A '- ' is not expected here. Check the indentation of this line.";
  return "This is not YAML: " + words + ".";
}

}  // namespace

Result<ConfigNode> ReadYaml(std::string_view bytes, const std::shared_ptr<const ConfigOrigin>& origin) {
  const YamlText text(bytes, origin);
  ConfigProblems problems;
  text.Check(problems);
  if (!problems.empty()) return problems.ToStatus();

  TreeBuilder builder(text, problems);
  try {
    std::istringstream stream(text.text());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopReading&) {
    // The reason is in `problems`.
  } catch (const YAML::Exception& error) {
    const auto offset = static_cast<std::size_t>(std::max(0, error.mark.pos));
    const Place place = text.PlaceAt(error.mark.is_null() ? 0 : offset);
    problems.AddText(place, ExplainSyntax(error.msg, text.Line(place.line)));
  } catch (const std::exception& error) {
    problems.Add(text.PlaceAt(0), "The file cannot be read as YAML: {}.", error.what());
  }
  if (problems.empty() && (!builder.has_root() || builder.root().is_null())) {
    problems.AddText(text.PlaceAt(0), bytes.empty() ? "The file is empty." : "The file has no keys.");
  }
  if (!problems.empty()) return problems.ToStatus();
  return builder.root();
}

namespace {

ConfigNode MovedTo(const ConfigNode& node, const Place& place) {
  switch (node.kind()) {
    case ConfigNode::Kind::kNull:
      return ConfigNode::Null(place);
    case ConfigNode::Kind::kScalar:
      return ConfigNode::Scalar(node.text(), node.style(), place);
    case ConfigNode::Kind::kList: {
      std::vector<ConfigNode> items;
      for (const ConfigNode& item : node.items()) items.push_back(MovedTo(item, place));
      return ConfigNode::List(std::move(items), place);
    }
    case ConfigNode::Kind::kMap:
      break;
  }
  std::vector<ConfigEntry> entries;
  for (const ConfigEntry& entry : node.entries()) entries.push_back({entry.key, place, MovedTo(entry.value, place)});
  return ConfigNode::Map(std::move(entries), place);
}

}  // namespace

Result<ConfigNode> ReadFlowYaml(std::string_view text, const Place& place) {
  const auto origin = std::make_shared<ConfigOrigin>(ConfigOrigin{"value", {}, true});
  Result<ConfigNode> read = ReadYaml(text, origin);
  if (!read.ok()) return Error(Code::kInvalidArgument, "{}", read.status().message()).At(place.ToString());
  return MovedTo(*read, place);
}

}  // namespace tenon
