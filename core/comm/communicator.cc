#include "core/comm/communicator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/fnv.h"
#include "core/base/log.h"
#include "core/comm/rendezvous.h"
#include "core/device/device.h"
#include "core/platform/process.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon {

namespace {

constexpr std::int64_t kGraceNs = 5'000'000'000;  // beyond the time-out that the plugin itself enforces
constexpr std::chrono::milliseconds kWatchPeriod(100);

// Over the fields that all ranks must agree on; never 0, which would mean: do not compare.
std::uint64_t FingerprintOf(std::uint32_t kind, const tenon_collective_op& op, std::uint64_t tag) {
  std::uint64_t hash = kFnvStart;
  for (const std::uint64_t part : {std::uint64_t{kind}, op.count, std::uint64_t{op.dtype}, std::uint64_t{op.reduction},
                                   std::uint64_t{op.root}, tag}) {
    for (int byte = 0; byte < 8; ++byte) hash = FnvByte(hash, static_cast<unsigned char>(part >> (8 * byte)));
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace

CommunicatorOptions OptionsIn(Rendezvous& run, const Rank& rank) {
  CommunicatorOptions options;
  options.rank = rank;
  options.rank.local_rank = run.neighbours().index;
  options.rank.local_size = run.neighbours().count;
  options.store = &run.store();
  options.failure = [&run] { return run.failure(); };
  return options;
}

// --- life -----------------------------------------------------------------------------------------------------------

Communicator::Communicator(const CollectivePlugin& plugin, const CommunicatorOptions& options)
    : plugin_(plugin), options_(options), store_{options.store} {}

Result<std::unique_ptr<Communicator>> Communicator::Make(const CollectivePlugin& plugin,
                                                         const CommunicatorOptions& options) {
  std::unique_ptr<Communicator> made(new Communicator(plugin, options));
  TENON_TRY_WHILE(made->Join(), "joining communicator '{}' of plugin {} as rank {} of {}", options.name, plugin.id,
                  options.rank.rank, options.rank.size);
  return made;
}

// The device's memory where the plugin reaches it, else host memory, through which the device's is staged.
Status Communicator::ChooseMemory() {
  if (options_.device == nullptr || options_.device->host_accessible()) return {};
  const std::string_view wanted = options_.device->native_memory_kind();
  const tenon_str* kinds = nullptr;
  std::uint64_t count = 0;
  tenon_error error;
  TENON_TRY(ToStatus(CallAbi(kCollectiveInterface, "memory_kinds", plugin_.table->memory_kinds, plugin_.instance,
                             &kinds, &count, &error),
                     error, plugin_.id));
  staged_ = std::none_of(kinds, kinds + count, [&](const tenon_str& kind) { return View(kind) == wanted; });
  if (staged_) return {};
  auto stream = SideStream::Make(*options_.device, TENON_STREAM_COLLECTIVE);
  if (!stream.ok() && stream.status().code() != Code::kUnimplemented) return std::move(stream).status();
  staged_ = !stream.ok();
  if (staged_) return {};
  stream_ = std::move(stream).value();
  kind_ = std::string(wanted);
  return {};
}

Status Communicator::Join() {
  TENON_TRY(ChooseMemory());
  tenon_comm_config config = TENON_INIT(tenon_comm_config);
  config.flags = TENON_COMM_DETERMINISTIC | TENON_COMM_NONBLOCKING;
  config.magic = TENON_COMM_CONFIG_MAGIC;
  config.rank = options_.rank.rank;
  config.size = options_.rank.size;
  config.local_rank = options_.rank.local_rank;
  config.local_size = options_.rank.local_size;
  config.name = ToStr(options_.name);
  config.store = &store_;
  config.timeout_ns = options_.timeout_ns;
  config.native_memory_kind = ToStr(kind_);
  config.native_stream_kind = stream_ ? ToStr(options_.device->native_stream_kind()) : tenon_str TENON_STR("host");
  config.native_device = stream_ ? options_.device->index() : 0;
  config.node_name = ToStr(options_.rank.node_name);
  tenon_error error;
  TENON_TRY(ToStatus(CallAbi(kCollectiveInterface, "comm_create", plugin_.table->comm_create, plugin_.instance, &config,
                             &comm_, &error),
                     error, plugin_.id));
  if (comm_ == nullptr)
    return Error(Code::kInternal, "Plugin {} reports success for joining and gives no communicator.", plugin_.id);
  TENON_TRY(AwaitJoined());
  if (options_.timeout_ns > 0) watchdog_ = std::thread([this] { Watch(); });
  return {};
}

Status Communicator::AwaitJoined() {
  const std::int64_t began = MonotonicNs();
  const auto notice = static_cast<std::int64_t>(options_.notice_ns);
  std::int64_t next = began + notice;
  for (int round = 0;; ++round) {
    if (MonotonicNs() >= next) {
      next += notice;
      SayWaiting(MonotonicNs() - began);
    }
    tenon_error error;
    const std::int32_t code = CallAbi(kCollectiveInterface, "comm_state", plugin_.table->comm_state, comm_, &error);
    if (code != TENON_WOULD_BLOCK) return ToStatus(code, error, plugin_.id);
    if (options_.failure) {
      if (Status failed = options_.failure(); !failed.ok()) {
        Abort(failed);
        return failed;
      }
    }
    if (options_.timeout_ns > 0 && MonotonicNs() - began > static_cast<std::int64_t>(options_.timeout_ns) + kGraceNs)
      return Error(Code::kDeadlineExceeded, "Not all ranks have joined within {:.4g} s.",
                   static_cast<double>(options_.timeout_ns) / 1e9);
    std::this_thread::sleep_for(std::chrono::microseconds(round < 100 ? 100 : 1000));
  }
}

Communicator::~Communicator() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable()) watchdog_.join();
  if (comm_ != nullptr) CallAbi(kCollectiveInterface, "comm_destroy", plugin_.table->comm_destroy, comm_);
}

// The plugin ends what takes too long. This looks after a plugin that does not, and tells of long waits.
void Communicator::Watch() {
  const std::int64_t limit = static_cast<std::int64_t>(options_.timeout_ns) + kGraceNs;
  const auto notice = static_cast<std::int64_t>(options_.notice_ns);
  std::int64_t told_of = 0, next = 0;  // the wait that was told of, and when it is again
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    changed_.wait_for(lock, kWatchPeriod);
    const std::int64_t since = waiting_since_ns_.load(std::memory_order_acquire), now = MonotonicNs();
    if (closing_ || since == 0) continue;
    if (std::exchange(told_of, since) != since) next = since + notice;
    if (now >= next) {
      next = now + notice;
      SayWaiting(now - since);
    }
    if (now - since < limit) continue;
    lock.unlock();
    Abort(Error(Code::kDeadlineExceeded, "An operation of communicator '{}' did not end within {} s.", options_.name,
                limit / 1'000'000'000));
    lock.lock();
  }
}

void Communicator::SayWaiting(std::int64_t waited_ns) const {
  tenon_comm_progress progress = TENON_INIT(tenon_comm_progress);
  progress.waiting_for = -1;
  tenon_error error;
  const std::int32_t code =
      CallAbi(kCollectiveInterface, "progress", plugin_.table->progress, comm_, &progress, &error);
  const bool known = code == TENON_OK && progress.waiting_for >= 0;
  TENON_LOG(kWarning, "comm",
            "Rank {} has waited {:.4g} s for {} in communicator '{}'. Usually a rank is slow or stopped, not the "
            "network: look at its log.",
            options_.rank.rank, static_cast<double>(waited_ns) / 1e9,
            known ? fmt::format("rank {}", progress.waiting_for) : "another rank", options_.name);
}

void Communicator::Abort(const Status& cause) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cause.ok() || !cause_.ok() || closing_ || comm_ == nullptr) return;
  cause_ = cause;
  CallAbi(kCollectiveInterface, "abort_mark", plugin_.table->abort_mark, comm_, static_cast<std::int32_t>(cause.code()),
          ToStr(cause_.message()));
}

Status Communicator::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cause_;
}

std::string Communicator::Describe() const {
  std::string text = fmt::format("{} {}", plugin_.id, plugin_.version);
  tenon_str line{};
  tenon_error error;
  if (plugin_.table->describe != nullptr &&
      CallAbi(kCollectiveInterface, "describe", plugin_.table->describe, comm_, &line, &error) == TENON_OK)
    text += fmt::format(": {}", View(line));
  if (staged_) text += fmt::format(" (memory '{}' is copied through the host)", options_.device->native_memory_kind());
  return text;
}

// --- operations -----------------------------------------------------------------------------------------------------

Result<Communicator::Ticket> Communicator::AllReduce(std::uint64_t send, std::uint64_t receive, std::int64_t count,
                                                     DType dtype, Reduction reduction, double scale,
                                                     std::uint64_t tag) {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  op.send = send;
  op.receive = receive;
  op.count = static_cast<std::uint64_t>(count);
  op.dtype = static_cast<std::uint32_t>(dtype);
  op.reduction = static_cast<std::uint32_t>(reduction);
  op.scale = scale;
  return Start(TENON_COLLECTIVE_ALL_REDUCE, op, count * SizeOf(dtype), tag);
}

Result<Communicator::Ticket> Communicator::Broadcast(std::uint64_t address, std::int64_t bytes, std::uint32_t root) {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  op.send = op.receive = address;
  op.count = static_cast<std::uint64_t>(bytes);
  op.dtype = TENON_DTYPE_U8;
  op.root = root;
  return Start(TENON_COLLECTIVE_BROADCAST, op, bytes, 0);
}

Result<Communicator::Ticket> Communicator::AllGather(std::uint64_t send, std::uint64_t receive, std::int64_t bytes) {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  op.send = send;
  op.receive = receive;
  op.count = static_cast<std::uint64_t>(bytes);
  op.dtype = TENON_DTYPE_U8;
  return Start(TENON_COLLECTIVE_ALL_GATHER, op, bytes, 0);
}

Status Communicator::Barrier() {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  TENON_ASSIGN(const Ticket ticket, Start(TENON_COLLECTIVE_BARRIER, op, 0, 0));
  return Wait(ticket);
}

bool Communicator::Supports(std::uint32_t kind, std::uint32_t dtype, std::uint32_t reduction) {
  if (SlotOf(*plugin_.table, kind) == nullptr) return false;
  const std::uint64_t key = (std::uint64_t{kind} << 32) | (std::uint64_t{dtype} << 8) | reduction;
  const auto known = supported_.find(key);
  if (known != supported_.end()) return known->second;
  std::uint32_t answer = TENON_ANSWER_NO;
  tenon_error error;
  const std::int32_t code = CallAbi(kCollectiveInterface, "supports", plugin_.table->supports, plugin_.instance, kind,
                                    dtype, reduction, ToStr(kind_), &answer, &error);
  return supported_[key] = code == TENON_OK && answer == TENON_ANSWER_YES;
}

Communicator::Operation& Communicator::NewOperation(std::uint32_t kind, const tenon_collective_op& op,
                                                    std::int64_t bytes) {
  auto free = std::find_if(operations_.begin(), operations_.end(), [](const Operation& at) { return at.ticket == 0; });
  Operation& operation = free == operations_.end() ? operations_.emplace_back() : *free;
  operation.ticket = ++tickets_;
  operation.kind = kind;
  operation.op = op;
  operation.bytes = bytes;
  operation.started_ns = operation.ended_ns = MonotonicNs();
  operation.tokens = 0;
  operation.code = TENON_OK;
  operation.staged_bytes = 0;
  return operation;
}

Communicator::Operation* Communicator::Find(Ticket ticket) {
  for (Operation& operation : operations_) {
    if (operation.ticket == ticket) return &operation;
  }
  return nullptr;
}

Result<Communicator::Ticket> Communicator::Start(std::uint32_t kind, tenon_collective_op op, std::int64_t bytes,
                                                 std::uint64_t tag) {
  Status failed = failure();
  if (!failed.ok()) return failed;
  ++counts_.operations;
  counts_.bytes += bytes;
  Operation& operation = NewOperation(kind, op, bytes);
  Status started = staged_ ? Stage(operation, &op) : Status();
  if (started.ok() && stream_) started = stream_->Follow();
  if (started.ok()) started = Issue(operation, op, tag);
  if (started.ok()) return operation.ticket;
  broken_ = true;
  while (operation.tokens > 0) Note(completions_.Wait());  // parts that were enqueued before
  Status reason = failure();
  const std::string doing = fmt::format("starting {}", NameOf(operation));
  operation.ticket = 0;
  return reason.ok() ? std::move(started).While(doing) : reason;
}

// The device's memory goes through the host's: copied here, and back when the operation is done.
Status Communicator::Stage(Operation& operation, tenon_collective_op* op) {
  if (operation.bytes == 0) return {};
  Device& device = *options_.device;
  const bool gathers = operation.kind == TENON_COLLECTIVE_ALL_GATHER;
  const std::int64_t received = operation.bytes * (gathers ? std::int64_t{size()} : 1);
  operation.staging.resize(static_cast<std::size_t>(gathers ? operation.bytes + received : received));
  char* send = operation.staging.data();
  TENON_TRY(device.CopyToHost(op->send, send, operation.bytes));
  operation.staged_to = op->receive;
  operation.staged_bytes = received;
  op->send = AddressOf(send);
  op->receive = gathers ? AddressOf(send + operation.bytes) : op->send;
  ++counts_.staged;
  counts_.staged_bytes += operation.bytes + received;  // there and back
  return {};
}

Status Communicator::Issue(Operation& operation, const tenon_collective_op& op, std::uint64_t tag) {
  const bool has = Supports(operation.kind, op.dtype, op.reduction);
  return has ? IssueAs(operation, operation.kind, op, tag) : Emulate(operation, op, tag);
}

Status Communicator::IssueAs(Operation& operation, std::uint32_t kind, tenon_collective_op op, std::uint64_t tag) {
  op.sequence = ++sequence_;
  op.fingerprint = FingerprintOf(operation.kind, op, tag);
  op.native_stream = stream_ ? stream_->native() : 0;
  op.completion = completions_.Start(&operation);
  ++operation.tokens;
  tenon_error error;
  const std::int32_t code =
      CallAbi(kCollectiveInterface, CollectiveName(kind).data(), SlotOf(*plugin_.table, kind), comm_, &op, &error);
  if (code == TENON_OK) return {};
  // Refused: the token is the host's again, to be completed by it.
  CompletionQueue::Complete(op.completion, code, error.message_text());
  return ToStatus(code, error, plugin_.id);
}

// --- completion -----------------------------------------------------------------------------------------------------

void Communicator::Note(tenon_token* token) {
  auto& operation = *static_cast<Operation*>(token->user);
  --operation.tokens;
  operation.ended_ns = std::max(operation.ended_ns, token->completed_ns);
  if (operation.code == TENON_OK && token->code != TENON_OK) {
    operation.code = token->code;
    operation.text = std::string(token->message());
  }
  completions_.Recycle(token);
}

void Communicator::AwaitTokens(Operation& operation) {
  const std::int64_t begin = MonotonicNs();
  waiting_since_ns_.store(begin, std::memory_order_release);
  while (operation.tokens > 0) Note(completions_.Wait());
  waiting_since_ns_.store(0, std::memory_order_release);
  counts_.wait_ns += MonotonicNs() - begin;
}

Status Communicator::Wait(Ticket ticket) {
  Operation* operation = Find(ticket);
  if (operation == nullptr)
    return Error(Code::kInternal, "Communicator '{}' has no operation with ticket {}.", options_.name, ticket);
  if (operation->tokens > 0) AwaitTokens(*operation);
  counts_.flight_ns += operation->ended_ns - operation->started_ns;
  Status status = Finish(*operation);
  broken_ = broken_ || !status.ok();
  operation->ticket = 0;
  return status;
}

Status Communicator::Finish(Operation& operation) {
  if (operation.code != TENON_OK) return Explain(operation);
  if (operation.staged_bytes == 0) return {};
  const char* received = operation.staging.data() + operation.staging.size() - operation.staged_bytes;
  return options_.device->CopyFromHost(received, operation.staged_to, operation.staged_bytes);
}

std::string Communicator::NameOf(const Operation& operation) const {
  std::string name(CollectiveName(operation.kind));
  if (operation.bytes > 0) {
    name += fmt::format(" of {} {}", operation.op.count, ::tenon::NameOf(static_cast<DType>(operation.op.dtype)));
  }
  return fmt::format("{} in communicator '{}'", name, options_.name);
}

Status Communicator::Explain(const Operation& operation) const {
  Status cause = failure();
  if (!cause.ok()) return cause;
  std::string text = operation.text.empty() ? "The plugin gave no reason." : operation.text;
  const Code code = CodeFromAbi(operation.code);
  if (code == Code::kDeadlineExceeded) {
    text += " Usually a rank is slow or stopped, not the network: look at the log of the rank that is waited for.";
  } else if (code == Code::kInvalidArgument) {
    text += " All ranks must run the same program with the same configuration.";
  }
  return Error(code, "{}: {}", plugin_.id, text).While(fmt::format("waiting for {}", NameOf(operation)));
}

}  // namespace tenon
