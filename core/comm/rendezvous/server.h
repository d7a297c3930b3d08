#pragma once

#include <memory>

#include "core/comm/rendezvous/library.h"

namespace tenon::rendezvous {

// A board behind a port. An error names the address, the port and who may have it.
Result<std::unique_ptr<Server>> Serve(const ServeOptions& options);

}  // namespace tenon::rendezvous
