#include <gtest/gtest.h>

#include "core/graph/graph.h"

namespace tenon::graph {
namespace {

std::string ErrorOf(const std::string& text) {
  auto graph = Parse(text, "g.ir");
  return graph.ok() ? "OK" : graph.status().ToString();
}

TEST(GraphText, PrintsWhatItReads) {
  const std::string text = R"(graph g {
  %x: f32[2,1,4,4] input
  %w: f32[2,1,3,3] parameter
  %"odd name": f32[2] state
  %k: bf16[2] constant = tensor bf16[2]{1,-inf}
  %y = Conv(%x, %w) {auto_pad="NOTSET", group=1, kernel_shape=[3,3]} name "c1" at "run.yaml:14:5" : f32[2,2,2,2]
  %p, %i = MaxPool(%y) {auto_pad="NOTSET", ceil_mode=0, kernel_shape=[2,2], storage_order=0} name "p" : f32[2,2,1,1], i64[2,2,1,1]
  return %p
  update %"odd name" = %k2
}
)";
  // %k2 is not defined: the error has its place.
  EXPECT_EQ(ErrorOf(text), "g.ir:9:24: error: Value %k2 is not defined above.");
  std::string good = text;
  good.replace(good.find("  update"), std::string::npos, "}\n");
  auto graph = Parse(good, "g.ir");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Print(*graph), good);
  EXPECT_TRUE(Verify(*graph).ok());
}

TEST(GraphText, SymbolsInSources) {
  auto graph = Parse("graph g { %x: f32[N,3] input  %y = Relu(%x) name \"r\"  return %y }", "g.ir");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->value(graph->FindValue("y")).type.ToString(), "f32[N,3]");
}

TEST(GraphText, SaysWhereItIsWrong) {
  EXPECT_EQ(ErrorOf("graf g {}"), "g.ir:1:1: error: Expected 'graph'; found 'graf'.");
  EXPECT_EQ(ErrorOf("graph g {\n  %x: f33[2] input\n}"), "g.ir:2:10: error: 'f33' is not a dtype.");
  EXPECT_EQ(ErrorOf("graph g {\n  %x: f32[2] input\n  %x: f32[2] input\n}"),
            "g.ir:3:5: error: Value %x is defined twice.");
  EXPECT_EQ(ErrorOf("graph g { %x: f32[2] input %y = Rellu(%x) }"),
            "g.ir:1:31: error: There is no operator 'Rellu'. Did you mean 'Relu'?\n - While adding node 'Rellu'");
  EXPECT_EQ(ErrorOf("graph g { %x: f32[2] input %y = Relu(%x) : f32[3] }"),
            "g.ir:1:31: error: Value %y is stated as f32[3] but Relu gives f32[2].");
  EXPECT_EQ(
      ErrorOf("graph g { %x: f32[2] input %y = Relu(%x) {alpha=1.0} }"),
      "g.ir:1:31: error: Relu has no attribute 'alpha'. It has none.\n - While checking the attributes of node 'Relu'");
  EXPECT_EQ(ErrorOf("graph g { %x: f32[9223372036854775808] input }"),
            "g.ir:1:19: error: Expected a dimension; found '9223372036854775808'.");
}

TEST(GraphText, ShapeErrorNamesNodeAndBothShapes) {
  const std::string error =
      ErrorOf("graph g { %a: f32[2,3] input %b: f32[4,5] input %y = MatMul(%a, %b) name \"proj\" }");
  EXPECT_NE(error.find("While inferring the shape of node 'proj' (MatMul)"), std::string::npos) << error;
  EXPECT_NE(error.find("3"), std::string::npos) << error;
  EXPECT_NE(error.find("4"), std::string::npos) << error;
}

}  // namespace
}  // namespace tenon::graph
