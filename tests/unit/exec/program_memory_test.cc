// The memory plan never lets one value overwrite another that is still read: replayed step by step over compiled
// networks, without looking at how the plan was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/exec/program.h"
#include "core/train/loss.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "tests/unit/exec/open_runtime.h"

namespace tenon {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using passes::Compilation;

// A stretch of memory: in the arena (space -1) or the own memory of a root.
struct Stretch {
  std::int64_t space, begin, end;
  bool Meets(const Stretch& other) const { return space == other.space && begin < other.end && other.begin < end; }
};

class Replay {
 public:
  explicit Replay(const Compilation& state) : state_(state), graph_(state.graph), plan_(state.memory) {
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      if (graph_.value(id).kind != graph::ValueKind::kResult) valid_.insert(id);
    }
  }

  void Run() {
    for (const NodeId id : graph_.LiveNodes()) Step(id);
    for (const ValueId id : graph_.outputs) EXPECT_TRUE(valid_.count(id)) << "result " << graph_.value(id).name;
    for (const graph::Update& update : graph_.updates)
      EXPECT_TRUE(valid_.count(update.value)) << "update " << graph_.value(update.value).name;
  }

 private:
  static std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

  Stretch Of(ValueId id) const {
    const ValueId root = plan_.root[Index(id)];
    const std::int64_t offset = plan_.arena_offset[Index(root)];
    if (offset < 0) return {root, 0, std::max<std::int64_t>(1, plan_.bytes[Index(root)])};
    EXPECT_EQ(offset % 64, 0);
    EXPECT_LE(offset + plan_.bytes[Index(root)], plan_.arena_bytes);
    return {-1, offset, offset + plan_.bytes[Index(root)]};
  }

  void Step(NodeId id) {
    const graph::Node& node = graph_.node(id);
    const bool view = state_.kernels[Index(id)] == nullptr && !passes::IsReorder(node);
    std::vector<Stretch> written;
    for (const ValueId out : node.outputs) {
      if (out == kNone || view) continue;
      for (const Stretch& other : written)
        EXPECT_FALSE(Of(out).Meets(other)) << node.name << " writes two results to one place";
      written.push_back(Of(out));
    }
    if (plan_.workspace_offset[Index(id)] >= 0) {
      const std::int64_t at = plan_.workspace_offset[Index(id)];
      const Stretch scratch{-1, at, at + state_.kernels[Index(id)]->workspace_bytes()};
      for (const Stretch& other : written) EXPECT_FALSE(scratch.Meets(other)) << node.name << " works where it writes";
      written.push_back(scratch);
    }
    for (const ValueId in : node.inputs) {
      if (in == kNone) continue;
      EXPECT_TRUE(valid_.count(in)) << node.name << " reads %" << graph_.value(in).name << ", which is overwritten";
      for (const ValueId out : node.outputs) {
        if (out != kNone && plan_.root[Index(out)] == plan_.root[Index(in)]) continue;
        if (out == kNone) continue;
        EXPECT_FALSE(Of(in).Meets(Of(out))) << node.name << " writes half over %" << graph_.value(in).name;
      }
      if (plan_.workspace_offset[Index(id)] < 0) continue;
      EXPECT_FALSE(written.back().Meets(Of(in))) << node.name << " works over %" << graph_.value(in).name;
    }
    for (auto at = valid_.begin(); at != valid_.end();) {
      const Stretch held = Of(*at);
      const bool lost =
          std::any_of(written.begin(), written.end(), [&](const Stretch& one) { return one.Meets(held); });
      at = lost ? valid_.erase(at) : std::next(at);
    }
    for (const ValueId out : node.outputs) {
      if (out != kNone) valid_.insert(out);
    }
  }

  const Compilation& state_;
  const graph::Graph& graph_;
  const passes::MemoryPlan& plan_;
  std::set<ValueId> valid_;  // values whose bytes are intact
};

class ProgramMemory : public testing::Test {
 protected:
  void SetUp() override {
    auto runtime = testing_support::OpenCpuRuntime();
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    runtime_ = std::move(runtime).value();
  }

  void Check(const std::string& network, const Shape& input, const std::string& optimizer = "{type: adam}",
             const std::vector<std::string>& disabled = {}) {
    for (const bool training : {true, false}) {
      Compilation state;
      Compile(state, network, input, optimizer, training, disabled);
      if (HasFatalFailure()) return;
      Replay(state).Run();
      if (HasFailure()) {
        ADD_FAILURE() << network;
        return;
      }
    }
  }

  void Compile(Compilation& state, const std::string& network, const Shape& input, const std::string& optimizer,
               bool training, const std::vector<std::string>& disabled) {
    auto tree = LoadConfigText("data: {type: synthetic, samples: 8, classes: 4, image: {shape: [1, 2, 4]}}\nnetwork: " +
                                   network + "\noptimizer: " + optimizer + "\n",
                               "test", ".");
    ASSERT_TRUE(tree.ok()) << tree.status().ToString();
    auto config = ReadRunConfig(*tree);
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    auto made = Network::Make(config->network);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    state.target = &runtime_->target();
    const ValueId x = state.graph.AddInput("input", {DType::kF32, SymShape(input)});
    const ValueId labels = state.graph.AddInput("labels", {DType::kI64, SymShape(Shape{input[0]})});
    auto build = made->AddTo(state.graph, x, training);
    ASSERT_TRUE(build.ok()) << build.status().ToString();
    auto loss = AddLoss(config->loss, state.graph, build->output, labels);
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    state.graph.outputs = {*loss, build->output};
    if (training) {
      state.loss = *loss;
      state.trained = build->parameters;
      state.update = UpdateRuleOf(config->optimizer);
    }
    passes::PipelineOptions options;
    options.disabled = disabled;
    const Status run = passes::RunPipeline(state, options);
    ASSERT_TRUE(run.ok()) << run.ToString() << "\n" << network;
  }

  std::unique_ptr<exec::Runtime> runtime_;
};

TEST_F(ProgramMemory, LeNet) {
  for (const char* optimizer : {"{type: sgd}", "{type: sgd, momentum: 0.9}", "{type: adam}", "{type: adamw}"})
    Check("{zoo: lenet5}", Shape{32, 1, 28, 28}, optimizer);
}

TEST_F(ProgramMemory, LeNetWithoutFusion) {
  Check("{zoo: lenet5}", Shape{5, 1, 28, 28}, "{type: sgd}",
        {"fuse_before_autodiff", "fuse_after_autodiff", "fold_constants", "remove_unused", "remove_unused_gradients"});
}

TEST_F(ProgramMemory, Mlp) { Check("{zoo: mlp, args: {hidden: [64, 32]}}", Shape{16, 1, 8, 8}); }

TEST_F(ProgramMemory, ResidualWithBatchNorm) {
  Check(
      R"({layers: [{conv: {out: 8, kernel: 3, pad: 1, name: a}}, {batch_norm: {name: n}}, {relu: {name: r}}, {conv: {out: 8, kernel: 3, pad: 1}}, batch_norm,
        {add: {input: [batch_norm2, r], name: s}}, {relu: {name: t}}, {max_pool: {kernel: 2}}, {conv: {out: 16, kernel: 3}}, {batch_norm: {name: u}}, relu,
        global_average_pool, flatten, {dropout: {ratio: 0.3}}, {linear: {out: 10}}]})",
      Shape{6, 3, 16, 16});
}

// Elementwise layers over any earlier values: every way in which an in-place choice could go wrong.
TEST_F(ProgramMemory, RandomGraphs) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> names = {"f", "l0"};
    std::string layers = "{flatten: {name: f}}, {linear: {out: 12, name: l0, input: f}}";
    names.erase(names.begin());
    for (int k = 1; k < 14; ++k) {
      const std::string name = "v" + std::to_string(k), a = names[below(names.size())], b = names[below(names.size())];
      static constexpr const char* kOne[] = {"relu",       "sigmoid", "tanh",      "softmax",
                                             "leaky_relu", "dropout", "batch_norm"};
      static constexpr const char* kTwo[] = {"add", "sub", "mul"};
      const std::size_t kind = below(12);
      if (kind < 7) {
        layers += ", {" + std::string(kOne[kind]) + ": {name: " + name + ", input: " + a + "}}";
      } else if (kind < 10) {
        layers += ", {" + std::string(kTwo[kind - 7]) + ": {name: " + name + ", input: [" + a + ", " + b + "]}}";
      } else if (kind == 10) {
        layers += ", {linear: {out: 12, name: " + name + ", input: " + a + "}}";
      } else {
        layers += ", {reshape: {shape: [0, 3, 4], name: " + name + "w, input: " + a +
                  "}}, {reshape: {shape: [0, 12], name: " + name + "}}";
      }
      names.push_back(name);
    }
    layers += ", {linear: {out: 10, name: head}}";
    Check("{layers: [" + layers + "]}", Shape{5, 8}, round % 2 == 0 ? "{type: adam}" : "{type: sgd, momentum: 0.5}",
          round % 3 == 0 ? std::vector<std::string>{"fuse_before_autodiff", "fuse_after_autodiff"}
                         : std::vector<std::string>{});
    if (HasFailure()) return;
  }
}

// Values of the forward pass that only the forward pass reads share memory: a deep evaluation needs two of them.
TEST_F(ProgramMemory, EvaluationReusesMemory) {
  Compilation state;
  std::string layers = "flatten";
  for (int k = 0; k < 12; ++k) layers += ", {linear: {out: 256}}, tanh";
  Compile(state, "{layers: [" + layers + ", {linear: {out: 10}}]}", Shape{64, 256}, "{type: sgd}", false, {});
  const std::int64_t one = 64 * 256 * 4;
  EXPECT_LE(state.memory.arena_bytes, 3 * one + 65536);
}

}  // namespace
}  // namespace tenon
