#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/comm/collective_plugin.h"
#include "core/comm/comm_buffer.h"
#include "core/comm/rank.h"
#include "core/device/side_stream.h"
#include "core/plugin/completion.h"
#include "core/plugin/host_handles.h"
#include "core/tensor/dtype.h"
#include "tenon/abi/collective.h"

namespace tenon {

class Device;
class Rendezvous;

enum class Reduction : std::uint32_t {
  kSum = TENON_REDUCE_SUM,
  kProduct = TENON_REDUCE_PROD,
  kMin = TENON_REDUCE_MIN,
  kMax = TENON_REDUCE_MAX,
  kAverage = TENON_REDUCE_AVERAGE,
};

struct CommunicatorOptions {
  std::string name = "world";      // equal on all ranks, unique in the run
  Rank rank;                       // of this process; local_rank and local_size among all ranks of an equal node_name
  KeyValueStore* store = nullptr;  // outlives the communicator
  Device* device = nullptr;        // whose addresses operations get, outlives the communicator; null: host memory
  std::uint64_t timeout_ns = 0;    // of joining and of each operation; 0: what the plugin itself sets
  std::uint64_t notice_ns = 60'000'000'000;  // of waiting, until the log says for whom, and again after as long
  std::function<Status()> failure;           // of the run, asked while joining waits for other ranks, which it ends
};

// For communicators of a rank in a run that it has joined: with the run's store, its failures, and the place of the rank among
// those that share its memory. `run` outlives the communicator.
CommunicatorOptions OptionsIn(Rendezvous& run, const Rank& rank);

// What a communicator did so far, for the summary.
struct CommCounts {
  std::int64_t operations = 0, bytes = 0;
  std::int64_t staged = 0,
               staged_bytes = 0;  // went through host memory, because the plugin does not reach the device's
  std::map<std::string, std::int64_t> emulated;  // by operation that the plugin lacks
  std::int64_t wait_ns = 0;                      // in Wait
  std::int64_t flight_ns = 0;                    // from the start of each operation to its end
};

// Collective operations of the ranks of a run over one plugin. All ranks call the same operations in the same order; what
// differs is an error on every rank that names both. Operations return at once with a ticket and run in the order of the
// calls; their memory belongs to the communicator until Wait of the ticket, which each ticket needs exactly once. One
// thread, but for Abort and failure, which any thread may call.
class Communicator {
 public:
  using Ticket = std::uint64_t;

  // Returns when all ranks have joined.
  static Result<std::unique_ptr<Communicator>> Make(const CollectivePlugin& plugin, const CommunicatorOptions& options);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::uint32_t rank() const { return options_.rank.rank; }
  std::uint32_t size() const { return options_.rank.size; }
  std::uint32_t local_rank() const { return options_.rank.local_rank; }
  const std::string& name() const { return options_.name; }
  // "org.vendor.comm 1.2: ring over 2 nodes"
  std::string Describe() const;

  // receive = reduction over ranks of send, times `scale`, in place where both are the same address. `tag` is any number
  // that must be equal on all ranks, as a hash of what the memory holds.
  Result<Ticket> AllReduce(std::uint64_t send, std::uint64_t receive, std::int64_t count, DType dtype,
                           Reduction reduction = Reduction::kSum, double scale = 1, std::uint64_t tag = 0);
  // The bytes at `address` of rank `root` on every rank.
  Result<Ticket> Broadcast(std::uint64_t address, std::int64_t bytes, std::uint32_t root);
  // receive (size() * bytes long) = what all ranks have at `send`, by rank.
  Result<Ticket> AllGather(std::uint64_t send, std::uint64_t receive, std::int64_t bytes);
  // The result is there, or the error of the operation; after a failure of the run its first cause.
  Status Wait(Ticket ticket);

  // The same at once, on host memory of a communicator without a device.
  template <class T>
  Status AllReduceNow(std::span<T> values, Reduction reduction = Reduction::kSum) {
    TENON_ASSIGN(const Ticket ticket,
                 AllReduce(AddressOf(values.data()), AddressOf(values.data()), static_cast<std::int64_t>(values.size()),
                           DTypeOf<T>::value, reduction));
    return Wait(ticket);
  }
  // `values` of all ranks, by rank.
  template <class T>
  Result<std::vector<T>> AllGatherNow(std::span<const T> values) {
    std::vector<T> all(values.size() * size());
    TENON_ASSIGN(const Ticket ticket, AllGather(AddressOf(values.data()), AddressOf(all.data()),
                                                static_cast<std::int64_t>(values.size_bytes())));
    TENON_TRY(Wait(ticket));
    return all;
  }
  // Returns when all ranks have called it.
  Status Barrier();

  // Memory of the buffer hook, zero, aligned to 64 bytes; nothing where the plugin offers none that the device can use.
  // All ranks call it with the same size, and all get one or none.
  Result<std::optional<CommBuffer>> AllocateBuffer(std::int64_t bytes);

  // Ends pending and later operations on this rank with `cause`; the first call wins. Never waits.
  void Abort(const Status& cause);
  // What ended the communicator; OK while it works.
  Status failure() const;
  // Did an operation end with an error?
  bool broken() const { return broken_; }

  const CommCounts& counts() const { return counts_; }

  static std::uint64_t AddressOf(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

 private:
  struct Operation {
    Ticket ticket = 0;  // 0: free
    std::uint32_t kind = 0;
    tenon_collective_op op{};  // as it was called, before staging and emulation
    std::int64_t bytes = 0;    // of send
    std::int64_t started_ns = 0, ended_ns = 0;
    int tokens = 0;             // not completed yet
    std::int32_t code = 0;      // of the first token that failed
    std::string text;           // its reason
    std::vector<char> staging;  // host memory in place of the device's
    std::uint64_t staged_to = 0;
    std::int64_t staged_bytes = 0;  // to copy back to staged_to
  };

  Communicator(const CollectivePlugin& plugin, const CommunicatorOptions& options);
  Status Join();
  Status AwaitJoined();
  Status ChooseMemory();
  bool Supports(std::uint32_t kind, std::uint32_t dtype, std::uint32_t reduction);
  Operation& NewOperation(std::uint32_t kind, const tenon_collective_op& op, std::int64_t bytes);
  Operation* Find(Ticket ticket);
  Result<Ticket> Start(std::uint32_t kind, tenon_collective_op op, std::int64_t bytes, std::uint64_t tag);
  Status Stage(Operation& operation, tenon_collective_op* op);
  Status Issue(Operation& operation, const tenon_collective_op& op, std::uint64_t tag);
  Status IssueAs(Operation& operation, std::uint32_t kind, tenon_collective_op op, std::uint64_t tag);
  Status Emulate(Operation& operation, const tenon_collective_op& op, std::uint64_t tag);
  Status Missing(std::uint32_t kind, const tenon_collective_op& op) const;
  void Note(tenon_token* token);
  void AwaitTokens(Operation& operation);
  Status Finish(Operation& operation);
  std::string NameOf(const Operation& operation) const;
  Status Explain(const Operation& operation) const;
  void Watch();
  void SayWaiting(std::int64_t waited_ns) const;

  const CollectivePlugin plugin_;
  const CommunicatorOptions options_;
  tenon_store store_;
  tenon_comm* comm_ = nullptr;
  bool staged_ = false;                 // the plugin sees host memory only
  std::string kind_ = "host";           // of the memory that the plugin sees
  std::unique_ptr<SideStream> stream_;  // of a device whose work is not finished when a call returns
  CompletionQueue completions_;
  std::deque<Operation> operations_;  // stay where they are: tokens point to them
  std::uint64_t tickets_ = 0, sequence_ = 0;
  std::map<std::uint64_t, bool> supported_;
  CommCounts counts_;
  bool broken_ = false;

  mutable std::mutex mutex_;  // guards what follows
  Status cause_;
  bool closing_ = false;
  std::condition_variable changed_;
  std::atomic<std::int64_t> waiting_since_ns_{0};  // 0: nobody waits
  std::thread watchdog_;
};

}  // namespace tenon
