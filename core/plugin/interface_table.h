#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/status.h"
#include "tenon/abi/collective.h"
#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/profiler.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

namespace tenon {

// One function pointer of an interface table.
struct InterfaceSlot {
  const char* name;
  std::uint32_t offset;  // bytes from the start of the table
  bool required;
  std::uint16_t since;  // minor that added it
};

// What the host knows about one kind of interface table.
struct InterfaceLayout {
  const char* id;           // "tenon.device"
  const char* struct_name;  // "tenon_device_vtable"
  std::uint64_t kind;       // tenon_kind bit that announces it; 0: part of another interface
  std::uint32_t size;       // of the table in this host
  std::span<const InterfaceSlot> slots;

  // End of the last required slot; a smaller table is refused.
  std::uint32_t minimum_size() const;
};

// Layouts of all interfaces a plugin can list by id, in the order of their kind bits.
std::span<const InterfaceLayout* const> InterfaceLayouts();
const InterfaceLayout* FindInterfaceLayout(std::string_view id);

// Layout of a table type; one specialisation per vtable of the ABI.
template <class T>
const InterfaceLayout& LayoutOf();
template <>
const InterfaceLayout& LayoutOf<tenon_device_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_memory_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_stream_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_op_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_kernel_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_subgraph_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_collective_vtable>();
template <>
const InterfaceLayout& LayoutOf<tenon_profiler_vtable>();

// Copies a plugin's table into `out` (layout.size bytes): slots that the plugin's table does not cover, and slots newer
// than `minor` (what both sides know), become NULL; what lies beyond this host's table is ignored. So the caller tests a
// slot for NULL and nothing else. TN-PLG-074 when the table ends before a required slot, TN-PLG-075 with the list of
// required slots that are NULL. `subject` is the file name for messages.
Status NegotiateTable(const InterfaceLayout& layout, const void* table, std::uint32_t minor, std::string_view subject,
                      void* out);

// A negotiated table of the host's own size.
template <class T>
class PluginInterface {
 public:
  static Result<PluginInterface> Negotiate(const void* table, std::uint32_t minor, std::string_view subject) {
    PluginInterface result;
    TENON_TRY(NegotiateTable(LayoutOf<T>(), table, minor, subject, &result.table_));
    return result;
  }
  const T* operator->() const { return &table_; }
  const T& operator*() const { return table_; }
  const T* get() const { return &table_; }

 private:
  T table_{};
};

}  // namespace tenon
