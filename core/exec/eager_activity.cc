// Running an operator while the run is profiled: the call becomes an activity with the name of its node.
#include "core/exec/eager.h"

namespace tenon::exec {
namespace {

ActivityInfo InfoOf(const EagerPlan& plan, const EagerCall& call) {
  ActivityInfo info;
  info.kind = call.phase;
  info.name = call.site == nullptr ? plan.op->def().type() : call.site->name;
  info.op = plan.op->def().FullName();
  info.kernel = plan.kernel->name();
  for (const auto* operands : {&plan.inputs, &plan.outputs}) {
    for (const EagerType* type : *operands) info.bytes += type == nullptr ? 0 : type->bytes;
  }
  return info;
}

std::uint32_t ActivityOf(ActivityLog& log, EagerPlan& plan, const EagerCall& call) {
  if (plan.described_in != log.serial()) plan.described.clear();
  plan.described_in = log.serial();
  for (const EagerPlan::Described& known : plan.described) {
    if (known.site != call.site || known.phase != call.phase) continue;
    // A site may have gone, and another one may stand where it was.
    if (call.site == nullptr || log.info(known.info).name == call.site->name) return known.info;
  }
  plan.described.push_back({call.site, call.phase, log.Define(InfoOf(plan, call))});
  return plan.described.back().info;
}

}  // namespace

Status EagerEngine::ExecuteProfiled(EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block,
                                    const EagerCall& call) {
  if (plan.kind != EagerPlan::Kind::kPlugin && plan.kind != EagerPlan::Kind::kReference)
    return Execute(plan, inputs, block, call);
  ActivityLog& log = *device_.activity();
  const std::uint64_t correlation = log.NextCorrelation();
  plan.call.correlation_id = correlation;
  plan.call.flags |= TENON_CALL_PROFILING;
  const std::uint32_t info = ActivityOf(log, plan, call);
  const std::int64_t start = MonotonicRawNs();
  Status status = Execute(plan, inputs, block, call);
  log.Add(info, correlation, start, MonotonicRawNs());
  plan.call.flags &= ~static_cast<std::uint32_t>(TENON_CALL_PROFILING);
  return status;
}

}  // namespace tenon::exec
