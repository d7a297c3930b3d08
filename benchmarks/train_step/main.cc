// Times training steps of one network: median milliseconds, memory idle after load and at the peak, as one JSON line.
//   train_step CASE BATCH THREADS SECONDS [fp32|bf16|high]
// high: fp32 with `math: high`.
// CASE: lenet5, resnet18_cifar or mobilenet_v2 (SGD momentum), mlp (Adam), encoder or gpt (AdamW); random samples and labels.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "core/config/load.h"
#include "core/exec/runtime.h"
#include "core/train/step_runner.h"

namespace tenon {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double RssMb(const char* key) {  // "VmRSS:" or "VmHWM:"
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != key) continue;
    double kb = 0;
    status >> kb;
    return kb / 1024;
  }
  return 0;
}

struct Case {
  const char* network;
  double learning_rate;
  SampleLayout layout;
  std::int64_t tokens = 0;    // samples are numbers below it; 0: floats
  std::int64_t classes = 10;  // labels are below it
};

SampleLayout Floats(const Shape& shape) {
  SampleLayout layout;
  layout.shape = shape;
  return layout;
}

SampleLayout Tokens(std::int64_t length, bool label_each) {
  SampleLayout layout;
  layout.shape = Shape{length};
  layout.dtype = DType::kI64;
  if (label_each) layout.label_shape = layout.shape;
  return layout;
}

Case FindCase(const std::string& name) {
  if (name == "lenet5")
    return {"network: {zoo: lenet5}\noptimizer: {type: sgd, momentum: 0.9}\n", 0.01, Floats(Shape{1, 28, 28})};
  if (name == "mlp") return {"network: {zoo: mlp}\noptimizer: adam\n", 0.001, Floats(Shape{784})};
  if (name == "resnet18_cifar")
    return {"network: {zoo: resnet18, args: {num_classes: 10, stem: cifar}}\noptimizer: {type: sgd, momentum: 0.9}\n",
            0.01, Floats(Shape{3, 32, 32})};
  if (name == "mobilenet_v2")
    return {"network: {zoo: mobilenet_v2, args: {num_classes: 10}}\noptimizer: {type: sgd, momentum: 0.9}\n", 0.01,
            Floats(Shape{3, 64, 64})};
  if (name == "encoder")
    return {"network: {zoo: transformer_encoder, args: {vocab: 1000}}\noptimizer: adamw\n", 0.001, Tokens(128, false),
            1000};
  if (name == "gpt")
    return {"network: {zoo: gpt, args: {vocab: 96}}\noptimizer: adamw\n", 0.001, Tokens(128, true), 96, 96};
  std::fprintf(stderr, "There is no case '%s'; cases are lenet5, resnet18_cifar, mobilenet_v2, mlp, encoder and gpt.\n",
               name.c_str());
  std::exit(2);
}

Batch RandomBatch(const Case& chosen, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto with_batch = [&](const Shape& one) {
    Shape shape{count};
    for (const std::int64_t dim : one.dims()) shape.push_back(dim);
    return shape;
  };
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; };
  Batch batch;
  batch.samples = Tensor(chosen.layout.dtype, with_batch(chosen.layout.shape));
  batch.labels = Tensor(DType::kI64, with_batch(chosen.layout.label_shape));
  if (chosen.tokens > 0) {
    for (std::int64_t& token : batch.samples.values<std::int64_t>()) token = below(chosen.tokens);
  } else {
    for (float& value : batch.samples.values<float>()) value = normal(random);
  }
  for (std::int64_t& label : batch.labels.values<std::int64_t>()) label = below(chosen.classes);
  batch.count = count;
  return batch;
}

Status Run(const std::string& name, std::int64_t batch_size, int threads, double seconds, const std::string& dtype) {
  const Case chosen = FindCase(name);
  TENON_ASSIGN(
      const ConfigNode tree,
      LoadConfigText("name: bench\ndata: {type: synthetic, samples: 64, classes: 10, image: {shape: [1, 28, 28]}}\n" +
                         std::string(chosen.network) +
                         (dtype == "bf16"   ? "amp: bf16\n"
                          : dtype == "high" ? "math: high\n"
                                            : ""),
                     "train_step", "."));
  TENON_ASSIGN(const RunConfig config, ReadRunConfig(tree));
  exec::RuntimeOptions options;
  options.threads = threads;
  options.math_high = config.math == MathMode::kHigh;
  TENON_ASSIGN(const auto runtime, exec::Runtime::Open(options));
  const double idle = RssMb("VmRSS:");
  TENON_ASSIGN(const Network network, Network::Make(config.network));
  StepRunnerOptions runner_options;
  runner_options.config = &config;
  runner_options.layout = chosen.layout;
  const auto runner = MakeStepRunner(*runtime, network, runner_options);
  const Batch batch = RandomBatch(chosen, batch_size, 1);
  std::int64_t step = 0;
  double loss = 0;
  for (const double end = Now() + seconds; step < 3 || (step < 20 && Now() < end); ++step) {
    TENON_ASSIGN(loss, runner->Train(batch, chosen.learning_rate, step));
  }
  std::vector<double> times;
  for (const double end = Now() + seconds; Now() < end; ++step) {
    const double begin = Now();
    TENON_ASSIGN(loss, runner->Train(batch, chosen.learning_rate, step));
    times.push_back(Now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"step_ms\": %.5f, \"best_ms\": %.5f, \"idle_mb\": %.2f, \"peak_mb\": %.2f, \"steps\": %zu, \"loss\": %.4f, "
      "\"version\": "
      "\"%s\"}\n",
      times[times.size() / 2] * 1e3, times[0] * 1e3, idle, RssMb("VmHWM:"), times.size(), loss, TENON_VERSION_STRING);
  return {};
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const std::string dtype = argc == 6 ? argv[5] : "fp32";
  if ((argc != 5 && argc != 6) || (dtype != "fp32" && dtype != "bf16" && dtype != "high")) {
    std::fprintf(stderr, "usage: train_step CASE BATCH THREADS SECONDS [fp32|bf16|high]\n");
    return 2;
  }
  const tenon::Status status = tenon::Run(argv[1], std::atoll(argv[2]), std::atoi(argv[3]), std::atof(argv[4]), dtype);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
