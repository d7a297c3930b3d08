#include "core/exec/call_stream.h"

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {

void SetStream(const PluginKernel& kernel, const Device& device, tenon_kernel_call& call) {
  call.native_stream = 0;
  if (kernel.plugin_id() == device.plugin().id) {
    call.stream = device.stream();
    return;
  }
  call.stream = nullptr;
  const tenon_stream_vtable& streams = *device.plugin().stream;
  if (streams.native == nullptr) return;
  tenon_error error;
  const std::int32_t code =
      CallAbi("tenon.stream", "native", streams.native, device.stream(), &call.native_stream, &error);
  if (code != TENON_OK) call.native_stream = 0;
}

}  // namespace tenon::exec
