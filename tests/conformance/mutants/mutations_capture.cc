// Sound additions to plugins that neither capture nor look at cancellation, and mutations of them: the cases of both have
// something to pass and something to fail.
#include <map>
#include <vector>

#include "mutations.h"

namespace mutant {
namespace {

struct Capture {
  tenon_device* device = nullptr;
  std::vector<tenon_copy> copies;
};

// What is being captured, by stream.
std::map<tenon_stream*, Capture*>& Open() {
  static auto* open = new std::map<tenon_stream*, Capture*>;
  return *open;
}

int32_t Replay(tenon_capture* handle, tenon_stream* stream, tenon_error* error) {
  const Capture& capture = *reinterpret_cast<const Capture*>(handle);
  for (const tenon_copy& copy : capture.copies) {
    const int32_t code = Sound().memory.copy(capture.device, &copy, stream, error);
    if (code != TENON_OK) return code;
  }
  return TENON_OK;
}

// Streams capture copies.
void Captures(Tables* tables) {
  tables->device.query = [](tenon_plugin* plugin, uint32_t index, tenon_str key, tenon_value* out, tenon_error* error) {
    const int32_t code = Sound().device.query(plugin, index, key, out, error);
    if (code == TENON_OK && View(key) == "capture") out->answer = TENON_ANSWER_YES;
    return code;
  };
  tables->stream.capture_begin = [](tenon_stream* stream, tenon_error*) {
    Open()[stream] = new Capture;
    return static_cast<int32_t>(TENON_OK);
  };
  tables->stream.capture_end = [](tenon_stream* stream, tenon_capture** out, tenon_error*) {
    *out = reinterpret_cast<tenon_capture*>(Open()[stream]);
    Open().erase(stream);
    return static_cast<int32_t>(TENON_OK);
  };
  tables->stream.capture_replay = Replay;
  tables->stream.capture_destroy = [](tenon_capture* capture) { delete reinterpret_cast<Capture*>(capture); };
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    const auto open = Open().find(stream);
    if (open == Open().end()) return Sound().memory.copy(device, copy, stream, error);
    open->second->device = device;
    open->second->copies.push_back(*copy);
    return static_cast<int32_t>(TENON_OK);
  };
}

// The second replay and those after it do nothing, as if the result were still there.
void ReplaysOnce(Tables* tables) {
  Captures(tables);
  tables->stream.capture_replay = [](tenon_capture* capture, tenon_stream* stream, tenon_error* error) {
    static std::map<tenon_capture*, int>* replays = new std::map<tenon_capture*, int>;
    return (*replays)[capture]++ == 0 ? Replay(capture, stream, error) : static_cast<int32_t>(TENON_OK);
  };
}

// The capability is there, the slots are not.
void PromisesCapture(Tables* tables) {
  Captures(tables);
  tables->stream.capture_replay = nullptr;
}

// Kernels that end early when their work is cancelled, with this code.
template <int32_t kCode>
void EndsEarly(Tables* tables) {
  tables->kernel_traits = TENON_TRAIT_CANCELLABLE;
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    if (Host()->cancelled(call->cancel) != 0) return Fail(error, kCode, "The work was cancelled.");
    return SoundKernel(kernel).execute(kernel, call, error);
  };
}

constexpr Mutation kMutations[] = {
    {"captures", Captures},
    {"replays_once", ReplaysOnce},
    {"promises_capture", PromisesCapture},
    {"ends_early", EndsEarly<TENON_CANCELLED>},
    {"cancelled_is_broken", EndsEarly<TENON_INTERNAL>},
};

}  // namespace

const Mutation* FindCaptureMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
