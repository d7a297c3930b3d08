// L0: instances. Cases 16 to 20, 29.
#include <dlfcn.h>

#include <algorithm>
#include <fstream>

#include "tools/conform/cases.h"
#include "tools/conform/clash_library.h"
#include "tools/conform/session.h"

namespace tenon::conform {
namespace {

// create under one fault: it must say so, and leave nothing.
void CreateFails(Context& context, const Library& library, const HostFaults& faults, const std::string& what) {
  FakeHost host(context, faults, OptionsOf(context));
  tenon_error error;
  tenon_plugin* plugin = nullptr;
  const std::int32_t code = Create(library, host, &plugin, &error);
  context.Require(code != TENON_OK, "create answers OK although {}.", what);
  context.Require(plugin == nullptr, "create fails because {} but gives an instance.", what);
  context.Require(error.message_size > 0, "create fails with code {} because {}, without a text.", code, what);
  context.Require(host.live_blocks() == 0, "create fails because {} and keeps {} blocks of host memory.", what,
                  host.live_blocks());
}

// Everything that a run makes and gives back.
void OneLife(Context& context, const Library& library) {
  Instance instance(context, library);
  const auto* devices = instance.Table<tenon_device_vtable>();
  const auto* memory = instance.Table<tenon_memory_vtable>();
  const auto* streams = instance.Table<tenon_stream_vtable>();
  tenon_error error;
  std::uint32_t count = 0;
  if (devices == nullptr || memory == nullptr || streams == nullptr) return;
  TENON_CALL(tenon.device, devices, device_count, instance.plugin(), &count, &error);
  if (count == 0) return;
  tenon_device* device = nullptr;
  std::int32_t code = TENON_CALL(tenon.device, devices, open, instance.plugin(), 0, &device, &error);
  context.Require(code == TENON_OK, "open answers {}: {}", code, error.message_text());
  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  tenon_stream* stream = nullptr;
  code = TENON_CALL(tenon.stream, streams, stream_create, device, &options, &stream, &error);
  context.Require(code == TENON_OK && stream != nullptr, "stream_create answers {} and {}.", code,
                  stream == nullptr ? "no stream" : "a stream");
  tenon_event* event = nullptr;
  code = TENON_CALL(tenon.stream, streams, event_create, device, 0, &event, &error);
  context.Require(code == TENON_OK && event != nullptr, "event_create answers {} and {}.", code,
                  event == nullptr ? "no event" : "an event");
  tenon_space* space = nullptr;
  tenon_space_info info = TENON_INIT(tenon_space_info);
  TENON_CALL(tenon.memory, memory, space_get, device, 0, &space, &info, &error);
  tenon_buffer* buffer = nullptr;
  std::uint64_t address = 0;
  code =
      TENON_CALL(tenon.memory, memory, alloc, space, 1000, 0, nullptr, TENON_ALLOC_DEFAULT, &buffer, &address, &error);
  context.Require(code == TENON_OK, "alloc answers {}: {}", code, error.message_text());
  TENON_CALL(tenon.memory, memory, free, buffer, nullptr);
  TENON_CALL(tenon.stream, streams, event_destroy, event);
  TENON_CALL(tenon.stream, streams, stream_destroy, stream);
  TENON_CALL(tenon.device, devices, close, device);
  instance.Destroy();
  context.Require(instance.host().live_blocks() == 0, "A destroyed instance holds {} blocks of host memory.",
                  instance.host().live_blocks());
}

}  // namespace

void CreateUnderFaults(Context& context) {
  const Library library(context);
  FakeHost counting(context, {}, OptionsOf(context));
  tenon_error error;
  tenon_plugin* plugin = nullptr;
  const std::int32_t code = Create(library, counting, &plugin, &error);
  context.Require(code == TENON_OK, "create answers {}: {}", code, error.message_text());
  const std::int64_t allocs = counting.allocs(), options = counting.option_calls();
  Call("tenon.plugin.destroy", library.descriptor().destroy, plugin);
  if (allocs + options == 0) context.Skip("create calls no service that can fail.");
  for (std::int64_t k = 1; k <= allocs; ++k) {
    HostFaults faults;
    faults.fail_alloc_at = k;
    CreateFails(context, library, faults, fmt::format("allocation {} of {} fails", k, allocs));
  }
  for (std::int64_t k = 1; k <= options; ++k) {
    HostFaults faults;
    faults.fail_option_at = k;
    CreateFails(context, library, faults, fmt::format("option {} of {} has another type", k, options));
  }
  const Instance again(context, library);
  context.Require(again.plugin() != nullptr, "create does not work any longer after it failed.");
}

void CreateManyTimes(Context& context) {
  const Library library(context);
  for (int i = 0; i < 10; ++i) OneLife(context, library);
  SleepMs(20);
  const int files = OpenFiles(), threads = Threads();
  const std::uint64_t heap = HeapBytes();
  constexpr int kLives = 100;
  for (int i = 0; i < kLives; ++i) OneLife(context, library);
  WaitFor([threads] { return Threads() <= threads; }, 500);
  context.Require(OpenFiles() <= files, "{} lives of an instance left {} file descriptors open.", kLives,
                  OpenFiles() - files);
  context.Require(Threads() <= threads, "{} lives of an instance left {} threads running.", kLives,
                  Threads() - threads);
  const std::uint64_t grown = HeapBytes() > heap ? HeapBytes() - heap : 0;
  context.Require(grown < kLives * 16, "{} lives of an instance left {} bytes allocated.", kLives, grown);
}

void TwoInstances(Context& context) {
  const Library library(context);
  Instance one(context, library), two(context, library);
  context.Require(one.plugin() != two.plugin(), "Two calls of create give the same instance.");
  one.Destroy();
  const auto* devices = two.Table<tenon_device_vtable>();
  std::uint32_t count = 0;
  tenon_error error;
  if (devices == nullptr) return;
  const std::int32_t code = TENON_CALL(tenon.device, devices, device_count, two.plugin(), &count, &error);
  context.Require(code == TENON_OK, "After one instance was destroyed the other answers {}: {}", code,
                  error.message_text());
  if (count == 0) return;
  tenon_device* device = nullptr;
  const std::int32_t opened = TENON_CALL(tenon.device, devices, open, two.plugin(), 0, &device, &error);
  context.Require(opened == TENON_OK && device != nullptr, "The other instance opens no device: {} {}", opened,
                  error.message_text());
  TENON_CALL(tenon.device, devices, close, device);
}

void ClashingNames(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  for (const std::string& name : file.needed) {
    const bool global = name.rfind("libz.", 0) == 0 || name.rfind("libgomp", 0) == 0 ||
                        name.rfind("libprotobuf", 0) == 0 || name.rfind("libomp", 0) == 0;
    if (global)
      context.Skip(
          fmt::format("The file shares {} with the process; which copy it gets is the linker's "
                      "business.",
                      name));
  }
  const std::string path = WriteClashLibrary(context);
  void* clash = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (clash == nullptr) context.Fail(fmt::format("The library with clashing names does not open: {}", ::dlerror()));
  const Library library(context);
  OneLife(context, library);
  const auto* called = static_cast<const int*>(::dlsym(clash, "tenon_clash_calls"));
  context.Require(*called == 0, "The plugin called {} functions of a library that only has the same names.", *called);
}

void LazyAndNow(Context& context) {
  for (const int mode : {RTLD_LAZY, RTLD_NOW}) {
    const Library library(context, mode | RTLD_LOCAL);
    OneLife(context, library);
    context.Require(library.query() != nullptr, "The entry is gone.");
  }
}

void UnknownOption(Context& context) {
  const Library library(context);
  std::vector<ConfigEntry> entries = {{"tenon_conform_no_such_option", Place{}, ConfigNode::Scalar("1")}};
  FakeHost host(context, {}, ConfigNode::Map(entries));
  tenon_error error;
  tenon_plugin* plugin = nullptr;
  const std::int32_t code = Create(library, host, &plugin, &error);
  const Status unknown = host.options().UnknownKeys();
  context.Require(code != TENON_OK || !unknown.ok(),
                  "The plugin asked for an option that it cannot know, so the host takes it for known.");
  if (plugin != nullptr) Call("tenon.plugin.destroy", library.descriptor().destroy, plugin);
  // Every option that it knows, with a value of another type.
  for (const PluginOption& option : host.options().schema()) {
    if (option.type == "text") continue;
    const ConfigNode wrong = WithOption({}, option.key, ConfigNode::Scalar("wrong", ScalarStyle::kQuoted));
    FakeHost wrong_host(context, {}, wrong);
    tenon_plugin* made = nullptr;
    const std::int32_t answer = Create(library, wrong_host, &made, &error);
    context.Require(answer != TENON_OK && made == nullptr,
                    "create answers OK although option {} is a text and must be a {}.", option.key, option.type);
  }
}

}  // namespace tenon::conform
