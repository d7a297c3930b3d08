// tenon.Lamb. Listed values: the formulas of You et al. 2020, algorithm 2, computed with PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

// Three steps from parameters {1, -2, 3} and `second`; parameters, first and second moments, each group on one line.
void ExpectThreeSteps(Attributes attrs, std::vector<double> second, const std::vector<std::vector<double>>& groups) {
  attrs.Set("count", std::int64_t{2});
  std::vector<Tensor> state{F64({3}, {1, -2, 3}), F64({2, 1}, second)};
  for (int k = 0; k < 2; ++k) {
    state.push_back(F64({3}, {0, 0, 0}));
    state.push_back(F64({2, 1}, {0, 0}));
  }
  for (int t = 1; t <= 3; ++t) {
    OpCall call{"tenon", "Lamb", 0, attrs, {F32({}, {0.1}), I64({}, {t})}, 6, {}};
    call.inputs.insert(call.inputs.end(), state.begin(), state.end());
    call.inputs.push_back(F64({3}, {0.1 * t, 0.2 * t, -0.3 * t}));
    call.inputs.push_back(F64({2, 1}, {1.0 / t, -1.0 / t}));
    const auto outputs = RunReference(call);
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    state = outputs.value();
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const std::vector<double>& g = groups[k];
    ExpectNear(state[2 * k], F64({3}, {g[0], g[1], g[2]}), 1e-6, fmt::format("group {} of the first parameter", k));
    ExpectNear(state[2 * k + 1], F64({2, 1}, {g[3], g[4]}), 1e-6, fmt::format("group {} of the second parameter", k));
  }
}

TEST(Lamb, FollowsThePaper) {
  ExpectThreeSteps({}, {0.5, 0.25},
                   {{0.3079219, -2.692081, 3.692081, 0.3842163, 0.3657837},
                    {0.0561, 0.1122, -0.1683, 0.1593333, -0.1593333},
                    {0.00013994, 0.00055976, 0.00125946, 0.001358862, 0.001358862}});
  ExpectThreeSteps({{"weight_decay", 0.1}}, {0.5, 0.25},
                   {{0.1458134, -2.615269, 3.53563, 0.3801716, 0.3606862},
                    {0.0561, 0.1122, -0.1683, 0.1593333, -0.1593333},
                    {0.00013994, 0.00055976, 0.00125946, 0.001358862, 0.001358862}});
  ExpectThreeSteps({{"weight_decay", 0.05}, {"beta1", 0.8}, {"beta2", 0.9}, {"epsilon", 1e-3}}, {0.5, 0.25},
                   {{0.2290175, -2.660099, 3.623142, 0.3821405, 0.3632206},
                    {0.1048, 0.2096, -0.3144, 0.2746667, -0.2746667},
                    {0.01341, 0.05364, 0.12069, 0.1146111, 0.1146111}});
}

// The step of a parameter that is zero is not scaled.
TEST(Lamb, StartsFromZero) {
  ExpectThreeSteps({}, {0, 0},
                   {{0.3079219, -2.692081, 3.692081, -0.1209999, 0.1209999},
                    {0.0561, 0.1122, -0.1683, 0.1593333, -0.1593333},
                    {0.00013994, 0.00055976, 0.00125946, 0.001358862, 0.001358862}});
}

TEST(Lamb, UpdatesWhereTheParametersLie) {
  EXPECT_EQ(BuiltinOps().Find("tenon", "Lamb").value()->updates_first_input(), 2);
  const Attributes one{{"count", std::int64_t{1}}};
  CheckCase({.op = "Lamb",
             .inputs = {F32({}, {0.5}), I64({}, {1}), F32({0}, {}), F32({0}, {}), F32({0}, {}), F32({0}, {})},
             .expect = {F32({0}, {}), F32({0}, {}), F32({0}, {})},
             .attrs = one,
             .domain = "tenon",
             .gradient = {-1}});
  // A first step goes by lr |w| along the sign of the gradient, over the root of the count.
  CheckCase({.op = "Lamb",
             .inputs = {F32({}, {0.5}), I64({}, {1}), F32({2}, {3, 4}), F32({2}, {0, 0}), F32({2}, {0, 0}),
                        F32({2}, {2, -7})},
             .expect = {F32({2}, {1.232233, 5.767767}), F32({2}, {0.2, -0.7}), F32({2}, {0.004, 0.049})},
             .attrs = one,
             .domain = "tenon",
             .gradient = {-1}});
}

TEST(Lamb, NamesWhatIsWrong) {
  const Tensor w = Ramp({2});
  CheckFails({.op = "Lamb",
              .inputs = {F32({}, {0.1}), I64({}, {0}), w, w, w, w},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}},
              .domain = "tenon"},
             "The step of an optimiser counts from 1; it is 0.");
  CheckFails({.op = "Lamb",
              .inputs = {F32({}, {0.1}), I64({}, {1}), w, w, w, Ramp({3})},
              .expect = {},
              .attrs = {{"count", std::int64_t{1}}},
              .domain = "tenon"},
             "Parameter 0 is float32[2], but its gradient is float32[3].");
}

}  // namespace
}  // namespace tenon::testing
