#include "core/exec/eager_plan.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "core/base/hash_mix.h"
#include "core/base/text.h"
#include "core/exec/call_stream.h"
#include "core/passes/pass.h"

namespace tenon::exec {
namespace {

// Values of larger inputs are never read to find a shape.
constexpr std::int64_t kMostShapeValues = 4096;

std::uint64_t HashOf(const AttrValue& value) {
  std::uint64_t hash = value.index();
  const auto text = [&](const std::string& part) { hash = HashMix(hash, std::hash<std::string>()(part)); };
  switch (TypeOf(value)) {
    case AttrType::kInt:
      return HashMix(hash, static_cast<std::uint64_t>(std::get<std::int64_t>(value)));
    case AttrType::kFloat:
      return HashMix(hash, std::hash<double>()(std::get<double>(value)));
    case AttrType::kText:
      text(std::get<std::string>(value));
      return hash;
    case AttrType::kTensor: {
      const Tensor& tensor = std::get<Tensor>(value);
      const std::string_view bytes(static_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes()));
      return HashMix(hash, std::hash<std::string_view>()(bytes));
    }
    case AttrType::kInts:
      for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value))
        hash = HashMix(hash, static_cast<std::uint64_t>(item));
      return hash;
    case AttrType::kFloats:
      for (const double item : std::get<std::vector<double>>(value)) hash = HashMix(hash, std::hash<double>()(item));
      return hash;
    case AttrType::kTexts:
      for (const std::string& item : std::get<std::vector<std::string>>(value)) text(item);
      return hash;
  }
  return hash;
}

std::string TypesOf(std::span<const EagerTensor> inputs) {
  std::vector<std::string> names;
  for (const EagerTensor& input : inputs) names.push_back(input ? input.type().ToString() : "none");
  return names.empty() ? std::string("no inputs") : Join(names, ", ");
}

}  // namespace

std::uint64_t HashOf(const Attributes& attrs) {
  std::uint64_t hash = 1;
  for (const auto& item : attrs.items())
    hash = HashMix(HashMix(hash, std::hash<std::string>()(item.first)), HashOf(item.second));
  return hash;
}

struct EagerPlanner::Application {
  passes::Compilation state;
  graph::NodeId node = graph::kNone;

  const graph::Node& at() const { return state.graph.node(node); }
  bool known() const {
    for (const graph::ValueId out : at().outputs) {
      if (out != graph::kNone && !state.graph.value(out).type.shape.known()) return false;
    }
    return true;
  }
  std::vector<ValueType> types() const {
    std::vector<ValueType> all;
    for (const graph::ValueId out : at().outputs)
      all.push_back(out == graph::kNone ? ValueType{} : state.graph.value(out).type);
    return all;
  }
};

Result<EagerPlanner::Application> EagerPlanner::Infer(const EagerOp& op, std::span<const EagerTensor> inputs,
                                                      std::span<const Tensor> contents, int outputs, bool for_gradient,
                                                      const EagerSite* site) const {
  Application made;
  made.state.graph = graph::Graph(ops_);
  graph::Graph& graph = made.state.graph;
  std::vector<graph::ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      ids.push_back(graph::kNone);
    } else if (i < contents.size() && contents[i].defined()) {
      ids.push_back(graph.AddConstant(fmt::format("input{}", i), contents[i]));
    } else {
      ids.push_back(graph.AddInput(fmt::format("input{}", i), inputs[i].type()));
    }
  }
  TENON_ASSIGN(made.node,
               graph.AddNode(op.def().domain(), op.def().type(), ids, op.attrs_, outputs,
                             site == nullptr ? "" : site->name, site == nullptr ? "" : site->place, op.def().since()));
  if (for_gradient) {
    for (const int saved : op.def().saved_outputs()) TENON_TRY(graph.RequireOutput(made.node, saved));
  }
  return made;
}

// Without values first: a rule that then knows all dims does not depend on any. Else with all values, and again without
// each, to find those that matter.
Result<EagerPlanner::Application> EagerPlanner::InferWithValues(EagerOp& op, std::span<const EagerTensor> inputs,
                                                                std::vector<Tensor>& contents, int outputs,
                                                                bool for_gradient, const EagerSite* site) const {
  auto plain = Infer(op, inputs, contents, outputs, for_gradient, site);
  if (plain.ok() && plain->known()) return plain;
  Device& device = target_.device();
  std::vector<Tensor> all(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i].shape().elements() > kMostShapeValues) continue;
    TENON_ASSIGN(all[i], device.Load(inputs[i].dtype(), inputs[i].shape(), graph::kStrided, inputs[i].address()));
  }
  auto full = Infer(op, inputs, all, outputs, for_gradient, site);
  if (!full.ok()) return full;
  TENON_INVALID_IF(!full->known(), "The shapes of the results of {} are not known for {}.", op.def().FullName(),
                   TypesOf(inputs));
  for (std::size_t i = 0; i < all.size() && i < 64; ++i) {
    if (!all[i].defined()) continue;
    std::vector<Tensor> without = all;
    without[i] = Tensor();
    const auto less = Infer(op, inputs, without, outputs, for_gradient, site);
    if (less.ok() && less->known() && less->types() == full->types()) {
      all[i] = Tensor();
    } else {
      op.value_inputs_ |= std::uint64_t{1} << i;
    }
  }
  contents = std::move(all);
  return full;
}

Result<std::unique_ptr<EagerPlan>> EagerPlanner::Make(EagerOp& op, std::span<const EagerTensor> inputs, int outputs,
                                                      bool for_gradient, const EagerSite* site) {
  auto plan = std::make_unique<EagerPlan>();
  plan->op = &op;
  auto inferred = InferWithValues(op, inputs, plan->contents, outputs, for_gradient, site);
  if (!inferred.ok()) return std::move(inferred).status();
  Application& made = *inferred;
  TENON_TRY(passes::ResolvePadding(made.state));  // as the compiled engine: kernels see explicit pads only
  plan->attrs = made.at().attrs;
  for (const EagerTensor& input : inputs) plan->inputs.push_back(input ? input.value()->type : nullptr);
  for (const ValueType& type : made.types()) plan->outputs.push_back(type.defined() ? type_of_(type) : nullptr);
  if (passes::IsView(made.state, made.at())) {
    plan->kind = EagerPlan::Kind::kView;
    return plan;
  }
  graph::KernelQuery query = graph::QueryOf(made.state.graph, made.at());
  query.attrs = &plan->attrs;
  query.constant.assign(query.inputs.size(), false);
  const Status planned = Plan(*plan, query);
  if (planned.ok()) return plan;
  const std::string name = site == nullptr ? op.def().type() : site->name;
  return Status(planned)
      .At(site == nullptr ? "" : site->place)
      .While(fmt::format("planning node '{}' ({}) for {}", name, op.def().FullName(), TypesOf(inputs)));
}

Status EagerPlanner::Plan(EagerPlan& plan, const graph::KernelQuery& query) {
  const std::size_t count = query.inputs.size() + query.outputs.size();
  std::vector<graph::LayoutId> layouts(count, graph::kStrided);
  TENON_ASSIGN(const graph::LayoutOffer offer, target_.Offer(query));
  const graph::LayoutSignature* best = nullptr;
  for (const graph::LayoutSignature& signature : offer.signatures) {
    const auto strided = [](const std::vector<graph::LayoutId>& ids) {
      return std::all_of(ids.begin(), ids.end(), [](graph::LayoutId id) { return id == graph::kStrided; });
    };
    if (strided(signature.inputs) && strided(signature.outputs)) {
      best = nullptr;
      break;
    }
    if (best == nullptr || signature.cost_ns < best->cost_ns) best = &signature;
  }
  if (best != nullptr) {
    std::copy(best->inputs.begin(), best->inputs.end(), layouts.begin());
    std::copy(best->outputs.begin(), best->outputs.end(),
              layouts.begin() + static_cast<std::ptrdiff_t>(query.inputs.size()));
    plan.converts = true;
    plan.layouts = layouts;
  }
  const std::span<const graph::LayoutId> all(layouts);
  TENON_ASSIGN(plan.kernel, target_.Plan(query, all.first(query.inputs.size()), all.subspan(query.inputs.size())));
  plan.kind = plan.kernel->is_reference() ? EagerPlan::Kind::kReference : EagerPlan::Kind::kPlugin;
  plan.fallback = plan.kernel->is_reference() && static_cast<const ReferenceKernel&>(*plan.kernel).is_fallback();
  for (const graph::InPlaceChoice& choice : plan.kernel->in_place()) {
    const auto output = static_cast<std::size_t>(choice.output), input = static_cast<std::size_t>(choice.input);
    if (!choice.must || output >= plan.outputs.size() || input >= plan.inputs.size()) continue;
    if (plan.outputs[output] != nullptr && plan.inputs[input] != nullptr) plan.updates.push_back(choice);
  }
  PrepareCall(plan);
  return {};
}

void EagerPlanner::PrepareCall(EagerPlan& plan) {
  Device& device = target_.device();
  const std::size_t inputs = plan.inputs.size();
  const auto add_view = [&](const EagerType* type, graph::LayoutId layout) {
    tenon_tensor view = TENON_INIT(tenon_tensor);
    if (type == nullptr) {
      view.flags = TENON_TENSOR_ABSENT;
    } else {
      view = ViewOf(type->value.dtype, type->shape, layout, 0, device.host_accessible());
      view.device = device.handle();
      view.space = device.space();
    }
    plan.views.push_back(view);
  };
  const auto layout = [&](std::size_t operand) { return plan.converts ? plan.layouts[operand] : graph::kStrided; };
  for (std::size_t i = 0; i < inputs; ++i) add_view(plan.inputs[i], layout(i));
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) add_view(plan.outputs[i], layout(inputs + i));
  tenon_kernel_call& call = plan.call;
  call = TENON_INIT(tenon_kernel_call);
  call.inputs = plan.views.data();
  call.input_count = static_cast<std::uint32_t>(inputs);
  call.input_stride = sizeof(tenon_tensor);
  call.outputs = plan.views.data() + inputs;
  call.output_count = static_cast<std::uint32_t>(plan.outputs.size());
  call.output_stride = sizeof(tenon_tensor);
  call.workspace_bytes = static_cast<std::uint64_t>(plan.kernel->workspace_bytes());
  call.thread_budget = threads_;
  if (plan.kind == EagerPlan::Kind::kPlugin) {
    const auto& kernel = static_cast<const PluginKernel&>(*plan.kernel);
    plan.execute = kernel.vtable().execute;
    plan.handle = kernel.handle();
    SetStream(kernel, device, call);
    call.math_flags = kernel.math_flags();
    if (kernel.no_op() && plan.updates.empty()) plan.kind = EagerPlan::Kind::kNothing;
    return;
  }
  const auto tensor = [&plan](const EagerType* type) {
    if (type == nullptr) return Tensor();
    if (plan.fallback) return Tensor(type->value.dtype, type->shape);
    return Tensor::FromOwner(type->value.dtype, type->shape, nullptr, nullptr);
  };
  for (const EagerType* type : plan.inputs) plan.reference_inputs.push_back(tensor(type));
  for (const EagerType* type : plan.outputs) plan.reference_outputs.push_back(tensor(type));
}

}  // namespace tenon::exec
