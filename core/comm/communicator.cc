#include "core/comm/communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/base/fnv.h"
#include "core/device/device.h"
#include "core/platform/process.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/plugin_registry.h"

namespace tenon {
namespace {

constexpr const char* kInterface = "tenon.collective";
constexpr std::int64_t kGraceNs = 5'000'000'000;  // beyond the time-out that the plugin itself enforces
constexpr std::chrono::milliseconds kWatchPeriod(100);
constexpr std::uint64_t kPartAlign = 4096;  // of the parts of a shared block: ranks share no page

std::string_view KindName(std::uint32_t kind) {
  switch (kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
      return "all-reduce";
    case TENON_COLLECTIVE_REDUCE:
      return "reduce";
    case TENON_COLLECTIVE_BROADCAST:
      return "broadcast";
    case TENON_COLLECTIVE_ALL_GATHER:
      return "all-gather";
    case TENON_COLLECTIVE_SEND:
      return "send";
    case TENON_COLLECTIVE_RECV:
      return "receive";
    default:
      return "barrier";
  }
}

// Over the fields that all ranks must agree on; never 0, which would mean: do not compare.
std::uint64_t FingerprintOf(std::uint32_t kind, const tenon_collective_op& op, std::uint64_t tag) {
  std::uint64_t hash = kFnvStart;
  for (const std::uint64_t part : {std::uint64_t{kind}, op.count, std::uint64_t{op.dtype}, std::uint64_t{op.reduction},
                                   std::uint64_t{op.root}, tag}) {
    for (int byte = 0; byte < 8; ++byte) hash = FnvByte(hash, static_cast<unsigned char>(part >> (8 * byte)));
  }
  return hash == 0 ? 1 : hash;
}

using Slot = std::int32_t (*)(tenon_comm*, const tenon_collective_op*, tenon_error*);

Slot SlotOf(const tenon_collective_vtable& table, std::uint32_t kind) {
  switch (kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
      return table.all_reduce;
    case TENON_COLLECTIVE_REDUCE:
      return table.reduce;
    case TENON_COLLECTIVE_BROADCAST:
      return table.broadcast;
    case TENON_COLLECTIVE_ALL_GATHER:
      return table.all_gather;
    case TENON_COLLECTIVE_SEND:
      return table.send;
    case TENON_COLLECTIVE_RECV:
      return table.recv;
    default:
      return table.barrier;
  }
}

}  // namespace

Result<CollectivePlugin> FindCollective(PluginRegistry& registry, const std::string& name) {
  TENON_ASSIGN(const std::vector<Plugin*> found, registry.FindCollectives(name));
  const Plugin& plugin = *found.front();
  return CollectivePlugin{plugin.instance(), plugin.Interface<tenon_collective_vtable>(), plugin.id(), plugin.version(),
                          fmt::format("1.{}", plugin.abi_minor())};
}

// --- memory of the plugin -------------------------------------------------------------------------------------------

CommBuffer& CommBuffer::operator=(CommBuffer&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(comm_, other.comm_);
  std::swap(handle_, other.handle_);
  std::swap(send_, other.send_);
  std::swap(receive_, other.receive_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CommBuffer::~CommBuffer() {
  if (handle_ != nullptr) CallAbi(kInterface, "buffer_free", table_->buffer_free, comm_, handle_);
}

// A shared block has a part for each rank of the node, and one more for the result: a fast rank may write its next values
// while a slow one still reads.
Result<std::optional<CommBuffer>> Communicator::AllocateBuffer(std::int64_t bytes) {
  const tenon_collective_vtable& table = *plugin_.table;
  const Device* device = options_.device;
  const bool usable = table.buffer_alloc != nullptr && table.buffer_free != nullptr && !staged_ &&
                      (device == nullptr || device->host_accessible());
  if (!usable) return std::optional<CommBuffer>();
  const std::uint64_t part = (static_cast<std::uint64_t>(bytes) + kPartAlign - 1) / kPartAlign * kPartAlign;
  const std::uint64_t parts = options_.rank.local_size + 1;
  tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
  tenon_error error;
  const std::int32_t code =
      CallAbi(kInterface, "buffer_alloc", table.buffer_alloc, comm_, parts * part, kPartAlign, &info, &error);
  // A rank that got none cannot share with those that did.
  std::int32_t all = code == TENON_OK && info.address != 0 ? 1 : 0;
  CommBuffer buffer;
  buffer.table_ = &table;
  buffer.comm_ = comm_;
  buffer.handle_ = all == 0 ? nullptr : info.handle;
  TENON_ASSIGN(const Ticket ticket, AllReduce(AddressOf(&all), AddressOf(&all), 1, DType::kI32, Reduction::kMin));
  TENON_TRY(Wait(ticket));
  if (all == 0) return std::optional<CommBuffer>();
  const bool shared = (info.flags & TENON_COMM_BUFFER_SHARED) != 0;
  buffer.send_ = info.address + (shared ? options_.rank.local_rank * part : 0);
  buffer.receive_ = shared ? info.address + options_.rank.local_size * part : buffer.send_;
  buffer.bytes_ = bytes;
  std::memset(reinterpret_cast<void*>(buffer.send_), 0, static_cast<std::size_t>(bytes));
  std::memset(reinterpret_cast<void*>(buffer.receive_), 0, static_cast<std::size_t>(bytes));
  TENON_TRY(Barrier());  // a late rank must not clear what an early one has written
  return std::optional<CommBuffer>(std::move(buffer));
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
  TENON_TRY(ToStatus(
      CallAbi(kInterface, "memory_kinds", plugin_.table->memory_kinds, plugin_.instance, &kinds, &count, &error), error,
      plugin_.id));
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
  config.flags = TENON_COMM_DETERMINISTIC;
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
  TENON_TRY(ToStatus(
      CallAbi(kInterface, "comm_create", plugin_.table->comm_create, plugin_.instance, &config, &comm_, &error), error,
      plugin_.id));
  if (comm_ == nullptr)
    return Error(Code::kInternal, "Plugin {} reports success for joining and gives no communicator.", plugin_.id);
  if (options_.timeout_ns > 0) watchdog_ = std::thread([this] { Watch(); });
  return {};
}

Communicator::~Communicator() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable()) watchdog_.join();
  if (comm_ != nullptr) CallAbi(kInterface, "comm_destroy", plugin_.table->comm_destroy, comm_);
}

// The plugin ends what takes too long. This looks after a plugin that does not.
void Communicator::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    changed_.wait_for(lock, kWatchPeriod);
    const std::int64_t since = waiting_since_ns_.load(std::memory_order_acquire);
    const std::int64_t limit = static_cast<std::int64_t>(options_.timeout_ns) + kGraceNs;
    if (closing_ || since == 0 || MonotonicNs() - since < limit) continue;
    lock.unlock();
    Abort(Error(Code::kDeadlineExceeded, "An operation of communicator '{}' did not end within {} s.", options_.name,
                limit / 1'000'000'000));
    lock.lock();
  }
}

void Communicator::Abort(const Status& cause) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cause.ok() || !cause_.ok() || closing_ || comm_ == nullptr) return;
  cause_ = cause;
  CallAbi(kInterface, "abort_mark", plugin_.table->abort_mark, comm_, static_cast<std::int32_t>(cause.code()),
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
      CallAbi(kInterface, "describe", plugin_.table->describe, comm_, &line, &error) == TENON_OK)
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
  const std::int32_t code = CallAbi(kInterface, "supports", plugin_.table->supports, plugin_.instance, kind, dtype,
                                    reduction, ToStr(kind_), &answer, &error);
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
      CallAbi(kInterface, KindName(kind).data(), SlotOf(*plugin_.table, kind), comm_, &op, &error);
  if (code == TENON_OK) return {};
  // Refused: the token is the host's again, to be completed by it.
  CompletionQueue::Complete(op.completion, code, error.message_text());
  return ToStatus(code, error, plugin_.id);
}

// Operations that the plugin lacks, made of those that it has; the table stands in docs/reference/data_parallel.md.
Status Communicator::Emulate(Operation& operation, const tenon_collective_op& op, std::uint64_t tag) {
  ++counts_.emulated[std::string(KindName(operation.kind))];
  tenon_collective_op part = op;
  switch (operation.kind) {
    case TENON_COLLECTIVE_ALL_REDUCE: {
      const bool average = op.reduction == TENON_REDUCE_AVERAGE;
      if (average && Supports(operation.kind, op.dtype, TENON_REDUCE_SUM)) {
        part.reduction = TENON_REDUCE_SUM;
        part.scale = (op.scale == 0 ? 1 : op.scale) / size();
        return IssueAs(operation, operation.kind, part, tag);
      }
      if (!Supports(TENON_COLLECTIVE_REDUCE, op.dtype, op.reduction) ||
          !Supports(TENON_COLLECTIVE_BROADCAST, op.dtype, 0))
        return Missing(operation.kind, op);
      TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_REDUCE, part, tag));
      part.send = op.receive;
      part.reduction = 0;
      part.scale = 0;
      return IssueAs(operation, TENON_COLLECTIVE_BROADCAST, part, tag);
    }
    case TENON_COLLECTIVE_BROADCAST: {
      if (!Supports(TENON_COLLECTIVE_SEND, op.dtype, 0) || !Supports(TENON_COLLECTIVE_RECV, op.dtype, 0))
        return Missing(operation.kind, op);
      part.peer = op.root;
      if (rank() != op.root) return IssueAs(operation, TENON_COLLECTIVE_RECV, part, tag);
      const std::uint64_t sequence = sequence_;
      for (part.peer = 0; part.peer < size(); ++part.peer) {
        if (part.peer == op.root) continue;
        sequence_ = sequence;  // one number on every rank
        TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_SEND, part, tag));
      }
      return {};
    }
    case TENON_COLLECTIVE_ALL_GATHER: {
      if (!Supports(TENON_COLLECTIVE_BROADCAST, op.dtype, 0)) return Missing(operation.kind, op);
      for (part.root = 0; part.root < size(); ++part.root) {
        part.receive = op.receive + part.root * op.count;
        part.send = part.root == rank() ? op.send : part.receive;
        TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_BROADCAST, part, tag));
      }
      return {};
    }
    default: {
      operation.staging.assign(sizeof(std::int32_t), 0);
      part.send = part.receive = AddressOf(operation.staging.data());
      part.count = 1;
      part.dtype = TENON_DTYPE_I32;
      part.reduction = TENON_REDUCE_MAX;
      if (stream_ || !Supports(TENON_COLLECTIVE_ALL_REDUCE, part.dtype, part.reduction))
        return Missing(operation.kind, op);
      return IssueAs(operation, TENON_COLLECTIVE_ALL_REDUCE, part, tag);
    }
  }
}

Status Communicator::Missing(std::uint32_t kind, const tenon_collective_op& op) const {
  const std::string what = kind == TENON_COLLECTIVE_BARRIER
                               ? std::string(KindName(kind))
                               : fmt::format("{} of {}", KindName(kind), ::tenon::NameOf(static_cast<DType>(op.dtype)));
  return Error(Code::kUnimplemented,
               "Plugin {} has no {} in memory of kind '{}', nor what it could be made of. Name another plugin with "
               "'parallel.comm'.",
               plugin_.id, what, kind_);
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
  std::string name(KindName(operation.kind));
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
