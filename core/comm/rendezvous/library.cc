// The entry of libtenon_rendezvous.so, the only symbol that it shows.
#include "core/comm/rendezvous/library.h"

#include <grpc/support/log.h>

#include "core/base/env.h"
#include "core/comm/rendezvous/client.h"
#include "core/comm/rendezvous/server.h"

extern "C" __attribute__((visibility("default"))) const tenon::rendezvous::Library* tenon_rendezvous_library() {
  static const tenon::rendezvous::Library library{TENON_VERSION_STRING,     tenon::rendezvous::kInterface,
                                                  tenon::rendezvous::Join,  tenon::rendezvous::Serve,
                                                  tenon::rendezvous::Allot, tenon::rendezvous::Probe};
  // What goes wrong is in the status of each call; gRPC's own lines are for those who ask for them.
  if (!tenon::GetEnv("GRPC_VERBOSITY")) gpr_set_log_function([](gpr_log_func_args*) {});
  return &library;
}
