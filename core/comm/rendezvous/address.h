#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon::rendezvous {

// An address as numbers, and whether it leads to this machine alone.
struct NumericAddress {
  std::string text;  // "10.0.0.1", "fd00::1"
  bool v6 = false;
  bool loopback = false;
};

// Asks the system's resolver; nothing is remembered. UNAVAILABLE says that it is the name and repeats the system's reason.
Result<std::vector<NumericAddress>> Resolve(const std::string& host);

// "ipv4:10.0.0.1:8118" for a channel; v4 addresses are preferred.
std::string ChannelTarget(const std::vector<NumericAddress>& addresses, std::uint16_t port);

// OK when somebody listens at one of the addresses. UNAVAILABLE says why not: nobody listens, or nothing came back
// within the time limit, as when packets are dropped on the way.
Status TryConnect(const std::vector<NumericAddress>& addresses, std::uint16_t port, std::uint64_t timeout_ns);

// Where to listen so that ranks reach `host`: its loopback address when it is one, else all interfaces.
std::string ListenAddress(const std::string& host);

// Address of this machine by which it would talk to `peer`: "10.0.0.2"; empty when there is no way.
std::string OwnAddressTowards(const NumericAddress& peer, std::uint16_t port);

}  // namespace tenon::rendezvous
