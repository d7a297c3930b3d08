#include "node/sockets.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "hccl/fault.h"

namespace tenon::hccl {
namespace {

sockaddr_un AddressOf(const std::string& name, socklen_t* size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Descriptor NewSocket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

bool Readable(const Descriptor& socket, int ms) {
  pollfd waited{socket.get(), POLLIN, 0};
  return poll(&waited, 1, ms) > 0;
}

}  // namespace

Listener::Listener() : socket_(NewSocket()) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<uint64_t>(getpid());
  name_ = "tenon-hccl-" + std::to_string(getpid()) + "-" + std::to_string(random);
  socklen_t size = 0;
  const sockaddr_un address = AddressOf(name_, &size);
  if (!socket_.valid() || bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(socket_.get(), 128) != 0)
    throw MakeFault(
        TENON_RESOURCE_EXHAUSTED, Ei::kAllocation,
        std::string("A Unix socket for the ranks of this node cannot be made: ") + std::strerror(errno) + ".");
}

Descriptor Listener::Accept(int ms) {
  if (!Readable(socket_, ms)) return {};
  return Descriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

Descriptor ConnectTo(const std::string& name) {
  Descriptor socket = NewSocket();
  socklen_t size = 0;
  const sockaddr_un address = AddressOf(name, &size);
  if (!socket.valid() || connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return socket;
}

pid_t PeerProcess(const Descriptor& socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return 0;
  return credentials.pid;
}

bool SendNote(const Descriptor& socket, const Note& note, int file) {
  Note copy = note;
  iovec part{&copy, sizeof copy};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(socket.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof copy);
}

int ReceiveNote(const Descriptor& socket, int ms, Note* note, Descriptor* file) {
  if (!Readable(socket, ms)) return 0;
  iovec part{note, sizeof *note};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof *note)) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return 1;
  int received = -1;
  std::memcpy(&received, CMSG_DATA(header), sizeof received);
  Descriptor taken(received);
  if (file != nullptr) *file = std::move(taken);
  return 1;
}

}  // namespace tenon::hccl
