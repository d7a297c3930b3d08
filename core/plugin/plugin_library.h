#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_precheck.h"

namespace tenon {

// An opened plugin file whose entry, descriptor and interface tables have passed all checks. Lives until the process ends;
// opening the same file again gives the same object.
class PluginLibrary {
 public:
  // Opens, asks the entry and validates. The library's constructors and its query run inside. Any thread; one at a time.
  // `changes` receives what opening changed in the process (TN-PLG-037).
  static Result<const PluginLibrary*> Open(const PluginPrecheck& plugin, std::vector<std::string>* changes);

  const std::string& path() const { return path_; }
  const std::string& file_name() const { return file_name_; }
  const PluginNote& note() const { return note_; }
  const std::string& id() const { return note_.id; }
  const std::string& version() const { return note_.version; }
  // Minor that both sides know.
  std::uint32_t abi_minor() const { return abi_minor_; }
  const std::string& vendor() const { return vendor_; }
  const std::string& licence() const { return licence_; }
  const std::string& compiler() const { return compiler_; }
  bool debug_build() const { return descriptor_.debug_build != 0; }
  const std::vector<std::string>& interface_ids() const { return interface_ids_; }

  // Host-sized copy; slots that the plugin does not have are NULL.
  const tenon_plugin_descriptor& descriptor() const { return descriptor_; }

  // Negotiated table, or null when the plugin does not offer the interface.
  template <class T>
  const T* Interface() const {
    const auto found = tables_.find(LayoutOf<T>().id);
    return found == tables_.end() ? nullptr : static_cast<const T*>(static_cast<const void*>(found->second.data()));
  }
  // The same by id, and the size that the plugin states for its table. Null and 0 without the interface.
  const void* FindTable(std::string_view id) const {
    const auto found = tables_.find(id);
    return found == tables_.end() ? nullptr : found->second.data();
  }
  std::uint32_t StatedSize(std::string_view id) const {
    const auto found = stated_sizes_.find(id);
    return found == stated_sizes_.end() ? 0 : found->second;
  }
  // Table of a vendor's own interface as the plugin gave it, and the version it stated.
  const void* VendorInterface(std::string_view id, std::uint32_t* version) const;

 private:
  PluginLibrary() = default;
  Status Query(tenon_plugin_query_fn query);
  Status CheckAgainstNote() const;
  Status ReadInterfaces(const tenon_plugin_descriptor& raw);
  Status AddInterface(const tenon_interface& record);
  Status CheckKinds() const;

  std::string path_, file_name_, vendor_, licence_, compiler_;
  PluginNote note_;
  std::uint32_t abi_minor_ = 0;
  tenon_plugin_descriptor descriptor_{};
  std::vector<std::string> interface_ids_;
  // Bytes of negotiated tables by interface id, in units that keep pointers aligned.
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> tables_;
  std::map<std::string, std::uint32_t, std::less<>> stated_sizes_;
  struct Vendor {
    const void* table;
    std::uint32_t version;
  };
  std::map<std::string, Vendor, std::less<>> vendor_tables_;
};

// A Status for the text of the dynamic linker (TN-PLG-030 .. 034).
Status ExplainLinkerError(const PluginPrecheck& plugin, const std::string& linker_text);

}  // namespace tenon
