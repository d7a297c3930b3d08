#include "core/train/eager_update.h"

namespace tenon {
namespace {

using exec::EagerTensor;
using graph::kNone;
using graph::ValueId;

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Result<EagerUpdate> EagerUpdate::Make(passes::Compilation plan, exec::EagerEngine& engine, const VariableFn& variable) {
  TENON_TRY(passes::UnscaleGradients(plan));
  TENON_TRY(passes::ClipGradients(plan));
  TENON_TRY(passes::AccumulateGradients(plan));
  TENON_TRY(passes::AppendUpdate(plan));
  EagerUpdate update(engine);
  update.graph_ = std::move(plan.graph);
  update.norm_ = plan.gradient_norm;
  update.finite_ = plan.finite;
  const graph::Graph& graph = update.graph_;
  update.values_.resize(Index(graph.num_values()));
  int gradients = 0;
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    const graph::ValueInfo& value = graph.value(id);
    EagerTensor& tensor = update.values_[Index(id)];
    switch (value.kind) {
      case graph::ValueKind::kConstant: {
        TENON_ASSIGN(tensor, engine.FromHost(value.constant));
        break;
      }
      case graph::ValueKind::kParameter:
      case graph::ValueKind::kState: {
        TENON_ASSIGN(tensor, variable(value));
        break;
      }
      case graph::ValueKind::kInput: {
        const bool gradient = value.name.starts_with("gradient.");
        update.inputs_.push_back(id);
        update.gradient_of_.push_back(gradient ? gradients++ : -1);
        break;
      }
      case graph::ValueKind::kResult:
        break;
    }
  }
  for (graph::NodeId id = 0; id < graph.num_nodes(); ++id) {
    const graph::Node& node = graph.node(id);
    TENON_ASSIGN(exec::EagerOp * op, engine.Op(node.domain, node.type, node.attrs, node.version));
    update.ops_.push_back(op);
    update.sites_.push_back({node.name, node.place});
  }
  return update;
}

Result<EagerTensor> EagerUpdate::Feed(ValueId id, const Feeds& feeds) const {
  const std::string& name = graph_.value(id).name;
  if (name == passes::kLearningRateInput)
    return engine_->FromHost(Tensor::Scalar(static_cast<float>(feeds.learning_rate)));
  if (name == passes::kLossScaleInput) return engine_->FromHost(Tensor::Scalar(static_cast<float>(feeds.loss_scale)));
  if (name == passes::kStepInput) return engine_->FromHost(Tensor::Scalar<std::int64_t>(feeds.step));
  if (name == passes::kWeightInput) return engine_->FromHost(Tensor::Scalar(static_cast<float>(feeds.weight)));
  if (name == passes::kStartInput) return engine_->FromHost(Tensor::Scalar<std::int64_t>(feeds.start ? 1 : 0));
  return Error(Code::kInternal, "Nothing feeds the input '{}' of an update.", name);
}

// Results and what was fed; variables and constants stay.
void EagerUpdate::Forget() {
  for (ValueId id = 0; id < graph_.num_values(); ++id) {
    const graph::ValueKind kind = graph_.value(id).kind;
    if (kind == graph::ValueKind::kResult || kind == graph::ValueKind::kInput) values_[Index(id)].reset();
  }
}

Status EagerUpdate::Run(const Feeds& feeds) {
  overflowed_ = false;
  engine_->set_recording(false);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    EagerTensor& tensor = values_[Index(inputs_[i])];
    if (gradient_of_[i] >= 0) {
      tensor = feeds.gradients[Index(gradient_of_[i])];
    } else {
      TENON_ASSIGN(tensor, Feed(inputs_[i], feeds));
    }
  }
  std::vector<EagerTensor> operands, results;
  for (graph::NodeId id = 0; id < graph_.num_nodes(); ++id) {
    const graph::Node& node = graph_.node(id);
    operands.clear();
    for (const ValueId in : node.inputs) operands.push_back(in == kNone ? EagerTensor() : values_[Index(in)]);
    results.assign(node.outputs.size(), EagerTensor());
    exec::EagerCall call;
    call.site = &sites_[Index(id)];
    call.update_in_place = true;
    call.phase = ActivityKind::kUpdate;
    TENON_TRY(engine_->Run(*ops_[Index(id)], operands, results, call));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNone) values_[Index(node.outputs[i])] = std::move(results[i]);
    }
    if (finite_ == kNone || graph_.value(finite_).producer != id) continue;
    bool finite = false;
    TENON_TRY(engine_->CopyToHost(values_[Index(finite_)], &finite, sizeof finite));
    overflowed_ = !finite;
    if (overflowed_) break;
  }
  if (norm_ != kNone && !overflowed_) {
    float norm = 0;
    TENON_TRY(engine_->CopyToHost(values_[Index(norm_)], &norm, sizeof norm));
    gradient_norm_ = static_cast<double>(norm);
  }
  Forget();
  return {};
}

}  // namespace tenon
