// The part of the checking layer that is the same for all slots: finds the plugin by the first argument, looks at the
// objects among the others, keeps an eye on out-structs, and judges the answer. Included by the files
// of checked tables alone.
#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/plugin/checked_tables.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/handle_book.h"

namespace tenon::checked {

template <class T, class = void>
struct IsHandle : std::false_type {};
template <class T>
struct IsHandle<T, std::void_t<decltype(HandleKindOf<T>::value)>> : std::true_type {};

template <class T>
inline constexpr bool kIsOutStruct =
    std::is_same_v<T, tenon_device_info> || std::is_same_v<T, tenon_space_info> ||
    std::is_same_v<T, tenon_memory_stats> || std::is_same_v<T, tenon_value> || std::is_same_v<T, tenon_layout_info> ||
    std::is_same_v<T, tenon_plan_result> || std::is_same_v<T, tenon_comm_progress> ||
    std::is_same_v<T, tenon_comm_buffer_info> || std::is_same_v<T, tenon_clock_info> ||
    std::is_same_v<T, tenon_clock_pair>;

// The call under way, for messages.
struct Site {
  const CheckedTables* owner;
  const char* slot;

  template <class... Args>
  void Breach(PluginMessage message, fmt::format_string<Args...> text, Args&&... args) const {
    ReportBreach(
        {message, owner == nullptr ? "?" : owner->plugin(), slot, fmt::format(text, std::forward<Args>(args)...)});
  }
};

// Is this object the plugin's, and alive?
inline void CheckHandle(const Site& site, HandleKind kind, const void* handle) {
  if (handle == nullptr) return;
  const HandleRecord record = HandleBook::Get().Find(kind, handle);
  if (record.owner == nullptr) {
    site.Breach(PluginMessage::kCheckedHandle, "The {} {} is none that a plugin gave.", HandleKindName(kind), handle);
  } else if (!record.alive) {
    site.Breach(PluginMessage::kCheckedHandle, "The {} {} was destroyed before.", HandleKindName(kind), handle);
  } else if (record.owner != site.owner) {
    site.Breach(PluginMessage::kCheckedHandle, "The {} {} belongs to plugin {}.", HandleKindName(kind), handle,
                record.owner->plugin());
  }
}

// One argument on its way: what the plugin receives, and what is checked afterwards.
template <class P>
class Argument {
 public:
  Argument(const Site& site, P given) : value_(given) {
    if constexpr (std::is_pointer_v<P>) {
      using T = std::remove_cv_t<std::remove_pointer_t<P>>;
      if constexpr (IsHandle<T>::value) CheckHandle(site, HandleKindOf<T>::value, given);
    }
  }
  P value() const { return value_; }
  void After(const Site&, bool) {}

 private:
  P value_;
};

// An out-struct goes through memory of ours, so that a write past its capacity is seen and does no harm.
template <class T>
class OutArgument {
 public:
  OutArgument(const Site&, T* given) : caller_(given) {
    if (caller_ == nullptr) return;
    capacity_ = std::min<std::uint32_t>(caller_->struct_size, sizeof(T));
    std::memset(memory_, kMark, sizeof(memory_));
    std::memcpy(memory_, caller_, capacity_);
  }
  T* value() { return caller_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_); }
  void After(const Site& site, bool ok) {
    if (caller_ == nullptr) return;
    for (std::size_t i = capacity_; i < sizeof(memory_); ++i) {
      if (memory_[i] == kMark) continue;
      site.Breach(PluginMessage::kCheckedStruct,
                  "It wrote byte {} of a struct of {} bytes. Write at most the caller's struct_size.", i, capacity_);
      break;
    }
    std::uint32_t stored = 0;
    std::memcpy(&stored, memory_, sizeof(stored));
    if (ok && (stored > capacity_ || stored < 8))
      site.Breach(PluginMessage::kCheckedStruct, "It stored struct_size {} into a struct of {} bytes.", stored,
                  capacity_);
    std::memcpy(caller_, memory_, capacity_);
  }

 private:
  static constexpr unsigned char kMark = 0xC3;
  T* caller_;
  std::uint32_t capacity_ = 0;
  alignas(8) unsigned char memory_[sizeof(T) + 64];
};

// The error sink: always there, so that an error without a text is seen.
class SinkArgument {
 public:
  SinkArgument(const Site&, tenon_error* given) : caller_(given) {
    if (caller_ != nullptr) caller_->set = false;
  }
  tenon_error* value() { return caller_ == nullptr ? &own_ : caller_; }
  void After(const Site&, bool) {}
  bool filled() const {
    const tenon_error& sink = caller_ == nullptr ? own_ : *caller_;
    return sink.set && sink.message_size > 0;
  }

 private:
  tenon_error* caller_;
  tenon_error own_;
};

template <class P, class = void>
struct ArgumentFor {
  using Type = Argument<P>;
};
template <class T>
struct ArgumentFor<T*, std::enable_if_t<kIsOutStruct<T>>> {
  using Type = OutArgument<T>;
};
template <>
struct ArgumentFor<tenon_error*> {
  using Type = SinkArgument;
};

inline bool IsKnownCode(std::int32_t code) {
  return (code >= TENON_OK && code <= TENON_UNAUTHENTICATED) || (code >= TENON_DEVICE_LOST && code <= TENON_PENDING);
}
// Answers that are no failures and need no words.
inline bool NeedsText(std::int32_t code) {
  return code != TENON_OK && code != TENON_WOULD_BLOCK && code != TENON_PENDING && code != TENON_NOT_FOUND;
}

template <class Argument>
void RequireText(const Site& site, const Argument& argument, std::int32_t code) {
  if constexpr (std::is_same_v<Argument, SinkArgument>) {
    if (NeedsText(code) && !argument.filled())
      site.Breach(PluginMessage::kCheckedResult, "It answers {} without a text.", code);
  }
}

// Calls a slot with all of that.
template <class R, class... P>
R CallChecked(const Site& site, R (*slot)(P...), P... arguments) {
  std::tuple<typename ArgumentFor<P>::Type...> held(typename ArgumentFor<P>::Type(site, arguments)...);
  const auto finish = [&](bool ok) { std::apply([&](auto&... each) { (each.After(site, ok), ...); }, held); };
  if constexpr (std::is_void_v<R>) {
    std::apply([&](auto&... each) { slot(each.value()...); }, held);
    finish(true);
  } else {
    const R result = std::apply([&](auto&... each) { return slot(each.value()...); }, held);
    if constexpr (std::is_same_v<R, std::int32_t>) {
      finish(result == TENON_OK);
      if (!IsKnownCode(result)) site.Breach(PluginMessage::kCheckedResult, "It answers {}, which is no code.", result);
      std::apply([&](auto&... each) { (RequireText(site, each, result), ...); }, held);
    } else {
      finish(true);
    }
    return result;
  }
}

}  // namespace tenon::checked
