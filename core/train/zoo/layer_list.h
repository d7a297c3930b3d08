#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/config/fields.h"
#include "core/config/node.h"

namespace tenon {

// Layers of a zoo network, as a run file would list them. Errors in them point to where the network was named.
class LayerList {
 public:
  // An option and its value, of any type that a field may have.
  struct Option {
    template <class T>
    Option(std::string option, const T& chosen) : key(std::move(option)), value(Write(chosen)) {}
    std::string key;
    ConfigNode value;

   private:
    static ConfigNode Write(const ConfigNode& chosen) { return chosen; }
    static ConfigNode Write(const char* chosen) { return ConfigCodec<std::string>::Write(chosen); }
    template <class T>
    static ConfigNode Write(const T& chosen) {
      if constexpr (std::integral<T> && !std::same_as<T, bool>) {
        return ConfigCodec<std::int64_t>::Write(static_cast<std::int64_t>(chosen));
      } else {
        return ConfigCodec<T>::Write(chosen);
      }
    }
  };

  explicit LayerList(const Place& place) : place_(place) {}

  void Add(std::string kind, std::initializer_list<Option> options = {}) {
    std::vector<ConfigEntry> entries;
    for (const Option& option : options) entries.push_back({option.key, place_, option.value});
    layers_.push_back(
        ConfigNode::Map({{std::move(kind), place_, ConfigNode::Map(std::move(entries), place_)}}, place_));
  }
  std::vector<ConfigNode> Take() { return std::move(layers_); }

 private:
  Place place_;
  std::vector<ConfigNode> layers_;
};

// `{normal: 0.02}` and the like, as an option.
inline ConfigNode InitNode(const std::string& kind, double value) {
  return ConfigNode::Map({{kind, {}, ConfigCodec<double>::Write(value)}});
}

}  // namespace tenon
