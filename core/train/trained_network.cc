#include "core/train/trained_network.h"

#include <algorithm>

#include "core/train/loss.h"
#include "core/train/loss_scaler.h"
#include "core/train/precision.h"

namespace tenon {
namespace {

std::string SumOf(const std::string& parameter) { return std::string(passes::kSumPrefix) + parameter; }
std::string AverageOf(const std::string& parameter) { return std::string(passes::kAveragePrefix) + parameter; }

void ReadAverages(graph::Graph& graph, const std::vector<graph::ValueId>& parameters,
                  const exec::Variables& variables) {
  for (const graph::ValueId id : parameters) {
    const std::string average = AverageOf(graph.value(id).name);
    if (variables.Has(average)) graph.RenameValue(id, average);
  }
}

}  // namespace

Result<TrainedNetwork::Forward> TrainedNetwork::AddForward(graph::Graph& graph, const BatchShape& shape,
                                                           bool training) {
  const SampleLayout& layout = options_.layout;
  const graph::ValueId input = graph.AddInput(std::string(kSamplesInput), {layout.dtype, SymShape(shape.samples)});
  const graph::ValueId labels = graph.AddInput(std::string(kLabelsInput), {layout.label_dtype, SymShape(shape.labels)});
  TENON_ASSIGN(const Network::Build build, network_.AddTo(graph, input, training));
  Forward forward;
  forward.output = build.output;
  forward.precision = PrecisionOf(config_.amp, build.exact_layers);
  const graph::NodeId first_of_loss = graph.num_nodes();
  TENON_ASSIGN(forward.loss, AddLoss(config_.loss, graph, build.output, labels));
  for (graph::NodeId id = first_of_loss; id < graph.num_nodes(); ++id)
    forward.precision.keep.push_back(graph.node(id).name);
  TENON_ASSIGN(plan_, PlanParameters(config_, graph, build.parameters));
  forward.trained = plan_.Trained(graph, build.parameters);
  for (const auto& initial : build.initial) of_network_.insert(initial.first);
  TENON_TRY(GiveFirstValues(build, graph, forward.trained));
  if (!training) ReadAverages(graph, build.parameters, variables_);
  return forward;
}

// The average of a parameter begins where the parameter does.
Status TrainedNetwork::GiveFirstValues(const Network::Build& build, const graph::Graph& graph,
                                       const std::vector<graph::ValueId>& trained) {
  for (const auto& initial : build.initial) {
    const std::string& name = initial.first;
    if (variables_.Has(name)) continue;
    if (options_.first_values != nullptr && options_.first_values->count(name) > 0) {
      variables_.SetInitial(name, options_.first_values->at(name));
    } else {
      TENON_ASSIGN(Tensor value, MakeInitial(initial.second, static_cast<std::uint64_t>(config_.seed), name));
      variables_.SetInitial(name, std::move(value));
    }
  }
  if (!config_.train.ema) return {};
  for (const graph::ValueId id : trained) {
    const std::string& name = graph.value(id).name;
    const std::string average = AverageOf(name);
    if (const Tensor* first = variables_.InitialOf(name); first != nullptr && !variables_.Has(average))
      variables_.SetInitial(average, *first);
  }
  return {};
}

void TrainedNetwork::NoteTrained(const passes::Compilation& state) {
  trained_.clear();
  for (std::size_t i = 0; i < state.trained.size(); ++i) {
    if (state.gradients[i] == graph::kNone) continue;
    const graph::ValueInfo& value = state.graph.value(state.trained[i]);
    trained_.push_back({value.name, value.type});
  }
}

void TrainedNetwork::AddGradientInputs(passes::Compilation& state) const {
  for (const Trained& parameter : trained_) {
    state.trained.push_back(state.graph.AddParameter(parameter.name, parameter.type));
    state.gradients.push_back(state.graph.AddInput(std::string(kGradientPrefix) + parameter.name, parameter.type));
  }
}

void TrainedNetwork::AddSums(passes::Compilation& state) const {
  for (const Trained& parameter : trained_) {
    state.trained.push_back(state.graph.AddParameter(parameter.name, parameter.type));
    state.gradients.push_back(state.graph.AddState(SumOf(parameter.name), parameter.type));
  }
}

void TrainedNetwork::AddLossScale(passes::Compilation& state) const {
  if (ScalesLoss(config_.amp))
    state.loss_scale = state.graph.AddInput(std::string(passes::kLossScaleInput), {DType::kF32, SymShape{}});
}

void TrainedNetwork::AddUpdate(passes::Compilation& state) const {
  if (options_.exchange != nullptr) state.buckets = BucketRuleOf(config_.parallel);
  state.clip = ClipRuleOf(config_.train);
  state.update = UpdateRuleOf(config_, plan_);
}

bool TrainedNetwork::IsWholeStep(const StepPart& part) const {
  return part.first && part.last && (options_.exchange == nullptr || config_.train.accumulate == 1);
}

bool TrainedNetwork::WeighsLoss() const {
  return options_.exchange != nullptr && (config_.train.accumulate == 1 || config_.parallel.sync_batch_norm);
}

Status TrainedNetwork::ClearSums() {
  for (const Trained& parameter : trained_)
    TENON_TRY(variables_.Set(SumOf(parameter.name), Tensor(parameter.type.dtype, parameter.type.shape.Concrete())));
  return {};
}

void TrainedNetwork::NoteName(const std::string& name) {
  if (name.starts_with(passes::kSumPrefix)) return;
  std::vector<std::string>& names = of_network_.count(name) > 0 ? parameter_names_ : state_names_;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace tenon
