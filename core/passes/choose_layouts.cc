// Picks one layout signature per node and one layout per kept value so that kernel time plus reorders is small, then
// inserts the reorders. Coordinate descent from a forward greedy start: exact on chains, and the same for the same graph.
#include <algorithm>
#include <map>
#include <set>

#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::LayoutOffer;
using graph::LayoutSignature;
using graph::Node;

constexpr int kMostSweeps = 6;

class LayoutChooser {
 public:
  explicit LayoutChooser(Compilation& state) : state_(state), graph_(state.graph) {}

  Result<bool> Run() {
    state_.layout.assign(static_cast<std::size_t>(graph_.num_values()), graph::kStrided);
    TENON_TRY(CollectOffers());
    PinKept();
    if (!AnyChoice() && !AnyPinnedElsewhere()) return Materialise();
    for (const NodeId id : live_) Choose(id, /*look_at_readers=*/false);
    ChooseKept();
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool changed = false;
      for (const NodeId id : live_) changed = Choose(id, /*look_at_readers=*/true) || changed;
      changed = ChooseKept() || changed;
      if (!changed) break;
    }
    return Materialise();
  }

 private:
  LayoutId& Layout(ValueId id) { return state_.layout[static_cast<std::size_t>(id)]; }

  static bool IsKept(const graph::ValueInfo& value) {
    return value.kind == graph::ValueKind::kParameter || value.kind == graph::ValueKind::kState ||
           value.kind == graph::ValueKind::kConstant;
  }

  Status CollectOffers() {
    live_ = graph_.LiveNodes();
    offers_.resize(static_cast<std::size_t>(graph_.num_nodes()));
    chosen_.assign(offers_.size(), 0);
    readers_.resize(static_cast<std::size_t>(graph_.num_values()));
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNone) readers_[static_cast<std::size_t>(node.inputs[i])].push_back({id, i});
      }
      LayoutOffer& offer = offers_[static_cast<std::size_t>(id)];
      if (node.def != nullptr && node.def->is_view()) {
        offer.signatures.push_back(Strided(node));
        continue;
      }
      if (IsAllReduce(node)) {
        offer.layout_blind = true;
        offer.signatures.push_back(Strided(node));
        continue;
      }
      auto offered = state_.target->Offer(graph::QueryOf(graph_, node));
      if (!offered.ok())
        return std::move(offered)
            .status()
            .At(node.place)
            .While(fmt::format("looking for a kernel for node '{}' ({})", node.name, node.FullName()));
      offer = std::move(offered).value();
      if (offer.signatures.empty()) offer.signatures.push_back(Strided(node));
    }
    return {};
  }

  static LayoutSignature Strided(const Node& node) {
    return {std::vector<LayoutId>(node.inputs.size(), graph::kStrided),
            std::vector<LayoutId>(node.outputs.size(), graph::kStrided), 0};
  }

  bool AnyChoice() const {
    return std::any_of(offers_.begin(), offers_.end(), [](const LayoutOffer& offer) {
      return std::any_of(offer.signatures.begin(), offer.signatures.end(), [](const LayoutSignature& signature) {
        const auto nonzero = [](LayoutId id) { return id != graph::kStrided; };
        return std::any_of(signature.inputs.begin(), signature.inputs.end(), nonzero) ||
               std::any_of(signature.outputs.begin(), signature.outputs.end(), nonzero);
      });
    });
  }

  // Has another program put a parameter or state into a layout of the device?
  bool AnyPinnedElsewhere() const {
    return std::any_of(state_.layout.begin(), state_.layout.end(), [](LayoutId id) { return id != graph::kStrided; });
  }

  void PinKept() {
    pinned_.assign(static_cast<std::size_t>(graph_.num_values()), false);
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      const graph::ValueInfo& value = graph_.value(id);
      if (value.kind != graph::ValueKind::kParameter && value.kind != graph::ValueKind::kState) continue;
      const auto pinned = state_.pinned_layout ? state_.pinned_layout(value.name) : std::nullopt;
      if (!pinned) continue;
      Layout(id) = *pinned;
      pinned_[static_cast<std::size_t>(id)] = true;
    }
  }

  double Reorder(ValueId id, LayoutId from, LayoutId to) {
    return from == to ? 0.0 : state_.target->ReorderCost(graph_.value(id).type, from, to);
  }

  // A node over lists (an optimiser, a bucket of gradients): `count` tensors a list, after `first` other inputs.
  struct Lists {
    std::size_t first, count;
  };
  static std::optional<Lists> ListsOf(const Node& node) {
    if (IsAllReduce(node)) return Lists{0, node.outputs.size()};
    if (node.def == nullptr || node.def->updates_first_input() < 0) return std::nullopt;
    return Lists{static_cast<std::size_t>(node.def->updates_first_input()),
                 static_cast<std::size_t>(node.attrs.Int("count", 1))};
  }

  // Operands of a layout-blind node that must share a layout: those of one group. A node over lists has a group per list
  // position; otherwise all operands are one group.
  static std::size_t GroupOf(const Node& node, std::size_t input) {
    const std::optional<Lists> lists = ListsOf(node);
    if (!lists) return 0;
    return input < lists->first ? ~std::size_t{0} : (input - lists->first) % lists->count;
  }

  // Signature of a layout-blind node when each group takes the layout of its first operand of full shape.
  LayoutSignature BlindSignature(const Node& node) {
    LayoutSignature signature = Strided(node);
    std::map<std::size_t, LayoutId> of_group;
    std::map<std::size_t, Dim> elements;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const std::size_t group = GroupOf(node, i);
      if (group == ~std::size_t{0}) continue;
      const ValueType& type = graph_.value(node.inputs[i]).type;
      const auto added = of_group.emplace(group, Layout(node.inputs[i]));
      const auto size = elements.emplace(group, type.shape.Elements());
      // Broadcasting operands have no common flat form.
      if (!added.second && !(size.first->second == type.shape.Elements())) added.first->second = graph::kStrided;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = of_group.find(GroupOf(node, i));
      if (found != of_group.end()) signature.inputs[i] = found->second;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::optional<Lists> lists = ListsOf(node);
      const std::size_t group = lists ? i % lists->count : 0;
      const auto found = of_group.find(group);
      if (found != of_group.end()) signature.outputs[i] = found->second;
    }
    return signature;
  }

  double CostOf(const Node& node, const LayoutSignature& signature, bool look_at_readers) {
    double cost = signature.cost_ns;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId in = node.inputs[i];
      if (in == kNone) continue;
      // A kept value that is not pinned takes any layout for free at the start.
      const bool free = !look_at_readers && IsKept(graph_.value(in)) && !IsPinned(in);
      if (!free) cost += Reorder(in, Layout(in), signature.inputs[i]);
    }
    if (!look_at_readers) return cost;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNone) cost += ReaderCost(node.outputs[i], signature.outputs[i]);
    }
    return cost;
  }

  bool IsPinned(ValueId id) const { return !pinned_.empty() && pinned_[static_cast<std::size_t>(id)]; }

  // Cost of bringing a value in `layout` to what its readers, the caller and the state it updates want.
  double ReaderCost(ValueId id, LayoutId layout) {
    std::set<LayoutId> wanted;
    for (const auto& reader : readers_[static_cast<std::size_t>(id)]) {
      const Node& node = graph_.node(reader.first);
      const LayoutOffer& offer = offers_[static_cast<std::size_t>(reader.first)];
      wanted.insert(offer.layout_blind
                        ? BlindWant(node, reader.second, layout)
                        : offer.signatures[chosen_[static_cast<std::size_t>(reader.first)]].inputs[reader.second]);
    }
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end())
      wanted.insert(graph::kStrided);
    for (const graph::Update& update : graph_.updates) {
      if (update.value == id) wanted.insert(Layout(update.state));
    }
    double cost = 0;
    for (const LayoutId want : wanted) cost += Reorder(id, layout, want);
    return cost;
  }

  // What a layout-blind reader would want of operand `input` if it came in `layout`.
  LayoutId BlindWant(const Node& node, std::size_t input, LayoutId layout) {
    const ValueId value = node.inputs[input];
    const LayoutId before = Layout(value);
    Layout(value) = layout;
    const LayoutId want = BlindSignature(node).inputs[input];
    Layout(value) = before;
    return want;
  }

  bool Choose(NodeId id, bool look_at_readers) {
    const Node& node = graph_.node(id);
    LayoutOffer& offer = offers_[static_cast<std::size_t>(id)];
    std::size_t best = chosen_[static_cast<std::size_t>(id)];
    if (offer.layout_blind) {
      offer.signatures.resize(1);
      offer.signatures.push_back(BlindSignature(node));
      best = 1;
    } else {
      double best_cost = CostOf(node, offer.signatures[best], look_at_readers);
      for (std::size_t i = 0; i < offer.signatures.size(); ++i) {
        const double cost = CostOf(node, offer.signatures[i], look_at_readers);
        if (cost < best_cost * (1 - 1e-9)) {
          best_cost = cost;
          best = i;
        }
      }
    }
    chosen_[static_cast<std::size_t>(id)] = best;
    bool changed = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const LayoutId layout = offer.signatures[best].outputs[i];
      changed = changed || Layout(node.outputs[i]) != layout;
      Layout(node.outputs[i]) = layout;
    }
    if (look_at_readers) return changed;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {  // the first reader of a kept value decides at first
      const ValueId in = node.inputs[i];
      if (in == kNone || !IsKept(graph_.value(in)) || IsPinned(in) || !decided_.insert(in).second) continue;
      Layout(in) = offer.signatures[best].inputs[i];
    }
    return changed;
  }

  // Kept values are stored in the layout that costs their readers least. A state follows the value that updates it.
  bool ChooseKept() {
    bool changed = false;
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      if (!IsKept(graph_.value(id)) || IsPinned(id)) continue;
      std::set<LayoutId> candidates = {graph::kStrided, Layout(id)};
      for (const auto& reader : readers_[static_cast<std::size_t>(id)]) {
        const LayoutOffer& offer = offers_[static_cast<std::size_t>(reader.first)];
        candidates.insert(offer.signatures[chosen_[static_cast<std::size_t>(reader.first)]].inputs[reader.second]);
      }
      LayoutId best = Layout(id);
      double best_cost = ReaderCost(id, best) + UpdateCost(id, best);
      for (const LayoutId candidate : candidates) {
        const double cost = ReaderCost(id, candidate) + UpdateCost(id, candidate);
        if (cost < best_cost * (1 - 1e-9)) {
          best = candidate;
          best_cost = cost;
        }
      }
      changed = changed || best != Layout(id);
      Layout(id) = best;
    }
    return changed;
  }

  double UpdateCost(ValueId state, LayoutId layout) {
    double cost = 0;
    for (const graph::Update& update : graph_.updates) {
      if (update.state == state && !Follows(update)) cost += Reorder(update.value, Layout(update.value), layout);
    }
    return cost;
  }

  // The new value is written by a layout-blind node in place: it has the layout of the state by construction.
  bool Follows(const graph::Update& update) const {
    const NodeId producer = graph_.value(update.value).producer;
    return producer != kNone && offers_[static_cast<std::size_t>(producer)].layout_blind;
  }

  // Inserts a reorder for every (value, layout) that a reader wants and the value does not have.
  Result<bool> Materialise() {
    std::map<std::pair<ValueId, LayoutId>, ValueId> reordered;
    std::vector<std::vector<NodeId>> before(static_cast<std::size_t>(graph_.num_nodes()) + 1);
    const NodeId old_nodes = graph_.num_nodes();
    const auto converted = [&](ValueId id, LayoutId want, NodeId reader) {
      const auto key = std::pair(id, want);
      const auto found = reordered.find(key);
      if (found != reordered.end()) return found->second;
      const ValueType type = graph_.value(id).type;
      const NodeId added = graph_.AddFusedNode("tenon", std::string(kReorderType), std::vector<ValueId>{id}, {},
                                               std::vector<ValueType>{type}, std::make_shared<graph::FusedOp>(),
                                               graph_.value(id).name + ".to_" + state_.target->LayoutName(want), "");
      const ValueId out = graph_.node(added).outputs[0];
      state_.layout.resize(static_cast<std::size_t>(graph_.num_values()), graph::kStrided);
      Layout(out) = want;
      before[static_cast<std::size_t>(reader)].push_back(added);
      reordered.emplace(key, out);
      return out;
    };
    for (const NodeId id : live_) {
      const LayoutSignature signature =
          offers_[static_cast<std::size_t>(id)].layout_blind
              ? BlindSignature(graph_.node(id))
              : offers_[static_cast<std::size_t>(id)].signatures[chosen_[static_cast<std::size_t>(id)]];
      for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        const ValueId in = graph_.node(id).inputs[i];
        if (in == kNone || Layout(in) == signature.inputs[i]) continue;
        const ValueId out = converted(in, signature.inputs[i], id);
        graph_.node(id).inputs[i] = out;
      }
    }
    for (ValueId& id : graph_.outputs) {
      if (Layout(id) != graph::kStrided) id = converted(id, graph::kStrided, old_nodes);
    }
    for (graph::Update& update : graph_.updates) {
      if (Layout(update.value) != Layout(update.state))
        update.value = converted(update.value, Layout(update.state), old_nodes);
    }
    if (reordered.empty()) return false;
    std::vector<NodeId> order;
    for (NodeId id = 0; id <= old_nodes; ++id) {
      const auto& added = before[static_cast<std::size_t>(id)];
      order.insert(order.end(), added.begin(), added.end());
      if (id < old_nodes) order.push_back(id);
    }
    graph_.Permute(order);
    return true;
  }

  Compilation& state_;
  Graph& graph_;
  std::vector<NodeId> live_;
  std::vector<LayoutOffer> offers_;                                   // by node
  std::vector<std::size_t> chosen_;                                   // by node: index into its signatures
  std::vector<std::vector<std::pair<NodeId, std::size_t>>> readers_;  // by value
  std::vector<bool> pinned_;                                          // by value
  std::set<ValueId> decided_;
};

}  // namespace

Result<bool> ChooseLayouts(Compilation& state) { return LayoutChooser(state).Run(); }

}  // namespace tenon::passes
