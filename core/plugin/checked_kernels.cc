#include "core/plugin/checked_kernels.h"

#include <algorithm>
#include <cstring>

#include "core/plugin/checked_memory.h"
#include "core/plugin/checked_slot.h"

namespace tenon::checked {
namespace {

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

}  // namespace

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

}  // namespace tenon::checked
