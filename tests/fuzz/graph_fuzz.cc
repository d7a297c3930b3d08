// The text form of graphs and patterns: whatever is read must verify or be refused with a place, and print again.
#include <cstdio>
#include <cstdlib>

#include "core/graph/graph.h"
#include "core/graph/pattern.h"
#include "tests/fuzz/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto graph = tenon::graph::Parse(text, "fuzz");
  if (graph.ok()) {
    const std::string printed = tenon::graph::Print(*graph);
    const auto again = tenon::graph::Parse(printed, "printed");
    if (!again.ok()) {
      std::fprintf(stderr, "%s\n%s\n", again.status().ToString().c_str(), printed.c_str());
      std::abort();
    }
  }
  static_cast<void>(tenon::graph::ParsePattern(text, "fuzz"));
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {
      "graph g { %x: f32[2,1,4,4] input %w: f32[2,1,3,3] parameter %y = Conv(%x, %w, _) {kernel_shape=[3,3]} name "
      "\"c\" at \"r.yaml:1:2\" "
      "%p, %i = MaxPool(%y) {kernel_shape=[2,2]} return %p }",
      "graph g { %k: i64[2] constant = tensor i64[2]{0,-1} %x: f16[N,3] input %y = Reshape(%x, %k) update %k = %y }",
      "pattern(%x, %b?) { %a = Relu|Tanh(%x) {alpha=$s} %s = tenon::Add(%a, _) return %s }"};
}
