// The eager engine: operators one by one, the plan cache, memory, the tape.
#include "core/exec/eager.h"

#include <gtest/gtest.h>

#include "tests/unit/exec/open_runtime.h"

namespace tenon::exec {
namespace {

class EagerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = testing_support::OpenCpuRuntime();
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    runtime_ = std::move(opened).value();
    engine_ = std::make_unique<EagerEngine>(runtime_->target(), EagerOptions());
  }

  EagerTensor Make(const Shape& shape, std::initializer_list<float> values, bool trained = false) {
    auto made = engine_->FromHost(Tensor::Of<float>(shape, values));
    EXPECT_TRUE(made.ok());
    return trained ? engine_->Leaf(*made, true) : *made;
  }
  EagerTensor Ints(std::initializer_list<std::int64_t> values) {
    return *engine_->FromHost(Tensor::Of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
  }
  std::vector<float> Values(const EagerTensor& tensor) {
    if (!tensor) return {};
    const auto host = engine_->ToHost(tensor);
    EXPECT_TRUE(host.ok());
    return {host->values<float>().begin(), host->values<float>().end()};
  }
  EagerTensor Apply(std::string_view type, std::initializer_list<EagerTensor> inputs, const Attributes& attrs = {}) {
    auto result = engine_->Apply(type, inputs, attrs);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? *result : EagerTensor();
  }

  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<EagerEngine> engine_;
};

using Floats = std::vector<float>;

TEST_F(EagerTest, AddsAndBroadcasts) {
  const EagerTensor a = Make({2, 2}, {1, 2, 3, 4}), b = Make({2}, {10, 20});
  EXPECT_EQ(Values(Apply("Add", {a, b})), (Floats{11, 22, 13, 24}));
  EXPECT_EQ(Values(a), (Floats{1, 2, 3, 4})) << "operators write no operand";
}

TEST_F(EagerTest, PlansOnceForEachTypes) {
  const EagerTensor a = Make({2}, {1, 2}), b = Make({3}, {1, 2, 3});
  for (int i = 0; i < 3; ++i) {
    Apply("Neg", {a});
    Apply("Neg", {b});
  }
  EXPECT_EQ(engine_->plan_counts().misses, 2);
  EXPECT_EQ(engine_->plan_counts().hits, 4);
}

TEST_F(EagerTest, DropsThePlanUsedLeastRecently) {
  EagerOptions options;
  options.most_plans = 2;
  engine_ = std::make_unique<EagerEngine>(runtime_->target(), options);
  const EagerTensor one = Make({1}, {1}), two = Make({2}, {1, 2}), three = Make({3}, {1, 2, 3});
  Apply("Neg", {one});
  Apply("Neg", {two});
  Apply("Neg", {one});
  Apply("Neg", {three});  // drops the plan for `two`
  Apply("Neg", {one});
  EXPECT_EQ(engine_->plan_counts().misses, 3);
  EXPECT_EQ(engine_->plan_counts().evictions, 1);
  Apply("Neg", {two});
  EXPECT_EQ(engine_->plan_counts().misses, 4);
}

TEST_F(EagerTest, ShapesThatDependOnValuesArePlannedByValue) {
  const EagerTensor x = Make({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Apply("Reshape", {x, Ints({2, 3})}).shape(), (Shape{2, 3}));
  EXPECT_EQ(Apply("Reshape", {x, Ints({3, 2})}).shape(), (Shape{3, 2}));
  const EagerTensor back = Apply("Reshape", {x, Ints({2, 3})});
  EXPECT_EQ(back.shape(), (Shape{2, 3}));
  EXPECT_EQ(back.address(), x.address()) << "a view is no copy";
  EXPECT_EQ(engine_->plan_counts().misses, 2);
}

TEST_F(EagerTest, MemoryIsHandedOutAgain) {
  const EagerTensor x = Make({4}, {1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) Apply("Neg", {x});
  const std::int64_t before = engine_->pool().allocations();
  for (int i = 0; i < 100; ++i) Apply("Neg", {Apply("Neg", {x})});
  EXPECT_LE(engine_->pool().allocations(), before + 1);
}

TEST_F(EagerTest, ViewsKeepTheMemoryAlive) {
  EagerTensor x = Make({4}, {1, 2, 3, 4});
  const EagerTensor view = Apply("Reshape", {x, Ints({2, 2})});
  x.reset();
  Make({4}, {9, 9, 9, 9});
  EXPECT_EQ(Values(view), (Floats{1, 2, 3, 4}));
}

TEST_F(EagerTest, GradientOfAProduct) {
  const EagerTensor a = Make({2}, {2, 3}, true), b = Make({2}, {5, 7}, true), c = Make({2}, {1, 1}, true);
  const EagerTensor loss = Apply("ReduceSum", {Apply("Mul", {a, b})}, {{"keepdims", std::int64_t{0}}});
  const EagerTensor targets[] = {a, b, c};
  const auto gradients = engine_->Gradients(loss, targets);
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_EQ(Values((*gradients)[0]), (Floats{5, 7}));
  EXPECT_EQ(Values((*gradients)[1]), (Floats{2, 3}));
  EXPECT_FALSE((*gradients)[2]) << "nothing flows into what was not used";
}

TEST_F(EagerTest, GradientsOfSeveralUsesAreSummed) {
  const EagerTensor x = Make({1}, {3}, true);
  const EagerTensor square = Apply("Mul", {x, x});
  const EagerTensor loss = Apply("Add", {Apply("Mul", {square, x}), x});  // x^3 + x
  const auto gradients = engine_->Gradients(loss, std::span<const EagerTensor>(&x, 1));
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_EQ(Values((*gradients)[0]), (Floats{28}));
}

TEST_F(EagerTest, GradientsAreReportedOnceTheyAreWhole) {
  const EagerTensor a = Make({1}, {2}, true), b = Make({1}, {3}, true), c = Make({1}, {5}, true),
                    unused = Make({1}, {1}, true);
  const EagerTensor early = Apply("Mul", {a, b});
  const EagerTensor late = Apply("Mul", {early, c});
  const EagerTensor loss = Apply("Mul", {late, b});  // a b^2 c
  const EagerTensor targets[] = {a, b, c, unused};
  std::vector<std::pair<std::size_t, float>> reported;
  GradientOptions options;
  options.on_ready = [&](std::size_t target, const EagerTensor& gradient) -> Status {
    reported.emplace_back(target, Values(gradient)[0]);
    return {};
  };
  const auto gradients = engine_->Gradients(loss, targets, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  // c is read last; the first operator reads a and b, whose other part is there long before.
  ASSERT_EQ(reported.size(), 3U);
  EXPECT_EQ(reported[0], (std::pair<std::size_t, float>{2, 18}));
  EXPECT_EQ(reported[1], (std::pair<std::size_t, float>{0, 45}));
  EXPECT_EQ(reported[2], (std::pair<std::size_t, float>{1, 60}));
  for (const auto& [target, value] : reported) EXPECT_EQ(Values((*gradients)[target]), (Floats{value}));
  EXPECT_FALSE((*gradients)[3]);
}

TEST_F(EagerTest, AnErrorOfTheReportEndsTheGradients) {
  const EagerTensor a = Make({1}, {2}, true), b = Make({1}, {3}, true);
  const EagerTensor loss = Apply("Mul", {Apply("Mul", {a, a}), b});
  const EagerTensor targets[] = {a, b};
  int reports = 0;
  GradientOptions options;
  options.on_ready = [&](std::size_t, const EagerTensor&) {
    ++reports;
    return Error(Code::kUnavailable, "A rank is gone.");
  };
  const auto gradients = engine_->Gradients(loss, targets, options);
  ASSERT_FALSE(gradients.ok());
  EXPECT_NE(gradients.status().ToString().find("A rank is gone."), std::string::npos);
  EXPECT_EQ(reports, 1);
}

TEST_F(EagerTest, BroadcastOperandsGetGradientsOfTheirShape) {
  const EagerTensor x = Make({2, 3}, {1, 2, 3, 4, 5, 6}), b = Make({3}, {1, 1, 1}, true);
  const EagerTensor loss = Apply("ReduceSum", {Apply("Add", {x, b})}, {{"keepdims", std::int64_t{0}}});
  const auto gradients = engine_->Gradients(loss, std::span<const EagerTensor>(&b, 1));
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_EQ(Values((*gradients)[0]), (Floats{2, 2, 2}));
}

TEST_F(EagerTest, ATapeIsUsedOnceUnlessRetained) {
  const EagerTensor x = Make({1}, {3}, true);
  const EagerTensor loss = Apply("Mul", {x, x});
  const std::span<const EagerTensor> targets(&x, 1);
  GradientOptions retain;
  retain.retain = true;
  EXPECT_EQ(Values((*engine_->Gradients(loss, targets, retain))[0]), (Floats{6}));
  EXPECT_EQ(Values((*engine_->Gradients(loss, targets))[0]), (Floats{6}));
  const auto third = engine_->Gradients(loss, targets);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().ToString(),
            "error: The recorded operators of 'Mul' (Mul) were used by an earlier Gradients call and let go. Ask that "
            "call to "
            "retain them.\n - While computing gradients");
}

TEST_F(EagerTest, GradientsCanBeDifferentiated) {
  const EagerTensor x = Make({1}, {3}, true);
  const EagerTensor cube = Apply("Mul", {Apply("Mul", {x, x}), x});
  const std::span<const EagerTensor> targets(&x, 1);
  GradientOptions record;
  record.record = true;
  const auto first = engine_->Gradients(cube, targets, record);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Values((*first)[0]), (Floats{27}));
  const auto second = engine_->Gradients((*first)[0], targets);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(Values((*second)[0]), (Floats{18}));
}

TEST_F(EagerTest, NothingIsRecordedWithoutNeed) {
  const EagerTensor a = Make({1}, {3}), x = Make({1}, {3}, true);
  EXPECT_TRUE(Apply("Mul", {a, a}).is_leaf());
  engine_->set_recording(false);
  EXPECT_TRUE(Apply("Mul", {x, x}).is_leaf());
}

TEST_F(EagerTest, OutputsForTheGradientAreMadeWhenRecording) {
  const EagerTensor x = Make({1, 1, 2, 2}, {1, 4, 3, 2}, true);
  const Attributes window = {{"kernel_shape", std::vector<std::int64_t>{2, 2}}};
  const EagerTensor pooled = Apply("MaxPool", {x}, window);
  EXPECT_EQ(Values(pooled), (Floats{4}));
  const auto gradients = engine_->Gradients(pooled, std::span<const EagerTensor>(&x, 1));
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_EQ(Values((*gradients)[0]), (Floats{0, 1, 0, 0}));
}

TEST_F(EagerTest, AnUpdateWritesOnlyWhereAsked) {
  const EagerTensor w = Make({2}, {1, 2}), g = Make({2}, {1, 1}), rate = Make({}, {0.5f});
  EagerOp* sgd = *engine_->Op("tenon", "SGD", {{"count", std::int64_t{1}}});
  EagerTensor updated;
  const EagerTensor inputs[] = {rate, w, g};
  ASSERT_TRUE(engine_->Run(*sgd, inputs, std::span<EagerTensor>(&updated, 1)).ok());
  EXPECT_EQ(Values(updated), (Floats{0.5f, 1.5f}));
  EXPECT_EQ(Values(w), (Floats{1, 2}));
  EagerCall call;
  call.update_in_place = true;
  ASSERT_TRUE(engine_->Run(*sgd, inputs, std::span<EagerTensor>(&updated, 1), call).ok());
  EXPECT_EQ(Values(w), (Floats{0.5f, 1.5f}));
}

TEST_F(EagerTest, AVeryLongTapeEndsWell) {
  EagerTensor y = Make({1}, {0}, true);
  const EagerTensor x = y, one = Make({1}, {1});
  for (int i = 0; i < 100000; ++i) y = Apply("Add", {y, one});
  const auto gradients = engine_->Gradients(y, std::span<const EagerTensor>(&x, 1));
  ASSERT_TRUE(gradients.ok());
  EXPECT_EQ(Values((*gradients)[0]), (Floats{1}));
  y.reset();
  EXPECT_LT(engine_->live_blocks(), 10);
}

TEST_F(EagerTest, ATapeThatNobodyUsesGoesWithItsResults) {
  const EagerTensor x = Make({1}, {1}, true);
  const std::int64_t before = engine_->live_blocks();
  for (int i = 0; i < 10; ++i) Apply("Mul", {Apply("Mul", {x, x}), x});
  EXPECT_EQ(engine_->live_blocks(), before);
}

TEST_F(EagerTest, ErrorsNameOperatorAndTypes) {
  const EagerTensor a = Make({2}, {1, 2}), b = Make({3}, {1, 2, 3});
  const auto sum = engine_->Apply("Add", {a, b});
  ASSERT_FALSE(sum.ok());
  EXPECT_NE(sum.status().ToString().find("[2]"), std::string::npos) << sum.status().ToString();
  EXPECT_NE(sum.status().ToString().find("[3]"), std::string::npos);
  EXPECT_NE(sum.status().ToString().find("node 'Add' (Add)"), std::string::npos);
  const auto unknown = engine_->Apply("Addd", {a, b});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("Did you mean 'Add'?"), std::string::npos);
}

TEST(EagerPoolTest, ClassesHoldTheirBytes) {
  for (std::int64_t bytes = 0; bytes < 100000; bytes += 37) {
    const int size_class = EagerPool::ClassOf(bytes);
    EXPECT_GE(EagerPool::BytesOf(size_class), bytes);
    EXPECT_LE(EagerPool::BytesOf(size_class), std::max<std::int64_t>(64, bytes * 5 / 4 + 64));
    if (size_class > 0) {
      EXPECT_LT(EagerPool::BytesOf(size_class - 1), std::max<std::int64_t>(bytes, 1));
    }
  }
}

}  // namespace
}  // namespace tenon::exec
