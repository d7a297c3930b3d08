// The plugin instance, its descriptor and its note.
//
//   class MyPlugin : public tenon::sdk::Plugin { ... };
//   constexpr tenon_interface kInterfaces[] = {tenon::sdk::DeviceInterface(), tenon::sdk::OpInterface<Tables>()};
//   TENON_SDK_PLUGIN(MyPlugin, "com.vendor.npu", "1.0.0", "Vendor", "Apache-2.0",
//                    TENON_KIND_DEVICE | TENON_KIND_OP, kInterfaces);
#pragma once

#include "tenon/abi/device.h"
#include "tenon/abi/note.h"
#include "tenon/sdk/host.h"

namespace tenon::sdk {

class Device;
class Profiler;

// One instance. Derive from it, read options in Start, open devices in OpenDevice.
class Plugin {
 public:
  virtual ~Plugin() = default;

  // Called once, before everything else.
  virtual int32_t Start(const tenon_create_args& args, Error& error) {
    (void)args, (void)error;
    return TENON_OK;
  }

  // ---- tenon.device; for plugins that offer it ----
  virtual int32_t DeviceCount(uint32_t& out, Error& error) {
    (void)error;
    out = 0;
    return TENON_OK;
  }
  virtual int32_t DescribeDevice(uint32_t index, tenon_device_info& out, Error& error) {
    (void)out;
    return error.Fail(TENON_OUT_OF_RANGE, "There is no device ", index, ".");
  }
  // *out belongs to the host until it closes the device.
  virtual int32_t OpenDevice(uint32_t index, Device** out, Error& error) {
    (void)out;
    return error.Fail(TENON_OUT_OF_RANGE, "There is no device ", index, ".");
  }
  // Leaves out.answer UNKNOWN for an unknown key.
  virtual int32_t Query(uint32_t index, std::string_view key, tenon_value& out, Error& error) {
    (void)index, (void)key, (void)out, (void)error;
    return TENON_OK;
  }

  // ---- tenon.op ----
  virtual void ReleaseCaches() {}

  // ---- tenon.profiler; NULL: none ----
  virtual Profiler* profiler() { return nullptr; }

  Host host() const { return host_; }
  uint32_t thread_budget() const { return thread_budget_; }
  tenon_plugin* handle() { return reinterpret_cast<tenon_plugin*>(this); }
  static Plugin* From(tenon_plugin* handle) { return reinterpret_cast<Plugin*>(handle); }
  // Table of the host behind a handle that may be NULL.
  static const tenon_host_api* HostOf(tenon_plugin* handle) {
    return handle == nullptr ? nullptr : From(handle)->host_.api();
  }

 private:
  template <typename T>
  friend int32_t CreatePlugin(const tenon_create_args* args, tenon_plugin** out, tenon_error* sink) noexcept;
  Host host_;
  uint32_t thread_budget_ = 1;
};

template <typename T>
int32_t CreatePlugin(const tenon_create_args* args, tenon_plugin** out, tenon_error* sink) noexcept {
  *out = nullptr;
  return Guard(args->host, sink, [&](Error& error) -> int32_t {
    Plugin* plugin = new T();
    plugin->host_ = Host(args->host);
    plugin->thread_budget_ = args->thread_budget == 0 ? 1 : args->thread_budget;
    int32_t code = TENON_OK;
    try {
      code = plugin->Start(*args, error);
    } catch (...) {
      delete plugin;
      throw;
    }
    if (code != TENON_OK) {
      delete plugin;
      return code;
    }
    *out = plugin->handle();
    return TENON_OK;
  });
}

inline void DestroyPlugin(tenon_plugin* handle) noexcept { delete Plugin::From(handle); }

// Interface record; what a table of interfaces consists of.
constexpr tenon_interface Interface(std::string_view id, const void* vtable) {
  return tenon_abi_interface(Str(id), vtable);
}

template <typename T>
constexpr tenon_plugin_descriptor Descriptor(std::string_view id, std::string_view version, std::string_view vendor,
                                             std::string_view licence, uint64_t kinds,
                                             const tenon_interface* interfaces, uint32_t interface_count) {
#ifdef NDEBUG
  constexpr uint32_t kDebug = 0;
#else
  constexpr uint32_t kDebug = 1;
#endif
  tenon_plugin_descriptor descriptor = TENON_INIT(tenon_plugin_descriptor);
  descriptor.magic = TENON_DESCRIPTOR_MAGIC;
  descriptor.abi_major = TENON_ABI_MAJOR;
  descriptor.abi_minor = TENON_TARGET_MINOR;
  descriptor.oldest_host_minor = TENON_REQUIRED_HOST_MINOR;
  descriptor.abi_draft = TENON_ABI_DRAFT;
  descriptor.plugin_id = Str(id);
  descriptor.plugin_version = Str(version);
  descriptor.vendor = Str(vendor);
  descriptor.licence = Str(licence);
  descriptor.kinds = kinds;
  descriptor.sanitizer = TENON_BUILD_SANITIZER;
  descriptor.debug_build = kDebug;
  descriptor.compiler = Str(__VERSION__);
  descriptor.interfaces = interfaces;
  descriptor.interface_count = interface_count;
  descriptor.interface_stride = sizeof(tenon_interface);
  descriptor.create = &CreatePlugin<T>;
  descriptor.destroy = &DestroyPlugin;
  return descriptor;
}

// What tenon_plugin_query_v1 answers: NULL to a host of another major.
inline const tenon_plugin_descriptor* Answer(const tenon_host_info* host, const tenon_plugin_descriptor& descriptor) {
  if (host != nullptr && TENON_HAS_FIELD(host, tenon_host_info, abi_major) && host->abi_major != TENON_ABI_MAJOR) {
    return nullptr;
  }
  return &descriptor;
}

}  // namespace tenon::sdk

// Note, descriptor and entry point of a plugin; once per library, at file scope. Further arguments are the note's
// flags (tenon_note_flag) and CPU features (tenon_cpu_feature).
#define TENON_SDK_PLUGIN_WITH(Type, id, version, vendor, licence, kinds, interfaces, note_flags, cpu_features) \
  TENON_PLUGIN_NOTE(id, version, kinds, note_flags, cpu_features);                                             \
  extern "C" TENON_EXPORT const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host) {  \
    static constexpr tenon_plugin_descriptor descriptor = ::tenon::sdk::Descriptor<Type>(                      \
        id, version, vendor, licence, kinds, interfaces, sizeof(interfaces) / sizeof((interfaces)[0]));        \
    return ::tenon::sdk::Answer(host, descriptor);                                                             \
  }                                                                                                            \
  static_assert(true)
#define TENON_SDK_PLUGIN(Type, id, version, vendor, licence, kinds, interfaces) \
  TENON_SDK_PLUGIN_WITH(Type, id, version, vendor, licence, kinds, interfaces, 0, 0)
