#include "tests/support/socket_store.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "tenon/abi/status.h"

namespace tenon::testing_support {
namespace {

constexpr std::size_t kMessage = 1 << 16;

// A request is an operation, a number, a key and a value; the key is closed by a NUL.
std::string RequestOf(char operation, std::uint64_t number, const std::string& key, const std::string& value) {
  std::string request(1, operation);
  request.append(reinterpret_cast<const char*>(&number), sizeof number);
  request += key;
  request.push_back('\0');
  return request + value;
}

}  // namespace

StoreServer::~StoreServer() {
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
}

int StoreServer::Connect() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  sockets_.push_back(ends[0]);
  threads_.emplace_back([this, socket = ends[0]] { Serve(socket); });
  return ends[1];
}

void StoreServer::Serve(int socket) {
  std::vector<char> room(kMessage);
  for (;;) {
    const ssize_t bytes = recv(socket, room.data(), room.size(), 0);
    if (bytes <= 0) return;
    const std::string answer = Answer(std::string(room.data(), static_cast<std::size_t>(bytes)));
    if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

std::string StoreServer::Answer(const std::string& request) {
  std::uint64_t number = 0;
  request.copy(reinterpret_cast<char*>(&number), sizeof number, 1);
  const std::size_t end = request.find('\0', 1 + sizeof number);
  const std::string key = request.substr(1 + sizeof number, end - 1 - sizeof number);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto code = [](char value) { return std::string(1, value); };
  switch (request[0]) {
    case 'p':
      values_[key] = request.substr(end + 1);
      changed_.notify_all();
      return code(TENON_OK);
    case 'd':
      return code(values_.erase(key) > 0 ? char{TENON_OK} : char{TENON_NOT_FOUND});
    default: {
      const bool there =
          changed_.wait_for(lock, std::chrono::nanoseconds(number), [&] { return values_.count(key) > 0; });
      if (!there) return code(number == 0 ? char{TENON_NOT_FOUND} : char{TENON_DEADLINE_EXCEEDED});
      return code(TENON_OK) + values_[key];
    }
  }
}

std::int32_t StoreClient::Ask(const std::string& request, std::string* value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return TENON_UNAVAILABLE;
  std::vector<char> room(kMessage);
  const ssize_t bytes = recv(socket_, room.data(), room.size(), 0);
  if (bytes <= 0) return TENON_UNAVAILABLE;
  if (value != nullptr) value->assign(room.data() + 1, static_cast<std::size_t>(bytes - 1));
  return room[0];
}

std::int32_t StoreClient::Put(const std::string& key, const std::string& value) {
  return Ask(RequestOf('p', 0, key, value), nullptr);
}
std::int32_t StoreClient::Get(const std::string& key, std::uint64_t timeout_ns, std::string* value) {
  return Ask(RequestOf('g', timeout_ns, key, ""), value);
}
std::int32_t StoreClient::Delete(const std::string& key) { return Ask(RequestOf('d', 0, key, ""), nullptr); }

}  // namespace tenon::testing_support
