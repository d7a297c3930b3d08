// Parameters and states by name, shared by the programs of a session.
#include "core/exec/variables.h"

#include <gtest/gtest.h>

#include "tests/unit/exec/open_runtime.h"

namespace tenon::exec {
namespace {

class VariablesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto runtime = testing_support::OpenCpuRuntime();
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    runtime_ = std::move(runtime).value();
    variables_ = std::make_unique<Variables>(runtime_->device());
  }
  static ValueType Type(DType dtype, const Shape& shape) { return {dtype, SymShape(shape)}; }

  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Variables> variables_;
};

TEST_F(VariablesTest, StartAsZeroOrAsGiven) {
  variables_->SetInitial("b", Tensor::Of<float>(Shape{2}, {3, 4}));
  ASSERT_TRUE(variables_->Ensure("a", Type(DType::kF32, Shape{2, 2}), graph::kStrided, true).ok());
  ASSERT_TRUE(variables_->Ensure("b", Type(DType::kF32, Shape{2}), graph::kStrided, false).ok());
  EXPECT_EQ(variables_->Get("a")->data<float>()[3], 0);
  EXPECT_EQ(variables_->Get("b")->data<float>()[1], 4);
  EXPECT_EQ(variables_->Names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(variables_->Find("a")->trained);
  EXPECT_FALSE(variables_->Find("b")->trained);
}

TEST_F(VariablesTest, ASecondProgramGetsTheSameMemory) {
  const auto first = variables_->Ensure("a", Type(DType::kF32, Shape{3}), graph::kStrided, true);
  ASSERT_TRUE(variables_->Set("a", Tensor::Of<float>(Shape{3}, {1, 2, 3})).ok());
  variables_->SetInitial("a", Tensor::Of<float>(Shape{3}, {9, 9, 9}));  // too late to count
  const auto second = variables_->Ensure("a", Type(DType::kF32, Shape{3}), graph::kStrided, true);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->buffer.address(), (*second)->buffer.address());
  EXPECT_EQ(variables_->Get("a")->data<float>()[2], 3);
}

TEST_F(VariablesTest, AnotherShapeOrDtypeIsRefused) {
  ASSERT_TRUE(variables_->Ensure("a", Type(DType::kF32, Shape{3, 4}), graph::kStrided, true).ok());
  EXPECT_FALSE(variables_->Ensure("a", Type(DType::kF32, Shape{4, 3}), graph::kStrided, true).ok());
  EXPECT_FALSE(variables_->Ensure("a", Type(DType::kI64, Shape{3, 4}), graph::kStrided, true).ok());
  const Status shape = variables_->Set("a", Tensor(DType::kF32, Shape{4, 3}));
  EXPECT_EQ(shape.code(), Code::kInvalidArgument);
  EXPECT_NE(shape.message().find("[3,4]"), std::string::npos) << shape.message();
  EXPECT_NE(shape.message().find("[4,3]"), std::string::npos) << shape.message();
}

TEST_F(VariablesTest, AbsentNames) {
  EXPECT_FALSE(variables_->Has("a"));
  EXPECT_EQ(variables_->Find("a"), nullptr);
  EXPECT_EQ(variables_->Get("a").status().code(), Code::kNotFound);
  EXPECT_EQ(variables_->Set("a", Tensor(DType::kF32, Shape{})).code(), Code::kNotFound);
  EXPECT_FALSE(variables_->LayoutOf("a").has_value());
}

TEST_F(VariablesTest, NothingToHold) {
  ASSERT_TRUE(variables_->Ensure("empty", Type(DType::kF32, Shape{0, 4}), graph::kStrided, true).ok());
  EXPECT_EQ(variables_->Get("empty")->shape(), (Shape{0, 4}));
}

}  // namespace
}  // namespace tenon::exec
