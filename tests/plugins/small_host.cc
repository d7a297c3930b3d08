#include "tests/plugins/small_host.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <utility>

namespace tenon::testing {

namespace sdk = tenon::sdk;
namespace {

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

std::mutex g_mutex;  // completions come from threads of the plugin

const SmallHost& Of(tenon_host* host) { return *reinterpret_cast<const SmallHost*>(host); }

}  // namespace

struct SmallHostServices {
  static void ErrorSet(tenon_error* sink, const tenon_error_info* info) {
    if (sink == nullptr) return;
    auto& host = *reinterpret_cast<SmallHost*>(sink);
    host.error_.assign(info->message.data, static_cast<size_t>(info->message.size));
    host.info_ = *info;
  }
  static void Complete(tenon_host* handle, tenon_token* token, int32_t code, tenon_str) {
    auto& host = *reinterpret_cast<SmallHost*>(handle);
    const std::lock_guard<std::mutex> lock(g_mutex);
    host.completions_[token].push_back(code);
  }

  static void Fill(tenon_host_api& api, SmallHost* host) {
    api.struct_size = sizeof api;
    api.abi_minor = TENON_ABI_MINOR;
    api.host = reinterpret_cast<tenon_host*>(host);
    api.error_set = &ErrorSet;
    api.complete = &Complete;
    api.log = [](tenon_host*, uint32_t, tenon_str, tenon_str, uint32_t) {};
    api.thread_budget = [](tenon_host*) { return 2u; };
    // Pieces in reverse order: nothing may depend on which comes first.
    api.parallel_for = [](tenon_host*, uint64_t count, uint64_t grain, uint32_t, tenon_range_fn fn, void* user,
                          tenon_error*) {
      const uint64_t step = grain == 0 ? 1 : grain;
      for (uint64_t piece = (count + step - 1) / step; piece-- > 0;) {
        const uint64_t begin = piece * step;
        fn(user, begin, begin + step < count ? begin + step : count, 0);
      }
      return static_cast<int32_t>(TENON_OK);
    };
    api.cancelled = [](const tenon_cancel*) { return 0u; };
    api.option_i64 = [](tenon_host* self, tenon_str key, int64_t value, int64_t, int64_t, tenon_str, int64_t* out,
                        tenon_error*) {
      const std::string given = Of(self).Option(std::string(sdk::Text(key)));
      *out = given.empty() ? value : std::atoll(given.c_str());
      return static_cast<int32_t>(TENON_OK);
    };
    api.option_f64 = [](tenon_host* self, tenon_str key, double value, tenon_str, double* out, tenon_error*) {
      const std::string given = Of(self).Option(std::string(sdk::Text(key)));
      *out = given.empty() ? value : std::atof(given.c_str());
      return static_cast<int32_t>(TENON_OK);
    };
    api.option_text = [](tenon_host* self, tenon_str key, tenon_str value, tenon_str, tenon_str* out, tenon_error*) {
      const std::string& given = Of(self).Option(std::string(sdk::Text(key)));
      *out = given.empty() ? value : sdk::Str(given);
      return static_cast<int32_t>(TENON_OK);
    };
    api.clock_ns = [](tenon_host*) {
      return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    };
  }
};

SmallHost::SmallHost(const std::string& path, const std::string& options) {
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    options_[word.substr(0, equals)] = word.substr(equals + 1);
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Die(std::string("The plugin cannot be opened: ") + dlerror());
  using QueryFn = const tenon_plugin_descriptor* (*)(const tenon_host_info*);
  const auto query = reinterpret_cast<QueryFn>(dlsym(library, "tenon_plugin_query_v1"));
  if (query == nullptr) Die("The plugin has no entry point.");
  tenon_host_info info = TENON_INIT(tenon_host_info);
  info.abi_major = TENON_ABI_MAJOR;
  info.abi_minor = TENON_ABI_MINOR;
  descriptor_ = query(&info);
  SmallHostServices::Fill(api_, this);
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.thread_budget = 2;
  args.host = &api_;
  if (descriptor_->create(&args, &plugin_, sink()) != TENON_OK) Die("create failed: " + error_);
  for (uint32_t i = 0; i < descriptor_->interface_count; ++i) {
    const tenon_interface& interface = sdk::AtStride(descriptor_->interfaces, descriptor_->interface_stride, i);
    const std::string_view id = sdk::Text(interface.id);
    if (id == TENON_INTERFACE_OP) ops_ = static_cast<const tenon_op_vtable*>(interface.vtable);
    if (id == TENON_INTERFACE_DEVICE) devices_ = static_cast<const tenon_device_vtable*>(interface.vtable);
    if (id == TENON_INTERFACE_MEMORY) memory_ = static_cast<const tenon_memory_vtable*>(interface.vtable);
    if (id == TENON_INTERFACE_STREAM) streams_ = static_cast<const tenon_stream_vtable*>(interface.vtable);
  }
  if (!ops_ || !devices_ || !memory_ || !streams_) Die("The plugin lacks an interface.");
  tenon_device_info described = TENON_INIT(tenon_device_info);
  if (devices_->device_info(plugin_, 0, &described, sink()) != TENON_OK) Die("There is no device: " + error_);
  kind_ = sdk::Text(described.kind);
  if (devices_->open(plugin_, 0, &device_, sink()) != TENON_OK) Die("The device cannot be opened: " + error_);
  tenon_space_info space = TENON_INIT(tenon_space_info);
  if (memory_->space_get(device_, 0, &space_, &space, sink()) != TENON_OK) Die("There is no memory: " + error_);
  host_memory_ = (space.flags & TENON_SPACE_HOST_ACCESSIBLE) != 0;
  MakeStream();
}

SmallHost::~SmallHost() {
  streams_->stream_destroy(stream_);
  devices_->close(device_);
  descriptor_->destroy(plugin_);
}

void SmallHost::MakeStream() {
  const tenon_stream_options options = TENON_INIT(tenon_stream_options);
  if (streams_->stream_create(device_, &options, &stream_, sink()) != TENON_OK) Die("There is no stream: " + error_);
}

uint32_t SmallHost::FindLayout(const std::string& name) const {
  uint32_t layout = TENON_LAYOUT_STRIDED;
  const bool found = !name.empty() && devices_->find_layout(device_, sdk::Str(name), &layout, sink()) == TENON_OK;
  return found ? layout : uint32_t{TENON_LAYOUT_STRIDED};
}

bool SmallHost::Finish() {
  if (streams_->stream_synchronize(stream_, UINT64_MAX, sink()) == TENON_OK) return true;
  streams_->stream_destroy(stream_);
  MakeStream();
  return false;
}

const std::string& SmallHost::Option(const std::string& key) const {
  static const std::string none;
  const auto found = options_.find(key);
  return found == options_.end() ? none : found->second;
}

DeviceMemory::DeviceMemory(SmallHost& host, uint64_t bytes) : host_(&host), bytes_(bytes) {
  if (host.memory().alloc(host.space(), bytes, 64, nullptr, TENON_ALLOC_DEFAULT, &buffer_, &address_, host.sink()) !=
      TENON_OK)
    Die("There is no memory: " + host.last_error());
  if (bytes > 0) host.memory().fill(host.space(), address_, bytes, 0xFF, 1, nullptr, host.sink());
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(buffer_, other.buffer_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (host_ != nullptr) host_->memory().free(buffer_, nullptr);
}

void DeviceMemory::Write(const void* from, uint64_t bytes) const {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.host_source = TENON_HOST_SOURCE_DURING_CALL;
  copy.source = reinterpret_cast<uintptr_t>(from);
  copy.target_space = host_->space();
  copy.target = address_;
  copy.row_bytes = bytes;
  copy.rows = 1;
  if (host_->memory().copy(host_->device(), &copy, nullptr, host_->sink()) != TENON_OK) Die(host_->last_error());
}

void DeviceMemory::Read(void* to, uint64_t bytes) const {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = host_->space();
  copy.source = address_;
  copy.target = reinterpret_cast<uintptr_t>(to);
  copy.row_bytes = bytes;
  copy.rows = 1;
  if (host_->memory().copy(host_->device(), &copy, nullptr, host_->sink()) != TENON_OK) Die(host_->last_error());
}

}  // namespace tenon::testing
