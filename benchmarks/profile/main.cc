// What the profiler of a device costs: LeNet-5 steps of batch 32 on device_cpu without tenon.profiler, with it unasked,
// and with a profile, in short turns, so that a busy machine slows all three.
//   profile [graph|pynative] [ROUNDS]
// Prints the medians of all steps, and the medians over the rounds of what a turn takes longer: unasked than without the
// interface, and with a profile than unasked.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/config/load.h"
#include "core/exec/runtime.h"
#include "core/profile/session.h"
#include "core/train/step_runner.h"

namespace tenon {
namespace {

constexpr int kStepsInTurn = 40;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Batch RandomBatch() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Batch batch;
  batch.samples = Tensor(DType::kF32, Shape{32, 1, 28, 28});
  batch.labels = Tensor(DType::kI64, Shape{32});
  for (float& value : batch.samples.values<float>()) value = normal(random);
  for (std::int64_t& label : batch.labels.values<std::int64_t>()) label = static_cast<std::int64_t>(random() % 10);
  batch.count = 32;
  return batch;
}

struct Turn {
  double median = 0;
  std::vector<double> steps;  // seconds
};

// What the trainer does around a step is in both turns, so that the records of steps count too.
Result<Turn> TakeTurn(StepRunner& runner, exec::Runtime& runtime, const Batch& batch, std::int64_t& step,
                      bool profiled) {
  std::optional<profile::Session> session;
  if (profiled) session.emplace(runtime, std::int64_t{64} << 20);
  Turn turn;
  for (int i = 0; i < kStepsInTurn; ++i, ++step) {
    const double begin = Now();
    if (session) {
      session->Calibrate();
      session->log().set_step(step + 1);
    }
    {
      const ActivityScope scope(session ? &session->log() : nullptr, ActivityKind::kStep);
      TENON_TRY(runner.Train(batch, 0.01, step).status());
    }
    turn.steps.push_back(Now() - begin);
  }
  turn.median = Median(turn.steps);
  return turn;
}

// A network on an opened device.
struct Bench {
  std::unique_ptr<exec::Runtime> runtime;
  std::unique_ptr<StepRunner> runner;
  std::int64_t step = 0;
};

Status Open(const exec::RuntimeOptions& plugins, const RunConfig& config, const Network& network, Bench* bench) {
  TENON_ASSIGN(bench->runtime, exec::Runtime::Open(plugins));
  StepRunnerOptions options;
  options.config = &config;
  options.layout.shape = Shape{1, 28, 28};
  bench->runner = MakeStepRunner(*bench->runtime, network, options);
  return {};
}

Status Run(const std::string& mode, int rounds) {
  TENON_ASSIGN(
      const ConfigNode tree,
      LoadConfigText("name: bench\ndata: {type: synthetic, samples: 64, classes: 10, image: {shape: [1, 28, 28]}}\n"
                     "network: {zoo: lenet5}\noptimizer: {type: sgd, momentum: 0.9}\nmode: " +
                         mode + "\n",
                     "profile", "."));
  TENON_ASSIGN(const RunConfig config, ReadRunConfig(tree));
  TENON_ASSIGN(const Network network, Network::Make(config.network));
  exec::RuntimeOptions unprofiled;
  PluginLoadEntry& entry = unprofiled.plugins.load.emplace_back();
  entry.path = TENON_UNPROFILED_PLUGIN;
  entry.required = true;
  unprofiled.plugins.pin["org.tenon.device_cpu"] = TENON_UNPROFILED_PLUGIN;
  Bench without, with;
  TENON_TRY(Open(unprofiled, config, network, &without));
  TENON_TRY(Open({}, config, network, &with));

  const Batch batch = RandomBatch();
  struct Kind {
    Bench* bench;
    bool profiled;
    std::vector<double> steps, turns;
  };
  Kind kinds[] = {{&without, false, {}, {}}, {&with, false, {}, {}}, {&with, true, {}, {}}};
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    for (int i = 0; i < 3; ++i) {
      Kind& kind = kinds[(round + 2 + i) % 3];  // each goes first in turn
      Bench& bench = *kind.bench;
      TENON_ASSIGN(const Turn turn, TakeTurn(*bench.runner, *bench.runtime, batch, bench.step, kind.profiled));
      if (round < 0) continue;
      kind.steps.insert(kind.steps.end(), turn.steps.begin(), turn.steps.end());
      kind.turns.push_back(turn.median);
    }
  }
  const auto longer = [&](const Kind& kind, const Kind& than) {
    std::vector<double> parts;
    for (std::size_t i = 0; i < kind.turns.size(); ++i) parts.push_back(kind.turns[i] / than.turns[i] - 1);
    return Median(parts);
  };
  std::printf(
      "{\"mode\": \"%s\", \"without_ms\": %.5f, \"off_ms\": %.5f, \"on_ms\": %.5f, \"off_longer\": %.4f, "
      "\"on_longer\": %.4f, \"rounds\": %d, \"version\": \"%s\"}\n",
      mode.c_str(), Median(kinds[0].steps) * 1e3, Median(kinds[1].steps) * 1e3, Median(kinds[2].steps) * 1e3,
      longer(kinds[1], kinds[0]), longer(kinds[2], kinds[1]), rounds, TENON_VERSION_STRING);
  return {};
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "graph";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  if (argc > 3 || (mode != "graph" && mode != "pynative") || rounds < 1) {
    std::fprintf(stderr, "usage: profile [graph|pynative] [ROUNDS]\n");
    return 2;
  }
  const tenon::Status status = tenon::Run(mode, rounds);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
