#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/status.h"

namespace tenon {

// A TCP port of this machine that belongs to one job: a second job that asks for it is refused at once, also before
// anybody listens. The holder does not listen; the server of the job does, beside it. Given back when it ends.
class HeldPort {
 public:
  // 0 picks a free port. UNAVAILABLE names the port that is taken, and by whom as far as that is known.
  static Result<HeldPort> Take(std::uint16_t port);

  HeldPort() = default;
  HeldPort(HeldPort&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), name_(std::exchange(other.name_, -1)), port_(other.port_) {}
  HeldPort& operator=(HeldPort&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(name_, other.name_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~HeldPort();

  std::uint16_t port() const { return port_; }

 private:
  int socket_ = -1;
  int name_ = -1;  // in the abstract name space of the network: one holder at a time
  std::uint16_t port_ = 0;
};

}  // namespace tenon
