// What a profile costs: LeNet-5 steps of batch 32 with and without one, in short turns, so that a busy machine slows both.
//   profile [graph|pynative] [ROUNDS]
// Prints the medians of all steps, and the median over the rounds of what a step with a profile takes longer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

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

Status Run(const std::string& mode, int rounds) {
  TENON_ASSIGN(
      const ConfigNode tree,
      LoadConfigText("name: bench\ndata: {type: synthetic, samples: 64, classes: 10, image: {shape: [1, 28, 28]}}\n"
                     "network: {zoo: lenet5}\noptimizer: {type: sgd, momentum: 0.9}\nmode: " +
                         mode + "\n",
                     "profile", "."));
  TENON_ASSIGN(const RunConfig config, ReadRunConfig(tree));
  TENON_ASSIGN(const auto runtime, exec::Runtime::Open({}));
  TENON_ASSIGN(const Network network, Network::Make(config.network));
  StepRunnerOptions options;
  options.config = &config;
  options.layout.shape = Shape{1, 28, 28};
  TENON_ASSIGN(const auto runner, config.mode == RunMode::kGraph ? MakeGraphRunner(*runtime, network, options)
                                                                 : MakeEagerRunner(*runtime, network, options));
  const Batch batch = RandomBatch();
  std::int64_t step = 0;
  std::vector<double> off, on, longer;
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    TENON_ASSIGN(const Turn without, TakeTurn(*runner, *runtime, batch, step, false));
    TENON_ASSIGN(const Turn with, TakeTurn(*runner, *runtime, batch, step, true));
    if (round < 0) continue;
    off.insert(off.end(), without.steps.begin(), without.steps.end());
    on.insert(on.end(), with.steps.begin(), with.steps.end());
    longer.push_back(with.median / without.median - 1);
  }
  std::printf(
      "{\"mode\": \"%s\", \"off_ms\": %.5f, \"on_ms\": %.5f, \"longer\": %.4f, \"rounds\": %d, \"version\": \"%s\"}\n",
      mode.c_str(), Median(off) * 1e3, Median(on) * 1e3, Median(longer), rounds, TENON_VERSION_STRING);
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
