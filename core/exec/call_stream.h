#pragma once

#include "core/device/device.h"
#include "core/exec/kernel.h"

namespace tenon::exec {

// Says in a call which stream of the device it is for: kernels of the device's own plugin get the stream, those of other
// plugins its native handle alone (0 where the device has none).
void SetStream(const PluginKernel& kernel, const Device& device, tenon_kernel_call& call);

}  // namespace tenon::exec
