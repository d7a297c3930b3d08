#include "core/train/run_ranks.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "core/config/key_lines.h"
#include "core/platform/process.h"
#include "core/train/gradient_hook.h"

namespace tenon {
namespace {

// A rank whose partner is gone learns it from the operation that fails; why the partner went comes a little later.
constexpr std::int64_t kCauseNs = 500'000'000;

// A rank that is gone makes a failed run; "unavailable" is said of plugins and devices.
Status AsFailedRun(Status cause) {
  if (cause.code() != Code::kUnavailable) return cause;
  Status failed(Code::kAborted, cause.message());
  failed = std::move(failed).At(cause.location());
  for (const std::string& doing : cause.context()) failed = std::move(failed).While(doing);
  return failed;
}

// Hosts may have different files under one path.
Result<std::string> KeysOfData(const DataSource& data) {
  const SampleLayout layout = data.layout();
  TENON_ASSIGN(const std::uint64_t checksum, data.Checksum());
  std::string text;
  const auto add = [&text](const char* what, const auto& value) {
    text += fmt::format("{} of data: {}\n", what, value);
  };
  add("training samples", data.train_size());
  add("validation samples", data.validation_size());
  add("test samples", data.test_size());
  add("classes", data.classes());
  add("sample shape", fmt::format("{}{}", NameOf(layout.dtype), layout.shape));
  add("checksum", fmt::format("{:016x}", checksum));
  return text;
}

}  // namespace

std::string KeysOfResult(const RunConfig& config) {
  RunConfig same = config;
  same.name = "run";
  same.output = {};
  same.plugins = {};
  same.log = {};
  same.profile = {};
  same.save_graphs = 0;
  return KeyLines(RunConfigTree(same));
}

Result<std::unique_ptr<RunRanks>> RunRanks::Join(const Rank& rank, const RunConfig& config, const DataSource& data,
                                                 exec::Runtime& runtime, const JoinFn& join) {
  std::unique_ptr<RunRanks> ranks(new RunRanks(rank));
  auto plugin = FindCollective(runtime.registry(), config.parallel.comm);
  if (!plugin.ok()) return std::move(plugin).status().At(PlaceOf(config.source, "parallel.comm").ToString());
  Handshake handshake;
  TENON_ASSIGN(const std::string of_data, KeysOfData(data));
  handshake.config = KeysOfResult(config) + of_data;
  handshake.plugins = fmt::format("{} {} (ABI {})", plugin->id, plugin->version, plugin->abi);
  TENON_ASSIGN_WHILE(ranks->rendezvous_, join(rank, handshake), "joining the {} processes of the run as rank {}",
                     rank.size, rank.rank);
  Status connected = ranks->Connect(config, runtime, *plugin);
  if (!connected.ok()) return ranks->Fail(connected);
  return ranks;
}

Status RunRanks::Connect(const RunConfig& config, exec::Runtime& runtime, const CollectivePlugin& plugin) {
  CommunicatorOptions options = OptionsIn(*rendezvous_, rank_);
  options.timeout_ns = static_cast<std::uint64_t>(config.parallel.timeout_s * 1e9);
  Device& device = runtime.device();
  TENON_ASSIGN(auto host, Communicator::Make(plugin, options));
  std::unique_ptr<Communicator> on_device;
  std::unique_ptr<Communicator> statistics;
  if (config.parallel.sync_batch_norm) {
    options.name = "statistics";
    TENON_ASSIGN(statistics, Communicator::Make(plugin, options));
  }
  if (!device.host_accessible()) {
    options.name = "device";
    options.device = &device;
    TENON_ASSIGN(on_device, Communicator::Make(plugin, options));
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    host_ = std::move(host);
    device_ = std::move(on_device);
    statistics_ = std::move(statistics);
  }
  rendezvous_->OnFailure([this](const Status& cause) { AbortAll(cause); });
  gradients_ = std::make_unique<exec::GradientExchange>(this->device(), *host_, device);
  gradients_->SetStatistics(statistics_.get());
  if (auto hook = MakeGradientHook(config, *host_, device)) {
    power_sgd_ = dynamic_cast<exec::PowerSgd*>(hook.get());
    gradients_->SetHook(std::move(hook));
  }
  TENON_LOG(kInfo, "train", "collectives: {}", this->device().Describe());
  return {};
}

void RunRanks::AbortAll(const Status& cause) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (host_) host_->Abort(cause);
  if (device_) device_->Abort(cause);
  if (statistics_) statistics_->Abort(cause);
}

RunRanks::~RunRanks() {
  if (rendezvous_) rendezvous_->OnFailure([](const Status&) {});
  gradients_.reset();
  std::unique_ptr<Communicator> host, device, statistics;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    host.swap(host_);
    device.swap(device_);
    statistics.swap(statistics_);
  }
}

Result<double> RunRanks::Sum(double value) {
  TENON_TRY(Sum({&value, 1}));
  return value;
}

Status RunRanks::ShareVariables(exec::Variables& variables) {
  for (const std::string& name : variables.Names()) {
    TENON_ASSIGN(Tensor value, variables.Get(name));
    TENON_ASSIGN(const Communicator::Ticket ticket,
                 host_->Broadcast(Communicator::AddressOf(value.raw()), value.bytes(), 0));
    TENON_TRY_WHILE(host_->Wait(ticket), "sending the first values of '{}' to all ranks", name);
    if (!first()) TENON_TRY(variables.Set(name, value));
  }
  return {};
}

Status RunRanks::AverageVariables(exec::Variables& variables, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    TENON_ASSIGN(Tensor value, variables.Get(name));
    const std::uint64_t at = Communicator::AddressOf(value.raw());
    const bool counts = !IsFloating(value.dtype());  // of batches: equal on all ranks
    if (counts) continue;
    TENON_ASSIGN(const Communicator::Ticket ticket,
                 host_->AllReduce(at, at, value.elements(), value.dtype(), Reduction::kSum, 1.0 / size()));
    TENON_TRY_WHILE(host_->Wait(ticket), "averaging '{}' over the ranks", name);
    TENON_TRY(variables.Set(name, value));
  }
  return {};
}

Status RunRanks::Fail(const Status& status) {
  const bool heard =
      (host_ && host_->broken()) || (device_ && device_->broken()) || (statistics_ && statistics_->broken());
  const std::int64_t until = MonotonicNs() + (heard ? kCauseNs : 0);
  Status cause = rendezvous_->failure();
  while (cause.ok() && MonotonicNs() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cause = rendezvous_->failure();
  }
  if (cause.ok()) {
    rendezvous_->Abort(status);
    cause = status;
  }
  AbortAll(cause);
  return AsFailedRun(std::move(cause));
}

Status RunRanks::Leave() {
  TENON_TRY_WHILE(host_->Barrier(), "ending the run with all ranks");
  return rendezvous_->Leave();
}

}  // namespace tenon
