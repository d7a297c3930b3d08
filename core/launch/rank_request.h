#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/comm/rendezvous/library.h"

namespace tenon {

// A node that has no number asks the scheduler which ranks its workers are.
struct RankRequest {
  std::string address;
  std::uint16_t port = 0;
  std::string job;
  std::uint32_t generation = 0;
  std::uint32_t workers = 0;
  rendezvous::Limits limits;
};

// The first of its ranks. Asks in a process of its own, since the launcher opens no network library. CANCELLED when a
// signal other than that of a child comes by `signals` (a signalfd).
Result<std::uint32_t> RequestRanks(const RankRequest& request, int signals);

}  // namespace tenon
