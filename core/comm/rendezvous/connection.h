#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "core/comm/rendezvous/wire.h"
#include "tenon_rendezvous.grpc.pb.h"

namespace tenon::rendezvous {

// A channel to the rendezvous and the calls on it. Any thread.
class Connection {
 public:
  Connection(const std::string& target, std::string name);

  // One call with a time limit. UNAVAILABLE when no answer came, with the network's reason; the next call connects anew.
  template <class Method, class In>
  Result<Reply> Ask(Method method, const In& in, std::uint64_t timeout_ns) {
    grpc::ClientContext context;
    SetDeadline(context, timeout_ns);
    const std::shared_ptr<Meeting::Stub> stub = Begin(context);
    if (!stub) return NoAnswer("the connection is closed");
    Answer answer;
    const grpc::Status status = (stub.get()->*method)(&context, in, &answer);
    End(context, status.error_code() == grpc::StatusCode::UNAVAILABLE);
    if (!status.ok()) return NoAnswer(status.error_message());
    return ReadAnswer(answer);
  }

  // The one call that is answered twice: `registered` is called with the first answer if that is a good one; returns
  // that answer once the server has ended the call.
  Result<Reply> Register(const Registration& registration, std::uint64_t timeout_ns,
                         const std::function<void(const Reply&)>& registered);

  // Ends the calls in flight, and refuses those that follow.
  void Close();

 private:
  static void SetDeadline(grpc::ClientContext& context, std::uint64_t timeout_ns);
  std::shared_ptr<Meeting::Stub> Begin(grpc::ClientContext& context);
  void End(grpc::ClientContext& context, bool broken);
  Status NoAnswer(const std::string& reason) const;

  std::string target_, name_;
  std::mutex mutex_;
  std::shared_ptr<Meeting::Stub> stub_;  // null until the next call
  std::set<grpc::ClientContext*> calls_;
  bool closed_ = false;
};

}  // namespace tenon::rendezvous
