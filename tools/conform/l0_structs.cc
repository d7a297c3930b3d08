// L0: structs that cross the border, and errors. Cases 21 to 28 and 30.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

#include "core/platform/process_state.h"
#include "tools/conform/cases.h"
#include "tools/conform/guard_page.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// Calls a slot that fills an out-struct, with every capacity from 8 bytes to more than its size, each ending at a page
// that cannot be touched. What is written must be the beginning of what a full-sized struct receives.
template <class T, class F>
void TryCapacities(Context& context, const char* slot, F&& call) {
  T full = TENON_INIT(T);
  const std::int32_t code = call(&full);
  if (code == TENON_UNIMPLEMENTED) return;
  context.Require(code == TENON_OK, "{} answers {} to an out-struct of its own size.", slot, code);
  const std::uint32_t written = full.struct_size;
  context.Require(written >= 8 && written <= sizeof(T), "{} stores struct_size {} into a struct of {} bytes.", slot,
                  written, sizeof(T));
  for (std::uint32_t capacity = 8; capacity <= sizeof(T) + 64; capacity += 8) {
    GuardedBytes memory(capacity);
    const std::uint32_t known = capacity < sizeof(T) ? capacity : static_cast<std::uint32_t>(sizeof(T));
    std::memset(memory.data() + known, 0x77, capacity - known);
    *memory.as<std::uint32_t>() = capacity;
    const std::int32_t answer = call(memory.as<T>());
    context.Require(answer == TENON_OK, "{} answers {} to an out-struct of {} bytes.", slot, answer, capacity);
    const std::uint32_t stored = *memory.as<std::uint32_t>();
    context.Require(stored <= capacity, "{} stores struct_size {} into a struct of {} bytes.", slot, stored, capacity);
    const std::uint32_t compared = std::min({stored, written, known});
    context.Require(
        std::memcmp(memory.data() + 8, reinterpret_cast<char*>(&full) + 8, compared < 8 ? 0 : compared - 8) == 0,
        "{} writes something else into a struct of {} bytes than into a whole one.", slot, capacity);
    for (std::uint32_t i = std::max(known, stored); i < capacity; ++i)
      context.Require(memory.data()[i] == 0x77, "{} stores struct_size {} but changes byte {} of the struct.", slot,
                      stored, i);
  }
}

void TryDeviceStructs(Context& context) {
  Session s(context);
  tenon_error error;
  TryCapacities<tenon_device_info>(context, "tenon.device.device_info", [&](tenon_device_info* out) {
    return TENON_CALL(tenon.device, &s.devices(), device_info, s.plugin(), 0, out, &error);
  });
  TryCapacities<tenon_value>(context, "tenon.device.query", [&](tenon_value* out) {
    return TENON_CALL(tenon.device, &s.devices(), query, s.plugin(), 0, tenon_str TENON_STR("deterministic"), out,
                      &error);
  });
  TryCapacities<tenon_space_info>(context, "tenon.memory.space_get", [&](tenon_space_info* out) {
    tenon_space* space = nullptr;
    return TENON_CALL(tenon.memory, &s.memory(), space_get, s.device(), 0, &space, out, &error);
  });
  if (s.memory().stats != nullptr) {
    TryCapacities<tenon_memory_stats>(context, "tenon.memory.stats", [&](tenon_memory_stats* out) {
      return TENON_CALL(tenon.memory, &s.memory(), stats, s.space(), out, &error);
    });
  }
  if (s.devices().layout_info != nullptr) {
    // strides belongs to the caller and lies beyond small capacities, so it stays NULL here.
    const std::int64_t dims[] = {2, 3};
    TryCapacities<tenon_layout_info>(context, "tenon.device.layout_info", [&](tenon_layout_info* out) {
      return TENON_CALL(tenon.device, &s.devices(), layout_info, s.device(), TENON_LAYOUT_STRIDED, TENON_DTYPE_F32, 2,
                        dims, out, &error);
    });
  }
}

void TryProfilerStructs(Context& context) {
  Instance instance(context);
  const auto& table = instance.Need<tenon_profiler_vtable>();
  tenon_error error;
  std::uint32_t count = 0;
  TENON_CALL(tenon.profiler, &table, clock_count, instance.plugin(), &count, &error);
  if (count == 0) return;
  TryCapacities<tenon_clock_info>(context, "tenon.profiler.clock_info", [&](tenon_clock_info* out) {
    return TENON_CALL(tenon.profiler, &table, clock_info, instance.plugin(), 0, out, &error);
  });
}

// The first kernel and call that the plugin supports in float32; its operator is small.
struct FirstKernel {
  KernelOf kernel;
  OpCall call;
};
bool FindFirstKernel(Session& session, FirstKernel* found) {
  if (session.Table<tenon_op_vtable>() == nullptr) return false;
  for (const KernelOf& kernel : KernelsOf(session)) {
    if (kernel.op == nullptr) continue;
    for (OpCall& call : SampleCalls(*kernel.op, DType::kF32)) {
      if (KernelRun(session, kernel, call).Supports() == TENON_VERDICT_NO) continue;
      *found = {kernel, std::move(call)};
      return true;
    }
  }
  return false;
}

// One call that must be refused.
struct Refusal {
  const char* slot;
  const char* argument;  // text of the wrong value, which the error names
  std::int32_t expected;
  std::function<std::int32_t(tenon_error*)> call;
};

std::vector<Refusal> Refusals(Session& s, Block& block) {
  const auto fill = [&s, &block](std::uint64_t bytes, std::uint32_t width, tenon_error* error) {
    return TENON_CALL(tenon.memory, &s.memory(), fill, s.space(), block.address, bytes, 0, width, s.stream(), error);
  };
  std::vector<Refusal> list = {
      {"tenon.device.device_info", "1000", TENON_OUT_OF_RANGE,
       [&s](tenon_error* error) {
         tenon_device_info info = TENON_INIT(tenon_device_info);
         return TENON_CALL(tenon.device, &s.devices(), device_info, s.plugin(), 1000, &info, error);
       }},
      {"tenon.device.open", "1000", TENON_OUT_OF_RANGE,
       [&s](tenon_error* error) {
         tenon_device* device = nullptr;
         return TENON_CALL(tenon.device, &s.devices(), open, s.plugin(), 1000, &device, error);
       }},
      {"tenon.memory.space_get", "1000", TENON_OUT_OF_RANGE,
       [&s](tenon_error* error) {
         tenon_space* space = nullptr;
         tenon_space_info info = TENON_INIT(tenon_space_info);
         return TENON_CALL(tenon.memory, &s.memory(), space_get, s.device(), 1000, &space, &info, error);
       }},
      {"tenon.memory.alloc", "96", TENON_INVALID_ARGUMENT,
       [&s](tenon_error* error) {
         tenon_buffer* buffer = nullptr;
         std::uint64_t address = 0;
         return TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), 128, 96, nullptr, 0, &buffer, &address, error);
       }},
      {"tenon.memory.fill", "3", TENON_INVALID_ARGUMENT, [fill](tenon_error* error) { return fill(60, 3, error); }},
      {"tenon.memory.fill", "63", TENON_INVALID_ARGUMENT, [fill](tenon_error* error) { return fill(63, 4, error); }},
  };
  if (s.devices().layout_info != nullptr) {
    list.push_back({"tenon.device.layout_info", "987654", TENON_NOT_FOUND, [&s](tenon_error* error) {
                      const std::int64_t dims[] = {2, 3};
                      tenon_layout_info info = TENON_INIT(tenon_layout_info);
                      return TENON_CALL(tenon.device, &s.devices(), layout_info, s.device(), 987654, TENON_DTYPE_F32, 2,
                                        dims, &info, error);
                    }});
  }
  if (s.devices().find_layout != nullptr) {
    list.push_back({"tenon.device.find_layout", "no.such.layout", TENON_NOT_FOUND, [&s](tenon_error* error) {
                      std::uint32_t layout = 0;
                      return TENON_CALL(tenon.device, &s.devices(), find_layout, s.device(),
                                        tenon_str TENON_STR("no.such.layout"), &layout, error);
                    }});
  }
  return list;
}

void CheckRefusals(Context& context, bool with_sink) {
  Session s(context);
  Block block = s.Allocate(256);
  for (const Refusal& refusal : Refusals(s, block)) {
    tenon_error error;
    const std::int32_t code = refusal.call(with_sink ? &error : nullptr);
    context.Require(code == refusal.expected, "{} with {} answers {}; it must be {}.", refusal.slot, refusal.argument,
                    code, refusal.expected);
  }
  s.Free(block);
}

}  // namespace

void OutStructCapacity(Context& context) {
  const Library library(context);
  const bool device = library.Table<tenon_device_vtable>() != nullptr;
  const bool profiler = library.Table<tenon_profiler_vtable>() != nullptr;
  if (!device && !profiler && library.Table<tenon_collective_vtable>() == nullptr)
    context.Skip("The plugin fills no out-struct.");
  if (device) TryDeviceStructs(context);
  if (profiler) TryProfilerStructs(context);
  if (library.Table<tenon_collective_vtable>() != nullptr) TryCollectiveStructs(context);
}

void TryCapacitiesOfProgress(Context& context, const tenon_collective_vtable& table, tenon_comm* comm) {
  tenon_error error;
  TryCapacities<tenon_comm_progress>(context, "tenon.collective.progress", [&](tenon_comm_progress* out) {
    return TENON_CALL(tenon.collective, &table, progress, comm, out, &error);
  });
}

void InStructLarger(Context& context) {
  Session s(context);
  tenon_error error;
  // Garbage after the part that the plugin knows, as a newer host would send it.
  GuardedBytes options(sizeof(tenon_stream_options) + 64);
  std::memset(options.data(), 0xEE, sizeof(tenon_stream_options) + 64);
  *options.as<tenon_stream_options>() = TENON_INIT(tenon_stream_options);
  options.as<tenon_stream_options>()->struct_size = sizeof(tenon_stream_options) + 64;
  options.as<tenon_stream_options>()->role = TENON_STREAM_COPY;
  tenon_stream* stream = nullptr;
  std::int32_t code = TENON_CALL(tenon.stream, &s.streams(), stream_create, s.device(),
                                 options.as<tenon_stream_options>(), &stream, &error);
  context.Require(code == TENON_OK, "stream_create answers {} to a larger options struct: {}", code,
                  error.message_text());
  Block block = s.Allocate(512);
  std::vector<std::uint8_t> bytes(512, 0x3C);
  GuardedBytes copy(sizeof(tenon_copy) + 64);
  std::memset(copy.data(), 0xEE, sizeof(tenon_copy) + 64);
  tenon_copy* record = copy.as<tenon_copy>();
  *record = TENON_INIT(tenon_copy);
  record->struct_size = sizeof(tenon_copy) + 64;
  record->host_source = TENON_HOST_SOURCE_DURING_CALL;
  record->target_space = s.space();
  record->source = reinterpret_cast<std::uintptr_t>(bytes.data());
  record->target = block.address;
  record->row_bytes = 512;
  record->rows = 1;
  code = TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), record, stream, &error);
  context.Require(code == TENON_OK, "copy answers {} to a larger record: {}", code, error.message_text());
  s.Synchronize(stream);
  context.Require(s.Read(block, s.stream()) == bytes, "A copy with a larger record moves other bytes.");
  TENON_CALL(tenon.stream, &s.streams(), stream_destroy, stream);
  s.Free(block);
}

void ReservedFields(Context& context) {
  const Library library(context);
  const auto zero = [&context](std::uint64_t value, std::string_view what) {
    context.Require(value == 0, "{} is {:#x}; reserved fields are 0.", what, value);
  };
  for (const tenon_interface* record : library.interfaces()) {
    const std::string id(View(record->id));
    if (record->struct_size >= sizeof(tenon_interface)) zero(record->flags, "flags of interface " + id);
    if (FindInterfaceLayout(id) == nullptr) continue;
    zero(static_cast<const std::uint32_t*>(record->vtable)[1], "flags of the table of " + id);
  }
  constexpr std::uint64_t kKinds = TENON_KIND_DEVICE | TENON_KIND_OP | TENON_KIND_SUBGRAPH | TENON_KIND_COLLECTIVE |
                                   TENON_KIND_PROFILER | TENON_KIND_VENDOR;
  zero(library.descriptor().kinds & ~kKinds, "the unknown part of kinds");
  if (library.Table<tenon_device_vtable>() == nullptr) return;
  Session s(context);
  constexpr std::uint32_t kDeviceFlags =
      TENON_DEVICE_HOST_MEMORY | TENON_DEVICE_DETERMINISTIC | TENON_DEVICE_INLINE_STREAMS;
  zero(s.info().flags & ~kDeviceFlags, "the unknown part of the device's flags");
  constexpr std::uint32_t kSpaceFlags =
      TENON_SPACE_HOST_ACCESSIBLE | TENON_SPACE_HOST_POOLS | TENON_SPACE_PLUGIN_POOLS | TENON_SPACE_DEFAULT;
  zero(s.space_info().flags & ~kSpaceFlags, "the unknown part of the space's flags");
  zero(s.space_info().reserved, "reserved of the space");
  const std::uint32_t pools = s.space_info().flags & (TENON_SPACE_HOST_POOLS | TENON_SPACE_PLUGIN_POOLS);
  context.Require(pools == TENON_SPACE_HOST_POOLS || pools == TENON_SPACE_PLUGIN_POOLS,
                  "The space sets the pool flags {:#x}; exactly one of the two must be set.", pools);
  if (s.Table<tenon_op_vtable>() == nullptr) return;
  for (const KernelOf& kernel : KernelsOf(s)) {
    zero(kernel.def->reserved, "reserved of " + kernel.name());
    zero(kernel.def->vtable->flags, "flags of the table of " + kernel.name());
    zero(kernel.def->traits & ~(2 * TENON_TRAIT_MATH_HIGH - 1), "the unknown part of the traits of " + kernel.name());
    context.Require(kernel.def->stride_pattern <= TENON_STRIDES_ANY, "{} has stride pattern {}.", kernel.name(),
                    kernel.def->stride_pattern);
  }
}

void UnknownEnum(Context& context) {
  const Library library(context);
  if (library.Table<tenon_device_vtable>() == nullptr) {
    if (library.Table<tenon_collective_vtable>() == nullptr) context.Skip("The plugin takes no enumeration.");
    return TryUnknownReduction(context);
  }
  CheckRefusals(context, true);
  Session s(context);
  tenon_error error;
  // A hint and a role that are not known are not errors.
  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  options.role = 4711;
  tenon_stream* stream = nullptr;
  std::int32_t code = TENON_CALL(tenon.stream, &s.streams(), stream_create, s.device(), &options, &stream, &error);
  context.Require(code == TENON_OK, "A stream role that the plugin does not know is a hint; it answers {}: {}", code,
                  error.message_text());
  TENON_CALL(tenon.stream, &s.streams(), stream_destroy, stream);
  tenon_buffer* buffer = nullptr;
  std::uint64_t address = 0;
  code = TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), 64, 0, nullptr, 4711, &buffer, &address, &error);
  context.Require(code == TENON_OK, "An allocation hint that the plugin does not know is a hint; it answers {}: {}",
                  code, error.message_text());
  TENON_CALL(tenon.memory, &s.memory(), free, buffer, nullptr);
  tenon_value value = TENON_INIT(tenon_value);
  code = TENON_CALL(tenon.device, &s.devices(), query, s.plugin(), 0, tenon_str TENON_STR("org.tenon.conform.unknown"),
                    &value, &error);
  context.Require(code == TENON_OK && value.answer == TENON_ANSWER_UNKNOWN,
                  "query answers {} and {} to a key that nobody knows; it must be OK and unknown.", code, value.answer);
}

void NullSink(Context& context) {
  CheckRefusals(context, false);
  Session s(context);
  tenon_error error;
  FirstKernel first;
  Block block = s.Allocate(64);
  tenon_event* event = s.NewEvent();
  const std::int32_t early = TENON_CALL(tenon.stream, &s.streams(), event_query, event, nullptr);
  context.Require(early == TENON_FAILED_PRECONDITION, "event_query of an event that was never recorded answers {}.",
                  early);
  TENON_CALL(tenon.stream, &s.streams(), event_destroy, event);
  tenon_buffer* huge = nullptr;
  std::uint64_t address = 0;
  const std::int32_t code = TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), std::uint64_t{1} << 60, 0, nullptr,
                                       0, &huge, &address, nullptr);
  context.Require(code != TENON_OK, "alloc of 2^60 bytes answers OK.");
  s.Free(block);
}

void ErrorText(Context& context) {
  Session s(context);
  Block block = s.Allocate(256);
  for (const Refusal& refusal : Refusals(s, block)) {
    tenon_error error;
    const std::int32_t code = refusal.call(&error);
    if (code == TENON_OK) continue;  // case 24 speaks of that
    const std::string text(error.message_text());
    context.Require(!text.empty(), "{} with {} answers {} without a text.", refusal.slot, refusal.argument, code);
    context.Require(text.find(refusal.argument) != std::string::npos,
                    "The error of {} does not name the wrong value {}: '{}'", refusal.slot, refusal.argument, text);
    context.Require(error.code == code || error.code == 0, "{} answers {} but reports {} to the error sink.",
                    refusal.slot, code, error.code);
  }
  s.Free(block);
}

void ArrayStride(Context& context) {
  Session s(context);
  if (s.Table<tenon_op_vtable>() == nullptr) context.Skip("The plugin has no kernels.");
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    const auto plain = KernelRun(s, kernel, call).Run();
    for (const std::uint64_t extra : {8u, 40u}) {
      RunWay way;
      way.extra_stride = extra;
      KernelRun run(s, kernel, call, way);
      context.Require(run.Supports() != TENON_VERDICT_NO,
                      "{}: it is refused when the records of arrays lie {} bytes further apart.", run.text(), extra);
      const auto results = run.Run();
      for (std::size_t i = 0; i < results.size(); ++i)
        RequireNear(context, results[i], plain[i], 0, run.text() + " with another array stride");
    }
  });
  if (calls == 0) context.Skip("The plugin has no kernel that the kit has a call for.");
}

void InjectedException(Context& context) {
  Session s(context);
  tenon_error error;
  tenon_buffer* buffer = nullptr;
  std::uint64_t address = 0;
  // Sizes at which allocators throw.
  for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 4096, std::uint64_t{1} << 62, std::uint64_t{1} << 48}) {
    const std::int32_t code =
        TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), bytes, 0, nullptr, 0, &buffer, &address, &error);
    context.Require(code == TENON_RESOURCE_EXHAUSTED || code == TENON_INVALID_ARGUMENT, "alloc of {} bytes answers {}.",
                    bytes, code);
  }
  FirstKernel first;
  if (!FindFirstKernel(s, &first)) return;
  // A callback of the host that fails: the code comes back.
  KernelRun run(s, first.kernel, first.call);
  if (run.table().query_layouts != nullptr) {
    tenon_layout_sink sink = TENON_INIT(tenon_layout_sink);
    sink.emit = [](void*, const tenon_layout_signature*) -> std::int32_t { return TENON_INVALID_ARGUMENT; };
    const std::int32_t code = TENON_CALL(tenon.op.kernel, &run.table(), query_layouts, s.plugin(), first.kernel.def,
                                         &run.query(), &sink, &error);
    context.Require(code == TENON_INVALID_ARGUMENT || code == TENON_OK,
                    "query_layouts answers {} when the host refuses a signature; it must hand the code on.", code);
  }
}

namespace {

struct Surroundings {
  ProcessState state = CaptureProcessState();
  mode_t mask = ::umask(0);
  std::string environment;
  Surroundings() {
    ::umask(mask);
    for (char** at = environ; *at != nullptr; ++at) environment += std::string(*at) + "\n";
  }
};

void RequireSame(Context& context, const Surroundings& before, const std::string& what) {
  const Surroundings now;
  for (const std::string& change : DescribeChanges(before.state, now.state, false))
    context.Require(false, "After {} {}.", what, change);
  context.Require(before.mask == now.mask, "After {} the file mode mask is {:o}; it was {:o}.", what, now.mask,
                  before.mask);
  context.Require(before.environment == now.environment, "After {} the environment of the process is another.", what);
}

}  // namespace

void ProcessUntouched(Context& context) {
  const Surroundings before;
  const Library library(context);
  RequireSame(context, before, "the library was opened");
  if (library.Table<tenon_device_vtable>() == nullptr) {
    { const Instance instance(context); }
    return RequireSame(context, before, "an instance was created and destroyed");
  }
  {
    Session s(context);
    RequireSame(context, before, "an instance was created and a device opened");
    Block block = s.Allocate(1 << 16);
    s.Fill(block, 1, s.stream());
    s.Read(block, s.stream());
    s.Free(block);
    RequireSame(context, before, "memory was allocated, filled, copied and freed");
    if (s.Table<tenon_op_vtable>() != nullptr) {
      for (const KernelOf& kernel : KernelsOf(s)) {
        if (kernel.op == nullptr) continue;
        for (const OpCall& call : SampleCalls(*kernel.op, DType::kF32)) {
          KernelRun run(s, kernel, call);
          if (run.Supports() != TENON_VERDICT_YES) continue;
          run.Run();
          RequireSame(context, before, run.text());
          break;
        }
      }
    }
  }
  RequireSame(context, before, "the instance was destroyed");
}

}  // namespace tenon::conform
