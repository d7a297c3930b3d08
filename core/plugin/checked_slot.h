// The three forms that most slots of checked tables have: any, one that makes an object, one that ends it. Included by the
// files of checked tables alone.
#pragma once

#include <atomic>
#include <tuple>
#include <type_traits>

#include "core/plugin/checked_call.h"

namespace tenon::checked {

template <class T>
constexpr HandleKind KindOf() {
  return HandleKindOf<std::remove_cv_t<std::remove_pointer_t<T>>>::value;
}

inline const CheckedTables* OwnerOf(HandleKind kind, const void* handle, const char* slot) {
  const HandleRecord record = HandleBook::Get().Find(kind, handle);
  if (record.owner == nullptr)
    ReportBreach({PluginMessage::kCheckedHandle, "?", slot,
                  fmt::format("The {} {} is none that a plugin gave.", HandleKindName(kind), handle)});
  return record.owner;
}

template <class Table>
const Table* SoundTable(const CheckedTables* owner);
#define TENON_SOUND(type, member)                                   \
  template <>                                                       \
  inline const type* SoundTable<type>(const CheckedTables* owner) { \
    return owner->sound().member;                                   \
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

}  // namespace tenon::checked
