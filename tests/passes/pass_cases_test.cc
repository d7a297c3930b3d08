// Runs tests/passes/<pass>.cases: graph before, `--- pass`, graph after, in the text form of graphs. Lines before a case:
//   # name: what it shows      # loss: value      # trained: a, b      # update: SGD momentum=0.9
//   # precision: O2            # keep: layer, Type          # gradients: a, b   # buckets: bytes of the first, of the others
// A second run of the pass must change nothing (passes that append or insert by design are exempt). TENON_UPDATE_CASES=1 rewrites the
// expectations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/text.h"
#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

// A device with a second layout, "tiled" (id 1), that makes Conv cheap; Relu takes any layout; Conv + Relu can be fused.
class FakeTarget final : public graph::Target {
 public:
  FakeTarget() {
    graph::FusionRule rule;
    rule.name = "conv_relu";
    auto pattern =
        graph::ParsePattern("pattern(%x, %w, %b?) { %c = Conv(%x, %w, %b) {group=1} %r = Relu(%c) return %r }", "rule");
    EXPECT_TRUE(pattern.ok()) << pattern.status().ToString();
    rule.pattern = *pattern;
    rule.domain = "test";
    rule.type = "ConvRelu";
    rule.saved = {{DType::kU8, "r", {}}};
    rule.has_gradient = true;
    rule.node.gradient_type = "ConvReluGrad";
    using Kind = graph::FusedOp::Source::Kind;
    rule.node.gradient_inputs = {{Kind::kInput, 0}, {Kind::kInput, 1}, {Kind::kOutput, 1}, {Kind::kOutputGrad, 0}};
    rule.node.gradient_outputs = {0, 1, 2};
    rule.accept = [](const graph::Graph&, const graph::PatternMatch&, const Attributes& attrs, bool, std::string* why) {
      *why = "the kernel is 7 wide";
      return attrs.Ints("c.kernel_shape", {})[0] != 7;
    };
    fusions_.push_back(rule);
  }

  Result<graph::LayoutOffer> Offer(const graph::KernelQuery& query) override {
    graph::LayoutOffer offer;
    std::vector<LayoutId> in(query.inputs.size(), 0), out(query.outputs.size(), 0);
    if (query.type == "Relu" || query.type == "SGD") {
      offer.layout_blind = true;
      offer.signatures.push_back({in, out, 0});
      return offer;
    }
    offer.signatures.push_back({in, out, query.type == "Conv" ? 1e6 : 0});
    if (query.type == "Conv") {
      in[0] = 1;
      out[0] = 1;
      offer.signatures.push_back({in, out, 1e3});
    }
    return offer;
  }
  Result<std::unique_ptr<graph::PlannedKernel>> Plan(const graph::KernelQuery&, std::span<const LayoutId>,
                                                     std::span<const LayoutId>) override {
    return InvalidArgument("The test device plans nothing.");
  }
  Result<std::int64_t> BytesOf(const ValueType& type, LayoutId) override {
    return type.shape.Concrete().elements() * SizeOf(type.dtype);
  }
  double ReorderCost(const ValueType&, LayoutId, LayoutId) override { return 100; }
  std::string LayoutName(LayoutId layout) const override { return layout == 0 ? "strided" : "tiled"; }
  const std::vector<graph::FusionRule>& Fusions() const override { return fusions_; }

 private:
  std::vector<graph::FusionRule> fusions_;
};

struct Case {
  std::string name, before, pass, after;
  std::map<std::string, std::string> settings;
};

std::vector<Case> ReadCases(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<Case> cases;
  std::string line;
  bool after = false;
  while (std::getline(in, line)) {
    if (line.rfind("# ", 0) == 0 && line.find(": ") != std::string::npos) {
      const std::string key = line.substr(2, line.find(": ") - 2);
      if (key == "name") {
        cases.emplace_back();
        after = false;
        cases.back().name = line.substr(line.find(": ") + 2);
      } else {
        cases.back().settings[key] = line.substr(line.find(": ") + 2);
      }
    } else if (line.rfind("--- ", 0) == 0) {
      cases.back().pass = line.substr(4);
      after = true;
    } else if (!cases.empty() && !line.empty()) {
      (after ? cases.back().after : cases.back().before) += line + "\n";
    }
  }
  return cases;
}

Pass FindPass(const std::string& name) {
  for (const Pass& pass : Pipeline()) {
    if (pass.name == name) return pass;
  }
  ADD_FAILURE() << "There is no pass '" << name << "'.";
  return {};
}

void Configure(Compilation& state, const std::map<std::string, std::string>& settings) {
  const auto loss = settings.find("loss");
  if (loss != settings.end()) state.loss = state.graph.FindValue(loss->second);
  const auto recompute = settings.find("recompute");
  if (recompute != settings.end()) state.recompute = Split(recompute->second, ',');
  const auto trained = settings.find("trained");
  if (trained != settings.end()) {
    for (const std::string& name : Split(trained->second, ','))
      state.trained.push_back(state.graph.FindValue(Trim(name)));
  }
  const auto gradients = settings.find("gradients");
  if (gradients != settings.end()) {
    for (const std::string& name : Split(gradients->second, ','))
      state.gradients.push_back(Trim(name).empty() ? kNone : state.graph.FindValue(Trim(name)));
  }
  const auto buckets = settings.find("buckets");
  if (buckets != settings.end()) {
    const auto sizes = Split(buckets->second, ',');
    state.buckets = BucketRule{std::stoll(std::string(sizes[0])), std::stoll(std::string(sizes[1]))};
  }
  const auto precision = settings.find("precision");
  if (precision != settings.end()) {
    using Level = Precision::Level;
    const std::map<std::string, Level> levels = {
        {"O1", Level::kO1}, {"O2", Level::kO2}, {"O3", Level::kO3}, {"auto", Level::kAuto}};
    state.precision.level = levels.at(precision->second);
  }
  const auto keep = settings.find("keep");
  if (keep != settings.end()) {
    for (const std::string& name : Split(keep->second, ',')) state.precision.keep.emplace_back(Trim(name));
  }
}

std::string RunCase(const Case& test) {
  auto parsed = graph::Parse(test.before, test.name);
  if (!parsed.ok()) return parsed.status().ToString();
  FakeTarget target;
  Compilation state;
  state.graph = std::move(parsed).value();
  state.target = &target;
  Configure(state, test.settings);
  const Pass pass = FindPass(test.pass);
  auto changed = pass.run(state);
  if (!changed.ok()) return changed.status().ToString() + "\n";
  const Status verified = graph::Verify(state.graph);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  const std::string text = graph::Print(state.graph);
  const bool runs_once = test.pass == "autodiff" || test.pass == "append_update" || test.pass == "choose_layouts" ||
                         test.pass == "bucket_gradients";
  if (!runs_once) {
    auto again = pass.run(state);
    EXPECT_TRUE(again.ok() && !*again) << test.name << ": a second run of " << test.pass << " still changes the graph";
  }
  auto round = graph::Parse(text, "printed");
  EXPECT_TRUE(round.ok()) << round.status().ToString() << "\n" << text;
  if (round.ok()) {
    EXPECT_EQ(graph::Print(*round), text) << "the text form does not round-trip";
  }
  return text;
}

void Rewrite(const std::filesystem::path& file, const std::vector<Case>& cases,
             const std::vector<std::string>& results) {
  std::ofstream out(file);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    out << (i > 0 ? "\n" : "") << "# name: " << cases[i].name << "\n";
    for (const auto& setting : cases[i].settings) out << "# " << setting.first << ": " << setting.second << "\n";
    out << cases[i].before << "--- " << cases[i].pass << "\n" << results[i];
  }
}

class PassCases : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PassCases, GiveTheExpectedGraph) {
  const std::vector<Case> cases = ReadCases(GetParam());
  ASSERT_FALSE(cases.empty());
  std::vector<std::string> results;
  for (const Case& test : cases) results.push_back(RunCase(test));
  if (std::getenv("TENON_UPDATE_CASES") != nullptr) return Rewrite(GetParam(), cases, results);
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(results[i], cases[i].after) << cases[i].name;
}

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TENON_SOURCE_DIR) / "tests/passes")) {
    if (entry.path().extension() == ".cases") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, PassCases, testing::ValuesIn(CaseFiles()),
                         [](const auto& param) { return param.param.stem().string(); });

}  // namespace
}  // namespace tenon::passes
