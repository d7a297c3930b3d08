// Streams and events of the device.
#include <algorithm>
#include <utility>

#include "device.h"

namespace tenon::npu {
namespace {

int32_t Report(const Outcome& outcome, sdk::Error& error) {
  if (outcome.ok()) return TENON_OK;
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = outcome.code;
  info.flags = TENON_ERROR_STICKY;
  info.message = sdk::Str(outcome.text);
  return error.Fail(info);
}

class NpuEvent final : public sdk::Event {
 public:
  NpuEvent(NpuDevice& device, bool timing) : Event(device.host()), device_(device), timing_(timing) {}

  int32_t Record(sdk::Stream& stream, sdk::Error& error) override {
    if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
    std::shared_ptr<Ticket> ticket = static_cast<NpuStream&>(stream).queue().Signal();
    const std::lock_guard<std::mutex> lock(mutex_);
    ticket_ = std::move(ticket);
    return TENON_OK;
  }
  int32_t Query(sdk::Error& error) override {
    std::shared_ptr<Ticket> ticket;
    if (const int32_t code = Find(ticket, error); code != TENON_OK) return code;
    if (!ticket->reached()) return error.Fail(TENON_WOULD_BLOCK, "The event is not reached yet.");
    return Report(ticket->outcome(), error);
  }
  int32_t Synchronize(uint64_t timeout_ns, sdk::Error& error) override {
    std::shared_ptr<Ticket> ticket;
    if (const int32_t code = Find(ticket, error); code != TENON_OK) return code;
    if (!ticket->Wait(timeout_ns)) {
      return error.Fail(TENON_DEADLINE_EXCEEDED, "The event was not reached within ", timeout_ns, " ns.");
    }
    return Report(ticket->outcome(), error);
  }
  // Simulated time: one cycle is one nanosecond.
  int32_t ElapsedTo(sdk::Event& later, double& ns, sdk::Error& error) override {
    auto& other = static_cast<NpuEvent&>(later);
    if (!timing_ || !other.timing_)
      return error.Fail(TENON_FAILED_PRECONDITION, "Both events must be made for timing.");
    int32_t code = Query(error);
    if (code == TENON_OK) code = other.Query(error);
    if (code != TENON_OK) return code;
    std::shared_ptr<Ticket> from, to;
    if (Find(from, error) != TENON_OK || other.Find(to, error) != TENON_OK) return TENON_DEVICE_LOST;
    ns = static_cast<double>(to->cycles()) - static_cast<double>(from->cycles());
    return TENON_OK;
  }

  // The point that the event stands for now; FAILED_PRECONDITION before the first record.
  int32_t Find(std::shared_ptr<Ticket>& out, sdk::Error& error) {
    if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ticket_ == nullptr) return error.Fail(TENON_FAILED_PRECONDITION, "The event was never recorded.");
    out = ticket_;
    return TENON_OK;
  }

 private:
  NpuDevice& device_;
  const bool timing_;
  std::mutex mutex_;
  std::shared_ptr<Ticket> ticket_;
};

}  // namespace

NpuStream::NpuStream(NpuDevice& device, std::shared_ptr<Queue> queue)
    : Stream(device.host()), device_(device), queue_(std::move(queue)) {
  record_.face = TENON_INIT(tenon_npu_sim_stream);
  record_.face.enqueue = &Enqueue;
  record_.face.locate = &Locate;
  record_.stream = this;
}

int32_t NpuStream::Query(sdk::Error& error) {
  if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
  if (const Outcome failure = queue_->failure(); !failure.ok()) return Report(failure, error);
  return queue_->idle() ? TENON_OK : error.Fail(TENON_WOULD_BLOCK, "Work is pending on the stream.");
}

int32_t NpuStream::Synchronize(uint64_t timeout_ns, sdk::Error& error) {
  const std::shared_ptr<Ticket> ticket = queue_->Signal();
  if (!ticket->Wait(timeout_ns)) {
    return error.Fail(TENON_DEADLINE_EXCEEDED, "The stream was not done within ", timeout_ns, " ns.");
  }
  if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
  return Report(ticket->outcome(), error);
}

int32_t NpuStream::WaitEvent(sdk::Event& event, sdk::Error& error) {
  Command command;
  command.kind = Command::Kind::kWait;
  if (const int32_t code = static_cast<NpuEvent&>(event).Find(command.ticket, error); code != TENON_OK) return code;
  queue_->Push(std::move(command));
  return TENON_OK;
}

int32_t NpuStream::Notify(tenon_token* token, sdk::Error& error) {
  if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
  Command command;
  command.kind = Command::Kind::kNotify;
  command.token = token;
  queue_->Push(std::move(command));
  return TENON_OK;
}

void NpuStream::Destroy() noexcept {
  queue_->Close();
  delete this;
}

uint64_t NpuStream::Native() { return reinterpret_cast<uintptr_t>(&record_); }

int32_t NpuStream::Enqueue(tenon_npu_sim_stream* face, int32_t (*fn)(void*), void* user) {
  NpuStream& stream = *reinterpret_cast<Record*>(face)->stream;
  if (stream.device_.health().lost()) return TENON_DEVICE_LOST;
  Command command;
  command.kind = Command::Kind::kAlways;
  command.name = "native";
  command.run = [fn, user](uint64_t&) {
    const int32_t code = fn(user);
    if (code != TENON_OK) throw sdk::Failure(code, "Work of another plugin on the stream failed.");
  };
  stream.queue_->Push(std::move(command));
  return TENON_OK;
}

int32_t NpuStream::Locate(tenon_npu_sim_stream* face, uint64_t address, uint64_t bytes, int32_t* file,
                          uint64_t* offset) {
  Memory& memory = reinterpret_cast<Record*>(face)->stream->device_.memory();
  if (memory.Resolve(address, bytes) == nullptr) return TENON_INVALID_ARGUMENT;
  *file = memory.file();
  *offset = memory.OffsetOf(address);
  return TENON_OK;
}

int32_t NpuDevice::CreateStream(const tenon_stream_options&, sdk::Stream** out, sdk::Error& error) {
  if (const int32_t code = health_->Check(error); code != TENON_OK) return code;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto queue = std::make_shared<Queue>(host(), health_, MakeRecorder(++streams_made_));
  *out = new NpuStream(*this, queue);
  DropFinished();
  queues_.push_back(std::move(queue));
  return TENON_OK;
}

int32_t NpuDevice::CreateEvent(uint32_t flags, sdk::Event** out, sdk::Error& error) {
  if (const int32_t code = health_->Check(error); code != TENON_OK) return code;
  *out = new NpuEvent(*this, (flags & TENON_EVENT_TIMING) != 0);
  return TENON_OK;
}

// Queues of destroyed streams whose work is done.
void NpuDevice::DropFinished() {
  const auto done = [](const std::shared_ptr<Queue>& queue) { return queue->finished(); };
  queues_.erase(std::remove_if(queues_.begin(), queues_.end(), done), queues_.end());
}

}  // namespace tenon::npu
