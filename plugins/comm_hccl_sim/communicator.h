// One rank of a communicator: what the host calls, and the thread that carries out what it enqueues.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "join.h"
#include "stream_gate.h"

namespace tenon::hccl {

class Communicator;

// Operations that start together.
struct Group {
  std::vector<Communicator*> comms;
  std::vector<std::pair<Communicator*, Operation>> operations;
};

class Communicator {
 public:
  // Starts joining; throws a Fault when the config asks for what there is not.
  Communicator(sdk::Host host, Site* site, const tenon_comm_config& config);
  // Waits for operations that were enqueued; after Mark they end soon.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int32_t WaitJoined(sdk::Error& error);
  // Any thread, wait-free.
  int32_t State(sdk::Error& error) const;
  int32_t AsyncError(sdk::Error& error) const;
  void Progress(tenon_comm_progress* out) const;
  void Mark(int32_t code, std::string_view reason);

  // Checks and enqueues; the token is completed later, or before it returns when all ranks are there already.
  int32_t Enqueue(uint32_t kind, const tenon_collective_op& op, sdk::Error& error);
  // What was collected for this communicator in a group.
  void EnqueueTogether(std::vector<Operation> operations);

  char* AllocateBlock(uint64_t bytes, sdk::Error& error, int32_t* code);
  void FreeBlock(char* address);

  const std::string& description() const { return description_; }

  Group* group = nullptr;  // the open group that names this communicator

 private:
  // Operations that are carried out together, and how far they are.
  struct Job {
    std::vector<Operation> operations;
    Course course;
    uint64_t deadline = 0;  // 0: not started
  };

  void MarkFirst(std::string_view reason);
  void Work();
  void JoinAll();
  bool TryNow(Operation* operation);
  void Push(Job job);
  uint64_t Start(Operation* operations, size_t count);
  void Carry(Job* job);
  void End(const Operation& operation, int32_t code, const std::string& text);
  static void Raise(std::atomic<uint64_t>* counter, uint64_t sequence);
  void Locate(Operation* operation, uint64_t deadline);
  void LocateNative(Operation* operation) const;
  // Runs body; a Fault of it becomes the communicator's. True: nothing went wrong.
  template <typename Body>
  bool Guard(Body&& body);
  void Fail(Fault fault);
  void SayGoodbye();
  uint64_t TimeoutOf(const Operation& operation) const;
  Fault Aborted() const;
  // Of an operation that ends with the communicator's failure: CANCELLED after an abort, whichever rank it came from.
  int32_t FailedCode() const;

  const sdk::Host host_;
  Joining joining_;
  uint64_t timeout_ns_ = 0;  // of an operation
  bool on_npu_ = false;      // memory is the simulated accelerator's
  bool npu_streams_ = false;
  std::string description_;

  World world_;  // once joined_
  std::unique_ptr<Engine> engine_;
  std::atomic<Node*> node_{nullptr};

  std::atomic<uint64_t> enqueued_{0}, started_{0}, finished_{0};
  std::atomic<int64_t> waiting_for_{-1};
  std::atomic<bool> joined_{false}, claimed_{false}, marked_{false};
  std::atomic<int32_t> error_code_{TENON_OK};  // once set, what follows does not change
  std::atomic<uint32_t> marking_{0};           // calls of Mark that have not returned
  bool cancelled_ = false;
  Ei error_ei_ = Ei::kNone;
  std::string error_text_;
  char mark_text_[240] = {};

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> queue_;
  bool closed_ = false;
  bool busy_ = false;   // somebody carries out an operation
  std::thread thread_;  // last: starts with everything else in place
};

}  // namespace tenon::hccl
