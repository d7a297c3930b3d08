#pragma once

#include <memory>

#include "core/comm/rendezvous/library.h"

namespace tenon::rendezvous {

// See JoinRun; rank 0 serves in its own process when the launcher has no scheduler.
Result<std::unique_ptr<Rendezvous>> Join(const Rank& rank, const Handshake& handshake, const JoinOptions& options);

// Of `node` address, port, job, generation and name count.
Result<std::uint32_t> Allot(const Rank& node, std::uint32_t workers, const JoinOptions& options);

Result<std::string> Probe(const std::string& address, std::uint16_t port, std::uint64_t timeout_ns);

}  // namespace tenon::rendezvous
