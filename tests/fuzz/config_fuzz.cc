// Run files: whatever the bytes, reading ends in a config or in an error with a place, and a config prints to a text that
// reads back as the same config.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/train/run_config.h"
#include "tests/fuzz/seeds.h"

namespace {

std::optional<std::string> Environment(const std::string& name) {
  if (name == "X") return "1e-3";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

void Fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto root = tenon::LoadConfigText(text, "fuzz.yaml", "/", Environment);
  if (!root.ok()) {
    if (root.status().location().empty()) Fail("an error without a place", root.status().ToString());
    return 0;
  }
  const auto config = tenon::ReadRunConfig(*root, tenon::RunConfigPart::kPluginsOnly);
  if (!config.ok()) {
    if (config.status().location().empty()) Fail("an error without a place", config.status().ToString());
    return 0;
  }
  const std::string printed = tenon::PrintRunConfig(*config);
  const auto root_again = tenon::LoadConfigText(printed, "printed.yaml", "/", Environment);
  if (!root_again.ok()) Fail(root_again.status().ToString().c_str(), printed);
  const auto again = tenon::ReadRunConfig(*root_again, tenon::RunConfigPart::kPluginsOnly);
  if (!again.ok()) Fail(again.status().ToString().c_str(), printed);
  if (tenon::PrintRunConfig(*again) != printed) Fail("prints that differ", printed + tenon::PrintRunConfig(*again));
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {
      "name: a\nseed: 7\ndata:\n  type: csv\n  path: a.csv\n  image: {shape: [1, 8, 8], scale: .5, resize: [28, 28]}\n"
      "  split: {test: every_5}\n  transforms: [one_hot, {normalize: {mean: [1], std: [2]}}]\nnetwork: {zoo: lenet5}\n",
      "x: &x {lr: \"${X}\", momentum: 1e-1}\noptimizer:\n  <<: *x\n  type: sgd\nloss: mse\n",
      "plugins:\n  load:\n    - a\n    - {path: ./b.so, required: true, options: {k: ['1', 2, null]}}\n  pin: {a.b: "
      "c}\n",
      "network:\n  layers:\n    - conv: {out: 6, kernel: [5, 5], name: 'c1'}\n    - relu\n    - linear:\n        out: "
      "1e1\n",
      "schedule: {type: step, every: 3, gamma: .1}\ntrain: {epochs: 2, steps: ~}\ncheckpoint: {every: {steps: 5}}\n"
      "eval: {metrics: []}\nname: >-\n  two\n  lines\noutput: \"a\\tb$${X}\"\n",
  };
}
