// An instance of the plugin with its first device opened, and the calls that most cases need.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ops/op_def.h"
#include "core/plugin/checked_tables.h"
#include "tools/conform/fake_host.h"
#include "tools/conform/library.h"

namespace tenon::conform {

inline constexpr std::uint64_t kForever = 20'000'000'000;  // nanoseconds: longer than anything but a hang

// `base` with a value at a dotted key, which reaches into maps.
ConfigNode WithOption(const ConfigNode& base, std::string_view key, const ConfigNode& value);
// The plugin's `options:` from the command line.
ConfigNode OptionsOf(Context& context);

// One instance, without a device.
class Instance {
 public:
  explicit Instance(Context& context, const HostFaults& faults = {});
  Instance(Context& context, const Library& library, const HostFaults& faults = {});
  // Of the plugin that lends its device; the options are not for it.
  static std::unique_ptr<Instance> Lender(Context& context);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  Context& context() const { return context_; }
  const Library& library() const { return *library_; }
  FakeHost& host() { return *host_; }
  tenon_plugin* plugin() const { return plugin_; }
  // The plugin's table; behind the checking layer of the core except in levels L0 and L2, which bring checks of their own.
  template <class T>
  const T* Table() const {
    return checked_ != nullptr ? checked_->Interface<T>() : library_->Table<T>();
  }
  // The table, or the case is skipped because the plugin does not offer the interface.
  template <class T>
  const T& Need() const {
    const T* table = Table<T>();
    if (table == nullptr) context_.Skip(fmt::format("The plugin does not offer {}.", LayoutOf<T>().id));
    return *table;
  }
  // Destroys the instance now.
  void Destroy();

 private:
  Instance(Context& context, std::unique_ptr<Library> library);
  void Start(const HostFaults& faults, ConfigNode options);
  Context& context_;
  std::unique_ptr<Library> owned_;
  const Library* library_;
  const CheckedTables* checked_ = nullptr;
  std::unique_ptr<FakeHost> host_;
  tenon_plugin* plugin_ = nullptr;
};

// Calls create. On success *out is the instance.
std::int32_t Create(const Library& library, FakeHost& host, tenon_plugin** out, tenon_error* error);

// A block of device memory.
struct Block {
  tenon_buffer* buffer = nullptr;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// An instance with device 0 opened and one stream. Where the plugin offers no device, cases of operators (L2) take that of
// the plugin of `--device`; else the case is skipped.
class Session : public Instance {
 public:
  explicit Session(Context& context, const HostFaults& faults = {}, std::uint32_t index = 0);
  ~Session();

  // Whose device it is.
  Instance& owner() { return lender_ != nullptr ? *lender_ : *this; }
  bool lent() const { return lender_ != nullptr; }
  // The operators of the core and of the plugin.
  const OpRegistry& ops();

  const tenon_device_vtable& devices() const { return *devices_; }
  const tenon_memory_vtable& memory() const { return *memory_; }
  const tenon_stream_vtable& streams() const { return *streams_; }
  tenon_device* device() const { return device_; }
  tenon_space* space() const { return space_; }  // the default one
  tenon_stream* stream() const { return stream_; }
  const tenon_device_info& info() const { return info_; }
  const tenon_space_info& space_info() const { return space_info_; }
  bool host_accessible() const { return (space_info_.flags & TENON_SPACE_HOST_ACCESSIBLE) != 0; }
  // Host memory can be memory of the device (wrap_external).
  bool wraps_host_memory();
  bool inline_streams() const { return (info_.flags & TENON_DEVICE_INLINE_STREAMS) != 0; }
  std::string_view kind() const { return View(info_.kind); }

  // The call must answer OK; else the case fails with what the plugin said. `what` completes "... to <what>".
  void Ok(std::int32_t code, const tenon_error& error, std::string_view what);

  tenon_stream* NewStream();
  tenon_event* NewEvent(std::uint32_t flags = 0);
  Block Allocate(std::uint64_t bytes, tenon_stream* stream = nullptr);
  void Free(Block& block, tenon_stream* stream = nullptr);
  void Fill(const Block& block, std::uint8_t byte, tenon_stream* stream);
  // Enqueue; to and from host memory.
  void Upload(const void* source, std::uint64_t target, std::uint64_t bytes, tenon_stream* stream,
              std::uint32_t host_source = TENON_HOST_SOURCE_UNTIL_EVENT);
  void Download(std::uint64_t source, void* target, std::uint64_t bytes, tenon_stream* stream);
  void Synchronize(tenon_stream* stream);
  void Record(tenon_event* event, tenon_stream* stream);
  void WaitEvent(tenon_stream* stream, tenon_event* event);
  // Whole block as host bytes; waits.
  std::vector<std::uint8_t> Read(const Block& block, tenon_stream* stream);
  // A copy between two places of the device that is as large as needed to take about `ms` milliseconds; what makes
  // work pend on devices with queues. Returns at once where streams are inline.
  void MakeBusy(tenon_stream* stream);

 private:
  void OpenDevice(std::uint32_t index);
  std::unique_ptr<Instance> lender_;
  std::unique_ptr<OpRegistry> ops_;
  const tenon_device_vtable* devices_ = nullptr;
  const tenon_memory_vtable* memory_ = nullptr;
  const tenon_stream_vtable* streams_ = nullptr;
  tenon_device* device_ = nullptr;
  tenon_space* space_ = nullptr;
  tenon_stream* stream_ = nullptr;
  tenon_device_info info_ = TENON_INIT(tenon_device_info);
  tenon_space_info space_info_ = TENON_INIT(tenon_space_info);
  std::map<tenon_stream*, std::array<Block, 2>> busy_;  // what copies that keep a stream busy read and write
};

// Waits until `done` holds, at most `ms`; false when it did not.
template <class F>
bool WaitFor(F&& done, int ms);

// What the process looks like to somebody who hunts for leaks.
int OpenFiles();
int Threads();
std::uint64_t HeapBytes();

void SleepMs(int ms);

template <class F>
bool WaitFor(F&& done, int ms) {
  for (int waited = 0; waited < ms; ++waited) {
    if (done()) return true;
    SleepMs(1);
  }
  return done();
}

}  // namespace tenon::conform
