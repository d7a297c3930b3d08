#include "core/config/key_lines.h"

#include <algorithm>

#include "core/config/yaml_writer.h"

namespace tenon {
namespace {

bool IsLeaf(const ConfigNode& node) {
  if (node.is_list())
    return std::all_of(node.items().begin(), node.items().end(), [](auto& item) { return item.is_scalar(); });
  return !node.is_map() || node.entries().empty();
}

void Append(const std::string& path, const ConfigNode& node, std::string* out) {
  if (IsLeaf(node)) {
    out->append(path).append(": ").append(WriteFlowYaml(node)).append("\n");
    return;
  }
  const std::string before = path.empty() ? "" : path + ".";
  for (const ConfigEntry& entry : node.entries()) Append(before + entry.key, entry.value, out);
  for (std::size_t i = 0; i < node.items().size(); ++i) Append(before + std::to_string(i), node.items()[i], out);
}

}  // namespace

std::string KeyLines(const ConfigNode& root) {
  std::string lines;
  Append("", root, &lines);
  return lines;
}

}  // namespace tenon
