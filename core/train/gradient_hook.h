#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/exec/power_sgd.h"
#include "core/train/checkpoint_state.h"
#include "core/train/run_config.h"

namespace tenon {

// What `parallel.wire` or `parallel.hook` does with the gradients on their way; null: they are summed as they are. `host`
// is a communicator of host memory.
std::unique_ptr<exec::BucketHook> MakeGradientHook(const RunConfig& config, Communicator& host, Device& device);

// Adds what a hook keeps from step to step to the state of a run. All ranks call it, and all get the memory of all. `hook`
// may be null.
Status CaptureHook(exec::PowerSgd* hook, Communicator& host, RunState* state);

// Gives a prepared hook its memory back. The same number of ranks go on as if they had never stopped. Among another number
// what all had not sent yet is divided evenly, so that nothing is lost and the sum of the gradients stays what it was. A
// state with such a memory for a run without a hook is refused, and the other way round; `hook` may be null.
Status RestoreHook(const RunState& state, std::uint32_t rank, std::uint32_t ranks, exec::PowerSgd* hook);

}  // namespace tenon
