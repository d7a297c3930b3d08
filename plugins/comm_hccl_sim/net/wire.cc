#include "net/wire.h"

#include <gloo/common/error.h>
#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstring>

#include "node/clock.h"

namespace tenon::hccl {
namespace {

// Rounded up: a wait that ends in time must not end before the deadline.
std::chrono::milliseconds Milliseconds(uint64_t ns) {
  constexpr uint64_t kMost = 1000ull * 3600 * 24 * 365;
  return std::chrono::milliseconds(std::max<uint64_t>(std::min(ns / 1'000'000 + (ns % 1'000'000 != 0), kMost), 1));
}

// Addresses of the pairs of a rank, one for each remote in their order: length and bytes.
void AppendAddress(const std::vector<char>& address, std::string* out) {
  const auto size = static_cast<uint32_t>(address.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof size);
  out->append(address.data(), address.size());
}

}  // namespace

// The connections of a communicator.
class Mesh final : public gloo::Context {
 public:
  Mesh(std::shared_ptr<gloo::transport::Device> device, uint32_t mine, uint32_t ranks, uint64_t connect_ns)
      : gloo::Context(static_cast<int>(mine), static_cast<int>(ranks)) {
    device_ = std::move(device);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(Milliseconds(connect_ns));
  }
  // A pair for `peer`; its address.
  std::vector<char> Add(uint32_t peer) {
    auto& pair = transportContext_->createPair(static_cast<int>(peer));
    pair->setLocalRank(0);
    return pair->address().bytes();
  }
  void Connect(uint32_t peer, const std::vector<char>& address) {
    transportContext_->getPair(static_cast<int>(peer))->connect(address);
  }
  void Close(uint32_t peer) {
    auto& pair = transportContext_->getPair(static_cast<int>(peer));
    if (pair) pair->close();
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> Buffer(void* data, uint64_t bytes) {
    return transportContext_->createUnboundBuffer(data, bytes);
  }
};

Message::Message(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, uint32_t peer, bool send)
    : buffer_(std::move(buffer)), peer_(peer), send_(send) {}
Message::Message() = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

Wire::Wire(std::shared_ptr<gloo::transport::Device> device, const WireStore& store, uint32_t rank, uint32_t size,
           const std::vector<uint32_t>& remotes, uint64_t connect_ns, std::function<void()> interrupted,
           std::function<void(const Fault&)> closing)
    : device_(std::move(device)),
      rank_(rank),
      size_(size),
      remotes_(remotes),
      interrupted_(std::move(interrupted)),
      closing_(std::move(closing)) {
  mesh_ = std::make_unique<Mesh>(device_, rank_, size_, connect_ns);
  std::string mine;
  for (const uint32_t peer : remotes_) {
    const uint32_t named = peer;
    mine.append(reinterpret_cast<const char*>(&named), sizeof named);
    AppendAddress(mesh_->Add(peer), &mine);
  }
  store.put("gloo/" + std::to_string(rank_), mine);
  watcher_ = std::thread([this] { Watch(); });
  try {
    Connect(store, connect_ns);
  } catch (...) {
    Close();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    watcher_.join();
    throw;
  }
}

Wire::~Wire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  Close();
}

void Wire::Connect(const WireStore& store, uint64_t connect_ns) {
  for (const uint32_t peer : remotes_) {
    const std::string theirs = store.get("gloo/" + std::to_string(peer), peer);
    std::vector<char> address;
    for (size_t at = 0; at + 8 <= theirs.size();) {
      uint32_t named = 0, bytes = 0;
      std::memcpy(&named, theirs.data() + at, sizeof named);
      std::memcpy(&bytes, theirs.data() + at + 4, sizeof bytes);
      at += 8;
      if (named == rank_) address.assign(theirs.data() + at, theirs.data() + at + bytes);
      at += bytes;
    }
    if (address.empty())
      throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kMismatch,
                      "Rank " + std::to_string(peer) + " does not take rank " + std::to_string(rank_) +
                          " for one of another node.");
    const uint64_t start = NowNs();
    try {
      mesh_->Connect(peer, address);
    } catch (const std::exception& error) {
      interrupted_();
      throw MakeFault(TENON_DEADLINE_EXCEEDED, Ei::kConnect,
                      "No connection to rank " + std::to_string(peer) + " within " + Seconds(NowNs() - start) + " of " +
                          Seconds(connect_ns) + " (HCCL_CONNECT_TIMEOUT): " + error.what() + ".");
    }
  }
}

void Wire::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, std::chrono::milliseconds(10));
    if (ending_) return;
    try {
      interrupted_();
    } catch (const Fault& fault) {
      lock.unlock();
      closing_(fault);
      Close();
      return;
    }
  }
}

void Wire::Close() {
  if (closed_.exchange(true)) return;
  {
    // Closing a connection wakes nobody on this side.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (awaited_ != nullptr && awaited_->send_) awaited_->buffer_->abortWaitSend();
    if (awaited_ != nullptr && !awaited_->send_) awaited_->buffer_->abortWaitRecv();
  }
  for (const uint32_t peer : remotes_) {
    try {
      mesh_->Close(peer);
    } catch (const std::exception&) {  // a connection that was never there
    }
  }
}

// False: the wire was closed meanwhile.
bool Wire::Wait(Message* message, uint64_t ns) {
  const auto await = [this](Message* one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    awaited_ = one;
    return !closed_;
  };
  if (!await(message)) return false;
  bool done = false;
  try {
    done = message->send_ ? message->buffer_->waitSend(Milliseconds(ns)) : message->buffer_->waitRecv(Milliseconds(ns));
  } catch (...) {
    await(nullptr);
    throw;
  }
  await(nullptr);
  return done;
}

Message Wire::Send(uint32_t peer, uint64_t tag, const void* data, uint64_t bytes) {
  Message message(mesh_->Buffer(const_cast<void*>(data), bytes), peer, true);
  try {
    message.buffer_->send(static_cast<int>(peer), tag);
  } catch (const std::exception& error) {
    Lost(peer, error.what(), false, 0);
  }
  return message;
}

Message Wire::Receive(uint32_t peer, uint64_t tag, void* data, uint64_t bytes) {
  Message message(mesh_->Buffer(data, bytes), peer, false);
  try {
    message.buffer_->recv(static_cast<int>(peer), tag);
  } catch (const std::exception& error) {
    Lost(peer, error.what(), false, 0);
  }
  return message;
}

void Wire::Await(Message* message, uint64_t deadline) {
  const uint64_t start = NowNs();
  const uint64_t left = deadline > start ? deadline - start : 0;
  bool done = false;
  try {
    done = Wait(message, left);
  } catch (const std::exception& error) {
    const uint64_t now = NowNs();
    Lost(message->peer_, error.what(), now >= deadline, now - start);
  }
  if (!done) Lost(message->peer_, "this rank closed it", false, 0);
}

void Wire::Lost(uint32_t peer, const std::string& why, bool late, uint64_t waited_ns) {
  interrupted_();  // this rank's own end of the connections may be the cause
  if (late)
    throw MakeFault(TENON_DEADLINE_EXCEEDED, Ei::kTimeout,
                    "An operation did not end within " + Seconds(waited_ns) + ": rank " + std::to_string(peer) +
                        " on another node did not arrive.");
  throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect,
                  "The connection to rank " + std::to_string(peer) + " was lost: " + why + ".");
}

char* Wire::Scratch(uint64_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset(new char[bytes]);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

std::shared_ptr<gloo::transport::Device> OpenDevice(const std::string& address) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  try {
    return gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect,
                    "No connections can be made from address " + address + ": " + error.what() + ".");
  }
}

}  // namespace tenon::hccl
