// Operations that move without reducing, and messages between two ranks.
#include <algorithm>
#include <cstring>

#include "engine/engine.h"
#include "engine/pieces.h"

namespace tenon::hccl {

std::unique_ptr<Steps> Engine::MoveInNode(const Operation& operation, uint64_t deadline) {
  const uint32_t me = world_.rank;
  Exchange work;
  work.send = operation.send;
  work.receive = operation.receive;
  work.same = GivesSame(operation.kind);
  const bool varied = operation.kind == TENON_COLLECTIVE_ALL_TO_ALL_V;
  for (uint32_t index = 0; varied && index < node_.ranks(); ++index)
    CompareCounts(node_.rank_of(index), offered_[index], operation.receive_counts[node_.rank_of(index)]);
  for (uint32_t index = 0; index < node_.ranks(); ++index) {
    const uint32_t other = node_.rank_of(index);
    work.give.push_back(PieceOf(operation, me, me, other));
    work.take.push_back(PieceOf(operation, me, other, me));
  }
  if (work.same) {
    // The piece that any reader gets; a source gives nothing when its bytes go nowhere in the node.
    const bool source = operation.kind != TENON_COLLECTIVE_BROADCAST || operation.op.root == me;
    work.give = {source ? Piece{0, 0, operation.bytes()} : Piece{}};
  }
  work.longest = operation.bytes();
  for (const Header& header : headers_) {
    if (varied) work.longest = std::max(work.longest, header.largest * operation.width());
  }
  // Only a source knows where in its memory the blocks of all_to_all_v are.
  work.open.assign(node_.ranks(), nullptr);
  if (!varied) work.open = OpenSends(deadline);
  return RunExchange(node_, std::move(work));
}

// What a rank sends to this one and what is expected from it must agree.
void Engine::CompareCounts(uint32_t source, uint64_t offered, uint64_t expected) const {
  if (offered == expected) return;
  throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kMismatch,
                  "all_to_all_v: rank " + std::to_string(source) + " sends " + std::to_string(offered) +
                      " elements to rank " + std::to_string(world_.rank) + ", which expects " +
                      std::to_string(expected) + ".");
}

void Engine::CompareRemoteCounts(const Operation& operation, uint64_t deadline) {
  const uint64_t tag = NextTag();
  const std::vector<uint32_t>& remotes = world_.wire->remotes();
  std::vector<uint64_t> offered(remotes.size());
  std::vector<Message> coming, sent;
  for (size_t i = 0; i < remotes.size(); ++i) {
    coming.push_back(world_.wire->Receive(remotes[i], tag, &offered[i], sizeof offered[i]));
    sent.push_back(world_.wire->Send(remotes[i], tag, &operation.send_counts[remotes[i]], sizeof(uint64_t)));
  }
  for (Message& message : coming) world_.wire->Await(&message, deadline);
  for (Message& message : sent) world_.wire->Await(&message, deadline);
  for (size_t i = 0; i < remotes.size(); ++i)
    CompareCounts(remotes[i], offered[i], operation.receive_counts[remotes[i]]);
}

// To the first rank of each other node, and from there inside.
void Engine::BroadcastOverNodes(const Operation& operation, uint64_t deadline) {
  const uint32_t root = operation.op.root, me = world_.rank;
  const uint64_t tag = NextTag(), bytes = operation.bytes();
  const int inside = node_.IndexOf(root);
  std::vector<Message> sent;
  if (me == root) {
    for (size_t other = 0; other < world_.nodes.size(); ++other) {
      if (other != world_.my_node)
        sent.push_back(world_.wire->Send(world_.nodes[other][0], tag, operation.send, bytes));
    }
  } else if (inside < 0 && world_.leads()) {
    Message coming = world_.wire->Receive(root, tag, operation.receive, bytes);
    world_.wire->Await(&coming, deadline);
  }
  const uint32_t source = inside < 0 ? 0 : static_cast<uint32_t>(inside);
  Exchange work;
  work.send = me == root ? operation.send : operation.receive;
  work.receive = operation.receive;
  work.same = true;
  work.take.assign(node_.ranks(), {});
  work.take[source] = {0, 0, bytes};
  work.give = {work.take[node_.me()]};
  work.longest = bytes;
  work.open.assign(node_.ranks(), nullptr);
  RunSteps(node_, *RunExchange(node_, std::move(work)), deadline);
  for (Message& message : sent) world_.wire->Await(&message, deadline);
}

// Inside the node as ever; each piece to or from another node goes straight between its two ranks.
void Engine::MoveOverNodes(const Operation& operation, uint64_t deadline) {
  const uint64_t tag = NextTag();
  const uint32_t me = world_.rank;
  if (operation.kind == TENON_COLLECTIVE_ALL_TO_ALL_V) CompareRemoteCounts(operation, deadline);
  std::vector<Message> messages;
  for (const uint32_t other : world_.wire->remotes()) {
    const Piece in = PieceOf(operation, me, other, me);
    if (in.bytes > 0) messages.push_back(world_.wire->Receive(other, tag, operation.receive + in.to, in.bytes));
  }
  for (const uint32_t other : world_.wire->remotes()) {
    const Piece out = PieceOf(operation, me, me, other);
    if (out.bytes > 0) messages.push_back(world_.wire->Send(other, tag, operation.send + out.from, out.bytes));
  }
  RunSteps(node_, *MoveInNode(operation, deadline), deadline);
  for (Message& message : messages) world_.wire->Await(&message, deadline);
}

void Engine::RunMessages(std::vector<Operation*>& operations, uint64_t deadline) {
  // To and from other nodes: a header, which the reader compares, and the data.
  struct Remote {
    Operation* operation;
    Header header;
    uint64_t tag;
    Message first, second;
  };
  std::vector<Remote> remotes;
  remotes.reserve(operations.size());
  std::vector<Transfer> transfers;
  for (Operation* operation : operations) {
    node_.SetActivity(operation->kind, operation->op.sequence);
    const bool send = operation->kind == TENON_COLLECTIVE_SEND;
    const uint32_t peer = operation->op.peer;
    if (const int index = node_.IndexOf(peer); index >= 0) {
      transfers.push_back({send, static_cast<uint32_t>(index), HeaderOf(*operation),
                           send ? operation->send : operation->receive, operation->bytes()});
      continue;
    }
    uint64_t& number = send ? messages_out_[peer] : messages_in_[peer];
    remotes.push_back({operation, HeaderOf(*operation), uint64_t{1} << 63 | number++ << 1, {}, {}});
    Remote& remote = remotes.back();
    if (send) {
      remote.first = world_.wire->Send(peer, remote.tag, &remote.header, sizeof remote.header);
      remote.second = world_.wire->Send(peer, remote.tag + 1, operation->send, operation->bytes());
    } else {
      remote.first = world_.wire->Receive(peer, remote.tag, &remote.header, sizeof remote.header);
    }
  }
  RunTransfers(node_, &transfers, deadline);
  for (Remote& remote : remotes) {
    if (remote.operation->kind == TENON_COLLECTIVE_SEND) continue;
    const uint32_t peer = remote.operation->op.peer;
    world_.wire->Await(&remote.first, deadline);
    CompareEnds(remote.header, peer, HeaderOf(*remote.operation), world_.rank);
    remote.second = world_.wire->Receive(peer, remote.tag + 1, remote.operation->receive, remote.operation->bytes());
  }
  for (Remote& remote : remotes) {
    if (remote.operation->kind == TENON_COLLECTIVE_SEND) world_.wire->Await(&remote.first, deadline);
    world_.wire->Await(&remote.second, deadline);
  }
}

}  // namespace tenon::hccl
