// Unix sockets between the ranks of a node, for what shared memory cannot carry: files, and who a process is. Names are abstract:
// nothing is left behind in a folder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "node/descriptor.h"

namespace tenon::hccl {

// A message of this module.
struct Note {
  uint64_t value = 0;
  uint64_t extra = 0;
};

// Waits for connections under a name that nobody else has. Throws Fault EI0007.
class Listener {
 public:
  Listener();
  const std::string& name() const { return name_; }
  // A connection, or an invalid descriptor when none came within `ms`.
  Descriptor Accept(int ms);

 private:
  std::string name_;
  Descriptor socket_;
};

// Invalid when nobody listens there.
Descriptor ConnectTo(const std::string& name);

// The process at the other end, as the kernel knows it.
pid_t PeerProcess(const Descriptor& socket);

// `file` -1: a note without a file. False: the other end is gone.
bool SendNote(const Descriptor& socket, const Note& note, int file = -1);
// Waits up to `ms`: 1 received, 0 nothing came, -1 the other end is gone.
int ReceiveNote(const Descriptor& socket, int ms, Note* note, Descriptor* file = nullptr);

}  // namespace tenon::hccl
