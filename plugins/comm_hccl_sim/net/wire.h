// Messages to ranks of other nodes: Gloo's TCP transport, its point-to-point interface of unbound buffers alone. One mesh of
// connections for each communicator; ranks of one node are not connected.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hccl/fault.h"

namespace gloo {
namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport
}  // namespace gloo

namespace tenon::hccl {

class Mesh;

// What a wire needs of the key-value store; `get` waits and throws a Fault at its own time-out.
struct WireStore {
  std::function<void(const std::string& key, const std::string& value)> put;
  std::function<std::string(const std::string& key, uint32_t rank)> get;
};

// One message under way.
class Message {
 public:
  Message();
  Message(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, uint32_t peer, bool send);
  Message(Message&& other) noexcept;
  Message& operator=(Message&& other) noexcept;
  ~Message();

 private:
  friend class Wire;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  uint32_t peer_ = 0;
  bool send_ = false;
};

class Wire {
 public:
  // Connects to all of `remotes`. `interrupted` throws the Fault that should end all waiting, from any thread; it is looked
  // at all the time, and `closing` is told before the connections are closed for it.
  Wire(std::shared_ptr<gloo::transport::Device> device, const WireStore& store, uint32_t rank, uint32_t size,
       const std::vector<uint32_t>& remotes, uint64_t connect_ns, std::function<void()> interrupted,
       std::function<void(const Fault&)> closing);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Memory stays in use until the message was awaited. Equal tags meet; a tag is used once between two ranks and direction.
  Message Send(uint32_t peer, uint64_t tag, const void* data, uint64_t bytes);
  Message Receive(uint32_t peer, uint64_t tag, void* data, uint64_t bytes);
  // Throws Fault EI0002 at the deadline and EI0006 when the connection is lost, naming the peer.
  void Await(Message* message, uint64_t deadline);

  // Ends all connections: every peer that waits for this rank notices.
  void Close();

  // Memory that lives as long as the wire.
  char* Scratch(uint64_t bytes);

  const std::vector<uint32_t>& remotes() const { return remotes_; }

 private:
  void Connect(const WireStore& store, uint64_t connect_ns);
  void Watch();
  bool Wait(Message* message, uint64_t ns);
  [[noreturn]] void Lost(uint32_t peer, const std::string& why, bool late, uint64_t waited_ns);

  std::shared_ptr<gloo::transport::Device> device_;
  const uint32_t rank_, size_;
  const std::vector<uint32_t> remotes_;
  const std::function<void()> interrupted_;
  const std::function<void(const Fault&)> closing_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<char[]> scratch_;
  uint64_t scratch_bytes_ = 0;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ending_ = false;
  Message* awaited_ = nullptr;
  std::thread watcher_;
};

// The TCP device of an address of this machine.
std::shared_ptr<gloo::transport::Device> OpenDevice(const std::string& address);

}  // namespace tenon::hccl
