// Counts follow from the definitions: two operations for a multiply-add.
#include "core/graph/flops.h"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

// Operations of the last node of a graph.
std::int64_t LastFlops(const std::string& lines) {
  auto graph = Parse("graph g {\n" + lines + "}\n", "test");
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? FlopsOf(*graph, graph->node(graph->num_nodes() - 1)) : -2;
}

TEST(Flops, Convolutions) {
  const std::string operands =
      "  %x: f32[2,8,10,10] input\n  %w: f32[16,8,3,3] parameter\n  %dy: f32[2,16,8,8] input\n";
  constexpr std::int64_t kOnce = 2 * (2 * 16 * 8 * 8) * (8 * 3 * 3);
  EXPECT_EQ(LastFlops(operands + "  %y = Conv(%x, %w)\n  return %y\n"), kOnce);
  EXPECT_EQ(LastFlops("  %x: f32[2,8,10,10] input\n  %w: f32[8,1,3,3] parameter\n"
                      "  %y = Conv(%x, %w) {group=8}\n  return %y\n"),
            2 * (2 * 8 * 8 * 8) * (1 * 3 * 3));
  EXPECT_EQ(LastFlops("  %x: f32[1,4,5,5] input\n  %w: f32[4,6,2,2] parameter\n"
                      "  %y = ConvTranspose(%x, %w)\n  return %y\n"),
            2 * (4 * 5 * 5) * (6 * 2 * 2));
}

TEST(Flops, Products) {
  EXPECT_EQ(LastFlops("  %a: f32[3,4,5] input\n  %b: f32[5,7] input\n  %y = MatMul(%a, %b)\n  return %y\n"),
            2 * 3 * 4 * 5 * 7);
  EXPECT_EQ(LastFlops("  %a: f32[5,4] input\n  %b: f32[5,7] input\n  %y = Gemm(%a, %b) {transA=1}\n  return %y\n"),
            2 * 4 * 5 * 7);
}

// Scores and values: two products; the gradient has five.
TEST(Flops, Attention) {
  constexpr std::int64_t kProduct = 2 * (2 * 3) * (5 * 5) * 4;
  EXPECT_EQ(LastFlops("  %q: f32[2,3,5,4] input\n  %k: f32[2,3,5,4] input\n  %v: f32[2,3,5,4] input\n"
                      "  %y = tenon.ScaledDotProductAttention(%q, %k, %v)\n  return %y\n"),
            2 * kProduct);
  EXPECT_EQ(LastFlops("  %q: f32[2,5,36] input\n"
                      "  %y = tenon.ScaledDotProductAttention(%q) {heads=3}\n  return %y\n"),
            2 * kProduct);
  EXPECT_EQ(
      LastFlops("  %dy: f32[2,5,12] input\n  %y: f32[2,5,12] input\n  %sums: f32[2,3,5] input\n"
                "  %random: i64[2] input\n  %q: f32[2,5,36] input\n"
                "  %dq = tenon.ScaledDotProductAttentionGrad(%dy, %y, %sums, %random, %q) {heads=3}\n  return %dq\n"),
      5 * kProduct);
}

TEST(Flops, TheRest) {
  EXPECT_EQ(LastFlops("  %a: f32[3,4] input\n  %b: f32[4] input\n  %y = Add(%a, %b)\n  return %y\n"), 12);
  EXPECT_EQ(LastFlops("  %a: f32[3,4] input\n  %y = ReduceSum(%a)\n  return %y\n"), 12);
  EXPECT_EQ(LastFlops("  %a: f32[3,4] input\n  %y = Flatten(%a)\n  return %y\n"), 0);
}

TEST(Flops, UnknownDims) {
  EXPECT_EQ(LastFlops("  %a: f32[n,4] input\n  %b: f32[4,5] input\n  %y = MatMul(%a, %b)\n  return %y\n"), -1);
}

}  // namespace
}  // namespace tenon::graph
