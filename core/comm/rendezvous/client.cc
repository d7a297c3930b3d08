#include "core/comm/rendezvous/client.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/comm/rendezvous/address.h"
#include "core/comm/rendezvous/connection.h"
#include "core/comm/rendezvous/server.h"
#include "core/platform/process.h"

namespace tenon::rendezvous {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
// Beyond a limit that the server keeps, for its answer to arrive.
constexpr std::uint64_t kSlackNs = 2 * kSecond;
constexpr std::uint64_t kConnectNs = 2 * kSecond;
constexpr std::uint64_t kSayWaitingNs = 10 * kSecond;

// A question that took longer than it may says nothing of the rendezvous: this process was stopped meanwhile.
bool StoodStill(std::int64_t began, std::uint64_t allowed_ns) {
  return static_cast<std::uint64_t>(MonotonicNs() - began) >
         std::min(allowed_ns, ~std::uint64_t{0} - kSecond) + kSecond / 10;
}

void SleepMs(std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string RandomJob() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

class Participant final : public Rendezvous, public KeyValueStore {
 public:
  Participant(Rank rank, JoinOptions options) : rank_(std::move(rank)), options_(std::move(options)) {}
  ~Participant() override {
    stop_ = true;
    for (Connection* connection : {connection_.get(), waits_.get()}) {
      if (connection != nullptr) connection->Close();
    }
    if (watcher_.joinable()) watcher_.join();
  }

  Status Join(const Handshake& handshake);

  Neighbours neighbours() const override { return neighbours_; }
  KeyValueStore& store() override { return *this; }
  Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) override {
    TENON_ASSIGN(Reply reply, Ask(&Meeting::Stub::Get, key, "", timeout_ns));
    return std::move(reply.value);
  }
  Status Put(std::string_view key, std::string_view value) override {
    return Ask(&Meeting::Stub::Put, key, value, 0).status();
  }
  Status Delete(std::string_view key) override { return Ask(&Meeting::Stub::Delete, key, "", 0).status(); }

  void Abort(const Status& cause) override;
  Status failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void OnFailure(std::function<void(const Status&)> call) override;
  Status Barrier(std::string_view name, std::uint64_t timeout_ns) override {
    return Ask(&Meeting::Stub::Barrier, name, "", timeout_ns).status();
  }
  Status Leave() override;

 private:
  using Method = grpc::Status (Meeting::Stub::*)(grpc::ClientContext*, const Request&, Answer*);

  std::string Place() const { return fmt::format("{}:{}", rank_.address, rank_.port); }
  Status ServeHere();
  Status Meet(const Handshake& handshake);
  Status Connect(const Handshake& handshake, Registration& registration);
  Result<Reply> Ask(Method method, std::string_view key, std::string_view value, std::uint64_t timeout_ns);
  Result<Reply> Tell(Method method, const Status& cause);
  void Watch();
  void SetFailure(const Status& failure);
  void SayWaiting(std::int64_t began, std::int64_t& next) const;
  void Log(LogLevel level, const std::string& text) const {
    if (options_.log) options_.log(level, text);
  }

  Rank rank_;
  JoinOptions options_;
  std::unique_ptr<Server> server_;  // of rank 0 where the launcher has none
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connection> waits_;  // for calls that a failure of the run ends
  std::uint64_t token_ = 0;
  Neighbours neighbours_;
  std::thread watcher_;
  std::atomic<bool> stop_{false}, left_{false};
  mutable std::mutex mutex_;
  Status failure_;
  std::function<void(const Status&)> on_failure_;
};

Status Participant::ServeHere() {
  ServeOptions serve;
  serve.address = rank_.address;
  serve.port = rank_.port;
  serve.size = rank_.size;
  serve.job = rank_.job.empty() ? RandomJob() : rank_.job;
  serve.generation = rank_.generation;
  serve.limits = options_.limits;
  serve.log = [log = options_.log](LogLevel level, const std::string& text) {
    // Rank 0 is not a scheduler with a log of its own: what goes well is not told.
    if (log) log(level == LogLevel::kWarning ? LogLevel::kInfo : level, text);
  };
  serve.waiting = [log = options_.log](const std::string& text) {
    if (log) log(LogLevel::kWarning, text);
  };
  TENON_ASSIGN(server_, Serve(serve));
  return Status();
}

void Participant::SayWaiting(std::int64_t began, std::int64_t& next) const {
  const std::int64_t now = MonotonicNs();
  if (now < next) return;
  next = now + static_cast<std::int64_t>(kSayWaitingNs);
  const std::uint64_t passed = static_cast<std::uint64_t>(now - began) / kSecond;
  const std::uint64_t limit = options_.limits.topology_ns / kSecond;
  Log(LogLevel::kWarning,
      fmt::format("Waiting for workers: rank {} has not met the others at {} for {} s. Topology build "
                  "timed out., retry({}/{}).",
                  rank_.rank, Place(), passed, passed / 10, limit / 10));
}

// One attempt: resolves the name, connects and registers. UNAVAILABLE is worth another attempt.
Status Participant::Connect(const Handshake& handshake, Registration& registration) {
  TENON_ASSIGN(const std::vector<NumericAddress> addresses, Resolve(rank_.address));
  const bool loopback = std::all_of(addresses.begin(), addresses.end(), [](const auto& a) { return a.loopback; });
  if (loopback && rank_.local_size < rank_.size && !options_.one_machine)
    return InvalidArgument(
        "The rendezvous '{}' is this machine's own address ({}), and the run has {} ranks on several nodes, of which "
        "only {} "
        "are here: the others would not reach it. Give the address of rank 0's node in its network; or set "
        "TENON_ONE_MACHINE=1 when all nodes are this machine.",
        rank_.address, addresses.front().text, rank_.size, rank_.local_size);
  TENON_TRY_WHILE(TryConnect(addresses, rank_.port, kConnectNs), "connecting to the rendezvous at {}", Place());
  const std::string target = ChannelTarget(addresses, rank_.port);
  connection_ = std::make_unique<Connection>(target, Place());
  waits_ = std::make_unique<Connection>(target, Place());
  registration.set_address(options_.own_address.empty() ? OwnAddressTowards(addresses.front(), rank_.port)
                                                        : options_.own_address);
  registration.set_config(handshake.config);
  registration.set_plugins(handshake.plugins);
  const std::uint64_t limit = options_.limits.topology_ns;
  // Whoever has joined has a watch in flight, by which its end is seen at once.
  const auto watch = [this](const Reply& reply) {
    token_ = reply.token;
    rank_.job = reply.value;
    neighbours_ = reply.neighbours;
    watcher_ = std::thread([this] { Watch(); });
  };
  TENON_ASSIGN(Reply reply,
               connection_->Register(registration, limit == 0 ? std::uint64_t{1} << 62 : limit + kSlackNs, watch));
  if (reply.retry) return Status(Code::kUnavailable, reply.status.message());
  return std::move(reply.status);
}

Status Participant::Meet(const Handshake& handshake) {
  Registration registration;
  registration.set_rank(rank_.rank);
  registration.set_size(rank_.size);
  registration.set_local_rank(rank_.local_rank);
  registration.set_node(rank_.node);
  registration.set_host(rank_.node_name);
  registration.set_process(static_cast<std::uint64_t>(getpid()));
  registration.set_job(rank_.job);
  registration.set_generation(rank_.generation);
  registration.set_version(TENON_VERSION_STRING);
  const std::int64_t began = MonotonicNs();
  std::int64_t say = began + static_cast<std::int64_t>(kSayWaitingNs);
  std::int64_t pause_ms = 5;
  for (;;) {
    const Status status = Connect(handshake, registration);
    if (status.ok() || status.code() != Code::kUnavailable) return status;
    const std::uint64_t limit = options_.limits.topology_ns;
    if (limit > 0 && MonotonicNs() - began > static_cast<std::int64_t>(limit))
      return Error(Code::kDeadlineExceeded, "Rank {} did not meet the others at {} within {:.4g} s. {}", rank_.rank,
                   Place(), static_cast<double>(limit) / 1e9, status.message());
    SayWaiting(began, say);
    SleepMs(pause_ms);
    pause_ms = std::min<std::int64_t>(pause_ms * 3 / 2 + 1, 250);
  }
}

Status Participant::Join(const Handshake& handshake) {
  if (rank_.rank == 0 && !rank_.has_scheduler) TENON_TRY(ServeHere());
  TENON_TRY(Meet(handshake));
  Log(LogLevel::kInfo,
      fmt::format("Cluster is successfully initialized. This node {} rank id: {}", rank_.rank, rank_.rank));
  return Status();
}

Result<Reply> Participant::Ask(Method method, std::string_view key, std::string_view value, std::uint64_t timeout_ns) {
  if (Status failed = failure(); !failed.ok()) return failed;
  Request request;
  request.set_token(token_);
  request.set_rank(rank_.rank);
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  request.set_timeout_ns(timeout_ns);
  const std::uint64_t limit = timeout_ns == 0 ? options_.limits.retry_ns : timeout_ns;
  const std::uint64_t allowed = std::min(limit, ~std::uint64_t{0} - kSlackNs) + kSlackNs;
  const bool repeatable = method == &Meeting::Stub::Put || method == &Meeting::Stub::Get;
  std::int64_t began = MonotonicNs();
  Result<Reply> reply = waits_->Ask(method, request, allowed);
  while (!reply.ok() && repeatable && StoodStill(began, allowed) && failure().ok()) {
    began = MonotonicNs();
    reply = waits_->Ask(method, request, allowed);
  }
  if (!reply.ok()) {
    if (Status failed = failure(); !failed.ok()) return failed;
    return reply;
  }
  if (!reply->status.ok()) return std::move(reply->status);
  return reply;
}

Result<Reply> Participant::Tell(Method method, const Status& cause) {
  Request request;
  request.set_token(token_);
  request.set_rank(rank_.rank);
  request.set_code(static_cast<std::int32_t>(cause.code()));
  const std::string& place = cause.location();
  request.set_key(place.empty() ? cause.message() : fmt::format("{}: {}", place, cause.message()));
  return connection_->Ask(method, request, kSlackNs);
}

void Participant::Abort(const Status& cause) {
  // When the rendezvous is gone, the others learn from their own calls.
  const Result<Reply> told = Tell(&Meeting::Stub::Abort, cause);
  if (!told.ok()) Log(LogLevel::kWarning, told.status().message());
}

void Participant::OnFailure(std::function<void(const Status&)> call) {
  Status failed;
  {
    const std::lock_guard lock(mutex_);
    failed = failure_;
    if (failed.ok()) on_failure_ = std::move(call);
  }
  if (!failed.ok() && call) call(failed);
}

void Participant::SetFailure(const Status& failure) {
  std::function<void(const Status&)> call;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = failure;
    call = std::move(on_failure_);
  }
  waits_->Close();
  if (call) call(failure);
}

// Asks for a failure of the run all the time; each question is a sign of life too.
void Participant::Watch() {
  const std::uint64_t beat = std::min(kSecond, options_.limits.node_ns / 5);
  std::int64_t last_answer = MonotonicNs();
  Request request;
  request.set_token(token_);
  request.set_rank(rank_.rank);
  request.set_timeout_ns(beat);
  while (!stop_) {
    const std::int64_t began = MonotonicNs();
    const Result<Reply> reply = connection_->Ask(&Meeting::Stub::Watch, request, beat + kSlackNs);
    if (stop_) return;
    if (StoodStill(began, beat + kSlackNs)) last_answer = MonotonicNs();
    if (reply.ok() && reply->status.ok()) {
      last_answer = MonotonicNs();
      continue;
    }
    // One that has left is not told of the others any more.
    if (left_) return;
    if (reply.ok()) return SetFailure(reply->status);
    if (MonotonicNs() - last_answer > static_cast<std::int64_t>(options_.limits.retry_ns))
      return SetFailure(
          Error(Code::kUnavailable,
                "{} For {:.4g} s nothing was heard of it. Failed to connect to the meta server. Maybe it has "
                "exited. Please check scheduler's log.",
                reply.status().message(), static_cast<double>(options_.limits.retry_ns) / 1e9));
    SleepMs(20);
  }
}

Status Participant::Leave() {
  if (left_.exchange(true)) return Status();
  const Result<Reply> told = Tell(&Meeting::Stub::Leave, Status());
  Status failed = failure();
  if (!failed.ok()) return failed;
  if (!told.ok()) return told.status();
  TENON_TRY(Status(told->status));
  while (server_ && !server_->WaitAllLeft(kSecond / 10)) TENON_TRY(server_->failure());
  return Status();
}

}  // namespace

Result<std::unique_ptr<Rendezvous>> Join(const Rank& rank, const Handshake& handshake, const JoinOptions& options) {
  auto participant = std::make_unique<Participant>(rank, options);
  TENON_TRY(participant->Join(handshake));
  return std::unique_ptr<Rendezvous>(std::move(participant));
}

Result<std::uint32_t> Allot(const Rank& node, std::uint32_t workers, const JoinOptions& options) {
  Allotment request;
  request.set_host(node.node_name);
  request.set_workers(workers);
  request.set_job(node.job);
  request.set_generation(node.generation);
  const std::string place = fmt::format("{}:{}", node.address, node.port);
  const auto ask = [&]() -> Result<Reply> {
    TENON_ASSIGN(const std::vector<NumericAddress> addresses, Resolve(node.address));
    TENON_TRY(TryConnect(addresses, node.port, kConnectNs));
    Connection connection(ChannelTarget(addresses, node.port), place);
    TENON_ASSIGN(Reply reply, connection.Ask(&Meeting::Stub::Allot, request, kConnectNs));
    if (reply.retry) return Status(Code::kUnavailable, reply.status.message());
    TENON_TRY(std::move(reply.status));
    return reply;
  };
  const std::int64_t began = MonotonicNs();
  for (;;) {
    const Result<Reply> reply = ask();
    if (reply.ok()) return static_cast<std::uint32_t>(std::stoul(reply->value));
    if (reply.status().code() != Code::kUnavailable) return reply.status();
    const std::uint64_t limit = options.limits.topology_ns;
    if (limit > 0 && MonotonicNs() - began > static_cast<std::int64_t>(limit))
      return Error(Code::kDeadlineExceeded, "No ranks were had from {} within {:.4g} s. {}", place,
                   static_cast<double>(limit) / 1e9, reply.status().message());
    SleepMs(50);
  }
}

Result<std::string> Probe(const std::string& address, std::uint16_t port, std::uint64_t timeout_ns) {
  TENON_ASSIGN(const std::vector<NumericAddress> addresses, Resolve(address));
  TENON_TRY(TryConnect(addresses, port, timeout_ns));
  Connection connection(ChannelTarget(addresses, port), fmt::format("{}:{}", address, port));
  TENON_ASSIGN(Reply reply, connection.Ask(&Meeting::Stub::Probe, Request(), timeout_ns));
  return std::move(reply.value);
}

}  // namespace tenon::rendezvous
