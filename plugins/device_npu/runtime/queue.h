// An in-order queue with a worker thread, and tickets: points in a queue that others can wait for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/health.h"
#include "runtime/recorder.h"
#include "tenon/sdk/host.h"

namespace tenon::npu {

// How work ended.
struct Outcome {
  int32_t code = TENON_OK;
  std::string text;
  bool ok() const { return code == TENON_OK; }
};

// A point in a queue, reached once. Any thread.
class Ticket {
 public:
  void Reach(const Outcome& outcome, uint64_t cycles);
  bool reached() const;
  // False when it is not reached in time; UINT64_MAX waits for ever.
  bool Wait(uint64_t timeout_ns) const;
  // Of a ticket that was reached.
  Outcome outcome() const;
  uint64_t cycles() const { return cycles_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  bool reached_ = false;
  Outcome outcome_;
  uint64_t cycles_ = 0;
};

struct Command {
  enum class Kind {
    kWork,    // runs unless the queue has failed; counts as a call of the device
    kAlways,  // runs in any case; then reaches the ticket, if there is one
    kWait,    // until the ticket is reached, whose failure is taken over
    kSignal,  // reaches the ticket
    kNotify,  // completes the token
  };
  Kind kind = Kind::kWork;
  std::string_view name;                      // static, for traces
  uint64_t correlation_id = 0;                // likewise
  std::function<void(uint64_t& cycles)> run;  // throws sdk::Failure; adds to the simulated clock of the queue
  Recorded recorded;                          // of kWork and kAlways
  std::shared_ptr<Ticket> ticket;
  tenon_token* token = nullptr;
};

// Commands run one after the other on a thread of the queue's own. The first failure stays: later work is skipped, and
// every later signal tells it. All members may be used from any thread.
class Queue {
 public:
  Queue(sdk::Host host, std::shared_ptr<Health> health, const Recorder& recorder);
  ~Queue();  // runs what is pending, then joins
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void Push(Command command);
  std::shared_ptr<Ticket> Signal();  // a ticket that is reached when everything pushed before is done
  bool idle() const;
  Outcome failure() const;
  // No command comes any more: the thread ends when the last one is done.
  void Close();
  bool finished() const;

 private:
  void Work();
  void Run(Command& command);
  void Try(Command& command);
  void TakeLoss();
  void Fail(Outcome outcome);
  void Rest();
  void Delay() const;

  sdk::Host host_;
  std::shared_ptr<Health> health_;
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command> commands_;
  bool running_ = false, closed_ = false, finished_ = false;
  Outcome failure_;
  uint64_t cycles_ = 0;  // simulated clock; the worker's
  std::thread worker_;
};

}  // namespace tenon::npu
