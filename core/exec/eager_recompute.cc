// Results whose memory was given back after the forward pass, computed again when a gradient reads them.
#include "core/exec/eager.h"

namespace tenon::exec {

void EagerEngine::Drop(const EagerTensor& tensor) {
  EagerValue& value = *tensor.value();
  if (value.block->plan == nullptr || value.storage == nullptr) return;
  pool_.Release(value.storage);
  value.storage = nullptr;
  value.address = 0;
  value.dropped = true;
}

// The memory is given back again when the gradient of the operator that made it is known: its readers came before.
void EagerEngine::DropAgain(EagerBlock& block) {
  for (std::int32_t i = 0; i < block.output_count; ++i) {
    EagerValue& output = block.outputs[i];
    if (output.dropped && output.storage != nullptr) Drop(EagerTensor(&output));
  }
}

Status EagerEngine::Restore(const EagerValue& value) {
  if (!value.dropped || value.storage != nullptr) [[likely]]
    return {};
  EagerBlock& block = *value.block;
  std::vector<EagerTensor> inputs;
  for (std::int32_t i = 0; i < block.input_count; ++i) {
    EagerValue* input = block.inputs[i];
    if (input != nullptr) TENON_TRY(Restore(*input));
    inputs.push_back(input == nullptr ? EagerTensor() : EagerTensor(input));
  }
  EagerPlan& plan = *block.plan;
  EagerBlock* again = NewBlock(0, block.output_count);
  for (std::int32_t i = 0; i < again->output_count; ++i) again->outputs[i] = EagerValue{};
  ++again->references;
  EagerCall call;
  call.phase = ActivityKind::kBackward;
  call.site = block.site;
  Status status = PlaceOutputs(plan, inputs, *again, call);
  if (status.ok()) status = Perform(plan, inputs, *again, call);
  for (std::int32_t i = 0; i < block.output_count && status.ok(); ++i) {
    EagerValue& output = block.outputs[i];
    if (!output.dropped || output.storage != nullptr) continue;
    output.storage = again->outputs[i].storage;
    output.address = again->outputs[i].address;
    ++output.storage->references;
  }
  --again->references;
  Release(again);
  return status;
}

}  // namespace tenon::exec
