#include "core/graph/flops.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon::graph {
namespace {

bool Contains(const Node& node, std::string_view word) { return node.type.find(word) != std::string::npos; }

bool OnlyMoves(const Node& node) {
  static constexpr std::array<std::string_view, 22> kTypes = {
      "Reshape",         "Flatten",  "Transpose",    "Squeeze",     "Unsqueeze", "Identity", "Slice", "Split", "Gather",
      "Expand",          "Tile",     "Pad",          "Concat",      "Cast",      "Shape",    "Size",  "Where", "Range",
      "ConstantOfShape", "Constant", "DepthToSpace", "SpaceToDepth"};
  return std::find(kTypes.begin(), kTypes.end(), node.type) != kTypes.end();
}

class Counter {
 public:
  Counter(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  std::int64_t Count() {
    std::int64_t flops = 0;
    if (Contains(node_, "Conv")) {
      flops = Convolutions();
    } else if (Contains(node_, "Gemm") || Contains(node_, "MatMul")) {
      flops = Products();
    } else if (Contains(node_, "Attention")) {
      flops = Attention();
    } else if (!OnlyMoves(node_)) {
      flops = Elements();
    }
    return known_ ? flops : -1;
  }

 private:
  const SymShape* ShapeOf(const std::vector<ValueId>& ids, std::size_t i) const {
    return i < ids.size() && ids[i] != kNone ? &graph_.value(ids[i]).type.shape : nullptr;
  }
  std::int64_t Dim(const SymShape& shape, int axis) {
    if (axis < 0 || axis >= shape.rank() || !shape[axis].known()) {
      known_ = false;
      return 0;
    }
    return shape[axis].value();
  }
  std::int64_t Product(const SymShape& shape) {
    std::int64_t product = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) product *= Dim(shape, axis);
    return product;
  }

  // Forward: every element of Y meets one filter. Each gradient of the data or the weights costs as much.
  std::int64_t Convolutions() {
    const SymShape *image = nullptr, *filter = nullptr;
    if (node_.type == "ConvInputGrad") {
      image = ShapeOf(node_.inputs, 0), filter = ShapeOf(node_.inputs, 1);
    } else if (node_.type == "ConvWeightGrad") {
      image = ShapeOf(node_.inputs, 1), filter = ShapeOf(node_.outputs, 0);
    } else if (node_.type == "ConvTranspose") {
      image = ShapeOf(node_.inputs, 0), filter = ShapeOf(node_.inputs, 1);
    } else {
      image = ShapeOf(node_.outputs, 0), filter = ShapeOf(node_.inputs, node_.type == "QLinearConv" ? 3 : 1);
    }
    if (image == nullptr || filter == nullptr || Dim(*filter, 0) == 0) return 0;
    return 2 * Product(*image) * (Product(*filter) / Dim(*filter, 0));
  }

  std::int64_t Products() {
    const SymShape *a = ShapeOf(node_.inputs, 0), *y = ShapeOf(node_.outputs, 0);
    if (a == nullptr || y == nullptr || a->rank() == 0) return 0;
    return 2 * Product(*y) * Dim(*a, node_.attrs.Int("transA", 0) != 0 ? 0 : a->rank() - 1);
  }

  // Scores and values; their gradient has five products in place of two.
  std::int64_t Attention() {
    const bool gradient = Contains(node_, "Grad");
    const SymShape *q = ShapeOf(node_.inputs, gradient ? 1 : 0), *k = ShapeOf(node_.inputs, gradient ? 2 : 1);
    if (q == nullptr || k == nullptr || k->rank() < 2) return 0;
    return (gradient ? 5 : 2) * 2 * Product(*q) * Dim(*k, k->rank() - 2);
  }

  std::int64_t Elements() {
    std::int64_t most = 0;
    for (const auto* ids : {&node_.inputs, &node_.outputs}) {
      for (const ValueId id : *ids) {
        if (id != kNone) most = std::max(most, Product(graph_.value(id).type.shape));
      }
    }
    return most;
  }

  const Graph& graph_;
  const Node& node_;
  bool known_ = true;
};

}  // namespace

std::int64_t FlopsOf(const Graph& graph, const Node& node) {
  return node.fused != nullptr && node.def == nullptr ? node.fused->flops : Counter(graph, node).Count();
}

}  // namespace tenon::graph
