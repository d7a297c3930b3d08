// Messages between two ranks of the node.
#pragma once

#include <vector>

#include "node/node.h"

namespace tenon::hccl {

// One message to or from a rank of this node. A send ends when the other has taken all of it.
struct Transfer {
  bool send = false;
  uint32_t peer = 0;  // index in the node
  Header header;
  char* data = nullptr;
  uint64_t bytes = 0;
  // Progress.
  uint64_t done = 0;
  bool started = false, taken = false;
  bool moved() const { return started && done == bytes; }
  bool finished() const { return moved() && (!send || taken); }
};

// Advances all of them until they are done, side by side: no order among them can block. Throws Fault EI0005 when the two
// ends of a message mean different ones.
void RunTransfers(Node& node, std::vector<Transfer>* transfers, uint64_t deadline);

// The two ends of a message must agree. `from` and `to` are ranks.
void CompareEnds(const Header& sent, uint32_t from, const Header& expected, uint32_t to);

}  // namespace tenon::hccl
