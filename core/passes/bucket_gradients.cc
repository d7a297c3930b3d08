// Data parallelism: every rank computes the gradients of its own batch, and all use their sum. Gradients are summed in
// buckets, which follow the parameters from the last layer to the first, as the backward pass makes them; a bucket is on
// its way while the gradients of the next ones are computed. What stands in which bucket depends on the parameters alone:
// all programs of all ranks agree on it, whatever the shape of their batch.
#include <algorithm>

#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

constexpr std::int64_t kSlotAlign = 64;

class Bucketer {
 public:
  explicit Bucketer(Compilation& state) : state_(state), graph_(state.graph) {}

  void Run() {
    for (std::size_t i = state_.trained.size(); i-- > 0;) {
      if (state_.gradients[i] != kNone) Add(i);
    }
    const NodeId before = graph_.num_nodes();
    std::vector<std::vector<NodeId>> after(static_cast<std::size_t>(before) + 1);  // by position; 0: before all
    NodeId launched = kNone;
    for (std::size_t k = 0; k < buckets_.size(); ++k) {
      launched = std::max(launched, LastProducer(buckets_[k]));  // in the order of the buckets, on all ranks
      after[static_cast<std::size_t>(launched + 1)].push_back(Append(k));
    }
    std::vector<NodeId> order;
    for (NodeId id = kNone; id < before; ++id) {
      if (id != kNone) order.push_back(id);
      const auto& added = after[static_cast<std::size_t>(id + 1)];
      order.insert(order.end(), added.begin(), added.end());
    }
    graph_.Permute(order);
  }

 private:
  using Bucket = std::vector<std::size_t>;  // positions in `trained`

  std::int64_t BytesOf(std::size_t i) const {
    const ValueType& type = graph_.value(state_.trained[i]).type;
    return type.shape.Concrete().elements() * SizeOf(type.dtype);
  }

  // A bucket is full once it has its size: a large gradient behind small ones goes with them, and starts early.
  void Add(std::size_t i) {
    const std::int64_t bytes = BytesOf(i);
    const std::int64_t most = buckets_.size() <= 1 ? state_.buckets->first_bytes : state_.buckets->bytes;
    const DType dtype = graph_.value(state_.trained[i]).type.dtype;
    if (buckets_.empty() || dtype != dtype_ || bytes_ >= most) {
      buckets_.emplace_back();
      bytes_ = 0;
    }
    buckets_.back().push_back(i);
    bytes_ += bytes;
    dtype_ = dtype;
  }

  NodeId LastProducer(const Bucket& bucket) const {
    NodeId last = kNone;
    for (const std::size_t i : bucket) last = std::max(last, graph_.value(state_.gradients[i]).producer);
    return last;
  }

  NodeId Append(std::size_t k) {
    std::vector<ValueId> inputs;
    std::vector<ValueType> types;
    for (const std::size_t i : buckets_[k]) {
      inputs.push_back(state_.trained[i]);
      types.push_back(graph_.value(state_.trained[i]).type);
    }
    for (const std::size_t i : buckets_[k]) inputs.push_back(state_.gradients[i]);
    const NodeId id = graph_.AddFusedNode("tenon", std::string(kAllReduceType), inputs, {}, types,
                                          std::make_shared<graph::FusedOp>(), fmt::format("bucket.{}", k), "");
    for (std::size_t slot = 0; slot < buckets_[k].size(); ++slot)
      state_.gradients[buckets_[k][slot]] = graph_.node(id).outputs[slot];
    return id;
  }

  Compilation& state_;
  Graph& graph_;
  std::vector<Bucket> buckets_;
  std::int64_t bytes_ = 0;           // of the last bucket
  DType dtype_ = DType::kUndefined;  // of the last bucket
};

}  // namespace

bool IsAllReduce(const graph::Node& node) {
  return node.def == nullptr && node.domain == "tenon" && node.type == kAllReduceType;
}

Result<GradientBucket> LayOutBucket(const Graph& graph, NodeId id,
                                    const std::function<Result<std::int64_t>(ValueId parameter)>& bytes_of) {
  const graph::Node& node = graph.node(id);
  GradientBucket bucket;
  bucket.node = id;
  bucket.dtype = graph.value(node.inputs[0]).type.dtype;
  const std::size_t count = node.outputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    GradientBucket::Slot slot;
    slot.parameter = graph.value(node.inputs[i]).name;
    slot.shape = graph.value(node.inputs[i]).type.shape.Concrete();
    slot.gradient = node.inputs[count + i];
    slot.result = node.outputs[i];
    slot.offset = bucket.bytes;
    TENON_ASSIGN(slot.bytes, bytes_of(node.inputs[i]));
    bucket.bytes += (slot.bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
    bucket.slots.push_back(std::move(slot));
  }
  return bucket;
}

// gradients -> their sums over the ranks.
Result<bool> BucketGradients(Compilation& state) {
  if (!state.buckets || state.accumulate || state.gradients.empty()) return false;
  Bucketer(state).Run();
  return true;
}

}  // namespace tenon::passes
