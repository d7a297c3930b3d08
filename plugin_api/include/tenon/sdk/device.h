// Device, memory space, stream and event as classes, and the three vtables over them. Members that throw or return
// codes are called under a guard. A device whose memory the host can use derives from HostDevice (host_device.h).
#pragma once

#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/stream.h"
#include "tenon/sdk/plugin.h"
#include "tenon/sdk/tensor.h"

namespace tenon::sdk {

class Device;
class Stream;

// Common part of all objects behind handles.
class Object {
 public:
  virtual ~Object() = default;
  Host host() const { return host_; }

 protected:
  explicit Object(Host host) : host_(host) {}

 private:
  Host host_;
};

// One allocation; Free ends it.
class Buffer : public Object {
 public:
  virtual void Free(Stream* stream) noexcept = 0;

 protected:
  using Object::Object;
};

class Space : public Object {
 public:
  virtual void Describe(tenon_space_info& out) const = 0;
  // stream may be NULL.
  virtual int32_t Alloc(uint64_t bytes, uint64_t align, Stream* stream, uint32_t hint, Buffer** out, uint64_t& address,
                        Error& error) = 0;
  virtual int32_t Fill(uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes, Stream* stream,
                       Error& error) = 0;
  virtual int32_t WrapExternal(uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user, Buffer** out,
                               Error& error) = 0;
  virtual void Stats(tenon_memory_stats& out) const = 0;
  virtual void Trim() {}

  tenon_space* handle() { return reinterpret_cast<tenon_space*>(this); }
  static Space* From(tenon_space* handle) { return reinterpret_cast<Space*>(handle); }

 protected:
  using Object::Object;
};

class Event : public Object {
 public:
  virtual int32_t Record(Stream& stream, Error& error) = 0;
  virtual int32_t Query(Error& error) = 0;
  virtual int32_t Synchronize(uint64_t timeout_ns, Error& error) = 0;
  virtual int32_t ElapsedTo(Event& later, double& ns, Error& error) = 0;
  // Ends the event, also a pending one.
  virtual void Destroy() noexcept { delete this; }

  tenon_event* handle() { return reinterpret_cast<tenon_event*>(this); }
  static Event* From(tenon_event* handle) { return reinterpret_cast<Event*>(handle); }

 protected:
  using Object::Object;
};

class Stream : public Object {
 public:
  virtual int32_t Query(Error& error) = 0;
  virtual int32_t Synchronize(uint64_t timeout_ns, Error& error) = 0;
  virtual int32_t WaitEvent(Event& event, Error& error) = 0;
  virtual int32_t Notify(tenon_token* token, Error& error) = 0;
  virtual uint64_t Native() { return 0; }
  // Ends the stream; pending work still runs.
  virtual void Destroy() noexcept { delete this; }

  tenon_stream* handle() { return reinterpret_cast<tenon_stream*>(this); }
  static Stream* From(tenon_stream* handle) { return reinterpret_cast<Stream*>(handle); }

 protected:
  using Object::Object;
};

// Name of a layout, which lives as long as the device; for people, and for kernels of other plugins.
inline void NameLayout(tenon_layout_info& out, std::string_view name) {
  (void)out, (void)name;
  out.name = Str(name);  // last member
}

class Device : public Object {
 public:
  virtual int32_t Status(Error& error) {
    (void)error;
    return TENON_OK;
  }
  // ---- layouts ----
  virtual int32_t LayoutInfo(uint32_t layout, uint32_t dtype, Dims dims, tenon_layout_info& out, Error& error) = 0;
  // stream may be NULL.
  virtual int32_t Reorder(Tensor source, Tensor target, Stream* stream, Error& error) = 0;
  virtual int32_t FindLayout(std::string_view name, uint32_t& out, Error& error) = 0;
  // ---- memory ----
  virtual uint32_t SpaceCount() const = 0;
  virtual Space& SpaceAt(uint32_t index) = 0;
  virtual int32_t Copy(const tenon_copy& copy, Stream* stream, Error& error) = 0;
  // ---- streams ----
  virtual int32_t CreateStream(const tenon_stream_options& options, Stream** out, Error& error) = 0;
  virtual int32_t CreateEvent(uint32_t flags, Event** out, Error& error) = 0;
  virtual int32_t WrapNative(uint64_t native, Stream** out, Error& error) {
    (void)native, (void)out;
    return error.Fail(TENON_UNIMPLEMENTED, "Streams of other libraries cannot be used.");
  }
  // Ends the device.
  virtual void Close() noexcept { delete this; }

  Plugin& plugin() const { return *plugin_; }
  tenon_device* handle() { return reinterpret_cast<tenon_device*>(this); }
  static Device* From(tenon_device* handle) { return reinterpret_cast<Device*>(handle); }

 protected:
  explicit Device(Plugin& plugin) : Object(plugin.host()), plugin_(&plugin) {}

 private:
  Plugin* plugin_;
};

namespace slots {

// ---- tenon.device ----
inline int32_t DeviceCount(tenon_plugin* plugin, uint32_t* out, tenon_error* sink) noexcept {
  return Guard(Plugin::HostOf(plugin), sink,
               [&](Error& error) { return Plugin::From(plugin)->DeviceCount(*out, error); });
}
inline int32_t DescribeDevice(tenon_plugin* plugin, uint32_t index, tenon_device_info* out,
                              tenon_error* sink) noexcept {
  return Guard(Plugin::HostOf(plugin), sink, [&](Error& error) {
    tenon_device_info info = TENON_INIT(tenon_device_info);
    info.numa_node = -1;
    const int32_t code = Plugin::From(plugin)->DescribeDevice(index, info, error);
    if (code == TENON_OK) CopyOut(info, out);
    return code;
  });
}
inline int32_t OpenDevice(tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* sink) noexcept {
  *out = nullptr;
  return Guard(Plugin::HostOf(plugin), sink, [&](Error& error) {
    Device* device = nullptr;
    const int32_t code = Plugin::From(plugin)->OpenDevice(index, &device, error);
    if (code == TENON_OK) *out = device->handle();
    return code;
  });
}
inline void CloseDevice(tenon_device* device) noexcept {
  if (device != nullptr) Device::From(device)->Close();
}
inline int32_t QueryDevice(tenon_plugin* plugin, uint32_t index, tenon_str key, tenon_value* out,
                           tenon_error* sink) noexcept {
  return Guard(Plugin::HostOf(plugin), sink, [&](Error& error) {
    tenon_value value = TENON_INIT(tenon_value);
    const int32_t code = Plugin::From(plugin)->Query(index, Text(key), value, error);
    if (code == TENON_OK) CopyOut(value, out);
    return code;
  });
}
template <typename Body>
int32_t OnDevice(tenon_device* device, tenon_error* sink, Body&& body) noexcept {
  Device& object = *Device::From(device);
  return Guard(object.host().api(), sink, [&](Error& error) { return body(object, error); });
}
inline int32_t DeviceStatus(tenon_device* device, tenon_error* sink) noexcept {
  return OnDevice(device, sink, [&](Device& object, Error& error) { return object.Status(error); });
}
inline int32_t LayoutInfo(tenon_device* device, uint32_t layout, uint32_t dtype, uint32_t rank, const int64_t* dims,
                          tenon_layout_info* out, tenon_error* sink) noexcept {
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    tenon_layout_info info = TENON_INIT(tenon_layout_info);
    if (TENON_HAS_FIELD(out, tenon_layout_info, strides)) info.strides = out->strides;
    const int32_t code = object.LayoutInfo(layout, dtype, Dims(dims, rank), info, error);
    if (code == TENON_OK) CopyOut(info, out);
    return code;
  });
}
inline int32_t Reorder(tenon_device* device, const tenon_tensor* source, const tenon_tensor* target,
                       tenon_stream* stream, tenon_error* sink) noexcept {
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    return object.Reorder(Tensor(*source), Tensor(*target), Stream::From(stream), error);
  });
}
inline int32_t FindLayout(tenon_device* device, tenon_str name, uint32_t* out, tenon_error* sink) noexcept {
  return OnDevice(device, sink,
                  [&](Device& object, Error& error) { return object.FindLayout(Text(name), *out, error); });
}

// ---- tenon.memory ----
inline int32_t SpaceCount(tenon_device* device, uint32_t* out, tenon_error* sink) noexcept {
  return OnDevice(device, sink, [&](Device& object, Error&) {
    *out = object.SpaceCount();
    return static_cast<int32_t>(TENON_OK);
  });
}
inline int32_t GetSpace(tenon_device* device, uint32_t index, tenon_space** space, tenon_space_info* info,
                        tenon_error* sink) noexcept {
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    if (index >= object.SpaceCount()) return error.Fail(TENON_OUT_OF_RANGE, "There is no memory space ", index, ".");
    Space& found = object.SpaceAt(index);
    tenon_space_info described = TENON_INIT(tenon_space_info);
    found.Describe(described);
    CopyOut(described, info);
    *space = found.handle();
    return static_cast<int32_t>(TENON_OK);
  });
}
template <typename Body>
int32_t OnSpace(tenon_space* space, tenon_error* sink, Body&& body) noexcept {
  Space& object = *Space::From(space);
  return Guard(object.host().api(), sink, [&](Error& error) { return body(object, error); });
}
inline int32_t Alloc(tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                     tenon_buffer** out, uint64_t* address, tenon_error* sink) noexcept {
  *out = nullptr;
  *address = 0;
  return OnSpace(space, sink, [&](Space& object, Error& error) {
    Buffer* buffer = nullptr;
    const int32_t code = object.Alloc(bytes, align, Stream::From(stream), hint, &buffer, *address, error);
    if (code == TENON_OK) *out = reinterpret_cast<tenon_buffer*>(buffer);
    return code;
  });
}
inline void FreeBuffer(tenon_buffer* buffer, tenon_stream* stream) noexcept {
  if (buffer != nullptr) reinterpret_cast<Buffer*>(buffer)->Free(Stream::From(stream));
}
inline int32_t Copy(tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* sink) noexcept {
  return OnDevice(device, sink,
                  [&](Device& object, Error& error) { return object.Copy(*copy, Stream::From(stream), error); });
}
inline int32_t Fill(tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes,
                    tenon_stream* stream, tenon_error* sink) noexcept {
  return OnSpace(space, sink, [&](Space& object, Error& error) {
    return object.Fill(address, bytes, pattern, pattern_bytes, Stream::From(stream), error);
  });
}
inline int32_t WrapExternal(tenon_space* space, uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user,
                            tenon_buffer** out, tenon_error* sink) noexcept {
  *out = nullptr;
  Buffer* buffer = nullptr;
  const int32_t code = OnSpace(space, sink, [&](Space& object, Error& error) {
    return object.WrapExternal(address, bytes, deleter, user, &buffer, error);
  });
  if (code == TENON_OK) {
    *out = reinterpret_cast<tenon_buffer*>(buffer);
  } else if (deleter != nullptr) {
    deleter(user);
  }
  return code;
}
inline int32_t Stats(tenon_space* space, tenon_memory_stats* out, tenon_error* sink) noexcept {
  return OnSpace(space, sink, [&](Space& object, Error&) {
    tenon_memory_stats stats = TENON_INIT(tenon_memory_stats);
    object.Stats(stats);
    CopyOut(stats, out);
    return static_cast<int32_t>(TENON_OK);
  });
}
inline int32_t Trim(tenon_space* space, tenon_error* sink) noexcept {
  return OnSpace(space, sink, [&](Space& object, Error&) {
    object.Trim();
    return static_cast<int32_t>(TENON_OK);
  });
}

// ---- tenon.stream ----
inline int32_t CreateStream(tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                            tenon_error* sink) noexcept {
  *out = nullptr;
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    Stream* stream = nullptr;
    const int32_t code = object.CreateStream(*options, &stream, error);
    if (code == TENON_OK) *out = stream->handle();
    return code;
  });
}
template <typename Body>
int32_t OnStream(tenon_stream* stream, tenon_error* sink, Body&& body) noexcept {
  Stream& object = *Stream::From(stream);
  return Guard(object.host().api(), sink, [&](Error& error) { return body(object, error); });
}
template <typename Body>
int32_t OnEvent(tenon_event* event, tenon_error* sink, Body&& body) noexcept {
  Event& object = *Event::From(event);
  return Guard(object.host().api(), sink, [&](Error& error) { return body(object, error); });
}
inline void DestroyStream(tenon_stream* stream) noexcept {
  if (stream != nullptr) Stream::From(stream)->Destroy();
}
inline int32_t QueryStream(tenon_stream* stream, tenon_error* sink) noexcept {
  return OnStream(stream, sink, [&](Stream& object, Error& error) { return object.Query(error); });
}
inline int32_t SynchronizeStream(tenon_stream* stream, uint64_t timeout_ns, tenon_error* sink) noexcept {
  return OnStream(stream, sink, [&](Stream& object, Error& error) { return object.Synchronize(timeout_ns, error); });
}
inline int32_t WaitEvent(tenon_stream* stream, tenon_event* event, tenon_error* sink) noexcept {
  return OnStream(stream, sink,
                  [&](Stream& object, Error& error) { return object.WaitEvent(*Event::From(event), error); });
}
inline int32_t NotifyStream(tenon_stream* stream, tenon_token* token, tenon_error* sink) noexcept {
  return OnStream(stream, sink, [&](Stream& object, Error& error) { return object.Notify(token, error); });
}
inline int32_t NativeStream(tenon_stream* stream, uint64_t* out, tenon_error* sink) noexcept {
  return OnStream(stream, sink, [&](Stream& object, Error&) {
    *out = object.Native();
    return static_cast<int32_t>(TENON_OK);
  });
}
inline int32_t WrapNative(tenon_device* device, uint64_t native, tenon_stream** out, tenon_error* sink) noexcept {
  *out = nullptr;
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    Stream* stream = nullptr;
    const int32_t code = object.WrapNative(native, &stream, error);
    if (code == TENON_OK) *out = stream->handle();
    return code;
  });
}
inline int32_t CreateEvent(tenon_device* device, uint32_t flags, tenon_event** out, tenon_error* sink) noexcept {
  *out = nullptr;
  return OnDevice(device, sink, [&](Device& object, Error& error) {
    Event* event = nullptr;
    const int32_t code = object.CreateEvent(flags, &event, error);
    if (code == TENON_OK) *out = event->handle();
    return code;
  });
}
inline void DestroyEvent(tenon_event* event) noexcept {
  if (event != nullptr) Event::From(event)->Destroy();
}
inline int32_t RecordEvent(tenon_event* event, tenon_stream* stream, tenon_error* sink) noexcept {
  return OnEvent(event, sink, [&](Event& object, Error& error) { return object.Record(*Stream::From(stream), error); });
}
inline int32_t QueryEvent(tenon_event* event, tenon_error* sink) noexcept {
  return OnEvent(event, sink, [&](Event& object, Error& error) { return object.Query(error); });
}
inline int32_t SynchronizeEvent(tenon_event* event, uint64_t timeout_ns, tenon_error* sink) noexcept {
  return OnEvent(event, sink, [&](Event& object, Error& error) { return object.Synchronize(timeout_ns, error); });
}
inline int32_t ElapsedEvent(tenon_event* from, tenon_event* to, double* out, tenon_error* sink) noexcept {
  return OnEvent(from, sink,
                 [&](Event& object, Error& error) { return object.ElapsedTo(*Event::From(to), *out, error); });
}

}  // namespace slots

namespace detail {
constexpr tenon_device_vtable MakeDeviceVtable() {
  tenon_device_vtable table = TENON_INIT(tenon_device_vtable);
  table.device_count = &slots::DeviceCount;
  table.device_info = &slots::DescribeDevice;
  table.open = &slots::OpenDevice;
  table.close = &slots::CloseDevice;
  table.query = &slots::QueryDevice;
  table.status = &slots::DeviceStatus;
  table.layout_info = &slots::LayoutInfo;
  table.reorder = &slots::Reorder;
  table.find_layout = &slots::FindLayout;  // last member
  return table;
}
constexpr tenon_memory_vtable MakeMemoryVtable() {
  tenon_memory_vtable table = TENON_INIT(tenon_memory_vtable);
  table.space_count = &slots::SpaceCount;
  table.space_get = &slots::GetSpace;
  table.alloc = &slots::Alloc;
  table.free = &slots::FreeBuffer;
  table.copy = &slots::Copy;
  table.fill = &slots::Fill;
  table.wrap_external = &slots::WrapExternal;
  table.stats = &slots::Stats;
  table.trim = &slots::Trim;  // last member
  return table;
}
constexpr tenon_stream_vtable MakeStreamVtable() {
  tenon_stream_vtable table = TENON_INIT(tenon_stream_vtable);
  table.stream_create = &slots::CreateStream;
  table.stream_destroy = &slots::DestroyStream;
  table.stream_query = &slots::QueryStream;
  table.stream_synchronize = &slots::SynchronizeStream;
  table.stream_wait_event = &slots::WaitEvent;
  table.stream_notify = &slots::NotifyStream;
  table.event_create = &slots::CreateEvent;
  table.event_destroy = &slots::DestroyEvent;
  table.event_record = &slots::RecordEvent;
  table.event_query = &slots::QueryEvent;
  table.event_synchronize = &slots::SynchronizeEvent;
  table.event_elapsed = &slots::ElapsedEvent;
  table.native = &slots::NativeStream;
  table.wrap_native = &slots::WrapNative;  // last member
  return table;
}
inline constexpr tenon_device_vtable kDeviceVtable = MakeDeviceVtable();
inline constexpr tenon_memory_vtable kMemoryVtable = MakeMemoryVtable();
inline constexpr tenon_stream_vtable kStreamVtable = MakeStreamVtable();
}  // namespace detail

constexpr tenon_interface DeviceInterface() { return Interface(TENON_INTERFACE_DEVICE, &detail::kDeviceVtable); }
constexpr tenon_interface MemoryInterface() { return Interface(TENON_INTERFACE_MEMORY, &detail::kMemoryVtable); }
constexpr tenon_interface StreamInterface() { return Interface(TENON_INTERFACE_STREAM, &detail::kStreamVtable); }

}  // namespace tenon::sdk
