#include <algorithm>

#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::FusedOp;
using graph::Node;

// Appends the nodes that a gradient asks for, named and placed after the forward node they belong to.
class GraphGradBuilder final : public GradBuilder {
 public:
  explicit GraphGradBuilder(Graph& graph) : graph_(graph) {}

  void SetForward(const Node& node) {
    prefix_ = node.name + ".grad";
    place_ = node.place;
  }
  const Status& status() const { return status_; }

  static Value HandleOf(ValueId id) { return id == kNone ? Value{} : Value{static_cast<std::uint64_t>(id) + 1}; }
  static ValueId IdOf(Value value) { return value ? static_cast<ValueId>(value.id - 1) : kNone; }

  std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                           Attributes attrs, int outputs) override {
    std::vector<Value> results(static_cast<std::size_t>(outputs));
    if (!status_.ok()) return results;
    std::vector<ValueId> ids;
    for (const Value input : inputs) ids.push_back(IdOf(input));
    auto added =
        graph_.AddNode(domain, type, ids, std::move(attrs), outputs, fmt::format("{}.{}", prefix_, type), place_);
    if (!added.ok()) {
      status_ = std::move(added).status();
      return results;
    }
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = HandleOf(graph_.node(*added).outputs[i]);
    return results;
  }

  Value Constant(Tensor tensor) override {
    return HandleOf(graph_.AddConstant(prefix_ + ".constant", std::move(tensor)));
  }
  ValueType type(Value value) const override { return graph_.value(IdOf(value)).type; }

 private:
  Graph& graph_;
  std::string prefix_ = "loss.grad", place_;
  Status status_;
};

class Differentiator {
 public:
  explicit Differentiator(Compilation& state) : state_(state), graph_(state.graph), builder_(state.graph) {}

  Status Run() {
    MarkDependent();
    const ValueType loss = graph_.value(state_.loss).type;
    TENON_INVALID_IF(!IsFloating(loss.dtype) || !loss.shape.Elements().Is(1),
                     "The loss %{} must be one floating-point number; it is {}.", graph_.value(state_.loss).name,
                     loss.ToString());
    if (!Depends(state_.loss)) return InvalidArgument("The loss does not depend on any trained parameter.");
    Push(state_.loss, Seed(loss));
    for (NodeId id = graph_.num_nodes() - 1; id >= 0; --id) {
      if (!graph_.node(id).dead) TENON_TRY(Visit(id));
    }
    for (const ValueId parameter : state_.trained) {
      const Value gradient = Take(parameter);
      state_.gradients.push_back(GraphGradBuilder::IdOf(gradient));
    }
    return builder_.status();
  }

 private:
  // Gradient of the loss by itself: 1, or the scale, or what is fed.
  Value Seed(const ValueType& loss) {
    const ValueId fed = state_.loss_seed != kNone ? state_.loss_seed : state_.loss_scale;
    if (fed == kNone) {
      Tensor one(DType::kF64, loss.shape.Concrete());
      one.data<double>()[0] = 1.0;
      return builder_.Constant(Cast(one, loss.dtype));
    }
    Value scale = GraphGradBuilder::HandleOf(fed);
    if (loss.dtype != DType::kF32)
      scale = builder_.Op("Cast", {scale}, {{"to", static_cast<std::int64_t>(loss.dtype)}});
    return loss.shape.rank() == 0 ? scale : builder_.ReshapeTo(scale, loss.shape.Concrete());
  }

  void MarkDependent() {
    depends_.assign(static_cast<std::size_t>(graph_.num_values()), false);
    for (const ValueId id : state_.trained) depends_[static_cast<std::size_t>(id)] = true;
    for (const NodeId id : graph_.LiveNodes()) {
      const Node& node = graph_.node(id);
      if (node.def != nullptr && node.def->no_gradient()) continue;
      const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return Depends(in); });
      if (!any) continue;
      for (const ValueId out : node.outputs) {
        if (out != kNone && IsFloating(graph_.value(out).type.dtype)) depends_[static_cast<std::size_t>(out)] = true;
      }
    }
    gradients_.resize(depends_.size());
  }

  bool Depends(ValueId id) const {
    return id != kNone && static_cast<std::size_t>(id) < depends_.size() && depends_[static_cast<std::size_t>(id)];
  }

  void Push(ValueId id, Value gradient) {
    if (gradient && Depends(id)) gradients_[static_cast<std::size_t>(id)].push_back(gradient);
  }

  // Sum of everything that flowed into a value, in a fixed order.
  Value Take(ValueId id) {
    if (id == kNone || static_cast<std::size_t>(id) >= gradients_.size()) return {};
    std::vector<Value>& parts = gradients_[static_cast<std::size_t>(id)];
    if (parts.empty()) return {};
    Value sum = parts[0];
    if (parts.size() == 2) sum = builder_.Add(parts[0], parts[1]);
    if (parts.size() > 2) sum = builder_.Apply("", "Sum", parts, {}, 1)[0];
    parts.assign(1, sum);
    return sum;
  }

  Status Visit(NodeId id) {
    const bool wanted = std::any_of(graph_.node(id).inputs.begin(), graph_.node(id).inputs.end(),
                                    [&](ValueId in) { return Depends(in); });
    if (!wanted) return {};
    builder_.SetForward(graph_.node(id));
    std::vector<Value> output_grads;
    bool any = false;
    for (const ValueId out : graph_.node(id).outputs) {
      output_grads.push_back(Take(out));
      any = any || output_grads.back();
    }
    if (!any) return {};
    const Node& node = graph_.node(id);
    if (node.fused != nullptr) return VisitFused(id, output_grads);
    if (node.def->no_gradient()) return {};
    if (!node.def->differentiable())
      return InvalidArgument(
                 "Operator {} declares no gradient, but node '{}' lies between a trained parameter and the loss.",
                 node.def->NameAndOrigin(), node.name)
          .At(node.place);
    return VisitDefined(id, output_grads);
  }

  Status VisitDefined(NodeId id, std::vector<Value>& output_grads) {
    for (const int saved : graph_.node(id).def->saved_outputs()) {
      TENON_ASSIGN(const ValueId produced, graph_.RequireOutput(id, saved));
      static_cast<void>(produced);
    }
    const Node node = graph_.node(id);  // a copy: the graph grows below
    output_grads.resize(node.outputs.size());
    std::vector<Value> inputs, outputs, input_grads(node.inputs.size());
    std::vector<bool> needs;
    for (const ValueId in : node.inputs) {
      inputs.push_back(GraphGradBuilder::HandleOf(in));
      needs.push_back(Depends(in));
    }
    for (const ValueId out : node.outputs) outputs.push_back(GraphGradBuilder::HandleOf(out));
    GradArgs args{node.attrs, inputs, outputs, output_grads, needs, input_grads};
    TENON_TRY_WHILE(node.def->gradient()(builder_, args), "building the gradient of node '{}' ({})", node.name,
                    node.FullName());
    if (!builder_.status().ok())
      return Status(builder_.status())
          .While(fmt::format("building the gradient of node '{}' ({})", node.name, node.FullName()));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!input_grads[i]) continue;
      TENON_TRY(CheckShape(node, node.inputs[i], input_grads[i]));
      Push(node.inputs[i], input_grads[i]);
    }
    return {};
  }

  Status CheckShape(const Node& node, ValueId input, Value gradient) const {
    const ValueType& want = graph_.value(input).type;
    const ValueType& got = builder_.type(gradient);
    if (want == got) return {};
    return Error(Code::kInternal, "The gradient of node '{}' ({}) for %{} has type {}; the value has {}.", node.name,
                 node.FullName(), graph_.value(input).name, got.ToString(), want.ToString());
  }

  Status VisitFused(NodeId id, const std::vector<Value>& output_grads) {
    const Node node = graph_.node(id);  // a copy: the graph grows below
    const FusedOp& fused = *node.fused;
    if (fused.gradient_type.empty())
      return Error(Code::kInternal, "Fused node '{}' ({}) has no gradient.", node.name, node.FullName());
    std::vector<ValueId> inputs;
    for (const FusedOp::Source& source : fused.gradient_inputs) {
      const auto index = static_cast<std::size_t>(source.index);
      switch (source.kind) {
        case FusedOp::Source::Kind::kInput:
          inputs.push_back(index < node.inputs.size() ? node.inputs[index] : kNone);
          break;
        case FusedOp::Source::Kind::kOutput:
          inputs.push_back(index < node.outputs.size() ? node.outputs[index] : kNone);
          break;
        case FusedOp::Source::Kind::kOutputGrad:
          inputs.push_back(index < output_grads.size() ? GraphGradBuilder::IdOf(output_grads[index]) : kNone);
          break;
      }
    }
    std::vector<ValueType> types;
    for (const int input : fused.gradient_outputs) {
      const ValueId of =
          static_cast<std::size_t>(input) < node.inputs.size() ? node.inputs[static_cast<std::size_t>(input)] : kNone;
      types.push_back(Depends(of) ? graph_.value(of).type : ValueType{});
    }
    auto gradient = std::make_shared<FusedOp>();
    gradient->pattern = fused.pattern;
    gradient->version = fused.gradient_version;
    gradient->replaced = fused.replaced;
    gradient->flops = fused.flops < 0 ? -1 : 2 * fused.flops;
    const NodeId added = graph_.AddFusedNode(node.domain, fused.gradient_type, inputs, node.attrs, types, gradient,
                                             node.name + ".grad", node.place);
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (!types[k].defined()) {
        graph_.DropOutput(added, static_cast<int>(k));
        continue;
      }
      const auto input = static_cast<std::size_t>(fused.gradient_outputs[k]);
      Push(node.inputs[input], GraphGradBuilder::HandleOf(graph_.node(added).outputs[k]));
    }
    return {};
  }

  Compilation& state_;
  Graph& graph_;
  GraphGradBuilder builder_;
  std::vector<bool> depends_;                  // by forward value: a trained parameter influences it
  std::vector<std::vector<Value>> gradients_;  // by forward value: parts not yet summed
};

}  // namespace

Result<bool> Autodiff(Compilation& state) {
  if (!state.training()) return false;
  TENON_TRY(Differentiator(state).Run());
  return true;
}

}  // namespace tenon::passes
