// Slots of every interface table. A test compares names, order, "required" and "since" with the contract blocks of the
// headers in plugin_api.
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

constexpr bool kRequired = true;
constexpr bool kOptional = false;

#define TENON_SLOT(type, slot, required, since) \
  InterfaceSlot { #slot, static_cast < std::uint32_t>(offsetof(type, slot)), required, since }

constexpr std::array kDeviceSlots = {
    TENON_SLOT(tenon_device_vtable, device_count, kRequired, 0),
    TENON_SLOT(tenon_device_vtable, device_info, kRequired, 0),
    TENON_SLOT(tenon_device_vtable, open, kRequired, 0),
    TENON_SLOT(tenon_device_vtable, close, kRequired, 0),
    TENON_SLOT(tenon_device_vtable, query, kRequired, 0),
    TENON_SLOT(tenon_device_vtable, status, kOptional, 0),
    TENON_SLOT(tenon_device_vtable, layout_info, kOptional, 0),
    TENON_SLOT(tenon_device_vtable, reorder, kOptional, 0),
    TENON_SLOT(tenon_device_vtable, find_layout, kOptional, 0),
};
constexpr InterfaceLayout kDeviceLayout = {TENON_INTERFACE_DEVICE, "tenon_device_vtable", TENON_KIND_DEVICE,
                                           sizeof(tenon_device_vtable), kDeviceSlots};

constexpr std::array kMemorySlots = {
    TENON_SLOT(tenon_memory_vtable, space_count, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, space_get, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, alloc, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, free, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, copy, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, fill, kRequired, 0),
    TENON_SLOT(tenon_memory_vtable, wrap_external, kOptional, 0),
    TENON_SLOT(tenon_memory_vtable, stats, kOptional, 0),
    TENON_SLOT(tenon_memory_vtable, trim, kOptional, 0),
};
constexpr InterfaceLayout kMemoryLayout = {TENON_INTERFACE_MEMORY, "tenon_memory_vtable", TENON_KIND_DEVICE,
                                           sizeof(tenon_memory_vtable), kMemorySlots};

constexpr std::array kStreamSlots = {
    TENON_SLOT(tenon_stream_vtable, stream_create, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, stream_destroy, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, stream_query, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, stream_synchronize, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, stream_wait_event, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, stream_notify, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_create, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_destroy, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_record, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_query, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_synchronize, kRequired, 0),
    TENON_SLOT(tenon_stream_vtable, event_elapsed, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, native, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, capture_begin, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, capture_end, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, capture_replay, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, capture_destroy, kOptional, 0),
    TENON_SLOT(tenon_stream_vtable, wrap_native, kOptional, 0),
};
constexpr InterfaceLayout kStreamLayout = {TENON_INTERFACE_STREAM, "tenon_stream_vtable", TENON_KIND_DEVICE,
                                           sizeof(tenon_stream_vtable), kStreamSlots};

constexpr std::array kKernelSlots = {
    TENON_SLOT(tenon_kernel_vtable, supports, kRequired, 0),
    TENON_SLOT(tenon_kernel_vtable, query_layouts, kOptional, 0),
    TENON_SLOT(tenon_kernel_vtable, create, kRequired, 0),
    TENON_SLOT(tenon_kernel_vtable, plan, kOptional, 0),
    TENON_SLOT(tenon_kernel_vtable, execute, kRequired, 0),
    TENON_SLOT(tenon_kernel_vtable, destroy, kRequired, 0),
    TENON_SLOT(tenon_kernel_vtable, held_bytes, kOptional, 0),
};
constexpr InterfaceLayout kKernelLayout = {"tenon.op kernel", "tenon_kernel_vtable", 0, sizeof(tenon_kernel_vtable),
                                           kKernelSlots};

constexpr std::array kOpSlots = {
    TENON_SLOT(tenon_op_vtable, list_operators, kOptional, 0),
    TENON_SLOT(tenon_op_vtable, list_kernels, kRequired, 0),
    TENON_SLOT(tenon_op_vtable, release_caches, kOptional, 0),
};
constexpr InterfaceLayout kOpLayout = {TENON_INTERFACE_OP, "tenon_op_vtable", TENON_KIND_OP, sizeof(tenon_op_vtable),
                                       kOpSlots};

constexpr std::array kSubgraphSlots = {
    TENON_SLOT(tenon_subgraph_vtable, list_fused, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, claim, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, compile, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, executable_info, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, execute, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, executable_destroy, kOptional, 0),
    TENON_SLOT(tenon_subgraph_vtable, executable_text, kOptional, 0),
};
constexpr InterfaceLayout kSubgraphLayout = {TENON_INTERFACE_SUBGRAPH, "tenon_subgraph_vtable", TENON_KIND_SUBGRAPH,
                                             sizeof(tenon_subgraph_vtable), kSubgraphSlots};

constexpr std::array kCollectiveSlots = {
    TENON_SLOT(tenon_collective_vtable, memory_kinds, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, supports, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, comm_create, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, comm_state, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, async_error, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, progress, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, abort_mark, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, comm_destroy, kRequired, 0),
    TENON_SLOT(tenon_collective_vtable, all_reduce, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, reduce, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, broadcast, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, all_gather, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, reduce_scatter, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, all_to_all, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, all_to_all_v, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, gather, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, scatter, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, send, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, recv, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, barrier, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, group_begin, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, group_end, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, buffer_alloc, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, buffer_free, kOptional, 0),
    TENON_SLOT(tenon_collective_vtable, describe, kOptional, 0),
};
constexpr InterfaceLayout kCollectiveLayout = {TENON_INTERFACE_COLLECTIVE, "tenon_collective_vtable",
                                               TENON_KIND_COLLECTIVE, sizeof(tenon_collective_vtable),
                                               kCollectiveSlots};

constexpr std::array kProfilerSlots = {
    TENON_SLOT(tenon_profiler_vtable, clock_count, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, clock_info, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, clock_pair, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, start, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, stop, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, flush, kRequired, 0),
    TENON_SLOT(tenon_profiler_vtable, set_mask, kOptional, 0),
};
constexpr InterfaceLayout kProfilerLayout = {TENON_INTERFACE_PROFILER, "tenon_profiler_vtable", TENON_KIND_PROFILER,
                                             sizeof(tenon_profiler_vtable), kProfilerSlots};

#undef TENON_SLOT

constexpr std::array kLayouts = {&kDeviceLayout,   &kMemoryLayout,     &kStreamLayout,  &kOpLayout,
                                 &kSubgraphLayout, &kCollectiveLayout, &kProfilerLayout};

}  // namespace

template <>
const InterfaceLayout& LayoutOf<tenon_device_vtable>() {
  return kDeviceLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_memory_vtable>() {
  return kMemoryLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_stream_vtable>() {
  return kStreamLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_kernel_vtable>() {
  return kKernelLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_op_vtable>() {
  return kOpLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_subgraph_vtable>() {
  return kSubgraphLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_collective_vtable>() {
  return kCollectiveLayout;
}
template <>
const InterfaceLayout& LayoutOf<tenon_profiler_vtable>() {
  return kProfilerLayout;
}

std::span<const InterfaceLayout* const> InterfaceLayouts() { return kLayouts; }

const InterfaceLayout* FindInterfaceLayout(std::string_view id) {
  for (const InterfaceLayout* layout : kLayouts) {
    if (id == layout->id) return layout;
  }
  return nullptr;
}

std::uint32_t InterfaceLayout::minimum_size() const {
  std::uint32_t end = 8;  // struct_size and flags
  for (const InterfaceSlot& slot : slots) {
    if (slot.required) end = slot.offset + static_cast<std::uint32_t>(sizeof(void*));
  }
  return end;
}

Status NegotiateTable(const InterfaceLayout& layout, const void* table, std::uint32_t minor, std::string_view subject,
                      void* out) {
  std::memset(out, 0, layout.size);
  if (table == nullptr) {
    return PluginError(PluginMessage::kNullSlots, subject, "offers {} with a NULL table. Report it to the vendor.",
                       layout.id);
  }
  std::uint32_t size = 0;
  std::memcpy(&size, table, sizeof(size));
  if (size < layout.minimum_size()) {
    return PluginError(PluginMessage::kSmallTable, subject,
                       "gives {} as the size of {}; at least {} bytes are needed. Report it to the vendor.", size,
                       layout.struct_name, layout.minimum_size());
  }
  const std::uint32_t known = size < layout.size ? size : layout.size;
  std::vector<std::string> absent;
  for (const InterfaceSlot& slot : layout.slots) {
    if (slot.since > minor || slot.offset + sizeof(void*) > known) continue;
    const char* from = static_cast<const char*>(table) + slot.offset;
    std::memcpy(static_cast<char*>(out) + slot.offset, from, sizeof(void*));
    void* value = nullptr;
    std::memcpy(&value, from, sizeof(value));
    if (slot.required && value == nullptr) absent.emplace_back(slot.name);
  }
  const std::uint32_t own = layout.size;
  std::memcpy(out, &own, sizeof(own));
  if (absent.empty()) return Status();
  return PluginError(PluginMessage::kNullSlots, subject, "leaves required {} of {} NULL: {}. Report it to the vendor.",
                     absent.size() == 1 ? "slot" : "slots", layout.struct_name, JoinAnd(absent));
}

}  // namespace tenon
