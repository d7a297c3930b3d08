#include "core/train/run_report.h"

#include <algorithm>

#include "core/platform/process.h"
#include "core/train/checkpoint.h"

namespace tenon {
namespace {

double Mb(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

void AddConfig(RunSummary* summary, const RunConfig& config) {
  summary->seed = config.seed;
  summary->device = config.device;
  summary->mode = config.mode == RunMode::kGraph ? "graph" : "pynative";
  summary->math = config.math == MathMode::kExact ? "exact" : "high";
  summary->threads = config.threads;
  summary->schedule = KindOf(config.schedule);
  summary->accumulate = config.train.accumulate;
  summary->ema = config.train.ema;
  if (config.train.clip_norm || config.train.clip_value) {
    summary->clipping = RunSummary::Clipping{config.train.clip_norm, config.train.clip_value, 0};
  }
}

void AddPlan(RunSummary* summary, const ParameterPlan& plan) {
  for (const ParameterPlan::Group& group : plan.groups)
    summary->parameter_groups.push_back(
        {group.match, group.lr_scale, group.weight_decay, static_cast<std::int64_t>(group.parameters.size())});
  summary->frozen_parameters = static_cast<std::int64_t>(plan.frozen.size());
}

void AddRuntime(RunSummary* summary, const RunConfig& config, exec::Runtime& runtime) {
  summary->threads = runtime.threads();
  summary->peak_rss_mb = Mb(PeakResidentMemory());
  summary->device_peak_mb = Mb(runtime.device().peak_bytes());
  const CopyCounts& copies = runtime.device().copies();
  if (copies.to_device > 0)
    summary->copies.push_back({"host", config.device, copies.to_device, Mb(copies.to_device_bytes)});
  if (copies.to_host > 0) summary->copies.push_back({config.device, "host", copies.to_host, Mb(copies.to_host_bytes)});
  for (const Plugin* plugin : runtime.registry().plugins())
    summary->plugins.push_back({plugin->id(), plugin->version(), plugin->library().path()});
  for (const std::string& warning : runtime.registry().warnings()) summary->warnings.push_back(warning);
}

void AddRunner(RunSummary* summary, StepRunner& runner) {
  runner.AddTo(*summary);
  std::vector<NamedTensor> parameters;
  for (const std::string& name : runner.ParameterNames()) {
    if (auto value = runner.variables().Get(name); value.ok()) parameters.push_back({name, std::move(value).value()});
  }
  summary->weights_sha256 = WeightsSha256(parameters);
}

namespace {

std::string Percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

// One line a layer: what it computes and what it holds.
void DescribeLayers(const exec::StepPlan& plan, std::vector<std::string>& lines) {
  std::size_t width = 5, op_width = 8;
  for (const auto& layer : plan.layers) {
    width = std::max(width, layer.name.size());
    op_width = std::max(op_width, layer.op.size());
  }
  lines.push_back(fmt::format("{:<{}}  {:<{}} {:>9} {:>7} {:>9} {:>11} {:>9} {:>9} {:>9}", "layer", width, "operator",
                              op_width, "MFLOP", "share", "weights", "activations", "gradients", "optimizer",
                              "workspace"));
  for (const auto& layer : plan.layers) {
    lines.push_back(fmt::format("{:<{}}  {:<{}} {:>9.2f} {:>7} {:>9.3f} {:>11.3f} {:>9.3f} {:>9.3f} {:>9.3f}",
                                layer.name, width, layer.op, op_width, static_cast<double>(layer.flops) * 1e-6,
                                Percent(layer.flops, plan.flops), Mb(layer.weights), Mb(layer.activations),
                                Mb(layer.gradients), Mb(layer.optimizer), Mb(layer.workspace)));
  }
  lines.push_back("Sizes in MB. Activations, gradients and workspaces use the same memory at different times.");
}

// How much of the network math: high changes.
std::string DescribeMathHigh(const RunSummary& summary) {
  std::int64_t high = 0;
  for (const auto& kernel : summary.kernels) high += kernel.second.high;
  return fmt::format("  math: high: {} nodes compute float32 with a relative error of up to 1e-5", high);
}

// One line a node, and why candidates before its kernel were refused.
void DescribeKernels(const exec::StepPlan& plan, std::vector<std::string>& lines) {
  for (const auto& node : plan.nodes) {
    lines.push_back(fmt::format("{} ({}): {}", node.name, node.op, node.kernel));
    for (const std::string& reason : node.refused) lines.push_back("    " + reason);
  }
}

}  // namespace

std::vector<std::string> DescribePlan(const RunConfig& config, const RunSummary& summary, exec::Runtime& runtime,
                                      StepRunner& runner, std::int64_t steps_per_epoch, std::int64_t total_steps) {
  std::vector<std::string> lines;
  std::int64_t parameters = 0;
  for (const std::string& name : runner.ParameterNames()) parameters += runner.variables().Find(name)->shape.elements();
  const std::string memory =
      summary.plan_mb ? fmt::format("plan {:.2f} MB", *summary.plan_mb) : "no plan of memory in mode pynative";
  lines.push_back(fmt::format(
      "{} parameters, {} steps an epoch, {} steps in all; device {} ({}); {}, variables {:.2f} MB", parameters,
      steps_per_epoch, total_steps, config.device, runtime.device().name(), memory, Mb(runner.variables().bytes())));
  for (const RunSummary::ParameterGroup& group : summary.parameter_groups)
    lines.push_back(fmt::format("  group '{}': {} parameters, rate x {}, weight decay {}", group.match,
                                group.parameters, group.lr_scale, group.weight_decay));
  if (config.math == MathMode::kHigh) lines.push_back(DescribeMathHigh(summary));
  if (summary.frozen_parameters > 0) lines.push_back(fmt::format("  frozen: {} parameters", summary.frozen_parameters));
  if (const std::optional<exec::StepPlan> plan = runner.Plan()) {
    lines.push_back(fmt::format(
        "one step: {:.3f} GFLOP; device memory {:.2f} MB = parameters, states and optimizer {:.2f} + arena {:.2f} + "
        "constants {:.2f}",
        static_cast<double>(plan->flops) * 1e-9, Mb(plan->device_bytes()), Mb(plan->variable_bytes),
        Mb(plan->arena_bytes), Mb(plan->constant_bytes)));
    DescribeLayers(*plan, lines);
    DescribeKernels(*plan, lines);
  } else {
    for (const auto& kernel : summary.kernels)
      lines.push_back(
          fmt::format("  {}: {} fast, {} reference", kernel.first, kernel.second.fast, kernel.second.reference));
  }
  for (const auto& fusion : summary.fusions)
    lines.push_back(fmt::format("  fusion {}: {}", fusion.first, fusion.second));
  return lines;
}

}  // namespace tenon
