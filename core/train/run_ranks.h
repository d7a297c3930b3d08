#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/comm/rendezvous.h"
#include "core/data/open_data.h"
#include "core/exec/gradient_exchange.h"
#include "core/exec/power_sgd.h"
#include "core/exec/runtime.h"
#include "core/exec/variables.h"
#include "core/train/run_config.h"

namespace tenon {

// How the ranks of a run meet: JoinRun, or what a test puts in its place.
using JoinFn = std::function<Result<std::unique_ptr<Rendezvous>>(const Rank&, const Handshake&)>;

// The processes of a run, as one of them sees them: made only where there are several. When one fails, all learn the first
// cause and end: pending operations at once, the rest with their next one. Must not outlive the runtime. One thread.
class RunRanks {
 public:
  // Meets the others, compares configuration, data and plugins with them, and connects the collectives.
  static Result<std::unique_ptr<RunRanks>> Join(const Rank& rank, const RunConfig& config, const DataSource& data,
                                                exec::Runtime& runtime, const JoinFn& join);
  ~RunRanks();
  RunRanks(const RunRanks&) = delete;
  RunRanks& operator=(const RunRanks&) = delete;

  const Rank& rank() const { return rank_; }
  std::uint32_t size() const { return rank_.size; }
  bool first() const { return rank_.rank == 0; }
  // Collectives on host memory, for everything that is not a gradient.
  Communicator& host() { return *host_; }
  // On the device's memory; the same where the host can reach that.
  Communicator& device() { return device_ ? *device_ : *host_; }
  exec::GradientExchange& gradients() { return *gradients_; }
  // The hook of `parallel.hook`, or null.
  exec::PowerSgd* power_sgd() { return power_sgd_; }

  // The sum of a number over the ranks, or of each of several.
  Result<double> Sum(double value);
  Status Sum(std::span<double> values) { return host_->AllReduceNow<double>(values); }
  // The variables of rank 0 on all ranks.
  Status ShareVariables(exec::Variables& variables);
  // The mean over the ranks of those of these names: running statistics, which each rank has of its own batches.
  Status AverageVariables(exec::Variables& variables, const std::vector<std::string>& names);

  // What ended the run, as far as this rank knows: the first cause of any rank, which may be `status`. Tells the others.
  Status Fail(const Status& status);
  // Orderly end, with all ranks there.
  Status Leave();

 private:
  explicit RunRanks(const Rank& rank) : rank_(rank) {}
  Status Connect(const RunConfig& config, exec::Runtime& runtime, const CollectivePlugin& plugin);
  void AbortAll(const Status& cause);

  const Rank rank_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<Communicator> host_, device_;
  std::unique_ptr<Communicator> statistics_;  // of batch norms over all ranks
  std::unique_ptr<exec::GradientExchange> gradients_;
  exec::PowerSgd* power_sgd_ = nullptr;  // of gradients_
  std::mutex mutex_;                     // guards the communicators against an abort while they come and go
};

// What all ranks must have alike of a configuration, a line "path: value" for each key: everything but where results go and
// what is told.
std::string KeysOfResult(const RunConfig& config);

}  // namespace tenon
