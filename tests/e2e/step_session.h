#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/load.h"
#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/gradient_hook.h"
#include "core/train/loss.h"
#include "core/train/network.h"
#include "core/train/step_batches.h"
#include "core/train/step_groups.h"
#include "core/train/step_runner.h"

namespace tenon {

// The CPU plugin, a network and its data from configuration text, for steps from inside a test program. With a communicator it
// is one rank of several, on a thread of its own, and has this rank's share of the data.
class StepSession {
 public:
  explicit StepSession(const std::string& sections, Communicator* comm = nullptr) : comm_(comm) {
    auto tree = LoadConfigText("name: test\n" + sections, "test", ".");
    Check(tree.status());
    auto config = ReadRunConfig(*tree);
    Check(config.status());
    config_ = std::move(config).value();
    auto network = Network::Make(config_.network);
    Check(network.status());
    network_ = std::make_unique<Network>(std::move(network).value());
    network_->SetLongest(LongestOf(config_.data));
    OpenDataOptions options;
    options.seed = static_cast<std::uint64_t>(config_.seed);
    if (comm != nullptr) options.rank = comm->rank();
    if (comm != nullptr) options.ranks = comm->size();
    auto data = OpenData(config_.data, options);
    Check(data.status());
    data_ = std::make_unique<DataSource>(std::move(data).value());
    auto loader = data_->TrainLoader();
    Check(loader.status());
    loader_ = std::move(loader).value();
    groups_ = StepGroups(*loader_, config_.train.accumulate);
    exec::RuntimeOptions runtime_options;
    runtime_options.plugins = config_.plugins;
    runtime_options.math_high = config_.math == MathMode::kHigh;
    auto runtime = exec::Runtime::Open(runtime_options);
    Check(runtime.status());
    runtime_ = std::move(runtime).value();
    StepRunnerOptions runner_options;
    runner_options.config = &config_;
    runner_options.layout = data_->layout();
    if (comm != nullptr) runner_options.exchange = MakeExchange();
    runner_ = MakeStepRunner(*runtime_, *network_, runner_options);
  }
  ~StepSession() { runner_.reset(); }

  StepRunner& runner() { return *runner_; }
  Device& device() { return runtime_->device(); }

  // Makes the variables.
  void Prepare() {
    Check(loader_->Start(0));
    auto batch = loader_->Next();
    // What stands in for a missing batch counts something, as in the trainer.
    while (batch.ok() && *batch != nullptr && CountedWeight(config_.loss, (*batch)->labels) == 0)
      batch = loader_->Next();
    Check(batch.status());
    stand_in_ = **batch;
    stand_in_.samples = stand_in_.samples.Clone();
    stand_in_.labels = stand_in_.labels.Clone();
    Check(runner_->Prepare(stand_in_));
  }

  // Trains so many epochs with one learning rate; returns the losses of the steps.
  std::vector<double> TrainEpochs(std::int64_t epochs, double rate) {
    std::vector<double> losses;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      Check(loader_->Start(epoch));
      for (std::int64_t step = 0; step < groups_.steps_per_epoch(); ++step) losses.push_back(Step(step, rate));
    }
    return losses;
  }

  // All variables that a checkpoint would hold.
  std::map<std::string, std::vector<double>> Values() {
    std::map<std::string, std::vector<double>> values;
    for (const auto& names : {runner_->ParameterNames(), runner_->OptimizerStateNames()}) {
      for (const std::string& name : names) {
        auto tensor = runner_->variables().Get(name);
        Check(tensor.status());
        const auto floats = tensor->values<float>();
        values[name].assign(floats.begin(), floats.end());
      }
    }
    return values;
  }

  double EvaluateTestLoss() {
    auto loader = data_->TestLoader(data_->test_size());
    Check(loader.status());
    Check((*loader)->Start(0));
    const auto batch = (*loader)->Next();
    Check(batch.status());
    const auto result = runner_->Evaluate(**batch);
    Check(result.status());
    return result->loss;
  }

  RunSummary Summary() {
    RunSummary summary;
    runner_->AddTo(summary);
    return summary;
  }

 private:
  static void Check(const Status& status) {
    if (status.ok()) return;
    ADD_FAILURE() << status.ToString();
    std::exit(1);
  }

  exec::GradientExchange* MakeExchange() {
    exchange_ = std::make_unique<exec::GradientExchange>(*comm_, *comm_, runtime_->device());
    if (auto hook = MakeGradientHook(config_, *comm_, runtime_->device())) exchange_->SetHook(std::move(hook));
    if (config_.parallel.sync_batch_norm) {
      exchange_->SetStatistics(comm_);
      network_->SyncBatchNorm();
    }
    return exchange_.get();
  }

  double Step(std::int64_t step, double rate) {
    const bool all_samples = comm_ != nullptr && config_.parallel.sync_batch_norm;
    Check(batches_.Read(*loader_, groups_.batches_of(step), config_.loss, all_samples));
    double weight = batches_.weight();
    if (comm_ != nullptr) Check(comm_->AllReduceNow<double>({&weight, 1}));
    const std::int64_t number = steps_++;
    if (weight == 0) return 0.0;
    StepPart part;
    part.learning_rate = rate;
    part.step = number;
    part.counted = batches_.weight();
    double loss = 0;
    const std::vector<std::int64_t> indexes = BatchesToTrain();
    for (const std::int64_t index : indexes) {
      part.position = groups_.position(part.step, index);
      part.first = index == indexes.front();
      part.last = index == indexes.back();
      const StepBatches::Part* of_step = batches_.Find(index);
      if (of_step == nullptr) {
        TrainAbsent(part);
        continue;
      }
      part.weight = of_step->weight / weight;
      const auto of_batch = runner_->Train(of_step->batch, part);
      Check(of_batch.status());
      loss += *of_batch * part.weight;
    }
    if (comm_ == nullptr) return loss;
    if (indexes.empty()) Check(runner_->TrainWithout(part));
    return runner_->totals().loss;
  }

  // As the trainer does.
  std::vector<std::int64_t> BatchesToTrain() {
    if (comm_ == nullptr || !config_.parallel.sync_batch_norm) return batches_.Indexes();
    const auto indexes =
        batches_.IndexesOfAll([this](std::span<double> values) { return comm_->AllReduceNow<double>(values); });
    Check(indexes.status());
    return *indexes;
  }
  void TrainAbsent(StepPart part) {
    part.weight = 0;
    exchange_->SetAbsent(true);
    Check(runner_->Train(stand_in_, part).status());
    exchange_->SetAbsent(false);
  }

  Communicator* comm_;
  RunConfig config_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<Loader> loader_;
  StepGroups groups_;
  StepBatches batches_;
  Batch stand_in_;  // of a rank without samples
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<exec::GradientExchange> exchange_;
  std::unique_ptr<StepRunner> runner_;
  std::int64_t steps_ = 0;
};

}  // namespace tenon
