#include <gtest/gtest.h>

#include "core/graph/pattern.h"

namespace tenon::graph {
namespace {

Pattern MustParse(const std::string& text) {
  auto pattern = ParsePattern(text, "pattern");
  EXPECT_TRUE(pattern.ok()) << pattern.status().ToString();
  return pattern.ok() ? *pattern : Pattern{};
}

Graph MustGraph(const std::string& text) {
  auto graph = Parse(text, "graph");
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? std::move(*graph) : Graph{};
}

int CountMatches(const Graph& graph, const Pattern& pattern) {
  int matches = 0;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) matches += MatchAt(graph, pattern, id).has_value() ? 1 : 0;
  return matches;
}

TEST(Pattern, OptionalInputMayBeAbsent) {
  const Pattern pattern = MustParse("pattern(%x, %w, %b?) { %c = Gemm(%x, %w, %b) %r = Relu(%c) return %r }");
  const Graph with = MustGraph(
      "graph g { %x: f32[2,3] input %w: f32[3,4] parameter %b: f32[4] parameter %c = Gemm(%x, %w, %b) %r = Relu(%c) "
      "return %r }");
  const Graph without =
      MustGraph("graph g { %x: f32[2,3] input %w: f32[3,4] parameter %c = Gemm(%x, %w) %r = Relu(%c) return %r }");
  EXPECT_EQ(CountMatches(with, pattern), 1);
  const auto match = MatchAt(without, pattern, 1);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->inputs[2], kNone);
}

TEST(Pattern, AlternativesWildcardsAndFreeOrder) {
  const Pattern pattern = MustParse("pattern(%x) { %a = Relu|Tanh(%x) %s = Add(%a, _) return %s }");
  const Graph graph =
      MustGraph("graph g { %x: f32[2] input %y: f32[2] input %t = Tanh(%x) %s = Add(%y, %t) return %s }");
  const auto match = MatchAt(graph, pattern, 1);
  ASSERT_TRUE(match.has_value());
  ASSERT_EQ(match->inputs.size(), 2u);
  EXPECT_EQ(graph.value(match->inputs[1]).name, "y");
  EXPECT_EQ(CollectAttributes(graph, pattern, *match).Text("a.op_type"), "Tanh");
}

TEST(Pattern, AttributeConstraintsAndBindings) {
  const Pattern literal = MustParse("pattern(%x) { %a = LeakyRelu(%x) {alpha=0.5} return %a }");
  const Pattern bound =
      MustParse("pattern(%x) { %a = LeakyRelu(%x) {alpha=$s} %b = LeakyRelu(%a) {alpha=$s} return %b }");
  const Graph same =
      MustGraph("graph g { %x: f32[2] input %a = LeakyRelu(%x) {alpha=0.5} %b = LeakyRelu(%a) {alpha=0.5} return %b }");
  const Graph differ = MustGraph(
      "graph g { %x: f32[2] input %a = LeakyRelu(%x) {alpha=0.5} %b = LeakyRelu(%a) {alpha=0.25} return %b }");
  EXPECT_EQ(CountMatches(same, bound), 1);
  EXPECT_EQ(CountMatches(differ, bound), 0);
  EXPECT_EQ(CountMatches(differ, literal), 1);
}

TEST(Pattern, InnerValuesMustBePrivate) {
  const Pattern pattern = MustParse("pattern(%x) { %a = Neg(%x) %b = Neg(%a) return %b }");
  EXPECT_EQ(CountMatches(MustGraph("graph g { %x: f32[2] input %a = Neg(%x) %b = Neg(%a) return %b }"), pattern), 1);
  EXPECT_EQ(CountMatches(MustGraph("graph g { %x: f32[2] input %a = Neg(%x) %b = Neg(%a) return %b, %a }"), pattern),
            0);
}

TEST(Pattern, BadTextSaysWhere) {
  const auto error = [](const char* text) { return ParsePattern(text, "p").status().ToString(); };
  EXPECT_EQ(error("pattern(%x) { %a = Relu(%z) return %a }"), "p:1:25: error: Value %z is not defined above.");
  EXPECT_EQ(error("pattern(%x) { return %x }"),
            "p:1:26: error: Expected at least one operator; found the end of the text.");
  EXPECT_EQ(error("pattern(%x { }"), "p:1:12: error: Expected ','; found '{'.");
}

}  // namespace
}  // namespace tenon::graph
