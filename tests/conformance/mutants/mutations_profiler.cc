// Mutations of the profiler.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "mutations.h"

namespace mutant {
namespace {

// Stands between the plugin and the host's buffers.
struct Between {
  tenon_profiler_config host;
  void (*change)(tenon_record_header* record);
  bool forgets_drops;
  std::atomic<bool> starved{false};
};
Between g_between;

void* Request(void*, uint64_t* bytes) {
  void* buffer = g_between.host.buffer_request(g_between.host.user, bytes);
  if (buffer == nullptr) g_between.starved = true;
  return buffer;
}

void Return(void*, void* buffer, uint64_t used, uint64_t dropped) {
  char* at = static_cast<char*>(buffer);
  for (uint64_t place = 0; g_between.change != nullptr && place < used;) {
    auto* header = reinterpret_cast<tenon_record_header*>(at + place);
    g_between.change(header);
    place += header->size;
  }
  g_between.host.buffer_return(g_between.host.user, buffer, used, g_between.forgets_drops ? 0 : dropped);
}

int32_t Start(tenon_plugin* plugin, const tenon_profiler_config* config, tenon_profiler_session** out,
              tenon_error* error) {
  g_between.host = *config;
  tenon_profiler_config mine = *config;
  mine.buffer_request = &Request;
  mine.buffer_return = &Return;
  return Sound().profiler.start(plugin, &mine, out, error);
}

void ForgetsCorrelation(Tables* tables) {
  g_between.change = [](tenon_record_header* record) { record->correlation_id = 0; };
  tables->profiler.start = &Start;
}

void EndsBeforeStart(Tables* tables) {
  g_between.change = [](tenon_record_header* record) {
    std::swap(record->start, record->end);
    ++record->start;
  };
  tables->profiler.start = &Start;
}

void TimesAreElsewhere(Tables* tables) {
  g_between.change = [](tenon_record_header* record) {
    record->start += uint64_t{1} << 42;
    record->end += uint64_t{1} << 42;
  };
  tables->profiler.start = &Start;
}

void ForgetsDrops(Tables* tables) {
  g_between.forgets_drops = true;
  tables->profiler.start = &Start;
}

void MaskIgnored(Tables* tables) {
  tables->profiler.start = [](tenon_plugin* plugin, const tenon_profiler_config* config, tenon_profiler_session** out,
                              tenon_error* error) {
    tenon_profiler_config all = *config;
    all.mask = ~uint64_t{0};
    return Sound().profiler.start(plugin, &all, out, error);
  };
}

void ClockRunsAway(Tables* tables) {
  tables->profiler.clock_pair = [](tenon_plugin* plugin, uint32_t index, tenon_clock_pair* out, tenon_error* error) {
    const int32_t code = Sound().profiler.clock_pair(plugin, index, out, error);
    out->domain_ticks += out->domain_ticks / 16;
    return code;
  };
}

void RecordsAfterStop(Tables* tables) {
  tables->profiler.start = &Start;
  tables->profiler.stop = [](tenon_profiler_session* session, tenon_error* error) {
    const int32_t code = Sound().profiler.stop(session, error);
    std::thread([host = g_between.host] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      host.buffer_return(host.user, nullptr, 0, 1);
    }).detach();
    return code;
  };
}

void FailsWithoutBuffers(Tables* tables) {
  tables->profiler.start = &Start;
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    if (g_between.starved) return Fail(error, TENON_RESOURCE_EXHAUSTED, "There is no buffer for records.");
    return SoundKernel(kernel).execute(kernel, call, error);
  };
}

void StaysSlow(Tables* tables) {
  static std::atomic<bool> slow{false};
  tables->profiler.stop = [](tenon_profiler_session* session, tenon_error* error) {
    slow = true;
    return Sound().profiler.stop(session, error);
  };
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    if (slow) ::usleep(20);
    return SoundKernel(kernel).execute(kernel, call, error);
  };
}

constexpr Mutation kMutations[] = {
    {"forgets_correlation", ForgetsCorrelation},
    {"ends_before_start", EndsBeforeStart},
    {"times_are_elsewhere", TimesAreElsewhere},
    {"forgets_drops", ForgetsDrops},
    {"mask_ignored", MaskIgnored},
    {"clock_runs_away", ClockRunsAway},
    {"records_after_stop", RecordsAfterStop},
    {"fails_without_buffers", FailsWithoutBuffers},
    {"stays_slow", StaysSlow},
};

}  // namespace

const Mutation* FindProfilerMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
