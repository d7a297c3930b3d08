#include "core/train/eager_update.h"

#include <algorithm>

#include "core/train/trained_network.h"

namespace tenon {
namespace {

using exec::EagerTensor;
using graph::kNone;
using graph::ValueId;

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Result<EagerUpdate> EagerUpdate::Make(passes::Compilation plan, exec::EagerEngine& engine, const VariableFn& variable,
                                      exec::GradientExchange* exchange, Device& device) {
  TENON_TRY(passes::BucketGradients(plan));
  TENON_TRY(passes::UnscaleGradients(plan));
  TENON_TRY(passes::ClipGradients(plan));
  TENON_TRY(passes::AccumulateGradients(plan));
  TENON_TRY(passes::AppendUpdate(plan));
  EagerUpdate update(engine, exchange, device);
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
        const bool gradient = value.name.starts_with(kGradientPrefix);
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
    exec::EagerOp* op = nullptr;
    if (!passes::IsAllReduce(node)) {
      TENON_ASSIGN(op, engine.Op(node.domain, node.type, node.attrs, node.version));
    }
    update.ops_.push_back(op);
    update.sites_.push_back({node.name, node.place});
  }
  TENON_TRY(update.PlanBuckets());
  return update;
}

// Eager tensors are row-major.
Status EagerUpdate::PlanBuckets() {
  for (graph::NodeId id = 0; id < graph_.num_nodes(); ++id) {
    if (!passes::IsAllReduce(graph_.node(id))) continue;
    const auto bytes_of = [this](ValueId parameter) {
      const ValueType& type = graph_.value(parameter).type;
      return Result<std::int64_t>(type.shape.Concrete().elements() * SizeOf(type.dtype));
    };
    TENON_ASSIGN(passes::GradientBucket bucket, passes::LayOutBucket(graph_, id, bytes_of));
    buckets_.push_back(std::move(bucket));
  }
  ExpectGradients();
  return buckets_.empty() ? Status() : exchange_->Prepare(buckets_);
}

void EagerUpdate::ExpectGradients() {
  launched_ = 0;
  missing_.assign(buckets_.size(), {});
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (const passes::GradientBucket::Slot& slot : buckets_[i].slots) missing_[i].insert(slot.gradient);
  }
}

Status EagerUpdate::Put(std::size_t bucket, const passes::GradientBucket::Slot& slot, const EagerTensor& value) {
  if (missing_[bucket].erase(slot.gradient) == 0) return {};
  TENON_TRY(device_->CopyOnDevice(value.address(), exchange_->send(bucket) + static_cast<std::uint64_t>(slot.offset),
                                  slot.bytes));
  exchange_->CountCopy();
  return {};
}

// In the order of the buckets, by all ranks alike.
Status EagerUpdate::LaunchFull() {
  for (; launched_ < buckets_.size() && missing_[launched_].empty(); ++launched_)
    TENON_TRY(exchange_->Launch(launched_));
  return {};
}

Status EagerUpdate::Offer(std::size_t gradient, const EagerTensor& value) {
  const auto input = std::find(gradient_of_.begin(), gradient_of_.end(), static_cast<int>(gradient));
  if (input == gradient_of_.end()) return {};
  const ValueId id = inputs_[static_cast<std::size_t>(input - gradient_of_.begin())];
  for (std::size_t i = launched_; i < buckets_.size(); ++i) {
    for (const passes::GradientBucket::Slot& slot : buckets_[i].slots) {
      if (slot.gradient == id) TENON_TRY(Put(i, slot, value));
    }
  }
  return LaunchFull();
}

// What was not offered goes into its bucket; a bucket is on its way while the next one is filled.
Status EagerUpdate::Exchange() {
  for (std::size_t i = launched_; i < buckets_.size(); ++i) {
    for (const passes::GradientBucket::Slot& slot : buckets_[i].slots)
      TENON_TRY(Put(i, slot, values_[Index(slot.gradient)]));
    TENON_TRY(LaunchFull());
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    TENON_TRY(exchange_->Await(i));
    for (const passes::GradientBucket::Slot& slot : buckets_[i].slots)
      values_[Index(slot.result)] = engine_->Wrap(graph_.value(slot.result).type,
                                                  exchange_->receive(i) + static_cast<std::uint64_t>(slot.offset));
  }
  ExpectGradients();
  return {};
}

Result<EagerTensor> EagerUpdate::Feed(ValueId id, const Feeds& feeds) const {
  const std::string& name = graph_.value(id).name;
  EagerTensor fed;
  TENON_TRY(feeds.scalars.ForEach([&](std::string_view of, auto number) -> Status {
    if (of != name) return {};
    TENON_ASSIGN(fed, engine_->FromHost(Tensor::Scalar(number)));
    return {};
  }));
  if (fed) return fed;
  return Error(Code::kInternal, "Nothing feeds the input '{}' of an update.", name);
}

// Results and what was fed; variables and constants stay.
void EagerUpdate::Forget() {
  for (ValueId id = 0; id < graph_.num_values(); ++id) {
    const graph::ValueKind kind = graph_.value(id).kind;
    if (kind == graph::ValueKind::kResult || kind == graph::ValueKind::kInput) values_[Index(id)].reset();
  }
}

Status EagerUpdate::Run(const Feeds& feeds, const std::function<Result<bool>()>& go_on) {
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
  if (!buckets_.empty()) TENON_TRY(Exchange());
  if (go_on) {
    TENON_ASSIGN(const bool going, go_on());
    overflowed_ = !going;
  }
  std::vector<EagerTensor> operands, results;
  for (graph::NodeId id = 0; id < graph_.num_nodes() && !overflowed_; ++id) {
    const graph::Node& node = graph_.node(id);
    if (passes::IsAllReduce(node)) continue;
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
