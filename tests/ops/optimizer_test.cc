// The optimisers of domain tenon. Listed values: three steps of PyTorch 2.15's optimisers in float64 on two parameters.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Attributes kTwo{{"count", std::int64_t{2}}};

// Runs three steps; the gradients are those of the listed values. Returns parameters, then the other updated groups.
std::vector<Tensor> Train(const char* op, Attributes attrs, int states) {
  attrs.Set("count", std::int64_t{2});
  std::vector<Tensor> state{F64({3}, {1, -2, 3}), F64({2, 1}, {0.5, 0.25})};
  for (int k = 0; k < states; ++k) {
    state.push_back(F64({3}, {0, 0, 0}));
    state.push_back(F64({2, 1}, {0, 0}));
  }
  const bool has_step = std::string_view(op) != "SGD";
  for (int t = 1; t <= 3; ++t) {
    OpCall call{"tenon", op, 0, attrs, {}, static_cast<int>(state.size()), {}};
    call.inputs.push_back(F32({}, {0.1}));
    if (has_step) call.inputs.push_back(I64({}, {t}));
    call.inputs.insert(call.inputs.end(), state.begin(), state.end());
    call.inputs.push_back(F64({3}, {0.1 * t, 0.2 * t, -0.3 * t}));
    call.inputs.push_back(F64({2, 1}, {1.0 / t, -1.0 / t}));
    const auto outputs = RunReference(call);
    EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
    if (!outputs.ok()) break;
    state = outputs.value();
  }
  return state;
}

void ExpectStates(const std::vector<Tensor>& state, const std::vector<std::vector<double>>& groups) {
  ASSERT_EQ(state.size(), 2 * groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const std::vector<double>& g = groups[k];
    ExpectNear(state[2 * k], F64({3}, {g[0], g[1], g[2]}), 1e-6, fmt::format("group {} of the first parameter", k));
    ExpectNear(state[2 * k + 1], F64({2, 1}, {g[3], g[4]}), 1e-6, fmt::format("group {} of the second parameter", k));
  }
}

TEST(Sgd, FollowsPyTorch) {
  ExpectStates(Train("SGD", {}, 0), {{0.94, -2.12, 3.18, 0.3166667, 0.4333333}});
  ExpectStates(Train("SGD", {{"weight_decay", 0.5}}, 0), {{0.79935, -1.8308, 2.7462, 0.2576042, 0.3854271}});
  ExpectStates(Train("SGD", {{"momentum", 0.9}}, 1),
               {{0.9049, -2.1902, 3.2853, 0.1006667, 0.6493333}, {0.561, 1.122, -1.683, 1.593333, -1.593333}});
  ExpectStates(
      Train("SGD", {{"momentum", 0.9}, {"nesterov", std::int64_t{1}}, {"weight_decay", 0.01}}, 1),
      {{0.84655, -2.27476, 3.412139, -0.04554127, 0.7895149}, {0.5872152, 1.066283, -1.599425, 1.601485, -1.581208}});
}

TEST(Adam, FollowsPyTorch) {
  ExpectStates(Train("Adam", {}, 2), {{0.7076817, -2.292318, 3.292318, 0.2194662, 0.5305338},
                                      {0.0561, 0.1122, -0.1683, 0.1593333, -0.1593333},
                                      {0.00013994, 0.00055976, 0.00125946, 0.001358862, 0.001358862}});
  ExpectStates(Train("Adam", {{"weight_decay", 0.1}, {"beta1", 0.8}, {"beta2", 0.9}}, 2),
               {{0.7012061, -2.162085, 3.16203, 0.2194622, 0.5267786},
                {0.1480113, 0.1104684, -0.1664684, 0.2936013, -0.2570248},
                {0.02525328, 0.01899324, 0.04318693, 0.1287966, 0.1048202}});
  ExpectStates(Train("AdamW", {{"weight_decay", 0.1}}, 2),
               {{0.6809359, -2.229961, 3.20026, 0.2075379, 0.5201864},
                {0.0561, 0.1122, -0.1683, 0.1593333, -0.1593333},
                {0.00013994, 0.00055976, 0.00125946, 0.001358862, 0.001358862}});
}

TEST(Optimizers, UpdateWhereTheParametersLie) {
  const OpDef* sgd = BuiltinOps().Find("tenon", "SGD").value();
  const OpDef* adam = BuiltinOps().Find("tenon", "Adam").value();
  EXPECT_EQ(sgd->updates_first_input(), 1);
  EXPECT_EQ(adam->updates_first_input(), 2);
  Attributes attrs{{"count", std::int64_t{1}}, {"momentum", 0.9}};
  ASSERT_TRUE(sgd->Complete(attrs).ok());
  const std::vector<Tensor> inputs{F32({}, {0.5}), F32({2}, {1, 2}), F32({2}, {0, 1}), F32({2}, {4, 4})};
  std::vector<Tensor> outputs{inputs[1], inputs[2]};  // the same storage
  ASSERT_TRUE(sgd->reference()(ReferenceArgs{attrs, inputs, outputs, {}}).ok());
  ExpectNear(inputs[1], F32({2}, {-1, -0.45}), 1e-6, "parameter");
  ExpectNear(inputs[2], F32({2}, {4, 4.9}), 1e-6, "buffer");
}

TEST(Optimizers, TakeEmptyAndScalarParameters) {
  CheckCase({.op = "SGD",
             .inputs = {F32({}, {0.5}), F32({0}, {}), F32({}, {1}), F32({0}, {}), F32({}, {2})},
             .expect = {F32({0}, {}), F32({}, {0})},
             .attrs = kTwo,
             .domain = "tenon",
             .gradient = {-1},
             .other_floats = false});
}

TEST(Optimizers, NameWhatIsWrong) {
  const Tensor lr = F32({}, {0.1}), w = Ramp({2}), g = Ramp({3});
  CheckFails(
      {.op = "SGD", .inputs = {lr, w, g}, .expect = {}, .attrs = {{"count", std::int64_t{1}}}, .domain = "tenon"},
      "Parameter 0 is float32[2], but its gradient is float32[3].");
  CheckFails({.op = "SGD",
              .inputs = {lr, w, w},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}, {"momentum", 0.9}},
              .domain = "tenon"},
             "An optimiser with count 1 takes 4 inputs (1 scalars and 3 groups); got 3.");
  CheckFails({.op = "SGD",
              .inputs = {lr, w, w},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}, {"nesterov", std::int64_t{1}}},
              .domain = "tenon"},
             "SGD with nesterov needs a momentum above 0.");
  CheckFails({.op = "Adam",
              .inputs = {lr, I64({}, {0}), w, w, w, w},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}},
              .domain = "tenon"},
             "The step of an optimiser counts from 1; it is 0.");
}

// Expected values: the definitions, by hand.
TEST(Accumulate, AddsWeightedGradients) {
  const OpDef* accumulate = BuiltinOps().Find("tenon", "Accumulate").value();
  EXPECT_EQ(accumulate->updates_first_input(), 2);
  const auto run = [](std::int64_t start, const Tensor& sum, const Tensor& gradient) {
    return Outputs({.op = "Accumulate",
                    .inputs = {F32({}, {0.25}), I64({}, {start}), sum, gradient},
                    .expect = {},
                    .attrs = {{"count", std::int64_t{1}}},
                    .domain = "tenon"})[0];
  };
  ExpectNear(run(0, F32({2}, {1, 2}), F32({2}, {4, -8})), F32({2}, {2, 0}), 1e-6, "next batch");
  ExpectNear(run(1, F32({2}, {1, 2}), F32({2}, {4, -8})), F32({2}, {1, -2}), 1e-6, "first batch");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectNear(run(1, F32({2}, {nan, nan}), F32({2}, {4, -8})), F32({2}, {1, -2}), 1e-6, "old values are forgotten");
}

TEST(MovingAverage, KeepsAShareOfTheOldValue) {
  const auto outputs = Outputs({.op = "MovingAverage",
                                .inputs = {F64({2}, {1, 2}), F64({1}, {0}), F64({2}, {3, 2}), F64({1}, {10})},
                                .expect = {},
                                .attrs = {{"count", std::int64_t{2}}, {"decay", 0.75}},
                                .domain = "tenon",
                                .outputs = 2});
  ExpectNear(outputs[0], F64({2}, {1.5, 2}), 1e-12, "first average");
  ExpectNear(outputs[1], F64({1}, {2.5}), 1e-12, "second average");
  CheckFails({.op = "MovingAverage",
              .inputs = {F32({1}, {0}), F32({1}, {0})},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}, {"decay", 1.5}},
              .domain = "tenon"},
             "The decay of a moving average is 1.5; it must be in [0, 1].");
}

// clip_by_global_norm(1.0) of {2, 3, 1, 2} and {1, 4, 3, 1} in MindSpore 2.10: norm 6.708203932, first element
// 0.298142397, largest 0.596284794.
TEST(ClipFactor, FollowsMindSpore) {
  const auto factor = [](double limit) {
    return Outputs({.op = "ClipFactor",
                    .inputs = {F32({4}, {2, 3, 1, 2}), F32({2, 2}, {1, 4, 3, 1})},
                    .expect = {},
                    .attrs = {{"max_norm", limit}},
                    .domain = "tenon",
                    .outputs = 2});
  };
  const auto small = factor(1.0), large = factor(7.0);
  ExpectNear(small[1], F32({}, {6.708203932}), 1e-6, "norm");
  ExpectNear(small[0], F32({}, {0.298142397 / 2}), 1e-7, "factor");
  ExpectNear(small[0], F32({}, {0.596284794 / 4}), 1e-7, "factor");
  ExpectNear(large[0], F32({}, {1}), 0, "factor of small gradients");
  CheckFails({.op = "ClipFactor",
              .inputs = {F32({1}, {0})},
              .expect = {},
              .attrs = {{"max_norm", 0.0}},
              .domain = "tenon",
              .outputs = 2},
             "max_norm is 0; it must be above 0.");
}

}  // namespace
}  // namespace tenon::testing
