#include "tools/conform/exceptions.h"

#include "core/config/load.h"
#include "tools/conform/case.h"

namespace tenon::conform {

Result<std::map<std::string, std::string>> ReadExceptions(const std::string& path) {
  TENON_ASSIGN(const ConfigNode root, LoadConfig({path, {}, {}}));
  const ConfigNode* list = root.Find("exceptions");
  if (list == nullptr || !list->is_map() || root.entries().size() != 1)
    return InvalidArgument("The file needs one key, `exceptions`, with a map from cases to reasons.")
        .At(root.place().ToString());
  std::map<std::string, std::string> exceptions;
  for (const ConfigEntry& entry : list->entries()) {
    const Case* known = FindCase(entry.key);
    if (known == nullptr || known->id() != entry.key)
      return InvalidArgument("There is no case '{}'; --list prints all.", entry.key).At(entry.key_place.ToString());
    if (!entry.value.is_scalar() || entry.value.text().empty())
      return InvalidArgument("The exception for {} needs a reason.", entry.key).At(entry.value.place().ToString());
    exceptions[entry.key] = entry.value.text();
  }
  return exceptions;
}

std::string ExceptionsBeside(const std::string& plugin) {
  const bool library = plugin.size() > 3 && plugin.compare(plugin.size() - 3, 3, ".so") == 0;
  return (library ? plugin.substr(0, plugin.size() - 3) : plugin) + ".conformance.yaml";
}

}  // namespace tenon::conform
