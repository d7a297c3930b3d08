#include "core/comm/rendezvous/connection.h"

#include <algorithm>
#include <chrono>

namespace tenon::rendezvous {
namespace {

constexpr int kConnectMs = 2000;
constexpr std::uint64_t kLongestCallNs = 10'000'000'000'000'000;  // some months

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // ranks talk to each other, whatever the proxy for the web is
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

}  // namespace

Connection::Connection(const std::string& target, std::string name) : target_(target), name_(std::move(name)) {}

void Connection::SetDeadline(grpc::ClientContext& context, std::uint64_t timeout_ns) {
  const std::chrono::nanoseconds limit(std::min(timeout_ns, kLongestCallNs));
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(limit));
}

std::shared_ptr<Meeting::Stub> Connection::Begin(grpc::ClientContext& context) {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  calls_.insert(&context);
  // A channel that has failed waits longer and longer; a new one tries at once.
  if (!stub_) {
    stub_ = Meeting::NewStub(grpc::CreateCustomChannel(target_, grpc::InsecureChannelCredentials(), Arguments()));
  }
  return stub_;
}

void Connection::End(grpc::ClientContext& context, bool broken) {
  const std::lock_guard lock(mutex_);
  calls_.erase(&context);
  if (broken) stub_.reset();
}

Result<Reply> Connection::Register(const Registration& registration, std::uint64_t timeout_ns,
                                   const std::function<void(const Reply&)>& registered) {
  grpc::ClientContext context;
  SetDeadline(context, timeout_ns);
  const std::shared_ptr<Meeting::Stub> stub = Begin(context);
  if (!stub) return NoAnswer("the connection is closed");
  const auto reader = stub->Register(&context, registration);
  Answer answer;
  const bool answered = reader->Read(&answer);
  if (answered && answer.code() == 0) {
    registered(ReadAnswer(answer));
    Answer none;
    reader->Read(&none);
  }
  const grpc::Status status = reader->Finish();
  End(context, status.error_code() == grpc::StatusCode::UNAVAILABLE);
  if (!answered) return NoAnswer(status.error_message());
  return ReadAnswer(answer);
}

void Connection::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (grpc::ClientContext* context : calls_) context->TryCancel();
}

Status Connection::NoAnswer(const std::string& reason) const {
  return Error(Code::kUnavailable, "The rendezvous at {} does not answer: {}.", name_, reason);
}

}  // namespace tenon::rendezvous
