#include "core/launch/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace tenon {
namespace {

// Bound for reuse, so that connections of an ended job that are still winding down do not count; a port where somebody
// listens is refused all the same.
int BindPort(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

std::uint16_t PortOf(int socket) {
  sockaddr_in address{};
  socklen_t bytes = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

int ClaimName(std::uint16_t port) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("tenon-job-port-{}", port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return socket;
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

Status Taken(std::uint16_t port, const char* who) {
  return Error(
      Code::kUnavailable,
      "Port {} of --master_port is taken by {}. No worker was started. Choose another port, or 0 for a free one.", port,
      who);
}

}  // namespace

Result<HeldPort> HeldPort::Take(std::uint16_t port) {
  HeldPort held;
  held.socket_ = BindPort(port);
  if (held.socket_ < 0 && errno == EADDRINUSE) return Taken(port, "another program");
  if (held.socket_ < 0)
    return Error(Code::kUnavailable, "Port {} of --master_port cannot be used: {}. No worker was started.", port,
                 std::strerror(errno));
  held.port_ = PortOf(held.socket_);
  held.name_ = ClaimName(held.port_);
  if (held.name_ >= 0) return held;
  return Taken(held.port_, "another job that starts on this machine");
}

HeldPort::~HeldPort() {
  if (socket_ >= 0) close(socket_);
  if (name_ >= 0) close(name_);
}

}  // namespace tenon
