#include "core/plugin/checked_tables.h"

#include "core/plugin/checked_kernels.h"
#include "core/plugin/checked_memory.h"
#include "core/plugin/checked_slot.h"
#include "core/plugin/plugin_records.h"

namespace tenon {
namespace checked {
namespace {

std::int32_t OpenDevice(tenon_plugin* plugin, std::uint32_t index, tenon_device** out, tenon_error* error) {
  const std::int32_t code = Maker<&tenon_device_vtable::open>::Call(plugin, index, out, error);
  if (code != TENON_OK || *out == nullptr) return code;
  const CheckedTables* owner = HandleBook::Get().Find(HandleKind::kDevice, *out).owner;
  tenon_device_info info = TENON_INIT(tenon_device_info);
  const std::int32_t told = owner->sound().device->device_info(plugin, index, &info, nullptr);
  const bool inline_streams = told == TENON_OK && (info.flags & TENON_DEVICE_INLINE_STREAMS) != 0;
  HandleBook::Get().Change(HandleKind::kDevice, *out, [&](HandleRecord& record) { record.flag = inline_streams; });
  return code;
}

std::int32_t CreateComm(tenon_plugin* plugin, const tenon_comm_config* config, tenon_comm** out, tenon_error* error) {
  return Maker<&tenon_collective_vtable::comm_create>::Call(plugin, config, out, error);
}

// Another thread may still abort while this one waits in here.
void DestroyComm(tenon_comm* comm) {
  if (comm == nullptr) return;
  using Self = Slot<&tenon_collective_vtable::comm_destroy>;
  Self::Call(comm);
  HandleBook::Get().Remove(HandleKind::kComm, comm);
}

// Puts `checked` where the plugin has a slot.
template <auto kMember, class Table, class F>
void Install(const Table& sound, Table* table, const char* name, F checked) {
  Slot<kMember>::name = name;
  if (sound.*kMember != nullptr) table->*kMember = checked;
}
#define TENON_PLAIN(table, member, id) Install<&table::member>(sound, out, id "." #member, &Slot<&table::member>::Call)
#define TENON_MAKER(table, member, id) Install<&table::member>(sound, out, id "." #member, &Maker<&table::member>::Call)
#define TENON_ENDER(table, member, id) Install<&table::member>(sound, out, id "." #member, &Ender<&table::member>::Call)
#define TENON_OWN(table, member, id, function) Install<&table::member>(sound, out, id "." #member, &function)

void Fill(const tenon_device_vtable& sound, tenon_device_vtable* out) {
  TENON_PLAIN(tenon_device_vtable, device_count, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, device_info, "tenon.device");
  TENON_OWN(tenon_device_vtable, open, "tenon.device", OpenDevice);
  TENON_ENDER(tenon_device_vtable, close, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, query, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, status, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, layout_info, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, reorder, "tenon.device");
  TENON_PLAIN(tenon_device_vtable, find_layout, "tenon.device");
}

void Fill(const tenon_memory_vtable& sound, tenon_memory_vtable* out) {
  TENON_PLAIN(tenon_memory_vtable, space_count, "tenon.memory");
  TENON_OWN(tenon_memory_vtable, space_get, "tenon.memory", GetSpace);
  TENON_OWN(tenon_memory_vtable, alloc, "tenon.memory", Allocate);
  TENON_OWN(tenon_memory_vtable, free, "tenon.memory", Free);
  TENON_PLAIN(tenon_memory_vtable, copy, "tenon.memory");
  TENON_PLAIN(tenon_memory_vtable, fill, "tenon.memory");
  TENON_OWN(tenon_memory_vtable, wrap_external, "tenon.memory", WrapExternal);
  TENON_PLAIN(tenon_memory_vtable, stats, "tenon.memory");
  TENON_PLAIN(tenon_memory_vtable, trim, "tenon.memory");
}

void Fill(const tenon_stream_vtable& sound, tenon_stream_vtable* out) {
  TENON_MAKER(tenon_stream_vtable, stream_create, "tenon.stream");
  TENON_ENDER(tenon_stream_vtable, stream_destroy, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, stream_query, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, stream_synchronize, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, stream_wait_event, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, stream_notify, "tenon.stream");
  TENON_MAKER(tenon_stream_vtable, event_create, "tenon.stream");
  TENON_ENDER(tenon_stream_vtable, event_destroy, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, event_record, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, event_query, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, event_synchronize, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, event_elapsed, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, native, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, capture_begin, "tenon.stream");
  TENON_MAKER(tenon_stream_vtable, capture_end, "tenon.stream");
  TENON_PLAIN(tenon_stream_vtable, capture_replay, "tenon.stream");
  TENON_ENDER(tenon_stream_vtable, capture_destroy, "tenon.stream");
  TENON_MAKER(tenon_stream_vtable, wrap_native, "tenon.stream");
}

void Fill(const tenon_op_vtable& sound, tenon_op_vtable* out) {
  // Definitions are constant tables of the library: nothing to check, and no instance is needed.
  out->list_operators = sound.list_operators;
  TENON_OWN(tenon_op_vtable, list_kernels, "tenon.op", ListKernels);
  TENON_PLAIN(tenon_op_vtable, release_caches, "tenon.op");
}

void Fill(const tenon_collective_vtable& sound, tenon_collective_vtable* out) {
  TENON_PLAIN(tenon_collective_vtable, memory_kinds, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, supports, "tenon.collective");
  TENON_OWN(tenon_collective_vtable, comm_create, "tenon.collective", CreateComm);
  TENON_PLAIN(tenon_collective_vtable, comm_state, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, async_error, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, progress, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, abort_mark, "tenon.collective");
  TENON_OWN(tenon_collective_vtable, comm_destroy, "tenon.collective", DestroyComm);
  TENON_PLAIN(tenon_collective_vtable, all_reduce, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, reduce, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, broadcast, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, all_gather, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, reduce_scatter, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, all_to_all, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, all_to_all_v, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, gather, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, scatter, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, send, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, recv, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, barrier, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, buffer_alloc, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, buffer_free, "tenon.collective");
  TENON_PLAIN(tenon_collective_vtable, describe, "tenon.collective");
  // A group belongs to several communicators.
  out->group_begin = sound.group_begin;
  out->group_end = sound.group_end;
}

void Fill(const tenon_profiler_vtable& sound, tenon_profiler_vtable* out) {
  TENON_PLAIN(tenon_profiler_vtable, clock_count, "tenon.profiler");
  TENON_PLAIN(tenon_profiler_vtable, clock_info, "tenon.profiler");
  TENON_PLAIN(tenon_profiler_vtable, clock_pair, "tenon.profiler");
  TENON_MAKER(tenon_profiler_vtable, start, "tenon.profiler");
  TENON_ENDER(tenon_profiler_vtable, stop, "tenon.profiler");
  TENON_PLAIN(tenon_profiler_vtable, flush, "tenon.profiler");
  TENON_PLAIN(tenon_profiler_vtable, set_mask, "tenon.profiler");
}

#undef TENON_PLAIN
#undef TENON_MAKER
#undef TENON_ENDER
#undef TENON_OWN

template <class Table>
void FillFrom(const Table* sound, Table* out) {
  *out = TENON_INIT(Table);
  if (sound != nullptr) Fill(*sound, out);
}

}  // namespace
}  // namespace checked

CheckedTables* CheckedTables::Make(std::string plugin_id, const Sound& sound) {
  TurnChecksOn();
  auto* tables = new CheckedTables;  // handles point here until the process ends
  static std::mutex mutex;
  static auto* const all = new std::vector<CheckedTables*>;
  const std::lock_guard lock(mutex);
  all->push_back(tables);
  tables->plugin_ = std::move(plugin_id);
  tables->sound_ = sound;
  checked::FillFrom(sound.device, &tables->device_);
  checked::FillFrom(sound.memory, &tables->memory_);
  checked::FillFrom(sound.stream, &tables->stream_);
  checked::FillFrom(sound.op, &tables->op_);
  checked::FillFrom(sound.collective, &tables->collective_);
  checked::FillFrom(sound.profiler, &tables->profiler_);
  return tables;
}

void CheckedTables::Created(tenon_plugin* instance) const {
  HandleRecord record;
  record.owner = this;
  HandleBook::Get().Add(HandleKind::kPlugin, instance, record);
}

void CheckedTables::Destroyed(tenon_plugin* instance) const { HandleBook::Get().Remove(HandleKind::kPlugin, instance); }

const std::vector<CheckedTables::CheckedKernel>& CheckedTables::Kernels(const tenon_kernel_def* first,
                                                                        std::uint64_t count,
                                                                        std::uint64_t stride) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!kernels_.empty()) return kernels_;
  kernels_.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* sound = reinterpret_cast<const tenon_kernel_def*>(reinterpret_cast<const char*>(first) + i * stride);
    CheckedKernel& kernel = kernels_[i];
    kernel.def = CopyRecord(sound);
    kernel.def.struct_size = sizeof(kernel.def);
    kernel.sound = sound;
    kernel.owner = this;
    const Status negotiated =
        NegotiateTable(LayoutOf<tenon_kernel_vtable>(), sound->vtable, TENON_ABI_MINOR, plugin_, &kernel.sound_table);
    if (!negotiated.ok())
      ReportBreach({PluginMessage::kCheckedStruct, plugin_, "tenon.op.list_kernels", negotiated.message()});
    kernel.table = checked::KernelTable(kernel.sound_table);
    kernel.def.vtable = &kernel.table;
  }
  return kernels_;
}

}  // namespace tenon
