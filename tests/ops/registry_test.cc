// What holds for the table of operators as a whole.
#include <gtest/gtest.h>

#include <set>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

TEST(Registry, HasTheOperatorsOfONNX) {
  for (const char* name : {"Conv",
                           "MaxPool",
                           "AveragePool",
                           "GlobalAveragePool",
                           "BatchNormalization",
                           "Gemm",
                           "MatMul",
                           "Relu",
                           "LeakyRelu",
                           "Sigmoid",
                           "Tanh",
                           "Softmax",
                           "LogSoftmax",
                           "SoftmaxCrossEntropyLoss",
                           "Add",
                           "Sub",
                           "Mul",
                           "Div",
                           "Sqrt",
                           "Exp",
                           "Log",
                           "Neg",
                           "Pow",
                           "ReduceSum",
                           "ReduceMean",
                           "ReduceMax",
                           "Sum",
                           "Mean",
                           "Max",
                           "Reshape",
                           "Transpose",
                           "Flatten",
                           "Concat",
                           "Slice",
                           "Gather",
                           "Cast",
                           "Pad",
                           "Resize",
                           "Dropout",
                           "Identity"}) {
    const auto def = BuiltinOps().Find("", name);
    ASSERT_TRUE(def.ok()) << def.status().ToString();
    EXPECT_TRUE((*def)->differentiable()) << name;
  }
  for (const char* name : {"SGD", "Adam", "AdamW"}) {
    const auto def = BuiltinOps().Find("tenon", name);
    ASSERT_TRUE(def.ok()) << def.status().ToString();
    EXPECT_TRUE((*def)->no_gradient()) << name;
  }
}

TEST(Registry, IsVerified) { EXPECT_TRUE(BuiltinOps().Verify().ok()); }

TEST(Registry, ChoosesByOpset) {
  EXPECT_EQ(BuiltinOps().Find("", "Softmax", 12).value()->since(), 1);
  EXPECT_EQ(BuiltinOps().Find("", "Softmax", 13).value()->since(), 13);
  EXPECT_EQ(BuiltinOps().Find("", "Softmax").value()->since(), 13);
  EXPECT_EQ(BuiltinOps().Find("", "ReduceMean", 17).value()->since(), 1);
  EXPECT_EQ(BuiltinOps().Find("", "ReduceMean", 18).value()->since(), 18);
  EXPECT_EQ(BuiltinOps().Find("", "Add", 6).status().message(),
            "Operator 'Add' exists since opset 7; the model states opset 6.");
  EXPECT_EQ(BuiltinOps().Find("", "Relu", kNewestOpset + 1).status().message(),
            "Operator 'Relu' of opset 25 is not known; the newest opset is 24.");
  EXPECT_EQ(BuiltinOps().Find("tenon", "SliceGrad", 2).status().message(),
            "Operator 'SliceGrad' of opset 2 is not known; the newest opset of domain 'tenon' is 1.");
  EXPECT_EQ(BuiltinOps().Find("", "Sotfmax").status().message(),
            "There is no operator 'Sotfmax'. Did you mean 'Softmax'?");
}

TEST(Registry, SaysWhichDomainHasTheOperator) {
  OpRegistry registry(&BuiltinOps());
  registry.Define("com.acme", "Snake");
  EXPECT_EQ(registry.Find("", "Snake").status().message(), "There is no operator 'Snake'. Domain 'com.acme' has one.");
  EXPECT_EQ(registry.Find("com.amce", "Snake").status().message(),
            "There is no operator 'Snake' in domain 'com.amce'. Domain 'com.acme' has one.");
  EXPECT_EQ(registry.Find("com.acme", "Relu").status().message(),
            "There is no operator 'Relu' in domain 'com.acme'. ONNX has one; its domain is ''.");
  EXPECT_EQ(registry.Find("com.acme", "Snaek").status().message(),
            "There is no operator 'Snaek' in domain 'com.acme'. Did you mean 'Snake'?");
  EXPECT_EQ(registry.Find("com.other", "Fold").status().message(),
            "There is no operator 'Fold' in domain 'com.other'. No plugin that is loaded has operators of this domain; "
            "plugins.load names more.");
}

// Names of arguments, groups and attributes are unique within an operator, and saved and in-place outputs exist.
TEST(Registry, DefinitionsAreConsistent) {
  for (const OpDef* def : BuiltinOps().All()) {
    std::set<std::string> names;
    for (const ArgDef& input : def->inputs())
      EXPECT_TRUE(names.insert(input.name).second) << def->FullName() << " " << input.name;
    std::set<std::string> attrs;
    for (const AttrDef& attr : def->attrs())
      EXPECT_TRUE(attrs.insert(attr.name).second) << def->FullName() << " " << attr.name;
    for (const int saved : def->saved_outputs()) {
      ASSERT_LT(static_cast<std::size_t>(saved), def->outputs().size()) << def->FullName();
      EXPECT_EQ(def->outputs()[static_cast<std::size_t>(saved)].arity, Arity::kOptional) << def->FullName();
    }
    for (const auto& pair : def->in_place()) {
      EXPECT_LT(static_cast<std::size_t>(pair.output), def->outputs().size()) << def->FullName();
      EXPECT_LT(static_cast<std::size_t>(pair.input), def->inputs().size()) << def->FullName();
    }
  }
}

}  // namespace
}  // namespace tenon
