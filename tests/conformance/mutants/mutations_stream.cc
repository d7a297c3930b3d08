// Mutations of streams, events and completions.
#include <map>
#include <mutex>
#include <set>

#include "mutations.h"

namespace mutant {
namespace {

void StreamCreateWritesNothing(Tables* tables) {
  tables->stream.stream_create = [](tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                                    tenon_error* error) {
    tenon_stream* mine = nullptr;
    out = &mine;
    return Sound().stream.stream_create(device, options, out, error);
  };
}

int32_t Forgive(int32_t code) { return code == TENON_FAILED_PRECONDITION ? static_cast<int32_t>(TENON_OK) : code; }

void WaitForUnrecordedIsOk(Tables* tables) {
  tables->stream.stream_wait_event = [](tenon_stream* stream, tenon_event* event, tenon_error* error) {
    return Forgive(Sound().stream.stream_wait_event(stream, event, error));
  };
}

void QueryOfUnrecordedIsOk(Tables* tables) {
  tables->stream.event_query = [](tenon_event* event, tenon_error* error) {
    return Forgive(Sound().stream.event_query(event, error));
  };
}

void RecordsOnce(Tables* tables) {
  tables->stream.event_record = [](tenon_event* event, tenon_stream* stream, tenon_error* error) {
    if (Sound().stream.event_query(event, nullptr) != TENON_FAILED_PRECONDITION) return static_cast<int32_t>(TENON_OK);
    return Sound().stream.event_record(event, stream, error);
  };
}

void WaitDoesNothing(Tables* tables) {
  tables->stream.stream_wait_event = [](tenon_stream* stream, tenon_event* event, tenon_error* error) {
    const int32_t code = Sound().stream.event_query(event, error);
    if (code == TENON_FAILED_PRECONDITION) return Sound().stream.stream_wait_event(stream, event, error);
    return static_cast<int32_t>(TENON_OK);
  };
}

// Devices of streams, and whether the newest work of a stream is of the kind that events overtake.
std::map<tenon_stream*, tenon_device*>& Devices() {
  static auto* devices = new std::map<tenon_stream*, tenon_device*>;
  return *devices;
}
std::map<tenon_stream*, bool>& Overtaken() {
  static auto* overtaken = new std::map<tenon_stream*, bool>;
  return *overtaken;
}

// Records the event where nothing pends: it is complete before the work.
int32_t RecordElsewhere(tenon_event* event, tenon_stream* stream, tenon_error* error) {
  const tenon_stream_options options = TENON_INIT(tenon_stream_options);
  tenon_stream* idle = nullptr;
  int32_t code = Sound().stream.stream_create(Devices()[stream], &options, &idle, error);
  if (code != TENON_OK) return code;
  code = Sound().stream.event_record(event, idle, error);
  Sound().stream.stream_destroy(idle);
  return code;
}

void RememberDevices(Tables* tables) {
  tables->stream.stream_create = [](tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                                    tenon_error* error) {
    const int32_t code = Sound().stream.stream_create(device, options, out, error);
    if (code == TENON_OK) Devices()[*out] = device;
    return code;
  };
}

void EventOvertakesWork(Tables* tables) {
  RememberDevices(tables);
  tables->stream.event_record = RecordElsewhere;
}

// Events stand in the queue of kernels; copies run in another one.
void EventOvertakesCopies(Tables* tables) {
  RememberDevices(tables);
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    Overtaken()[stream] = true;
    return Sound().memory.copy(device, copy, stream, error);
  };
  tables->memory.fill = [](tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t width,
                           tenon_stream* stream, tenon_error* error) {
    Overtaken()[stream] = false;
    return Sound().memory.fill(space, address, bytes, pattern, width, stream, error);
  };
  tables->stream.event_record = [](tenon_event* event, tenon_stream* stream, tenon_error* error) {
    return Overtaken()[stream] ? RecordElsewhere(event, stream, error)
                               : Sound().stream.event_record(event, stream, error);
  };
}

// The other way round.
void EventOvertakesKernels(Tables* tables) {
  EventOvertakesCopies(tables);
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    Overtaken()[stream] = false;
    return Sound().memory.copy(device, copy, stream, error);
  };
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    Overtaken()[call->stream] = true;
    return SoundKernel(kernel).execute(kernel, call, error);
  };
}

void ElapsedBackwards(Tables* tables) {
  tables->stream.event_elapsed = [](tenon_event* from, tenon_event* to, double* out, tenon_error* error) {
    const int32_t code = Sound().stream.event_elapsed(from, to, out, error);
    *out = -*out - 1;
    return code;
  };
}

void CompletesTwice(Tables* tables) {
  tables->stream.stream_notify = [](tenon_stream* stream, tenon_token* token, tenon_error* error) {
    const int32_t code = Sound().stream.stream_notify(stream, token, error);
    if (code == TENON_OK) {
      Sound().stream.stream_synchronize(stream, UINT64_MAX, nullptr);
      Host()->complete(Host()->host, token, TENON_OK, {nullptr, 0});
    }
    return code;
  };
}

void CompletesNever(Tables* tables) {
  tables->stream.stream_notify = [](tenon_stream*, tenon_token*, tenon_error*) {
    return static_cast<int32_t>(TENON_OK);
  };
}

std::mutex& Lock() {
  static auto* lock = new std::mutex;
  return *lock;
}

void LockedWhileCallingHost(Tables* tables) {
  tables->stream.stream_notify = [](tenon_stream* stream, tenon_token* token, tenon_error*) {
    const std::lock_guard<std::mutex> held(Lock());
    Sound().stream.stream_synchronize(stream, UINT64_MAX, nullptr);
    Host()->complete(Host()->host, token, TENON_OK, {nullptr, 0});
    return static_cast<int32_t>(TENON_OK);
  };
  tables->stream.event_create = [](tenon_device* device, uint32_t flags, tenon_event** out, tenon_error* error) {
    const std::lock_guard<std::mutex> held(Lock());
    return Sound().stream.event_create(device, flags, out, error);
  };
}

void ErrorToldOnce(Tables* tables) {
  tables->stream.stream_query = [](tenon_stream* stream, tenon_error* error) {
    static auto* told = new std::set<tenon_stream*>;
    const int32_t code = Sound().stream.stream_query(stream, error);
    if (code != TENON_DEVICE_LOST) return code;
    return told->insert(stream).second ? code : static_cast<int32_t>(TENON_OK);
  };
}

void ErrorStaysBehind(Tables* tables) {
  tables->stream.stream_wait_event = [](tenon_stream* stream, tenon_event* event, tenon_error* error) {
    Sound().stream.event_synchronize(event, UINT64_MAX, nullptr);
    const int32_t code = Sound().stream.event_query(event, error);
    return code == TENON_DEVICE_LOST ? static_cast<int32_t>(TENON_OK)
                                     : Sound().stream.stream_wait_event(stream, event, error);
  };
}

void SynchronizeReturnsEarly(Tables* tables) {
  tables->stream.stream_synchronize = [](tenon_stream*, uint64_t, tenon_error*) {
    return static_cast<int32_t>(TENON_OK);
  };
}

constexpr Mutation kMutations[] = {
    {"stream_create_writes_nothing", StreamCreateWritesNothing},
    {"wait_for_unrecorded_is_ok", WaitForUnrecordedIsOk},
    {"query_of_unrecorded_is_ok", QueryOfUnrecordedIsOk},
    {"records_once", RecordsOnce},
    {"wait_does_nothing", WaitDoesNothing},
    {"event_overtakes_work", EventOvertakesWork},
    {"event_overtakes_copies", EventOvertakesCopies},
    {"event_overtakes_kernels", EventOvertakesKernels},
    {"elapsed_backwards", ElapsedBackwards},
    {"completes_twice", CompletesTwice},
    {"completes_never", CompletesNever},
    {"locked_while_calling_host", LockedWhileCallingHost},
    {"error_told_once", ErrorToldOnce},
    {"error_stays_behind", ErrorStaysBehind},
    {"synchronize_returns_early", SynchronizeReturnsEarly},
};

}  // namespace

const Mutation* FindStreamMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
