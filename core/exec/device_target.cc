#include "core/exec/device_target.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/exec/gradient_exchange.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {

Result<std::unique_ptr<DeviceTarget>> DeviceTarget::Make(Device& device,
                                                         const std::vector<const PluginHandle*>& plugins,
                                                         const QueryOptions& options) {
  std::unique_ptr<DeviceTarget> target(new DeviceTarget(device, options));
  TENON_ASSIGN(target->catalog_, KernelCatalog::Make(plugins, device.kind()));
  TENON_ASSIGN(target->fusions_, LoadFusions(plugins, device, target->catalog_));
  return target;
}

namespace {

bool HasEmptyOperand(const graph::KernelQuery& query) {
  const auto empty = [](const ValueType& type) { return type.defined() && type.shape.Concrete().elements() == 0; };
  return std::any_of(query.inputs.begin(), query.inputs.end(), empty) ||
         std::any_of(query.outputs.begin(), query.outputs.end(), empty);
}

// Why a kernel does not even get asked; empty when it does.
std::string Unfit(const KernelEntry& entry, const graph::KernelQuery& query) {
  const auto version =
      static_cast<std::uint32_t>(query.version == 0 && query.def != nullptr ? query.def->since() : query.version);
  if (version < entry.facts.min_version || (entry.facts.max_version != 0 && version > entry.facts.max_version))
    return fmt::format("it serves opset versions {} to {}, the node is of {}", entry.facts.min_version,
                       entry.facts.max_version, version);
  if ((entry.facts.traits & TENON_TRAIT_EMPTY_SAFE) == 0 && HasEmptyOperand(query)) return "an operand has no elements";
  return "";
}

}  // namespace

const KernelEntry* DeviceTarget::Select(const graph::KernelQuery& query, std::vector<std::string>* refusals) {
  const std::vector<KernelEntry>& candidates = catalog_.Find(query.domain, query.type);
  if (candidates.empty()) {
    if (refusals != nullptr)
      refusals->push_back(fmt::format("no plugin offers a kernel for device kind '{}'", device_.kind()));
    return nullptr;
  }
  for (const KernelEntry& entry : candidates) {
    std::string why = Unfit(entry, query);
    if (why.empty()) {
      const AbiQuery abi(query, device_, *entry.plugin, options_);
      ReasonCatcher reason;
      std::uint32_t verdict = TENON_VERDICT_NO;
      const std::int32_t code = CallAbi("tenon.op", "supports", entry.vtable.supports, entry.plugin->instance,
                                        entry.def, &abi.record(), &verdict, reason.sink());
      if (code == TENON_OK && (verdict == TENON_VERDICT_YES || verdict == TENON_VERDICT_WITH_CONVERSION)) return &entry;
      why = reason.text().empty() ? "no reason given" : reason.text();
    }
    if (refusals != nullptr) refusals->push_back(fmt::format("{} skipped: {}", entry.name, why));
  }
  return nullptr;
}

Result<std::unique_ptr<graph::PlannedKernel>> DeviceTarget::Reference(const graph::KernelQuery& query,
                                                                      const std::vector<std::string>& refusals) const {
  const bool reads = device_.host_accessible() && device_.inline_streams();
  const bool defined = query.def != nullptr && query.def->reference() != nullptr;
  const bool hosts_own = defined && SumsOverRanks(*query.def);  // no kernel could take its place
  if (!defined || (!reads && !hosts_own && !options_.host_fallback)) return NoKernel(query, refusals);
  return std::unique_ptr<graph::PlannedKernel>(
      new ReferenceKernel(*query.def, query.outputs.size(), reads ? "" : Join(refusals, "; ")));
}

Status DeviceTarget::NoKernel(const graph::KernelQuery& query, const std::vector<std::string>& refusals) const {
  const std::string name = query.domain.empty() ? query.type : query.domain + "." + query.type;
  const bool could = query.def != nullptr && query.def->reference() != nullptr && !options_.host_fallback;
  return Error(Code::kUnavailable, "Device '{}' cannot run operator {}: {}.{}", device_.kind(), name,
               Join(refusals, "; "), could ? " With 'fallback: warn' or 'allow' it runs on the host." : "");
}

std::vector<std::string> DeviceTarget::Refusals(const graph::KernelQuery& query) {
  std::vector<std::string> refusals;
  Select(query, &refusals);
  return refusals;
}

namespace {

struct OfferSink {
  graph::LayoutOffer offer;
  std::size_t inputs, outputs;
  static std::int32_t Take(void* user, const tenon_layout_signature* signature) {
    auto* self = static_cast<OfferSink*>(user);
    if (signature->input_count != self->inputs || signature->output_count != self->outputs)
      return TENON_INVALID_ARGUMENT;
    graph::LayoutSignature copy;
    copy.inputs.assign(signature->inputs, signature->inputs + signature->input_count);
    copy.outputs.assign(signature->outputs, signature->outputs + signature->output_count);
    copy.cost_ns = signature->cost;
    self->offer.signatures.push_back(std::move(copy));
    return TENON_OK;
  }
};

graph::LayoutSignature StridedSignature(const graph::KernelQuery& query) {
  return {std::vector<graph::LayoutId>(query.inputs.size(), graph::kStrided),
          std::vector<graph::LayoutId>(query.outputs.size(), graph::kStrided), 0};
}

}  // namespace

Result<graph::LayoutOffer> DeviceTarget::Offer(const graph::KernelQuery& query) {
  std::vector<std::string> refusals;
  const KernelEntry* entry = Select(query, &refusals);
  OfferSink collected{{}, query.inputs.size(), query.outputs.size()};
  if (entry == nullptr) {
    TENON_TRY(Reference(query, refusals));
    collected.offer.signatures.push_back(StridedSignature(query));
    return std::move(collected.offer);
  }
  collected.offer.layout_blind = (entry->facts.traits & TENON_TRAIT_LAYOUT_BLIND) != 0;
  if (collected.offer.layout_blind || entry->vtable.query_layouts == nullptr) {
    collected.offer.signatures.push_back(StridedSignature(query));
    return std::move(collected.offer);
  }
  tenon_layout_sink sink = TENON_INIT(tenon_layout_sink);
  sink.user = &collected;
  sink.emit = &OfferSink::Take;
  const AbiQuery abi(query, device_, *entry->plugin, options_);
  tenon_error error;
  const std::int32_t code = CallAbi("tenon.op", "query_layouts", entry->vtable.query_layouts, entry->plugin->instance,
                                    entry->def, &abi.record(), &sink, &error);
  TENON_TRY_WHILE(ToStatus(code, error, entry->plugin->id), "asking kernel {} for its layouts", entry->name);
  if (collected.offer.signatures.empty()) collected.offer.signatures.push_back(StridedSignature(query));
  return std::move(collected.offer);
}

Result<std::unique_ptr<graph::PlannedKernel>> DeviceTarget::Plan(const graph::KernelQuery& query,
                                                                 std::span<const graph::LayoutId> inputs,
                                                                 std::span<const graph::LayoutId> outputs) {
  std::vector<std::string> refusals;
  const KernelEntry* entry = Select(query, &refusals);
  if (entry == nullptr) return Reference(query, refusals);
  TENON_ASSIGN(auto kernel, PluginKernel::Make(*entry, query, inputs, outputs, device_, options_));
  return std::unique_ptr<graph::PlannedKernel>(std::move(kernel));
}

Result<std::int64_t> DeviceTarget::BytesOf(const ValueType& type, graph::LayoutId layout) {
  TENON_ASSIGN(const LayoutFacts facts, device_.Facts(layout, type.dtype, type.shape.Concrete()));
  return facts.bytes;
}

double DeviceTarget::ReorderCost(const ValueType& type, graph::LayoutId, graph::LayoutId) {
  // One pass over the bytes, read and written with poor locality on one side, and the cost of a call.
  const double bytes = static_cast<double>(type.shape.Concrete().elements() * SizeOf(type.dtype));
  return 300.0 + bytes / 4.0;
}

}  // namespace tenon::exec
