#include "core/exec/kernel.h"

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {
namespace {

// In-place pairs of an operator's definition; an operator that updates its inputs writes output k over input first + k.
std::vector<graph::InPlaceChoice> PairsOf(const OpDef& def, std::size_t outputs) {
  std::vector<graph::InPlaceChoice> pairs;
  for (const OpDef::InPlacePair& pair : def.in_place()) pairs.push_back({pair.output, pair.input, pair.must});
  if (def.updates_first_input() < 0) return pairs;
  for (int k = 0; k < static_cast<int>(outputs); ++k) pairs.push_back({k, def.updates_first_input() + k, true});
  return pairs;
}

}  // namespace

Result<std::unique_ptr<PluginKernel>> PluginKernel::Make(const KernelEntry& entry, const graph::KernelQuery& query,
                                                         std::span<const graph::LayoutId> inputs,
                                                         std::span<const graph::LayoutId> outputs, const Device& device,
                                                         const QueryOptions& options) {
  std::unique_ptr<PluginKernel> kernel(new PluginKernel(entry));
  const AbiQuery abi(query, device, *entry.plugin, options);
  kernel->math_flags_ = abi.record().math_flags;
  tenon_error error;
  const std::int32_t created = CallAbi("tenon.op", "create", entry.vtable.create, entry.plugin->instance, entry.def,
                                       &abi.record(), &kernel->kernel_, &error);
  TENON_TRY_WHILE(ToStatus(created, error, entry.plugin->id), "creating kernel {}", entry.name);
  if (kernel->kernel_ == nullptr)
    return Error(Code::kInternal,
                 "Kernel {} reports success for its creation and gives no instance. Report it to the vendor.",
                 entry.name);
  if (query.def != nullptr) kernel->in_place_ = PairsOf(*query.def, query.outputs.size());
  if (query.fused != nullptr) {
    for (const OpDef::InPlacePair& pair : query.fused->in_place)
      kernel->in_place_.push_back({pair.output, pair.input, pair.must});
  }
  if (entry.vtable.plan == nullptr) return kernel;
  const AbiValues in(query.inputs, query.constant, inputs, query.content), out(query.outputs, {}, outputs);
  tenon_plan_args args = TENON_INIT(tenon_plan_args);
  args.math_flags = abi.record().math_flags;
  args.inputs = in.data();
  args.input_count = in.size();
  args.input_stride = sizeof(tenon_value_desc);
  args.outputs = out.data();
  args.output_count = out.size();
  args.output_stride = sizeof(tenon_value_desc);
  args.thread_budget = options.thread_budget;
  tenon_plan_result result = TENON_INIT(tenon_plan_result);
  const std::int32_t planned = CallAbi("tenon.op", "plan", entry.vtable.plan, kernel->kernel_, &args, &result, &error);
  TENON_TRY_WHILE(ToStatus(planned, error, entry.plugin->id), "planning kernel {}", entry.name);
  kernel->workspace_bytes_ = static_cast<std::int64_t>(result.workspace_bytes);
  kernel->no_op_ = (result.flags & TENON_PLAN_NO_OP) != 0;
  for (std::uint64_t i = 0; i < result.alias_count; ++i) {
    const tenon_alias_pair& pair = result.aliases[i];
    kernel->in_place_.push_back(
        {static_cast<int>(pair.output), static_cast<int>(pair.input), (pair.flags & TENON_ALIAS_MUST) != 0});
  }
  return kernel;
}

PluginKernel::~PluginKernel() {
  if (kernel_ != nullptr) CallAbi("tenon.op", "destroy", entry_.vtable.destroy, kernel_);
}

ReferenceKernel::ReferenceKernel(const OpDef& def, std::size_t outputs, std::string fallback_reason)
    : def_(def), fallback_reason_(std::move(fallback_reason)), in_place_(PairsOf(def, outputs)) {}

const std::string& ReferenceKernel::name() const {
  static const std::string kName = "reference", kFallback = "reference on the host";
  return is_fallback() ? kFallback : kName;
}

std::int32_t ExecuteKernel(std::int32_t (*execute)(tenon_kernel*, const tenon_kernel_call*, tenon_error*),
                           tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  try {
    return CallAbi("tenon.op", "execute", execute, kernel, call, error);
  } catch (const std::exception& thrown) {
    return Fail(error, TENON_INTERNAL,
                fmt::format("The kernel threw an exception, which must not leave a plugin: {}", thrown.what()));
  } catch (...) {
    return Fail(error, TENON_INTERNAL,
                "The kernel threw an object that is no std::exception, which must not leave a plugin.");
  }
}

}  // namespace tenon::exec
