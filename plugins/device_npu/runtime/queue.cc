#include "runtime/queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenon::npu {

void Ticket::Reach(const Outcome& outcome, uint64_t cycles) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reached_ = true;
  outcome_ = outcome;
  cycles_ = cycles;
  arrived_.notify_all();
}

bool Ticket::reached() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reached_;
}

bool Ticket::Wait(uint64_t timeout_ns) const {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto there = [this] { return reached_; };
  constexpr uint64_t kLongest = uint64_t{1} << 60;  // beyond it a sum with the clock could overflow
  if (timeout_ns < kLongest) return arrived_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), there);
  arrived_.wait(lock, there);
  return true;
}

Outcome Ticket::outcome() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return outcome_;
}

Queue::Queue(sdk::Host host, std::shared_ptr<Health> health, const Recorder& recorder)
    : host_(host), health_(std::move(health)), recorder_(recorder), worker_([this] { Work(); }) {}

Queue::~Queue() {
  Close();
  worker_.join();
}

void Queue::Push(Command command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  commands_.push_back(std::move(command));
  changed_.notify_one();
}

std::shared_ptr<Ticket> Queue::Signal() {
  Command command;
  command.kind = Command::Kind::kSignal;
  command.ticket = std::make_shared<Ticket>();
  std::shared_ptr<Ticket> ticket = command.ticket;
  Push(std::move(command));
  return ticket;
}

bool Queue::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return commands_.empty() && !running_;
}

Outcome Queue::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void Queue::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

bool Queue::finished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finished_;
}

void Queue::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !commands_.empty(); });
    if (commands_.empty()) break;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    running_ = true;
    lock.unlock();
    Run(command);
    command = Command();  // what it holds goes while nothing is locked
    lock.lock();
    running_ = false;
  }
  finished_ = true;
}

void Queue::Run(Command& command) {
  TakeLoss();
  switch (command.kind) {
    case Command::Kind::kWork:
      if (!failure().ok()) return;
      health_->CountCall();
      if (!health_->lost()) Try(command);
      TakeLoss();
      return;
    case Command::Kind::kAlways:
      Try(command);  // its record is written before anyone learns that it is done
      if (command.ticket != nullptr) command.ticket->Reach({}, cycles_);
      return;
    case Command::Kind::kWait:
      command.ticket->Wait(UINT64_MAX);
      cycles_ = std::max(cycles_, command.ticket->cycles());
      if (Outcome outcome = command.ticket->outcome(); !outcome.ok()) Fail(std::move(outcome));
      return;
    case Command::Kind::kSignal:
      Delay();
      Rest();
      command.ticket->Reach(failure(), cycles_);
      return;
    case Command::Kind::kNotify: {
      Delay();
      Rest();
      const Outcome outcome = failure();
      host_.Complete(command.token, outcome.code, outcome.text);
      return;
    }
  }
}

void Queue::Try(Command& command) {
  const uint64_t begin = command.recorded.kind == 0 ? 0 : recorder_.Begin();
  try {
    command.run(cycles_);
  } catch (const sdk::Failure& failure) {
    Fail({failure.code(), failure.what()});
  } catch (const std::exception& exception) {
    Fail({TENON_INTERNAL, exception.what()});
  }
  if (command.recorded.kind != 0)
    recorder_.Write(command.recorded, command.name, command.correlation_id, begin, !failure().ok());
}

// A lost device is a failure of every queue.
void Queue::TakeLoss() {
  if (health_->lost()) Fail({TENON_DEVICE_LOST, health_->LossText()});
}

void Queue::Fail(Outcome outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.ok()) failure_ = std::move(outcome);
}

// Who is told that the work is done finds the queue idle.
void Queue::Rest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  running_ = false;
}

// The fault that completions arrive late.
void Queue::Delay() const {
  const int64_t late = health_->faults().late_completion_ms;
  if (late > 0) std::this_thread::sleep_for(std::chrono::milliseconds(late));
}

}  // namespace tenon::npu
