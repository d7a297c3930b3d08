#pragma once

#include "core/base/status.h"
#include "core/comm/rendezvous/library.h"

namespace tenon {

// Time limits of the rendezvous as the launcher's variables give them.
Result<rendezvous::Limits> RendezvousLimits();

}  // namespace tenon
