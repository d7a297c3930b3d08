// Lifetimes -> offsets. Values share memory where one is a view of the other or is computed in place; everything else
// that a node produces lives in one arena. Offsets: largest first, each at the lowest place where no value that lives at
// the same time stands (best fit by decreasing size).
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::Node;

constexpr std::int64_t kAlign = 64;

std::int64_t Aligned(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// What stands in the arena, in the order of offsets, in runs of neighbours: runs that live at other times than a new block are
// passed over whole.
class PlacedBlocks {
 public:
  struct Block {
    std::int64_t offset, end;
    int first, last;  // steps during which it is in use
  };

  // The lowest of the smallest gaps that take `bytes` between the blocks that live in [first, last], or the end.
  std::int64_t FindPlace(std::int64_t bytes, int first, int last) const {
    std::int64_t best = -1, best_gap = std::numeric_limits<std::int64_t>::max(), at = 0;
    for (const Run& run : runs_) {
      if (run.last < first || run.first > last) continue;
      for (const Block& block : run.blocks) {
        if (block.last < first || block.first > last) continue;
        const std::int64_t gap = block.offset - at;
        if (gap == bytes) return at;
        if (gap > bytes && gap < best_gap) {
          best = at;
          best_gap = gap;
        }
        at = std::max(at, block.end);
      }
    }
    return best >= 0 ? best : at;
  }

  void Add(const Block& block) {
    const auto below = [](std::int64_t offset, const auto& other) { return offset < other.blocks.front().offset; };
    auto run = std::upper_bound(runs_.begin(), runs_.end(), block.offset, below);
    if (run != runs_.begin()) --run;
    if (run == runs_.end()) run = runs_.insert(run, Run{});
    const auto place = std::upper_bound(run->blocks.begin(), run->blocks.end(), block.offset,
                                        [](std::int64_t offset, const Block& other) { return offset < other.offset; });
    run->blocks.insert(place, block);
    run->first = std::min(run->first, block.first);
    run->last = std::max(run->last, block.last);
    if (run->blocks.size() >= kMostInARun) Halve(run);
  }

 private:
  static constexpr std::size_t kMostInARun = 128;

  struct Run {
    std::vector<Block> blocks;
    int first = std::numeric_limits<int>::max(), last = -1;
  };

  void Halve(std::vector<Run>::iterator run) {
    const std::vector<Block> blocks = std::move(run->blocks);
    const auto middle = blocks.begin() + kMostInARun / 2;
    *run = RunOf({blocks.begin(), middle});
    runs_.insert(run + 1, RunOf({middle, blocks.end()}));
  }
  static Run RunOf(std::vector<Block> blocks) {
    Run run{std::move(blocks)};
    for (const Block& block : run.blocks) {
      run.first = std::min(run.first, block.first);
      run.last = std::max(run.last, block.last);
    }
    return run;
  }

  std::vector<Run> runs_;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(Compilation& state) : state_(state), graph_(state.graph), plan_(state.memory) {}

  Status Run() {
    const auto values = static_cast<std::size_t>(graph_.num_values());
    plan_ = {};
    plan_.arena_offset.assign(values, -1);
    plan_.workspace_offset.assign(static_cast<std::size_t>(graph_.num_nodes()), -1);
    plan_.bytes.assign(values, 0);
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      plan_.root.push_back(id);
      if (!IsLive(id)) continue;
      TENON_ASSIGN(plan_.bytes[Index(id)], state_.target->BytesOf(graph_.value(id).type, state_.LayoutOf(id)));
    }
    live_ = graph_.LiveNodes();
    for (const graph::Update& update : graph_.updates) states_of_.emplace(update.value, update.state);
    FindLastReads();
    KeepBuckets();
    for (std::size_t at = 0; at < live_.size(); ++at) TENON_TRY(ShareMemory(static_cast<int>(at)));
    for (const graph::Update& update : graph_.updates) {
      if (plan_.root[Index(update.value)] != update.state) plan_.copies.push_back(update);
    }
    TENON_TRY(PlaceBuckets());
    PlaceBlocks();
    return {};
  }

 private:
  struct Block {
    std::int64_t bytes;
    int first, last;  // steps during which it is in use
    ValueId value = kNone;
    NodeId workspace_of = kNone;
    std::int64_t offset = 0;
  };

  static std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

  bool IsLive(ValueId id) const {
    const graph::ValueInfo& value = graph_.value(id);
    if (value.kind != graph::ValueKind::kResult) return true;
    const Node& producer = graph_.node(value.producer);
    const auto output = static_cast<std::size_t>(value.producer_output);
    return !producer.dead && output < producer.outputs.size() && producer.outputs[output] == id;
  }

  // Step of the last read of each value by itself, aliases not counted; results of the whole program are read at the end.
  void FindLastReads() {
    last_read_.assign(Index(graph_.num_values()), -1);
    for (std::size_t at = 0; at < live_.size(); ++at) {
      for (const ValueId in : graph_.node(live_[at]).inputs) {
        if (in != kNone) last_read_[Index(in)] = static_cast<int>(at);
      }
    }
    const int end = static_cast<int>(live_.size());
    for (const ValueId id : graph_.outputs) last_read_[Index(id)] = end;
    for (const graph::Update& update : graph_.updates) last_read_[Index(update.value)] = end;
  }

  // What is being summed over the ranks is nobody's to write until the end of the step.
  void KeepBuckets() {
    node_reads_ = last_read_;
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (!IsAllReduce(node)) continue;
      for (std::size_t i = node.outputs.size(); i < node.inputs.size(); ++i)
        last_read_[Index(node.inputs[i])] = static_cast<int>(live_.size());
    }
    last_read_of_root_ = last_read_;
  }

  // A new value takes the memory of an older one.
  void Share(ValueId value, ValueId with) {
    const ValueId root = plan_.root[Index(with)];
    plan_.root[Index(value)] = root;
    last_read_of_root_[Index(root)] = std::max(last_read_of_root_[Index(root)], last_read_[Index(value)]);
  }

  bool IsOwnState(ValueId state, ValueId output) const {
    const auto [begin, end] = states_of_.equal_range(output);
    return std::any_of(begin, end, [&](const auto& entry) { return entry.second == state; });
  }

  bool ReadTwice(const Node& node, ValueId root) const {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId in) { return in != kNone && plan_.root[Index(in)] == root; }) > 1;
  }

  bool MayOverwrite(const Node& node, int step, ValueId input, ValueId output) const {
    const ValueId root = plan_.root[Index(input)];
    const graph::ValueKind kind = graph_.value(root).kind;
    const bool own_state =
        (kind == graph::ValueKind::kState || kind == graph::ValueKind::kParameter) && IsOwnState(root, output);
    if (kind != graph::ValueKind::kResult && !own_state) return false;
    // Ranks of one node may share the memory of the sums.
    if (kind == graph::ValueKind::kResult && IsAllReduce(graph_.node(graph_.value(root).producer))) return false;
    if (plan_.bytes[Index(root)] != plan_.bytes[Index(output)] || ReadTwice(node, root)) return false;
    return last_read_of_root_[Index(root)] <= step;
  }

  Status ShareMemory(int step) {
    const NodeId id = live_[static_cast<std::size_t>(step)];
    const Node& node = graph_.node(id);
    if (IsReorder(node) || IsAllReduce(node)) return {};
    if (IsView(state_, node)) {
      Share(node.outputs[0], node.inputs[0]);
      return {};
    }
    for (const graph::InPlaceChoice& pair : state_.kernels[Index(id)]->in_place()) {
      const auto out_index = static_cast<std::size_t>(pair.output), in_index = static_cast<std::size_t>(pair.input);
      if (out_index >= node.outputs.size() || in_index >= node.inputs.size()) continue;
      const ValueId out = node.outputs[out_index], in = node.inputs[in_index];
      if (out == kNone || in == kNone || plan_.root[Index(out)] != out) continue;
      if (MayOverwrite(node, step, in, out)) {
        Share(out, in);
      } else if (pair.must) {
        return Error(Code::kInternal, "Node '{}' ({}) must write %{} over %{}, which is still needed.", node.name,
                     node.FullName(), graph_.value(out).name, graph_.value(in).name);
      }
    }
    return {};
  }

  // Gradients are computed where they are summed, unless their memory is somebody else's too.
  Status PlaceBuckets() {
    in_bucket_.assign(Index(graph_.num_values()), false);
    std::vector<int> read_of_root(Index(graph_.num_values()), -1);
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      int& read = read_of_root[Index(plan_.root[Index(id)])];
      read = std::max(read, node_reads_[Index(id)]);
    }
    for (std::size_t at = 0; at < live_.size(); ++at) {
      if (!IsAllReduce(graph_.node(live_[at]))) continue;
      TENON_ASSIGN(GradientBucket bucket, LayOutBucket(graph_, live_[at], [this](ValueId parameter) {
                     return Result<std::int64_t>(plan_.bytes[Index(parameter)]);
                   }));
      for (GradientBucket::Slot& slot : bucket.slots) {
        const ValueId root = plan_.root[Index(slot.gradient)];
        if (plan_.bytes[Index(slot.gradient)] != slot.bytes)
          return Error(Code::kInternal, "The gradient of '{}' has {} bytes; its place among the sums has {}.",
                       slot.parameter, plan_.bytes[Index(slot.gradient)], slot.bytes);
        in_bucket_[Index(slot.result)] = true;
        slot.in_place = graph_.value(root).kind == graph::ValueKind::kResult && !in_bucket_[Index(root)] &&
                        plan_.bytes[Index(root)] == slot.bytes && read_of_root[Index(root)] <= static_cast<int>(at);
        if (slot.in_place) in_bucket_[Index(root)] = true;
      }
      plan_.buckets.push_back(std::move(bucket));
    }
    return {};
  }

  void PlaceBlocks() {
    std::vector<Block> blocks;
    std::vector<std::size_t> block_of_root(Index(graph_.num_values()), ~std::size_t{0});
    for (std::size_t at = 0; at < live_.size(); ++at) {
      const int step = static_cast<int>(at);
      const NodeId id = live_[at];
      for (const ValueId out : graph_.node(id).outputs) {
        if (out == kNone || plan_.root[Index(out)] != out || in_bucket_[Index(out)]) continue;
        block_of_root[Index(out)] = blocks.size();
        blocks.push_back({Aligned(plan_.bytes[Index(out)]), step, step, out, kNone, 0});
      }
      const auto& kernel = state_.kernels[Index(id)];
      const std::int64_t scratch = kernel ? kernel->workspace_bytes() : 0;
      if (scratch > 0) blocks.push_back({Aligned(scratch), step, step, kNone, id, 0});
    }
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      const std::size_t block = block_of_root[Index(plan_.root[Index(id)])];
      if (block != ~std::size_t{0}) blocks[block].last = std::max(blocks[block].last, last_read_[Index(id)]);
    }
    AssignOffsets(blocks);
    for (const Block& block : blocks) {
      if (block.value != kNone) plan_.arena_offset[Index(block.value)] = block.offset;
      if (block.workspace_of != kNone) plan_.workspace_offset[Index(block.workspace_of)] = block.offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, block.offset + block.bytes);
    }
  }

  static void AssignOffsets(std::vector<Block>& blocks) {
    std::vector<std::size_t> by_size(blocks.size());
    for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    PlacedBlocks placed;
    for (const std::size_t index : by_size) {
      Block& block = blocks[index];
      block.offset = placed.FindPlace(block.bytes, block.first, block.last);
      placed.Add({block.offset, block.offset + block.bytes, block.first, block.last});
    }
  }

  Compilation& state_;
  Graph& graph_;
  MemoryPlan& plan_;
  std::vector<NodeId> live_;
  std::unordered_multimap<ValueId, ValueId> states_of_;  // by the value that updates them
  std::vector<int> last_read_;                           // by value
  std::vector<int> node_reads_;                          // by value: by nodes alone
  std::vector<bool> in_bucket_;                          // by value that owns memory: it is not in the arena
  std::vector<int> last_read_of_root_;                   // by value: through any of those that share its memory
};

}  // namespace

Result<bool> PlanMemory(Compilation& state) {
  TENON_TRY(MemoryPlanner(state).Run());
  return false;  // the graph itself is as before
}

}  // namespace tenon::passes
