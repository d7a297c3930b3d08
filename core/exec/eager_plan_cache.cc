// Operators with their attributes, and their plans by the types of the inputs: found, made, dropped.
#include <algorithm>

#include "core/base/fnv.h"
#include "core/base/hash_mix.h"
#include "core/exec/eager.h"

namespace tenon::exec {
namespace {

std::uint64_t NameHash(std::string_view domain, std::string_view type) { return Fnv(type, Fnv(".", Fnv(domain))); }

}  // namespace

Result<EagerOp*> EagerEngine::Op(std::string_view domain, std::string_view type, const Attributes& attrs, int version) {
  const std::uint64_t hash = HashMix(HashMix(NameHash(domain, type), static_cast<std::uint64_t>(version)),
                                     attrs.items().empty() ? 0 : HashOf(attrs));
  auto& bucket = ops_[hash];
  for (const auto& known : bucket) {
    const OpDef& def = *known->def_;
    if (def.type() == type && def.domain() == domain && known->attrs_ == attrs) return known.get();
  }
  TENON_ASSIGN(const OpDef* def, options_.ops->Find(domain, type, version));
  Attributes completed = attrs;
  TENON_TRY(def->Complete(completed));
  auto op = std::make_unique<EagerOp>();
  op->def_ = def;
  op->attrs_ = attrs;
  op->hash_ = hash;
  op->saves_ = !def->saved_outputs().empty();
  bucket.push_back(std::move(op));
  return bucket.back().get();
}

// Host views (or copies) of the inputs whose values decide about shapes.
Status EagerEngine::ReadContents(const EagerOp& op, std::span<const EagerTensor> inputs) {
  contents_.assign(inputs.size(), Tensor());
  for (std::size_t i = 0; i < inputs.size() && i < 64; ++i) {
    if ((op.value_inputs_ >> i & 1u) == 0 || !inputs[i]) continue;
    const EagerTensor& input = inputs[i];
    if (device_.host_accessible() && device_.inline_streams()) {
      contents_[i] = Tensor::FromOwner(input.dtype(), input.shape(), nullptr, reinterpret_cast<void*>(input.address()));
    } else {
      TENON_ASSIGN(contents_[i], ToHost(input));
    }
  }
  return {};
}

std::uint64_t EagerEngine::PlanHash(const EagerOp& op, std::span<const EagerTensor> inputs,
                                    std::uint32_t variant) const {
  std::uint64_t hash = HashMix(op.hash_, variant);
  for (const EagerTensor& input : inputs) hash = HashMix(hash, input ? input.value()->type->id + 1u : 0u);
  if (op.value_inputs_ == 0) return hash;
  for (const Tensor& content : contents_) {
    if (!content.defined()) continue;
    const auto* bytes = static_cast<const unsigned char*>(content.raw());
    for (std::int64_t i = 0; i < content.bytes(); ++i) hash = FnvByte(hash, bytes[i]);
  }
  return hash;
}

Result<EagerPlan*> EagerEngine::FindPlan(EagerOp& op, std::span<const EagerTensor> inputs, std::uint32_t variant,
                                         const EagerSite* site) {
  if (op.value_inputs_ != 0) {
    TENON_TRY(ReadContents(op, inputs));
    if (op.last_ != nullptr && Fits(*op.last_, inputs, variant)) return op.last_;
  }
  const auto range = plans_.equal_range(PlanHash(op, inputs, variant));
  for (auto at = range.first; at != range.second; ++at) {
    if (at->second->op == &op && Fits(*at->second, inputs, variant)) return at->second;
  }
  return AddPlan(op, inputs, variant, site);
}

Result<EagerPlan*> EagerEngine::AddPlan(EagerOp& op, std::span<const EagerTensor> inputs, std::uint32_t variant,
                                        const EagerSite* site) {
  const ActivityScope scope(device_.activity(), ActivityKind::kCompile);
  ++counts_.misses;
  --counts_.hits;  // the caller counts every call as a hit
  TENON_TRY(device_.Synchronize());
  TENON_ASSIGN(auto made, planner_.Make(op, inputs, static_cast<int>(variant >> 1), (variant & 1u) != 0, site));
  made->variant = variant;
  TENON_TRY(GrowWorkspace(*made));
  if (op.value_inputs_ != 0) TENON_TRY(ReadContents(op, inputs));
  made->hash = PlanHash(op, inputs, variant);
  if (made->kernel != nullptr) NoteKernel(*made, site);
  while (plans_.size() >= options_.most_plans && !plans_.empty()) Evict();
  EagerPlan* plan = made.release();
  plans_.emplace(plan->hash, plan);
  return plan;
}

void EagerEngine::NoteKernel(const EagerPlan& plan, const EagerSite* site) {
  const std::string name = plan.op->def().FullName();
  KernelCount& count = kernels_[name];
  ++(plan.kernel->is_reference() ? count.reference : count.fast);
  if (!plan.kernel->is_reference() && static_cast<const PluginKernel&>(*plan.kernel).math_high()) ++count.high;
  if (!plan.fallback) return;
  const auto& kernel = static_cast<const ReferenceKernel&>(*plan.kernel);
  fallbacks_.push_back({site == nullptr ? plan.op->def().type() : site->name, name, kernel.fallback_reason()});
}

void EagerEngine::Evict() {
  auto oldest = plans_.begin();
  for (auto at = plans_.begin(); at != plans_.end(); ++at) {
    if (at->second->last_use < oldest->second->last_use) oldest = at;
  }
  EagerPlan* plan = oldest->second;
  plans_.erase(oldest);
  EagerOp* op = const_cast<EagerOp*>(plan->op);  // NOLINT: operators belong to this engine
  if (op->last_ == plan) op->last_ = nullptr;
  ++counts_.evictions;
  ReleasePlan(plan);
}

Status EagerEngine::GrowWorkspace(const EagerPlan& plan) {
  const std::int64_t bytes = plan.kernel == nullptr ? 0 : plan.kernel->workspace_bytes();
  if (bytes <= workspace_.bytes()) return {};
  workspace_ = Buffer();
  TENON_ASSIGN_WHILE(workspace_, device_.Allocate(bytes, TENON_ALLOC_DEFAULT), "allocating the scratch memory of {}",
                     plan.op->def().FullName());
  return {};
}

}  // namespace tenon::exec
