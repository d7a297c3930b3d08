// Mutations of loading, creating and of structs that cross the border.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <new>
#include <thread>

#include "mutations.h"

namespace mutant {
namespace {

void None(Tables*) {}

// ---- the entry ----

void QueryLeaks(Tables* tables) {
  tables->query = [](const tenon_host_info* host) {
    [[maybe_unused]] static void* volatile kept = nullptr;
    kept = std::malloc(64);
    return Answer(host);
  };
}

void QueryMoves(Tables* tables) {
  tables->query = [](const tenon_host_info* host) -> const tenon_plugin_descriptor* {
    static tenon_plugin_descriptor copies[2];
    static int calls = 0;
    const tenon_plugin_descriptor* answer = Answer(host);
    if (answer == nullptr) return nullptr;
    copies[calls & 1] = *answer;
    return &copies[calls++ & 1];
  };
}

void QueryReadsPastHost(Tables* tables) {
  tables->query = [](const tenon_host_info* host) {
    [[maybe_unused]] static volatile uint64_t features = 0;
    if (host != nullptr) features = host->features;
    return Answer(host);
  };
}

void QueryRefusesNewer(Tables* tables) {
  tables->query = [](const tenon_host_info* host) -> const tenon_plugin_descriptor* {
    if (host != nullptr && host->abi_minor != TENON_ABI_MINOR) return nullptr;
    return Answer(host);
  };
}

void QueryTakesAnyMajor(Tables* tables) {
  tables->query = [](const tenon_host_info*) { return Answer(nullptr); };
}

// ---- create ----

void CreateNeedsOptionalService(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    args->host->heartbeat(args->host->host, {"starting", 8});
    return Sound().descriptor.create(args, out, error);
  };
}

void CreateHidesFailure(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    Sound().descriptor.create(args, out, error);
    return static_cast<int32_t>(TENON_OK);
  };
}

void CreateLeaksDescriptor(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    [[maybe_unused]] const int file = ::open("/dev/null", O_RDONLY);
    return Sound().descriptor.create(args, out, error);
  };
}

void CreateAsksForEverything(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    const tenon_host_api* host = args->host;
    int64_t value = 0;
    host->option_i64(host->host, {"tenon_conform_no_such_option", 28}, 0, 0, 10, {"", 0}, &value, nullptr);
    return Sound().descriptor.create(args, out, error);
  };
}

void StreamLeaksThread(Tables* tables) {
  tables->stream.stream_create = [](tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                                    tenon_error* error) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    return Sound().stream.stream_create(device, options, out, error);
  };
}

void EventLeaksMemory(Tables* tables) {
  tables->stream.event_create = [](tenon_device* device, uint32_t flags, tenon_event** out, tenon_error* error) {
    [[maybe_unused]] static void* volatile kept = nullptr;
    kept = std::malloc(256);
    return Sound().stream.event_create(device, flags, out, error);
  };
}

// ---- structs and errors ----

void InfoClearsOwnSize(Tables* tables) {
  tables->device.device_info = [](tenon_plugin* plugin, uint32_t index, tenon_device_info* out, tenon_error* error) {
    const uint32_t capacity = out->struct_size;
    std::memset(out, 0, sizeof(*out));
    out->struct_size = capacity;
    return Sound().device.device_info(plugin, index, out, error);
  };
}

void StatsIgnoreCapacity(Tables* tables) {
  tables->memory.stats = [](tenon_space* space, tenon_memory_stats* out, tenon_error* error) {
    out->struct_size = sizeof(*out);
    return Sound().memory.stats(space, out, error);
  };
}

void ReservedFlag(Tables* tables) { tables->memory.flags = 1; }

void FillTakesAnyWidth(Tables* tables) {
  tables->memory.fill = [](tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t width,
                           tenon_stream* stream, tenon_error* error) {
    if (width == 3) return static_cast<int32_t>(TENON_OK);
    return Sound().memory.fill(space, address, bytes, pattern, width, stream, error);
  };
}

void RefusesUnknownHint(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) {
    if (hint > TENON_ALLOC_WEIGHTS) return Fail(error, TENON_INVALID_ARGUMENT, "The hint is not known.");
    return Sound().memory.alloc(space, bytes, align, stream, hint, out, address, error);
  };
}

void NeedsErrorSink(Tables* tables) {
  tables->memory.space_get = [](tenon_device* device, uint32_t index, tenon_space** space, tenon_space_info* info,
                                tenon_error* error) {
    const int32_t code = Sound().memory.space_get(device, index, space, info, error);
    [[maybe_unused]] static volatile char seen = 0;
    if (code != TENON_OK) seen = *reinterpret_cast<volatile char*>(error);
    return code;
  };
}

void ErrorWithoutText(Tables* tables) {
  tables->memory.space_get = [](tenon_device* device, uint32_t index, tenon_space** space, tenon_space_info* info,
                                tenon_error*) { return Sound().memory.space_get(device, index, space, info, nullptr); };
}

void ErrorWithoutValue(Tables* tables) {
  tables->device.open = [](tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* error) {
    if (index > 100) return Fail(error, TENON_OUT_OF_RANGE, "Something is wrong.");
    return Sound().device.open(plugin, index, out, error);
  };
}

void AllocThrows(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) -> int32_t {
    if (bytes > (uint64_t{1} << 47)) throw std::bad_alloc();
    return Sound().memory.alloc(space, bytes, align, stream, hint, out, address, error);
  };
}

void OpenChangesLocale(Tables* tables) {
  tables->device.open = [](tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* error) {
    std::setlocale(LC_ALL, "C.UTF-8");
    return Sound().device.open(plugin, index, out, error);
  };
}

void OpenHandlesSignals(Tables* tables) {
  tables->device.open = [](tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* error) {
    ::signal(SIGUSR1, [](int) {});
    return Sound().device.open(plugin, index, out, error);
  };
}

void ExecuteFlushesToZero(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return SoundKernel(kernel).execute(kernel, call, error);
  };
}

constexpr Mutation kMutations[] = {
    {"none", None},
    {"exports_more", None},         // its link is broken, not its code
    {"note_says_otherwise", None},  // its note is
    {"binds_late", None},
    {"looks_elsewhere", None},
    {"query_leaks", QueryLeaks},
    {"query_moves", QueryMoves},
    {"query_reads_past_host", QueryReadsPastHost},
    {"query_refuses_newer", QueryRefusesNewer},
    {"query_takes_any_major", QueryTakesAnyMajor},
    {"create_needs_optional_service", CreateNeedsOptionalService},
    {"create_hides_failure", CreateHidesFailure},
    {"create_leaks_descriptor", CreateLeaksDescriptor},
    {"create_asks_for_everything", CreateAsksForEverything},
    {"stream_leaks_thread", StreamLeaksThread},
    {"event_leaks_memory", EventLeaksMemory},
    {"info_clears_own_size", InfoClearsOwnSize},
    {"stats_ignore_capacity", StatsIgnoreCapacity},
    {"reserved_flag", ReservedFlag},
    {"fill_takes_any_width", FillTakesAnyWidth},
    {"refuses_unknown_hint", RefusesUnknownHint},
    {"needs_error_sink", NeedsErrorSink},
    {"error_without_text", ErrorWithoutText},
    {"error_without_value", ErrorWithoutValue},
    {"alloc_throws", AllocThrows},
    {"open_changes_locale", OpenChangesLocale},
    {"open_handles_signals", OpenHandlesSignals},
    {"execute_flushes_to_zero", ExecuteFlushesToZero},
};

}  // namespace

const Mutation* FindMutation(std::string_view name) {
  if (const Mutation* found = FindIn(kMutations, name)) return found;
  for (const auto find : {FindMemoryMutation, FindCaptureMutation, FindStreamMutation, FindKernelMutation,
                          FindCollectiveMutation, FindClaimMutation, FindLifeMutation, FindProfilerMutation}) {
    if (const Mutation* found = find(name)) return found;
  }
  return nullptr;
}

}  // namespace mutant
