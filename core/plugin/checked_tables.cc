#include "core/plugin/checked_tables.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/plugin/checked_call.h"
#include "core/plugin/plugin_records.h"

namespace tenon {

namespace checked {
namespace {

template <class T>
constexpr HandleKind KindOf() {
  return HandleKindOf<std::remove_cv_t<std::remove_pointer_t<T>>>::value;
}

const CheckedTables* OwnerOf(HandleKind kind, const void* handle, const char* slot) {
  const HandleRecord record = HandleBook::Get().Find(kind, handle);
  if (record.owner == nullptr)
    ReportBreach({PluginMessage::kCheckedHandle, "?", slot,
                  fmt::format("The {} {} is none that a plugin gave.", HandleKindName(kind), handle)});
  return record.owner;
}

template <class Table>
const Table* SoundTable(const CheckedTables* owner);
#define TENON_SOUND(type, member)                            \
  template <>                                                \
  const type* SoundTable<type>(const CheckedTables* owner) { \
    return owner->sound().member;                            \
  }
TENON_SOUND(tenon_device_vtable, device)
TENON_SOUND(tenon_memory_vtable, memory)
TENON_SOUND(tenon_stream_vtable, stream)
TENON_SOUND(tenon_op_vtable, op)
TENON_SOUND(tenon_collective_vtable, collective)
TENON_SOUND(tenon_profiler_vtable, profiler)
#undef TENON_SOUND

// A slot whose first argument is an object, which tells the plugin.
template <auto kMember>
struct Slot;
template <class Table, class R, class First, class... P, R (*Table::*kMember)(First, P...)>
struct Slot<kMember> {
  static inline std::atomic<const char*> name{""};  // the same for all tables, which may be made at the same time
  static R Call(First first, P... rest) {
    const CheckedTables* owner = OwnerOf(KindOf<First>(), first, name);
    if (owner == nullptr) return R();
    return CallChecked(Site{owner, name}, SoundTable<Table>(owner)->*kMember, first, rest...);
  }
};

// A slot that makes an object of type T, the last argument but one.
template <auto kMember>
struct Maker;
template <class Table, class First, class... P, std::int32_t (*Table::*kMember)(First, P...)>
struct Maker<kMember> {
  static std::int32_t Call(First first, P... rest) {
    const std::int32_t code = Slot<kMember>::Call(first, rest...);
    auto* place = std::get<sizeof...(P) - 2>(std::tuple<P...>(rest...));
    using T = std::remove_pointer_t<std::remove_pointer_t<decltype(place)>>;
    if (code != TENON_OK) return code;
    const CheckedTables* owner = HandleBook::Get().Find(KindOf<First>(), first).owner;
    if (*place == nullptr) {
      Site{owner, Slot<kMember>::name}.Breach(PluginMessage::kCheckedResult, "It answers OK but gives no {}.",
                                              HandleKindName(HandleKindOf<T>::value));
      return code;
    }
    HandleRecord record;
    record.owner = owner;
    record.device = first;
    HandleBook::Get().Add(HandleKindOf<T>::value, *place, record);
    return code;
  }
};

// A slot that ends its first argument.
template <auto kMember>
struct Ender;
template <class Table, class R, class First, class... P, R (*Table::*kMember)(First, P...)>
struct Ender<kMember> {
  static R Call(First first, P... rest) {
    if (first == nullptr) return R();  // documented: does nothing
    const CheckedTables* owner = OwnerOf(KindOf<First>(), first, Slot<kMember>::name);
    if (owner == nullptr) return R();
    const Site site{owner, Slot<kMember>::name};
    CheckHandle(site, KindOf<First>(), first);
    // Gone before the plugin may give the address to another thread.
    HandleBook::Get().Remove(KindOf<First>(), first);
    if constexpr (std::is_void_v<R>) {
      (SoundTable<Table>(owner)->*kMember)(first, rest...);
    } else {
      return (SoundTable<Table>(owner)->*kMember)(first, rest...);
    }
  }
};

// ---- tenon.device, tenon.memory ----

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

std::int32_t GetSpace(tenon_device* device, std::uint32_t index, tenon_space** space, tenon_space_info* info,
                      tenon_error* error) {
  const std::int32_t code = Slot<&tenon_memory_vtable::space_get>::Call(device, index, space, info, error);
  if (code != TENON_OK || *space == nullptr) return code;
  HandleRecord record;
  record.owner = HandleBook::Get().Find(HandleKind::kDevice, device).owner;
  record.device = device;
  record.flag = (info->flags & TENON_SPACE_HOST_ACCESSIBLE) != 0;
  HandleBook::Get().Add(HandleKind::kSpace, *space, record);
  return code;
}

constexpr unsigned char kGuardByte = 0xA7;

// Reachable memory lies between guards that are looked at when it is freed.
std::int32_t Allocate(tenon_space* space, std::uint64_t bytes, std::uint64_t align, tenon_stream* stream,
                      std::uint32_t hint, tenon_buffer** out, std::uint64_t* address, tenon_error* error) {
  const HandleRecord of = HandleBook::Get().Find(HandleKind::kSpace, space);
  const bool guarded = of.flag && stream == nullptr && bytes > 0 && bytes < (std::uint64_t{1} << 46) &&
                       (align & (align - 1)) == 0 && align <= (1 << 20);
  const std::uint64_t guard = guarded ? std::max<std::uint64_t>(align, 256) : 0;
  using Self = Slot<&tenon_memory_vtable::alloc>;
  const std::int32_t code = Self::Call(space, bytes + 2 * guard, align, stream, hint, out, address, error);
  if (code != TENON_OK) return code;
  const Site site{of.owner, Self::name};
  if (*out == nullptr) site.Breach(PluginMessage::kCheckedResult, "It answers OK but gives no buffer.");
  if (bytes > 0 && *address == 0) site.Breach(PluginMessage::kCheckedResult, "It answers OK but gives address 0.");
  if (align > 0 && *address % align != 0)
    site.Breach(PluginMessage::kCheckedResult, "It gives address {:#x}, which is not aligned to {}.", *address, align);
  HandleRecord record;
  record.owner = of.owner;
  record.bytes = bytes;
  if (guarded && *address != 0) {
    record.base = *address;
    record.guard = guard;
    std::memset(reinterpret_cast<void*>(record.base), kGuardByte, guard);
    std::memset(reinterpret_cast<void*>(record.base + guard + bytes), kGuardByte, guard);
    *address += guard;
  }
  HandleBook::Get().Add(HandleKind::kBuffer, *out, record);
  return code;
}

void CheckGuards(const Site& site, std::uint64_t base, std::uint64_t guard, std::uint64_t bytes, const char* what) {
  const auto* before = reinterpret_cast<const unsigned char*>(base);
  const unsigned char* after = before + guard + bytes;
  for (std::uint64_t i = 0; i < guard; ++i) {
    if (before[guard - 1 - i] != kGuardByte)
      return site.Breach(PluginMessage::kCheckedGuard, "Somebody wrote {} bytes before {} of {} bytes.", i + 1, what,
                         bytes);
    if (after[i] != kGuardByte)
      return site.Breach(PluginMessage::kCheckedGuard, "Somebody wrote {} bytes past the end of {} of {} bytes.", i + 1,
                         what, bytes);
  }
}

void Free(tenon_buffer* buffer, tenon_stream* stream) {
  using Self = Slot<&tenon_memory_vtable::free>;
  if (buffer != nullptr && stream == nullptr) {
    const HandleRecord record = HandleBook::Get().Find(HandleKind::kBuffer, buffer);
    if (record.alive && record.guard > 0)
      CheckGuards({record.owner, Self::name}, record.base, record.guard, record.bytes, "a buffer");
  }
  Ender<&tenon_memory_vtable::free>::Call(buffer, stream);
}

std::int32_t WrapExternal(tenon_space* space, std::uint64_t address, std::uint64_t bytes, tenon_deleter_fn deleter,
                          void* user, tenon_buffer** out, tenon_error* error) {
  return Maker<&tenon_memory_vtable::wrap_external>::Call(space, address, bytes, deleter, user, out, error);
}

// ---- tenon.op ----

std::int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, std::uint64_t* count,
                         std::uint64_t* stride, tenon_error* error) {
  if (plugin == nullptr) return Fail(error, TENON_FAILED_PRECONDITION, "Under checks an instance is needed.");
  using Self = Slot<&tenon_op_vtable::list_kernels>;
  const std::int32_t code = Self::Call(plugin, first, count, stride, error);
  if (code != TENON_OK || *count == 0) return code;
  const CheckedTables* owner = HandleBook::Get().Find(HandleKind::kPlugin, plugin).owner;
  const auto& kernels = owner->Kernels(*first, *count, *stride);
  *first = &kernels.front().def;
  *stride = sizeof(CheckedTables::CheckedKernel);
  return code;
}

const CheckedTables::CheckedKernel& KernelOf(const tenon_kernel_def* def) {
  return *reinterpret_cast<const CheckedTables::CheckedKernel*>(def);
}

std::int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                      std::uint32_t* verdict, const tenon_reason_sink* reason) {
  const CheckedTables::CheckedKernel& kernel = KernelOf(def);
  const Site site{kernel.owner, "tenon.op.kernel.supports"};
  *verdict = 0;
  const std::int32_t code =
      CallChecked(site, kernel.sound_table.supports, plugin, kernel.sound, query, verdict, reason);
  if (code == TENON_OK && (*verdict < TENON_VERDICT_YES || *verdict > TENON_VERDICT_NO))
    site.Breach(PluginMessage::kCheckedResult, "It answers OK with the verdict {}.", *verdict);
  return code;
}

std::int32_t QueryLayouts(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                          const tenon_layout_sink* sink, tenon_error* error) {
  const CheckedTables::CheckedKernel& kernel = KernelOf(def);
  return CallChecked(Site{kernel.owner, "tenon.op.kernel.query_layouts"}, kernel.sound_table.query_layouts, plugin,
                     kernel.sound, query, sink, error);
}

std::int32_t CreateKernel(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                          tenon_kernel** out, tenon_error* error) {
  const CheckedTables::CheckedKernel& kernel = KernelOf(def);
  const Site site{kernel.owner, "tenon.op.kernel.create"};
  const std::int32_t code = CallChecked(site, kernel.sound_table.create, plugin, kernel.sound, query, out, error);
  if (code != TENON_OK) return code;
  if (*out == nullptr) {
    site.Breach(PluginMessage::kCheckedResult, "It answers OK but gives no kernel.");
    return code;
  }
  HandleRecord record;
  record.owner = kernel.owner;
  record.device = query->device;
  record.flag = (def->traits & TENON_TRAIT_ONE_CALL) != 0;
  record.base = reinterpret_cast<std::uintptr_t>(def);  // how the other slots find the tables
  HandleBook::Get().Add(HandleKind::kKernel, *out, record);
  return code;
}

// The tables of an instance; null after a breach.
const CheckedTables::CheckedKernel* KernelOf(tenon_kernel* handle, const char* slot) {
  const CheckedTables* owner = OwnerOf(HandleKind::kKernel, handle, slot);
  if (owner == nullptr) return nullptr;
  CheckHandle({owner, slot}, HandleKind::kKernel, handle);
  return reinterpret_cast<const CheckedTables::CheckedKernel*>(
      HandleBook::Get().Find(HandleKind::kKernel, handle).base);
}

std::int32_t PlanKernel(tenon_kernel* handle, const tenon_plan_args* args, tenon_plan_result* out, tenon_error* error) {
  constexpr char kName[] = "tenon.op.kernel.plan";
  const auto* kernel = KernelOf(handle, kName);
  if (kernel == nullptr) return TENON_INTERNAL;
  const std::int32_t code = CallChecked(Site{kernel->owner, kName}, kernel->sound_table.plan, handle, args, out, error);
  if (code == TENON_OK) {
    HandleBook::Get().Change(HandleKind::kKernel, handle,
                             [out](HandleRecord& record) { record.workspace = out->workspace_bytes; });
  }
  return code;
}

const tenon_tensor& ViewAt(const tenon_tensor* first, std::uint32_t stride, std::uint32_t index) {
  return *reinterpret_cast<const tenon_tensor*>(reinterpret_cast<const char*>(first) + std::uint64_t{stride} * index);
}

// Bytes of a dense operand that the host can read; empty for all others.
std::pair<const unsigned char*, std::uint64_t> ReadableBytes(const tenon_tensor& view) {
  const bool readable = (view.flags & TENON_TENSOR_HOST_ACCESSIBLE) != 0 &&
                        (view.flags & (TENON_TENSOR_ABSENT | TENON_TENSOR_EMPTY)) == 0 &&
                        view.layout == TENON_LAYOUT_STRIDED && view.strides == nullptr;
  if (!readable) return {nullptr, 0};
  std::uint64_t bytes = 0;
  switch (view.dtype) {
    case TENON_DTYPE_F32:
    case TENON_DTYPE_I32:
      bytes = 4;
      break;
    case TENON_DTYPE_F64:
    case TENON_DTYPE_I64:
      bytes = 8;
      break;
    case TENON_DTYPE_F16:
    case TENON_DTYPE_BF16:
      bytes = 2;
      break;
    case TENON_DTYPE_U8:
    case TENON_DTYPE_I8:
    case TENON_DTYPE_BOOL:
      bytes = 1;
      break;
    default:
      return {nullptr, 0};
  }
  for (std::uint32_t axis = 0; axis < view.rank; ++axis) bytes *= static_cast<std::uint64_t>(view.dims[axis]);
  return {reinterpret_cast<const unsigned char*>(view.address + view.byte_offset), bytes};
}

// Digests of inputs that no output overlaps: those must stay as they are.
std::vector<std::uint64_t> DigestInputs(const tenon_kernel_call& call) {
  std::vector<std::uint64_t> digests;
  for (std::uint32_t i = 0; i < call.input_count; ++i) {
    const auto [data, bytes] = ReadableBytes(ViewAt(call.inputs, call.input_stride, i));
    bool written = data == nullptr;
    for (std::uint32_t k = 0; k < call.output_count && !written; ++k) {
      const auto [target, size] = ReadableBytes(ViewAt(call.outputs, call.output_stride, k));
      written = target == nullptr ? (ViewAt(call.outputs, call.output_stride, k).flags & TENON_TENSOR_ABSENT) == 0
                                  : target < data + bytes && data < target + size;
    }
    std::uint64_t digest = 0;
    for (std::uint64_t at = 0; !written && at < bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + at, static_cast<std::size_t>(std::min<std::uint64_t>(8, bytes - at)));
      digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    }
    digests.push_back(digest);
  }
  return digests;
}

// A workspace of exactly the planned size between guards, in place of the host's.
class GuardedWorkspace {
 public:
  GuardedWorkspace(bool wanted, std::uint64_t bytes, std::uint64_t given) {
    if (!wanted || bytes == 0) return;
    const std::uint64_t align = std::max<std::uint64_t>(64, std::min<std::uint64_t>(given & (~given + 1), 4096));
    bytes_ = bytes;
    memory_.resize(bytes + 2 * kGuard + align);
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = (start + kGuard + align - 1) / align * align;
    std::memset(reinterpret_cast<void*>(data_ - kGuard), kGuardByte, bytes + 2 * kGuard);
    std::memset(reinterpret_cast<void*>(data_), 0xFF, bytes);
  }
  std::uint64_t address() const { return data_; }
  void Check(const Site& site) const {
    if (data_ != 0) CheckGuards(site, data_ - kGuard, kGuard, bytes_, "a workspace");
  }

 private:
  static constexpr std::uint64_t kGuard = 256;
  std::vector<unsigned char> memory_;
  std::uint64_t data_ = 0, bytes_ = 0;
};

std::int32_t ExecuteKernel(tenon_kernel* handle, const tenon_kernel_call* call, tenon_error* error) {
  constexpr char kName[] = "tenon.op.kernel.execute";
  const auto* kernel = KernelOf(handle, kName);
  if (kernel == nullptr) return TENON_INTERNAL;
  const Site site{kernel->owner, kName};
  CheckHandle(site, HandleKind::kStream, call->stream);
  HandleRecord record;
  HandleBook::Get().Change(HandleKind::kKernel, handle, [&record](HandleRecord& mine) {
    ++mine.calls;
    record = mine;
  });
  if (record.flag && record.calls > 1)
    site.Breach(PluginMessage::kCheckedThreads, "{} calls run at once on a kernel that takes one call at a time.",
                record.calls);
  if (call->workspace_bytes < record.workspace)
    site.Breach(PluginMessage::kCheckedStruct, "The call brings {} bytes of workspace; the plan asked for {}.",
                call->workspace_bytes, record.workspace);
  // Only where work is finished when the call returns can its traces be looked at.
  const bool finished = HandleBook::Get().Find(HandleKind::kDevice, record.device).flag;
  GuardedWorkspace workspace(finished, record.workspace, call->workspace);
  tenon_kernel_call mine = TENON_INIT(tenon_kernel_call);
  std::memcpy(&mine, call, std::min<std::size_t>(call->struct_size, sizeof(mine)));
  if (workspace.address() != 0) {
    mine.workspace = workspace.address();
    mine.workspace_bytes = record.workspace;
  }
  const std::vector<std::uint64_t> before = finished ? DigestInputs(mine) : std::vector<std::uint64_t>();
  const tenon_kernel_call* given = &mine;
  const std::int32_t code = CallChecked(site, kernel->sound_table.execute, handle, given, error);
  HandleBook::Get().Change(HandleKind::kKernel, handle, [](HandleRecord& running) { --running.calls; });
  if (!finished) return code;
  workspace.Check(site);
  const std::vector<std::uint64_t> after = DigestInputs(mine);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i])
      site.Breach(PluginMessage::kCheckedInput, "Kernel {} of {} changed input {}.", View(kernel->sound->name),
                  View(kernel->sound->op_type), i);
  }
  return code;
}

void DestroyKernel(tenon_kernel* handle) {
  if (handle == nullptr) return;
  const auto* kernel = KernelOf(handle, "tenon.op.kernel.destroy");
  if (kernel == nullptr) return;
  HandleBook::Get().Remove(HandleKind::kKernel, handle);
  kernel->sound_table.destroy(handle);
}

std::uint64_t HeldBytes(tenon_kernel* handle) {
  const auto* kernel = KernelOf(handle, "tenon.op.kernel.held_bytes");
  return kernel == nullptr ? 0 : kernel->sound_table.held_bytes(handle);
}

tenon_kernel_vtable KernelTable(const tenon_kernel_vtable& sound) {
  tenon_kernel_vtable table = TENON_INIT(tenon_kernel_vtable);
  table.supports = &Supports;
  if (sound.query_layouts != nullptr) table.query_layouts = &QueryLayouts;
  table.create = &CreateKernel;
  if (sound.plan != nullptr) table.plan = &PlanKernel;
  table.execute = &ExecuteKernel;
  table.destroy = &DestroyKernel;
  if (sound.held_bytes != nullptr) table.held_bytes = &HeldBytes;
  return table;
}

// ---- collectives ----

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
