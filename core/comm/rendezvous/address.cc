#include "core/comm/rendezvous/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace tenon::rendezvous {
namespace {

struct FreeList {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using List = std::unique_ptr<addrinfo, FreeList>;

Result<List> Ask(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string port_text = fmt::format("{}", port);
  const int error = getaddrinfo(host.c_str(), port_text.c_str(), &hints, &found);
  if (error != 0)
    return Error(Code::kUnavailable, "The name '{}' is not resolved (DNS or hosts file): {}.", host,
                 gai_strerror(error));
  return List(found);
}

std::string TextOf(const sockaddr* address, socklen_t bytes) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(address, bytes, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof(v6));
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

bool HasV6() {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  const bool works = bind(probe, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0;
  close(probe);
  return works;
}

std::string Bracketed(const NumericAddress& address) { return address.v6 ? "[" + address.text + "]" : address.text; }

Status CannotConnect(const NumericAddress& address, std::uint16_t port, int error) {
  const char* meaning = "";
  if (error == ECONNREFUSED) meaning = ": nobody listens there (yet)";
  if (error == ETIMEDOUT) meaning = ": nothing comes back, as behind a firewall or with the network down";
  return Error(Code::kUnavailable, "{}:{} is not reached ({}){}.", Bracketed(address), port, std::strerror(error),
               meaning);
}

Status TryOne(const NumericAddress& address, std::uint16_t port, std::uint64_t timeout_ns) {
  TENON_ASSIGN(const List list, Ask(address.text, port, AI_NUMERICHOST));
  const addrinfo* entry = list.get();
  const int probe = socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return CannotConnect(address, port, errno);
  int error = connect(probe, entry->ai_addr, entry->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd ready{probe, POLLOUT, 0};
    const int count = poll(&ready, 1, static_cast<int>(timeout_ns / 1'000'000));
    socklen_t bytes = sizeof(error);
    if (count <= 0 || getsockopt(probe, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = ETIMEDOUT;
  }
  close(probe);
  return error == 0 ? Status() : CannotConnect(address, port, error);
}

}  // namespace

Result<std::vector<NumericAddress>> Resolve(const std::string& host) {
  TENON_ASSIGN(const List list, Ask(host, 1, 0));
  std::vector<NumericAddress> addresses;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    NumericAddress address;
    address.text = TextOf(entry->ai_addr, entry->ai_addrlen);
    address.v6 = entry->ai_family == AF_INET6;
    address.loopback = IsLoopback(entry->ai_addr);
    if (!address.text.empty()) addresses.push_back(std::move(address));
  }
  if (addresses.empty()) return Error(Code::kUnavailable, "The name '{}' has no IP address.", host);
  return addresses;
}

std::string ChannelTarget(const std::vector<NumericAddress>& addresses, std::uint16_t port) {
  const bool any_v4 = std::any_of(addresses.begin(), addresses.end(), [](const auto& address) { return !address.v6; });
  std::string target;
  for (const NumericAddress& address : addresses) {
    if (address.v6 == any_v4) continue;
    target += fmt::format("{}{}:{}", target.empty() ? (any_v4 ? "ipv4:" : "ipv6:") : ",", Bracketed(address), port);
  }
  return target;
}

Status TryConnect(const std::vector<NumericAddress>& addresses, std::uint16_t port, std::uint64_t timeout_ns) {
  Status last;
  for (const NumericAddress& address : addresses) {
    last = TryOne(address, port, timeout_ns);
    if (last.ok()) break;
  }
  return last;
}

std::string ListenAddress(const std::string& host) {
  const Result<std::vector<NumericAddress>> addresses = Resolve(host);
  if (addresses.ok()) {
    const bool local = std::all_of(addresses->begin(), addresses->end(), [](const auto& a) { return a.loopback; });
    const auto v4 = std::find_if(addresses->begin(), addresses->end(), [](const auto& a) { return !a.v6; });
    if (local) return Bracketed(v4 != addresses->end() ? *v4 : addresses->front());
  }
  return HasV6() ? "[::]" : "0.0.0.0";
}

std::string OwnAddressTowards(const NumericAddress& peer, std::uint16_t port) {
  const Result<List> list = Ask(peer.text, port == 0 ? 1 : port, AI_NUMERICHOST);
  if (!list.ok()) return "";
  const addrinfo* entry = list->get();
  const int probe = socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return "";
  sockaddr_storage own{};
  socklen_t bytes = sizeof(own);
  auto* address = reinterpret_cast<sockaddr*>(&own);
  std::string text;
  if (connect(probe, entry->ai_addr, entry->ai_addrlen) == 0 && getsockname(probe, address, &bytes) == 0)
    text = TextOf(address, bytes);
  close(probe);
  return text;
}

}  // namespace tenon::rendezvous
