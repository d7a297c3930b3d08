#include "core/train/gradient_hook.h"

#include <algorithm>

#include "core/exec/wire_hook.h"
#include "core/train/loss_scaler.h"

namespace tenon {
namespace {

constexpr std::string_view kFactor = "train.powersgd_factor.", kError = "train.powersgd_error.";

const Tensor* Find(const RunState& state, const std::string& name) {
  for (const NamedTensor& extra : state.extra) {
    if (extra.name == name) return &extra.tensor;
  }
  return nullptr;
}

// What a hook has left in the checkpoint; null: nothing.
const Tensor* MemoryOf(const RunState& state) {
  for (const NamedTensor& extra : state.extra) {
    if (extra.name.starts_with(kFactor)) return &extra.tensor;
  }
  return nullptr;
}

Status RefuseLoss(const Tensor& factor, std::uint32_t ranks) {
  const std::int64_t columns = factor.shape().rank() > 0 ? factor.shape().dim(factor.shape().rank() - 1) : 0;
  return InvalidArgument(
      "The checkpoint is of a run with 'parallel.hook: {{type: powersgd}}'; this run has no hook, so that what "
      "its ranks had not sent yet would be lost. {}",
      ranks == 1 ? std::string("A run of one process has none: start several.")
                 : fmt::format("Write parallel.hook: {{type: powersgd, rank: {}}}.", columns));
}

// The tensor of that name, as the hook of this run has it: of `shape`, but for the first axis where that is 0.
Result<const Tensor*> FindLike(const RunState& state, std::string_view prefix, const std::string& parameter,
                               const Shape& shape) {
  const std::string name = std::string(prefix) + parameter;
  const Tensor* tensor = Find(state, name);
  TENON_INVALID_IF(tensor == nullptr, "The checkpoint does not have '{}', which 'parallel.hook' goes on from.", name);
  Shape wanted = shape;
  if (wanted.dim(0) == 0 && tensor->shape().rank() == wanted.rank()) wanted.set_dim(0, tensor->shape().dim(0));
  TENON_INVALID_IF(tensor->dtype() != DType::kF32 || !(tensor->shape() == wanted),
                   "'{}' is {} in the checkpoint; 'parallel.hook' of this run needs float32{}.", name,
                   tensor->Describe(), wanted);
  return tensor;
}

// This rank's part of errors [ranks then, rows, columns].
void TakeError(const Tensor& errors, std::uint32_t rank, std::uint32_t ranks, Tensor* error) {
  const std::int64_t then = errors.shape().dim(0), count = error->elements();
  float* mine = error->data<float>();
  const float* all = errors.data<float>();
  if (then == static_cast<std::int64_t>(ranks)) {
    std::copy_n(all + static_cast<std::int64_t>(rank) * count, count, mine);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::int64_t of = 0; of < then; ++of) sum += static_cast<double>(all[of * count + i]);
    mine[i] = static_cast<float>(sum / ranks);
  }
}

}  // namespace

std::unique_ptr<exec::BucketHook> MakeGradientHook(const RunConfig& config, Communicator& host, Device& device) {
  const ParallelConfig& parallel = config.parallel;
  if (parallel.wire) {
    const DType wire = *parallel.wire == WireType::kFp16 ? DType::kF16 : DType::kBF16;
    return exec::MakeWireHook(host, device, wire, /*refuse_overflow=*/!ScalesLoss(config.amp));
  }
  if (!parallel.hook) return nullptr;
  const auto& power = std::get<PowerSgdConfig>(*parallel.hook);
  return exec::MakePowerSgd(host, device, power.rank, static_cast<std::uint64_t>(config.seed));
}

Status CaptureHook(exec::PowerSgd* hook, Communicator& host, RunState* state) {
  if (hook == nullptr) return {};
  for (const exec::PowerSgd::Memory& memory : hook->memory()) {
    Shape shape{static_cast<std::int64_t>(host.size())};
    for (const std::int64_t dim : memory.error.shape().dims()) shape.push_back(dim);
    Tensor errors(DType::kF32, shape);
    TENON_ASSIGN(const Communicator::Ticket ticket,
                 host.AllGather(Communicator::AddressOf(memory.error.raw()), Communicator::AddressOf(errors.raw()),
                                memory.error.bytes()));
    TENON_TRY_WHILE(host.Wait(ticket), "collecting what the ranks have not sent of '{}'", memory.parameter);
    state->extra.push_back({std::string(kFactor) + memory.parameter, memory.factor.Clone()});
    state->extra.push_back({std::string(kError) + memory.parameter, std::move(errors)});
  }
  return {};
}

Status RestoreHook(const RunState& state, std::uint32_t rank, std::uint32_t ranks, exec::PowerSgd* hook) {
  const Tensor* factor_there = MemoryOf(state);
  if (hook == nullptr) return factor_there == nullptr ? Status() : RefuseLoss(*factor_there, ranks);
  TENON_INVALID_IF(factor_there == nullptr && !hook->memory().empty(),
                   "The checkpoint is of a run without 'parallel.hook'; this run has powersgd, whose memory it lacks. "
                   "Remove 'parallel.hook'.");
  for (exec::PowerSgd::Memory& memory : hook->memory()) {
    TENON_ASSIGN(const Tensor* factor, FindLike(state, kFactor, memory.parameter, memory.factor.shape()));
    const Shape one = memory.error.shape();
    TENON_ASSIGN(const Tensor* errors, FindLike(state, kError, memory.parameter, Shape{0, one.dim(0), one.dim(1)}));
    std::copy_n(factor->data<float>(), factor->elements(), memory.factor.data<float>());
    TakeError(*errors, rank, ranks, &memory.error);
  }
  return {};
}

}  // namespace tenon
