#pragma once

#include <memory>

#include "core/exec/gradient_exchange.h"

namespace tenon::exec {

// Gradients travel as `wire` (kF16 or kBF16), in half the bytes. They come as shares of a mean, so that they are divided
// before they are rounded; the sum of two or more rounded numbers is made in float32 and rounded again. With `refuse_overflow`
// a sum that has become infinite on the wire is an error, else it is left to the scaler of the loss. `comm` is of host memory.
std::unique_ptr<BucketHook> MakeWireHook(Communicator& comm, Device& device, DType wire, bool refuse_overflow);

}  // namespace tenon::exec
