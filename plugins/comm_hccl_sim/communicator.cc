#include "communicator.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

namespace tenon::hccl {
namespace {

constexpr uint64_t kGoodbye = 2'000'000'000;  // longest wait for ranks that have not left yet

// The shorter of two limits; 0 is none.
uint64_t Shorter(uint64_t a, uint64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace

Communicator::Communicator(sdk::Host host, Site* site, const tenon_comm_config& config) : host_(host) {
  const Environment& environment = site->environment;
  const std::string_view memory = sdk::Text(config.native_memory_kind), streams = sdk::Text(config.native_stream_kind);
  on_npu_ = memory == TENON_NPU_SIM_MEMORY_KIND;
  npu_streams_ = streams == TENON_NPU_SIM_STREAM_KIND;
  if (!on_npu_ && memory != "host")
    throw MakeFault(TENON_UNIMPLEMENTED, Ei::kArgument,
                    "Memory of the kind '" + std::string(memory) +
                        "' is not addressed; 'host' and '" TENON_NPU_SIM_MEMORY_KIND "' are.");
  if (on_npu_ && !npu_streams_)
    throw MakeFault(TENON_UNIMPLEMENTED, Ei::kArgument,
                    "Memory of the kind '" + std::string(memory) +
                        "' is found through streams of the kind '" TENON_NPU_SIM_STREAM_KIND "', not '" +
                        std::string(streams) + "'.");
  // A limit of the host and a limit that the user set for HCCL hold both; without any HCCL's own do.
  const uint64_t given = config.timeout_ns == TENON_MAX_TIMEOUT ? 0 : config.timeout_ns;
  timeout_ns_ = given == 0 || environment.exec_given ? Shorter(given, environment.exec_ns) : given;
  joining_.host = host;
  joining_.site = site;
  joining_.store = config.store;
  joining_.name = std::string(sdk::Text(config.name));
  if (TENON_HAS_FIELD(&config, tenon_comm_config, node_name))
    joining_.node_name = std::string(sdk::Text(config.node_name));
  joining_.rank = config.rank;
  joining_.size = config.size;
  joining_.timeout_ns = given == 0 || environment.connect_given ? Shorter(given, environment.connect_ns) : given;
  joining_.stop = &marked_;
  joining_.waiting_for = &waiting_for_;
  joining_.since = NowNs();
  thread_ = std::thread([this] { Work(); });
}

Communicator::~Communicator() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  thread_.join();
  // The mark that ended it may still be on its way out.
  while (marking_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

// ---- what the host asks ----

int32_t Communicator::WaitJoined(sdk::Error& error) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return joined_ || error_code_ != TENON_OK; });
  return AsyncError(error);
}

int32_t Communicator::State(sdk::Error& error) const {
  const int32_t code = AsyncError(error);
  if (code != TENON_OK) return code;
  return joined_ ? TENON_OK : TENON_WOULD_BLOCK;
}

int32_t Communicator::AsyncError(sdk::Error& error) const {
  const int32_t code = error_code_.load(std::memory_order_acquire);
  if (code != TENON_OK) return Report(Fault(code, error_ei_, error_text_), error);
  if (marked_.load(std::memory_order_acquire))
    return error.Fail(TENON_ABORTED, "The communicator was aborted: ", mark_text_);
  return TENON_OK;
}

void Communicator::Progress(tenon_comm_progress* out) const {
  tenon_comm_progress progress = TENON_INIT(tenon_comm_progress);
  progress.enqueued = enqueued_;
  progress.started = started_;
  progress.finished = finished_;
  const Node* node = node_.load(std::memory_order_acquire);
  progress.waiting_for = node != nullptr ? node->waiting_for() : waiting_for_.load();  // last member
  sdk::CopyOut(progress, out);
}

void Communicator::Mark(int32_t, std::string_view reason) {
  marking_.fetch_add(1, std::memory_order_seq_cst);
  MarkFirst(reason);
  marking_.fetch_sub(1, std::memory_order_release);  // from here on the communicator may be gone
}

void Communicator::MarkFirst(std::string_view reason) {
  if (claimed_.exchange(true)) return;
  const size_t size = std::min(reason.size(), sizeof(mark_text_) - 1);
  if (size > 0) std::memcpy(mark_text_, reason.data(), size);
  marked_.store(true, std::memory_order_seq_cst);
  if (Node* node = node_.load(std::memory_order_acquire); node != nullptr) node->MarkAborted(mark_text_);
}

int32_t Communicator::FailedCode() const {
  return cancelled_ ? static_cast<int32_t>(TENON_CANCELLED) : error_code_.load(std::memory_order_acquire);
}

Fault Communicator::Aborted() const {
  return Fault(TENON_CANCELLED, Ei::kNone, std::string("The communicator was aborted: ") + mark_text_);
}

// ---- errors ----

template <typename Body>
bool Communicator::Guard(Body&& body) {
  try {
    body();
    return true;
  } catch (const Fault& fault) {
    Fail(fault);
  } catch (const std::bad_alloc&) {
    Fail(MakeFault(TENON_RESOURCE_EXHAUSTED, Ei::kAllocation, "Host memory is used up."));
  } catch (const std::exception& error) {
    Fail(Fault(TENON_INTERNAL, Ei::kNone, std::string("Unexpected exception in the communicator: ") + error.what()));
  }
  return false;
}

// The first failure stays; other ranks learn of it and of its cause.
void Communicator::Fail(Fault fault) {
  if (error_code_ != TENON_OK) return;
  if (marked_) fault = Aborted();
  const bool lost = world_.wire != nullptr && fault.ei() == Ei::kConnect;
  if (lost) {
    // Who closed a connection may have said why.
    try {
      ThrowPublishedFailure(joining_, 200'000'000);
    } catch (const Fault& earlier) {
      fault = earlier;
    }
  }
  if (world_.node != nullptr && !marked_) world_.node->Publish(fault);
  if (world_.wire != nullptr) {
    PublishFailure(joining_, fault);
    world_.wire->Close();
  }
  cancelled_ = fault.code() == TENON_CANCELLED;
  error_ei_ = fault.ei();
  error_text_ = fault.text();
  const std::lock_guard<std::mutex> lock(mutex_);
  error_code_.store(cancelled_ ? static_cast<int32_t>(TENON_ABORTED) : fault.code(), std::memory_order_release);
  changed_.notify_all();
}

// ---- enqueueing ----

uint64_t Communicator::TimeoutOf(const Operation& operation) const {
  return operation.op.timeout_ns != 0 ? operation.op.timeout_ns : timeout_ns_;
}

void Communicator::LocateNative(Operation* operation) const {
  const Extent extent = ExtentOf(*operation, joining_.rank, joining_.size);
  const auto check = [operation](const char* what, uint64_t address, uint64_t elements) {
    if (elements == 0 || operation->width() == 0 || address != 0) return;
    throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kArgument,
                    std::string(KindName(operation->kind)) + ": the address of " + what + " is 0, and " +
                        std::to_string(elements) + " elements are there.");
  };
  check("send", operation->op.send, extent.send);
  check("receive", operation->op.receive, extent.receive);
  if (!on_npu_) {
    operation->send = reinterpret_cast<char*>(operation->op.send);
    operation->receive = reinterpret_cast<char*>(operation->op.receive);
    return;
  }
  auto* stream = reinterpret_cast<tenon_npu_sim_stream*>(operation->op.native_stream);
  if (stream == nullptr)
    throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kArgument,
                    std::string(KindName(operation->kind)) + " on memory of the accelerator needs a stream.");
  const auto locate = [&](const char* what, uint64_t address, uint64_t elements, NativePlace* place) {
    const uint64_t bytes = elements * operation->width();
    if (bytes == 0 || stream->locate(stream, address, bytes, &place->file, &place->offset) == TENON_OK) return;
    throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kArgument,
                    std::string(KindName(operation->kind)) + ": " + std::to_string(bytes) + " bytes of " + what +
                        " at address " + std::to_string(address) + " do not lie in one allocation of the device.");
  };
  locate("send", operation->op.send, extent.send, &operation->native_send);
  locate("receive", operation->op.receive, extent.receive, &operation->native_receive);
}

// Where the operands are for this process, and for the others if they can map them.
void Communicator::Locate(Operation* operation, uint64_t deadline) {
  if (operation->kind == kShareBlock) return;
  Files& files = *world_.files;
  if (on_npu_) {
    const auto find = [&](const NativePlace& native, Place* place, char** address) {
      if (native.file < 0) return;
      *place = files.Find(native.file, native.offset);
      *address = files.Resolve(*place, deadline);
    };
    find(operation->native_send, &operation->send_place, &operation->send);
    find(operation->native_receive, &operation->receive_place, &operation->receive);
    return;
  }
  const Extent extent = ExtentOf(*operation, joining_.rank, joining_.size);
  if (extent.send > 0) operation->send_place = files.Find(operation->send, extent.send * operation->width());
  if (extent.receive > 0)
    operation->receive_place = files.Find(operation->receive, extent.receive * operation->width());
}

int32_t Communicator::Enqueue(uint32_t kind, const tenon_collective_op& op, sdk::Error& error) {
  if (marked_) return error.Fail(TENON_ABORTED, "The communicator was aborted: ", mark_text_);
  if (error_code_.load(std::memory_order_acquire) != TENON_OK)
    return error.Fail(TENON_ABORTED, "The communicator failed before: ", std::string_view(error_text_));
  Operation operation = CheckedOperation(kind, op, joining_.size);
  LocateNative(&operation);
  if (npu_streams_ && operation.op.native_stream != 0)
    operation.gate = GateOn(reinterpret_cast<tenon_npu_sim_stream*>(operation.op.native_stream));
  if (operation.op.group != nullptr) {
    auto* together = reinterpret_cast<Group*>(operation.op.group);
    if (group != together)
      return error.Fail(TENON_INVALID_ARGUMENT, "The group of the operation was not opened for this communicator.");
    together->operations.emplace_back(this, std::move(operation));
    return TENON_OK;
  }
  Raise(&enqueued_, op.sequence);
  if (TryNow(&operation)) return TENON_OK;
  Job job;
  job.operations.push_back(std::move(operation));
  Push(std::move(job));
  return TENON_OK;
}

void Communicator::EnqueueTogether(std::vector<Operation> operations) {
  Job job;
  job.operations = std::move(operations);
  for (const Operation& operation : job.operations) Raise(&enqueued_, operation.op.sequence);
  Push(std::move(job));
}

void Communicator::Push(Job job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(job));
  changed_.notify_all();
}

// A small operation is carried out here and now when nothing is before it and the other ranks are there, or come within
// microseconds; else the thread goes on with it. False: nothing was done.
bool Communicator::TryNow(Operation* operation) {
  if (!joined_.load(std::memory_order_acquire) || operation->gate != nullptr || !engine_->Quick(*operation))
    return false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_ || !queue_.empty()) return false;
    busy_ = true;
  }
  Course course;
  uint64_t timeout = 0;
  bool done = false;
  const bool fine = Guard([&] {
    timeout = Start(operation, 1);
    engine_->Post(*operation, &course);
    done = engine_->TryFinish(*operation, &course);
  });
  const bool ended = done || !fine;
  Job rest;
  if (!ended) {
    rest.operations.push_back(std::move(*operation));
    rest.course = std::move(course);
    rest.deadline = DeadlineIn(timeout);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
    if (!ended) queue_.push_front(std::move(rest));
    if (!queue_.empty() || closed_) changed_.notify_all();
  }
  if (ended) End(*operation, fine ? static_cast<int32_t>(TENON_OK) : FailedCode(), fine ? std::string() : error_text_);
  return true;
}

char* Communicator::AllocateBlock(uint64_t bytes, sdk::Error& error, int32_t* code) {
  char* address = nullptr;
  *code = TENON_OK;
  if (on_npu_) {
    *code = error.Fail(TENON_UNIMPLEMENTED, "Memory of the accelerator is shared as it is; there is no faster one.");
    return nullptr;
  }
  if (marked_ || error_code_ != TENON_OK) {
    *code = error.Fail(TENON_ABORTED, "The communicator was aborted or failed before.");
    return nullptr;
  }
  Operation operation;
  operation.kind = kShareBlock;
  operation.op.count = bytes;
  operation.result = &address;
  operation.gate = std::make_shared<StreamGate>();
  operation.gate->SetReady();
  const std::shared_ptr<StreamGate> gate = operation.gate;
  Job job;
  job.operations.push_back(std::move(operation));
  Push(std::move(job));
  std::string text;
  *code = gate->AwaitFinished(&text);
  if (*code != TENON_OK) *code = Report(Fault(*code, Ei::kNone, text), error);
  if (*code == TENON_OK && address == nullptr) *code = error.OutOfMemory("shared", bytes, 0, 0, 0);
  return address;
}

void Communicator::FreeBlock(char* address) {
  if (world_.files != nullptr) world_.files->Drop(address);
}

// ---- the thread ----

void Communicator::JoinAll() {
  const bool fine = Guard([this] {
    world_ = Join(joining_);
    engine_ = std::make_unique<Engine>(world_);
    description_ = world_.Describe();
    node_.store(world_.node.get(), std::memory_order_seq_cst);
    if (marked_) world_.node->MarkAborted(mark_text_);
  });
  if (!fine) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  joined_ = true;
  changed_.notify_all();
}

void Communicator::Work() {
  // Writing to a connection that its other end has closed raises a signal in Gloo; here and in the threads that start from here it
  // is an error of the write alone.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  JoinAll();
  for (;;) {
    Job job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !busy_ && (closed_ || !queue_.empty()); });
      if (queue_.empty()) break;
      job = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
    }
    Carry(&job);
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
  }
  if (world_.node == nullptr) return;
  SayGoodbye();
  world_.node->Leave();
  ForgetKeys(joining_);
}

void Communicator::Raise(std::atomic<uint64_t>* counter, uint64_t sequence) {
  if (sequence > counter->load(std::memory_order_relaxed)) counter->store(sequence, std::memory_order_relaxed);
}

// Notes that operations start, and gives the time that they have.
uint64_t Communicator::Start(Operation* operations, size_t count) {
  uint64_t timeout = 0;
  for (size_t i = 0; i < count; ++i) {
    timeout = std::max(timeout, TimeoutOf(operations[i]));
    Raise(&started_, operations[i].op.sequence);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!engine_->Eager(operations[i]) || on_npu_) Locate(&operations[i], kForever);
  }
  return timeout;
}

void Communicator::Carry(Job* job) {
  int32_t code = TENON_OK;
  std::string text;
  if (marked_ && error_code_ == TENON_OK) Fail(Aborted());
  if (error_code_ != TENON_OK) {
    code = cancelled_ ? TENON_CANCELLED : TENON_ABORTED;
    text = "The communicator failed before: " + error_text_;
  } else {
    const bool fine = Guard([&] {
      for (const Operation& operation : job->operations) {
        if (operation.gate != nullptr && !operation.gate->AwaitReady(marked_)) throw Aborted();
      }
      if (job->deadline == 0) job->deadline = DeadlineIn(Start(job->operations.data(), job->operations.size()));
      std::vector<Operation*> messages;
      for (Operation& operation : job->operations) {
        if (operation.point_to_point()) messages.push_back(&operation);
      }
      if (!messages.empty()) engine_->RunMessages(messages, job->deadline);
      for (Operation& operation : job->operations) {
        if (!operation.point_to_point()) engine_->Finish(operation, &job->course, job->deadline);
        job->course = {};
      }
    });
    if (!fine) {
      code = FailedCode();
      text = error_text_;
    }
  }
  for (const Operation& operation : job->operations) End(operation, code, text);
}

void Communicator::End(const Operation& operation, int32_t code, const std::string& text) {
  if (code == TENON_OK) Raise(&finished_, operation.op.sequence);
  if (operation.gate != nullptr) operation.gate->Finish(code, text);
  if (operation.op.completion != nullptr) host_.Complete(operation.op.completion, code, text);
}

// A connection that is closed while a slower rank still reads from it would look like a failure there.
void Communicator::SayGoodbye() {
  if (world_.wire == nullptr || error_code_ != TENON_OK || marked_) return;
  constexpr uint64_t kTag = (uint64_t{1} << 63) - 1;
  try {
    char in[1] = {}, out[1] = {};
    std::vector<Message> coming;
    for (const uint32_t peer : world_.wire->remotes()) {
      coming.push_back(world_.wire->Send(peer, kTag, out, sizeof out));
      coming.push_back(world_.wire->Receive(peer, kTag, in, sizeof in));
    }
    const uint64_t deadline = NowNs() + kGoodbye;
    for (Message& message : coming) world_.wire->Await(&message, deadline);
  } catch (const std::exception&) {
    // A rank that is gone already needs no goodbye.
  }
}

}  // namespace tenon::hccl
