#include "tools/conform/session.h"

#include <dirent.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>

#include "core/config/yaml_reader.h"
#include "core/ops/plugin_operators.h"

// There with a sanitizer that has an allocator of its own, of which mallinfo2 knows nothing.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();

namespace tenon::conform {

ConfigNode WithOption(const ConfigNode& base, std::string_view key, const ConfigNode& value) {
  const std::size_t dot = key.find('.');
  const std::string head(key.substr(0, dot));
  std::vector<ConfigEntry> entries;
  ConfigNode below;
  for (const ConfigEntry& entry : base.entries()) {
    if (entry.key == head) {
      below = entry.value;
    } else {
      entries.push_back(entry);
    }
  }
  const bool last = dot == std::string_view::npos;
  entries.push_back({head, Place{}, last ? value : WithOption(below, key.substr(dot + 1), value)});
  return ConfigNode::Map(std::move(entries));
}

ConfigNode OptionsOf(Context& context) {
  ConfigNode options;
  for (const std::string& text : context.settings().options) {
    const std::size_t equals = text.find('=');
    auto value = ReadFlowYaml(text.substr(equals + 1), Place{});
    if (equals == std::string::npos || !value.ok()) context.Fail(fmt::format("--option {} is not KEY=VALUE.", text));
    options = WithOption(options, std::string_view(text).substr(0, equals), *value);
  }
  return options;
}

std::int32_t Create(const Library& library, FakeHost& host, tenon_plugin** out, tenon_error* error) {
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.thread_budget = 2;
  args.host = host.api();
  args.instance_name = TENON_STR("conform");
  args.plugin_path = ToStr(library.path());
  return Call("tenon.plugin.create", library.descriptor().create, &args, out, error);
}

Instance::Instance(Context& context, const HostFaults& faults)
    : context_(context), owned_(std::make_unique<Library>(context)), library_(owned_.get()) {
  Start(faults, OptionsOf(context));
}

Instance::Instance(Context& context, std::unique_ptr<Library> library)
    : context_(context), owned_(std::move(library)), library_(owned_.get()) {
  Start({}, {});
}

std::unique_ptr<Instance> Instance::Lender(Context& context) {
  return std::unique_ptr<Instance>(
      new Instance(context, std::make_unique<Library>(context, context.settings().device)));
}

Instance::Instance(Context& context, const Library& library, const HostFaults& faults)
    : context_(context), library_(&library) {
  Start(faults, OptionsOf(context));
}

void Instance::Start(const HostFaults& faults, ConfigNode options) {
  host_ = std::make_unique<FakeHost>(context_, faults, std::move(options));
  tenon_error error;
  const std::int32_t code = Create(*library_, *host_, &plugin_, &error);
  if (code != TENON_OK) context_.Fail(fmt::format("create answered {}: {}", code, error.message_text()));
  if (plugin_ == nullptr) context_.Fail("create answered OK but gave no instance.");
  const std::string_view level = context_.which().level;
  if (level == "L0" || level == "L2") return;
  SetBreachHandler(&FailBreach);
  checked_ = CheckedTables::Make("under test",
                                 {library_->Table<tenon_device_vtable>(), library_->Table<tenon_memory_vtable>(),
                                  library_->Table<tenon_stream_vtable>(), library_->Table<tenon_op_vtable>(),
                                  library_->Table<tenon_subgraph_vtable>(), library_->Table<tenon_collective_vtable>(),
                                  library_->Table<tenon_profiler_vtable>()});
  checked_->Created(plugin_);
}

void Instance::Destroy() {
  if (plugin_ == nullptr) return;
  if (checked_ != nullptr) checked_->Destroyed(plugin_);
  Call("tenon.plugin.destroy", library_->descriptor().destroy, plugin_);
  plugin_ = nullptr;
  host_->Close();
}

Instance::~Instance() { Destroy(); }

Session::Session(Context& context, const HostFaults& faults, std::uint32_t index) : Instance(context, faults) {
  const bool lend = Table<tenon_device_vtable>() == nullptr && !context.settings().device.empty() &&
                    std::string_view(context.which().level) == "L2";
  if (lend) lender_ = Lender(context);
  devices_ = &owner().Need<tenon_device_vtable>();
  memory_ = &owner().Need<tenon_memory_vtable>();
  streams_ = &owner().Need<tenon_stream_vtable>();
  OpenDevice(index);
}

void Session::OpenDevice(std::uint32_t index) {
  tenon_error error;
  std::uint32_t count = 0;
  Ok(TENON_CALL(tenon.device, devices_, device_count, owner().plugin(), &count, &error), error, "count its devices");
  if (count <= index) context().Skip(fmt::format("The plugin sees {} devices here.", count));
  info_.numa_node = -1;
  Ok(TENON_CALL(tenon.device, devices_, device_info, owner().plugin(), index, &info_, &error), error,
     "describe the device");
  Ok(TENON_CALL(tenon.device, devices_, open, owner().plugin(), index, &device_, &error), error, "open the device");
  if (device_ == nullptr) context().Fail("tenon.device.open answered OK but gave no device.");
  std::uint32_t spaces = 0;
  Ok(TENON_CALL(tenon.memory, memory_, space_count, device_, &spaces, &error), error, "count memory spaces");
  for (std::uint32_t i = 0; i < spaces; ++i) {
    tenon_space_info space_info = TENON_INIT(tenon_space_info);
    tenon_space* space = nullptr;
    Ok(TENON_CALL(tenon.memory, memory_, space_get, device_, i, &space, &space_info, &error), error,
       "describe a memory space");
    if ((space_info.flags & TENON_SPACE_DEFAULT) == 0) continue;
    space_ = space;
    space_info_ = space_info;
  }
  if (space_ == nullptr) context().Fail("No memory space is the default one.");
  stream_ = NewStream();
}

Session::~Session() {
  if (stream_ == nullptr) return;
  Synchronize(stream_);
  for (auto& busy : busy_) {
    for (Block& block : busy.second) Free(block);
  }
  TENON_CALL(tenon.stream, streams_, stream_destroy, stream_);
  TENON_CALL(tenon.device, devices_, close, device_);
}

const OpRegistry& Session::ops() {
  if (ops_ != nullptr) return *ops_;
  ops_ = std::make_unique<OpRegistry>(&BuiltinOps());
  if (const auto* table = Table<tenon_op_vtable>()) {
    const Status added = AddPluginOperators(*table, plugin(), "the plugin", *ops_);
    if (!added.ok()) context().Fail(added.message());
  }
  return *ops_;
}

void Session::Ok(std::int32_t code, const tenon_error& error, std::string_view what) {
  if (code == TENON_OK) return;
  context().Fail(fmt::format("The plugin refused to {} with code {}: {}", what, code,
                             error.message_text().empty() ? "(no text)" : error.message_text()));
}

tenon_stream* Session::NewStream() {
  tenon_error error;
  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  options.role = TENON_STREAM_COMPUTE;
  tenon_stream* stream = nullptr;
  Ok(TENON_CALL(tenon.stream, streams_, stream_create, device_, &options, &stream, &error), error, "make a stream");
  if (stream == nullptr) context().Fail("tenon.stream.stream_create answered OK but did not write the stream.");
  return stream;
}

tenon_event* Session::NewEvent(std::uint32_t flags) {
  tenon_error error;
  tenon_event* event = nullptr;
  Ok(TENON_CALL(tenon.stream, streams_, event_create, device_, flags, &event, &error), error, "make an event");
  if (event == nullptr) context().Fail("tenon.stream.event_create answered OK but did not write the event.");
  return event;
}

Block Session::Allocate(std::uint64_t bytes, tenon_stream* stream) {
  tenon_error error;
  Block block;
  block.bytes = bytes;
  Ok(TENON_CALL(tenon.memory, memory_, alloc, space_, bytes, 0, stream, TENON_ALLOC_DEFAULT, &block.buffer,
                &block.address, &error),
     error, fmt::format("allocate {} bytes", bytes));
  if (block.buffer == nullptr) context().Fail("tenon.memory.alloc answered OK but gave no buffer.");
  if (bytes > 0 && block.address == 0) context().Fail("tenon.memory.alloc answered OK but gave address 0.");
  return block;
}

void Session::Free(Block& block, tenon_stream* stream) {
  if (block.buffer != nullptr) TENON_CALL(tenon.memory, memory_, free, block.buffer, stream);
  block = Block{};
}

bool Session::wraps_host_memory() {
  if (!host_accessible() || memory_->wrap_external == nullptr) return false;
  alignas(64) static std::array<std::uint8_t, 64> bytes;
  Block block;
  tenon_error error;
  const std::int32_t code =
      TENON_CALL(tenon.memory, memory_, wrap_external, space_, reinterpret_cast<std::uintptr_t>(bytes.data()),
                 bytes.size(), nullptr, nullptr, &block.buffer, &error);
  Free(block);
  return code == TENON_OK;
}

void Session::Fill(const Block& block, std::uint8_t byte, tenon_stream* stream) {
  tenon_error error;
  Ok(TENON_CALL(tenon.memory, memory_, fill, space_, block.address, block.bytes, std::uint64_t{byte}, 1, stream,
                &error),
     error, "fill memory");
}

void Session::Upload(const void* source, std::uint64_t target, std::uint64_t bytes, tenon_stream* stream,
                     std::uint32_t host_source) {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.host_source = host_source;
  copy.target_space = space_;
  copy.source = reinterpret_cast<std::uintptr_t>(source);
  copy.target = target;
  copy.row_bytes = bytes;
  copy.rows = 1;
  tenon_error error;
  Ok(TENON_CALL(tenon.memory, memory_, copy, device_, &copy, stream, &error), error, "copy from host memory");
}

void Session::Download(std::uint64_t source, void* target, std::uint64_t bytes, tenon_stream* stream) {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = space_;
  copy.source = source;
  copy.target = reinterpret_cast<std::uintptr_t>(target);
  copy.row_bytes = bytes;
  copy.rows = 1;
  tenon_error error;
  Ok(TENON_CALL(tenon.memory, memory_, copy, device_, &copy, stream, &error), error, "copy to host memory");
}

void Session::Synchronize(tenon_stream* stream) {
  tenon_error error;
  Ok(TENON_CALL(tenon.stream, streams_, stream_synchronize, stream, kForever, &error), error, "wait for a stream");
}

void Session::Record(tenon_event* event, tenon_stream* stream) {
  tenon_error error;
  Ok(TENON_CALL(tenon.stream, streams_, event_record, event, stream, &error), error, "record an event");
}

void Session::WaitEvent(tenon_stream* stream, tenon_event* event) {
  tenon_error error;
  Ok(TENON_CALL(tenon.stream, streams_, stream_wait_event, stream, event, &error), error,
     "let a stream wait for a recorded event");
}

std::vector<std::uint8_t> Session::Read(const Block& block, tenon_stream* stream) {
  std::vector<std::uint8_t> bytes(block.bytes);
  Download(block.address, bytes.data(), block.bytes, stream);
  Synchronize(stream);
  return bytes;
}

void Session::MakeBusy(tenon_stream* stream) {
  if (inline_streams()) return;
  constexpr std::uint64_t kBytes = 8 << 20;
  std::array<Block, 2>& busy = busy_[stream];
  for (Block& block : busy) {
    if (block.buffer == nullptr) block = Allocate(kBytes);
  }
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = copy.target_space = space_;
  copy.source = busy[0].address;
  copy.target = busy[1].address;
  copy.row_bytes = kBytes;
  copy.rows = 1;
  tenon_error error;
  for (int i = 0; i < 8; ++i)
    Ok(TENON_CALL(tenon.memory, memory_, copy, device_, &copy, stream, &error), error, "copy on the device");
}

int OpenFiles() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

int Threads() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::uint64_t HeapBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

void SleepMs(int ms) {
  const timespec time{ms / 1000, (ms % 1000) * 1'000'000L};
  ::nanosleep(&time, nullptr);
}

}  // namespace tenon::conform
