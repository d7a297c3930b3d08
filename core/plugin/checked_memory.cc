#include "core/plugin/checked_memory.h"

#include <algorithm>
#include <cstring>

#include "core/plugin/checked_slot.h"

namespace tenon::checked {

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

}  // namespace tenon::checked
