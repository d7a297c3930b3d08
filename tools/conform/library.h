// The plugin file as the kit opens it: raw, so that everything can be looked at before anybody trusts it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/platform/elf_file.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_note.h"
#include "tools/conform/call.h"

namespace tenon::conform {

// The file as read, without opening it.
ElfFile ReadPluginFile(Context& context);

// dlopen and the entry. Fails the case when either does not work. The library stays mapped.
class Library {
 public:
  explicit Library(Context& context);
  Library(Context& context, int dlopen_mode);
  Library(Context& context, std::string path);

  const std::string& path() const { return path_; }

  tenon_plugin_query_fn query() const { return query_; }
  // As an ordinary host asks.
  const tenon_plugin_descriptor& descriptor() const { return *descriptor_; }
  // Negotiated table: slots that the plugin lacks are NULL. Null when it does not offer the interface.
  template <class T>
  const T* Table() const {
    const auto found = tables_.find(LayoutOf<T>().id);
    return found == tables_.end() ? nullptr : reinterpret_cast<const T*>(found->second.data());
  }
  // Interface records as they stand in the descriptor.
  const std::vector<const tenon_interface*>& interfaces() const { return interfaces_; }

 private:
  void Open(int dlopen_mode);
  Context& context_;
  std::string path_;
  tenon_plugin_query_fn query_ = nullptr;
  const tenon_plugin_descriptor* descriptor_ = nullptr;
  std::vector<const tenon_interface*> interfaces_;
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> tables_;
};

// What an ordinary host of this ABI says about itself.
tenon_host_info OrdinaryHost();

}  // namespace tenon::conform
