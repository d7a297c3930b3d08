#include "core/config/placeholders.h"

#include <cctype>
#include <utility>
#include <vector>

#include "core/config/scalar.h"

namespace tenon {
namespace {

bool IsVariableName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

// Fills the scalars of one tree.
class Filler {
 public:
  Filler(const EnvironmentLookup& environment, ConfigProblems& problems)
      : environment_(environment), problems_(problems) {}

  ConfigNode Fill(const ConfigNode& node) {
    switch (node.kind()) {
      case ConfigNode::Kind::kNull:
        return node;
      case ConfigNode::Kind::kScalar:
        return FillScalar(node);
      case ConfigNode::Kind::kList: {
        std::vector<ConfigNode> items;
        for (const ConfigNode& item : node.items()) items.push_back(Fill(item));
        return ConfigNode::List(std::move(items), node.place());
      }
      case ConfigNode::Kind::kMap:
        break;
    }
    std::vector<ConfigEntry> entries;
    for (const ConfigEntry& entry : node.entries()) entries.push_back({entry.key, entry.key_place, Fill(entry.value)});
    return ConfigNode::Map(std::move(entries), node.place());
  }

 private:
  ConfigNode FillScalar(const ConfigNode& node) {
    const std::string& text = node.text();
    if (text.find("${") == std::string::npos) return node;
    std::string out;
    bool replaced = false;
    for (std::size_t at = 0; at < text.size();) {
      if (text.compare(at, 3, "$${") == 0) {
        out += "${";
        at += 3;
      } else if (text.compare(at, 2, "${") == 0) {
        const std::size_t close = text.find('}', at);
        if (close == std::string::npos) {
          problems_.Add(node.place(), "The placeholder '{}' has no '}}'. A plain '${{' is written '$${{'.",
                        Shortened(text.substr(at)));
          return node;
        }
        if (!Append(std::string_view(text).substr(at + 2, close - at - 2), node.place(), out)) return node;
        replaced = true;
        at = close + 1;
      } else {
        out.push_back(text[at++]);
      }
    }
    return ConfigNode::Scalar(std::move(out), replaced ? ScalarStyle::kExpanded : node.style(), node.place());
  }

  // Appends what stands for `inside` (NAME or NAME:default); false after a problem.
  bool Append(std::string_view inside, const Place& place, std::string& out) {
    const std::size_t colon = inside.find(':');
    const std::string name(inside.substr(0, colon));
    if (!IsVariableName(name)) {
      problems_.Add(place, "'{}' is not the name of an environment variable. A plain '${{' is written '$${{'.",
                    Shortened(name));
      return false;
    }
    const std::optional<std::string> value = environment_(name);
    if (colon == std::string_view::npos) {
      if (!value) {
        problems_.Add(place, "The environment variable {} is not set. Set it, or give a default: ${{{}:value}}.", name,
                      name);
        return false;
      }
      out += *value;
      return true;
    }
    const std::string_view fallback = inside.substr(colon + 1);
    if (fallback.find("${") != std::string_view::npos) {
      problems_.Add(place, "A placeholder cannot stand inside the default of another one ({}).", name);
      return false;
    }
    if (value && !value->empty()) {
      out += *value;
    } else {
      out += fallback;
    }
    return true;
  }

  const EnvironmentLookup& environment_;
  ConfigProblems& problems_;
};

}  // namespace

ConfigNode FillPlaceholders(const ConfigNode& root, const EnvironmentLookup& environment, ConfigProblems& problems) {
  return Filler(environment, problems).Fill(root);
}

}  // namespace tenon
