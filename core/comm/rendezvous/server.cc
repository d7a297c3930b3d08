#include "core/comm/rendezvous/server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "core/comm/rendezvous/address.h"
#include "core/comm/rendezvous/board.h"
#include "core/comm/rendezvous/wire.h"
#include "tenon_rendezvous.grpc.pb.h"

namespace tenon::rendezvous {
namespace {

// One call in flight: answered once by the board, and told when the caller is gone.
class Call : public grpc::ServerUnaryReactor {
 public:
  explicit Call(Answer* answer) : answer_(answer) {}
  void Give(const Reply& reply) {
    WriteAnswer(reply, *answer_);
    Finish(grpc::Status::OK);
  }
  // To be set before the call can be lost, or never.
  void SetOnLost(std::function<void()> on_lost) { on_lost_ = std::move(on_lost); }

 private:
  void OnCancel() override {
    if (on_lost_) on_lost_();
  }
  void OnDone() override { delete this; }

  Answer* answer_;
  std::function<void()> on_lost_;
};

// A registration: answered with `more`, then ended; a last answer that overtakes the first stands for both.
class RegisterCall : public grpc::ServerWriteReactor<Answer>, public std::enable_shared_from_this<RegisterCall> {
 public:
  void Give(const Reply& reply) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      ended_ = !reply.more;
      first = !answered_;
      answered_ = true;
    }
    if (first) WriteAnswer(reply, answer_);
    if (first && reply.more) {
      StartWrite(&answer_);
    } else if (first) {
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  // To be set before the call can be lost. Holds the call until it is done with.
  void SetOnLost(std::function<void()> on_lost) {
    self_ = shared_from_this();
    on_lost_ = std::move(on_lost);
  }

 private:
  void OnCancel() override { on_lost_(); }
  void OnDone() override { self_.reset(); }

  Answer answer_;
  std::mutex mutex_;
  bool answered_ = false, ended_ = false;
  std::function<void()> on_lost_;
  std::shared_ptr<RegisterCall> self_;
};

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

Reactor* GiveAtOnce(Answer* answer, const Reply& reply) {
  auto* call = new Call(answer);
  call->Give(reply);
  return call;
}

class Service final : public Meeting::CallbackService {
 public:
  explicit Service(Board& board) : board_(board) {}

  grpc::ServerWriteReactor<Answer>* Register(Context*, const Registration* in) override {
    const auto call = std::make_shared<RegisterCall>();
    StartWaiting(*call, [&] {
      return board_.Register(ReadRegistration(*in), [call](const Reply& reply) { call->Give(reply); });
    });
    return call.get();
  }
  Reactor* Watch(Context*, const Request* in, Answer* out) override {
    auto* call = new Call(out);
    StartWaiting(*call, [&] {
      return board_.Watch(in->token(), in->timeout_ns(), [call](const Reply& reply) { call->Give(reply); });
    });
    return call;
  }
  Reactor* Put(Context*, const Request* in, Answer* out) override {
    return GiveAtOnce(out, board_.Put(in->token(), in->key(), in->value()));
  }
  Reactor* Delete(Context*, const Request* in, Answer* out) override {
    return GiveAtOnce(out, board_.Delete(in->token(), in->key()));
  }
  Reactor* Get(Context*, const Request* in, Answer* out) override {
    auto* call = new Call(out);
    board_.Get(in->token(), in->key(), in->timeout_ns(), [call](const Reply& reply) { call->Give(reply); });
    return call;
  }
  Reactor* Barrier(Context*, const Request* in, Answer* out) override {
    auto* call = new Call(out);
    board_.Barrier(in->token(), in->key(), in->timeout_ns(), [call](const Reply& reply) { call->Give(reply); });
    return call;
  }
  Reactor* Abort(Context*, const Request* in, Answer* out) override {
    return GiveAtOnce(out, board_.Abort(in->token(), Status(static_cast<Code>(in->code()), in->key())));
  }
  Reactor* Leave(Context*, const Request* in, Answer* out) override {
    return GiveAtOnce(out, board_.Leave(in->token()));
  }
  Reactor* Allot(Context*, const Allotment* in, Answer* out) override {
    Candidate node;
    node.host = in->host();
    node.job = in->job();
    node.generation = in->generation();
    return GiveAtOnce(out, board_.Allot(node, in->workers()));
  }
  Reactor* Probe(Context*, const Request*, Answer* out) override {
    Reply reply;
    reply.value = board_.Describe();
    return GiveAtOnce(out, reply);
  }

 private:
  // A call whose end on the other side matters. The board may answer before `start` returns.
  template <class WaitingCall>
  void StartWaiting(WaitingCall& call, const std::function<std::uint64_t()>& start) {
    const auto number = std::make_shared<std::atomic<std::uint64_t>>(0);
    const auto lost = std::make_shared<std::atomic<bool>>(false);
    call.SetOnLost([this, number, lost] {
      lost->store(true);
      if (const std::uint64_t started = number->load(); started != 0) board_.LostCall(started);
    });
    const std::uint64_t started = start();
    number->store(started);
    if (lost->load() && started != 0) board_.LostCall(started);
  }

  Board& board_;
};

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(BoardOptions options) : board_(std::move(options)), service_(board_) {}
  ~GrpcServer() override {
    if (!server_) return;
    board_.Close();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  }

  Status Start(const ServeOptions& options) {
    const std::string listen = fmt::format("{}:{}", ListenAddress(options.address), options.port);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ && port != 0) {
      port_ = static_cast<std::uint16_t>(port);
      return Status();
    }
    server_.reset();
    return Error(
        Code::kUnavailable,
        "The rendezvous cannot listen on port {} ({}): another program has it. Choose another port, or 0 for a free "
        "one.",
        options.port, listen);
  }

  std::uint16_t port() const override { return port_; }
  Status failure() const override { return board_.failure(); }
  bool WaitAllLeft(std::uint64_t timeout_ns) const override { return board_.WaitAllLeft(timeout_ns); }
  bool Complete() const override { return board_.Complete(); }
  bool AnyonePresent() const override { return board_.AnyonePresent(); }
  bool AllHeard() const override { return board_.AllHeard(); }
  void AbortRank(std::uint32_t rank, const std::string& what_happened) override {
    board_.AbortRank(rank, what_happened);
  }

 private:
  Board board_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<Server>> Serve(const ServeOptions& options) {
  BoardOptions board;
  board.size = options.size;
  board.job = options.job;
  board.generation = options.generation;
  board.version = TENON_VERSION_STRING;
  board.topology_timeout_ns = options.limits.topology_ns;
  board.node_timeout_ns = options.limits.node_ns;
  board.log = options.log;
  board.waiting = options.waiting;
  auto server = std::make_unique<GrpcServer>(std::move(board));
  TENON_TRY(server->Start(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace tenon::rendezvous
