// Running a program while the run is profiled: each step becomes an activity with its node's name.
#include <algorithm>

#include "core/exec/program.h"

namespace tenon::exec {
namespace {

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

// What comes after the loss is backward, but for the nodes that give parameters their new values.
ActivityKind Program::PhaseOf(std::size_t step) const {
  if (compilation_.loss == graph::kNone) return compilation_.update ? ActivityKind::kUpdate : ActivityKind::kEvaluate;
  if (step < loss_end_) return ActivityKind::kForward;
  const graph::Node& node = graph().node(steps_[step].node);
  const auto& updates = graph().updates;
  const bool update = std::any_of(updates.begin(), updates.end(), [&](const graph::Update& one) {
    return graph().value(one.state).kind == graph::ValueKind::kParameter &&
           std::find(node.outputs.begin(), node.outputs.end(), one.value) != node.outputs.end();
  });
  return update ? ActivityKind::kUpdate : ActivityKind::kBackward;
}

void Program::DefineActivities(ActivityLog& log) {
  activities_.clear();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const graph::Node& node = graph().node(step.node);
    ActivityInfo info;
    info.kind = PhaseOf(i);
    info.name = node.name;
    info.op = node.FullName();
    if (step.kind == Step::Kind::kCopy) {
      info.kernel = "copy";
      info.bytes = 2 * step.bytes;
    } else {
      const graph::PlannedKernel* kernel = compilation_.kernels[Index(step.node)].get();
      info.kernel = kernel == nullptr ? "reorder" : kernel->name();
      if (step.kind == Step::Kind::kLaunch) info.kernel = "launch";
      if (step.kind == Step::Kind::kAwait) info.kernel = "wait";
      for (const auto* operands : {&node.inputs, &node.outputs}) {
        for (const graph::ValueId id : *operands)
          info.bytes += id == graph::kNone ? 0 : compilation_.memory.bytes[Index(id)];
      }
    }
    activities_.push_back(log.Define(std::move(info)));
  }
  described_in_ = log.serial();
}

Status Program::RunProfiled(std::size_t begin, std::size_t end, const RunOptions& options) {
  ActivityLog& log = *device_.activity();
  if (described_in_ != log.serial()) DefineActivities(log);
  std::int64_t start = MonotonicRawNs();
  for (std::size_t i = begin; i < end; ++i) {
    Step& step = steps_[i];
    SetRandom(step, options);
    step.call.correlation_id = log.NextCorrelation();
    step.call.flags |= TENON_CALL_PROFILING;
    const Status status = RunStep(step);
    const std::int64_t now = MonotonicRawNs();
    log.Add(activities_[i], step.call.correlation_id, start, now);
    step.call.flags &= ~static_cast<std::uint32_t>(TENON_CALL_PROFILING);
    start = now;
    TENON_TRY(Status(status));
    if (options.observer == nullptr) continue;
    TENON_TRY(Observe(step, *options.observer));
    start = MonotonicRawNs();
  }
  return device_.Synchronize();
}

}  // namespace tenon::exec
