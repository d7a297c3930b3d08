#include "node/channel.h"

#include <algorithm>
#include <cstring>

namespace tenon::hccl {
namespace {

Channel& ChannelOf(Node& node, const Transfer& transfer) {
  return transfer.send ? node.channel(node.me(), transfer.peer) : node.channel(transfer.peer, node.me());
}

bool CanMove(Node& node, const Transfer& transfer) {
  Channel& channel = ChannelOf(node, transfer);
  const uint64_t written = channel.written.load(std::memory_order_acquire);
  const uint64_t read = channel.read.load(std::memory_order_acquire);
  if (!transfer.send) return written > read;
  return transfer.moved() ? written == read : written - read < kSlots;
}

void MoveOne(Node& node, Transfer* transfer) {
  if (transfer->send && transfer->moved()) {
    transfer->taken = true;
    return;
  }
  Channel& channel = ChannelOf(node, *transfer);
  std::atomic<uint64_t>& counter = transfer->send ? channel.written : channel.read;
  const uint64_t at = counter.load(std::memory_order_relaxed);
  Channel::Slot& slot = channel.slots[at % kSlots];
  if (transfer->send) {
    slot.header = transfer->header;
    slot.bytes = std::min(transfer->bytes - transfer->done, kSlot);
    if (slot.bytes > 0) std::memcpy(slot.data, transfer->data + transfer->done, slot.bytes);
  } else {
    if (!transfer->started)
      CompareEnds(slot.header, node.rank_of(transfer->peer), transfer->header, node.rank_of(node.me()));
    if (slot.bytes > 0) std::memcpy(transfer->data + transfer->done, slot.data, slot.bytes);
  }
  transfer->done += slot.bytes;
  transfer->started = true;
  counter.store(at + 1, std::memory_order_seq_cst);
  node.Ring(transfer->peer);
}

// The messages that may move now: the first unfinished one of each channel.
std::vector<Transfer*> Active(std::vector<Transfer>* transfers) {
  std::vector<Transfer*> active;
  for (Transfer& transfer : *transfers) {
    if (transfer.finished()) continue;
    const auto same = [&transfer](const Transfer* other) {
      return other->peer == transfer.peer && other->send == transfer.send;
    };
    if (std::none_of(active.begin(), active.end(), same)) active.push_back(&transfer);
  }
  return active;
}

class AnyCanMove final : public Waiting {
 public:
  AnyCanMove(Node& node, const std::vector<Transfer*>& active) : node_(node), active_(active) {}
  bool Ready() const override {
    return std::any_of(active_.begin(), active_.end(), [this](const Transfer* one) { return CanMove(node_, *one); });
  }
  int Missing() const override { return static_cast<int>(active_.front()->peer); }

 private:
  Node& node_;
  const std::vector<Transfer*>& active_;
};

}  // namespace

void CompareEnds(const Header& sent, uint32_t from, const Header& expected, uint32_t to) {
  const bool fingerprints =
      sent.fingerprint == 0 || expected.fingerprint == 0 || sent.fingerprint == expected.fingerprint;
  if (sent.dtype == expected.dtype && sent.count == expected.count && fingerprints) return;
  throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kMismatch,
                  "Two ends of a message differ: rank " + std::to_string(from) + " " + DescribeHeader(sent) +
                      " to rank " + std::to_string(to) + ", which expects " + DescribeHeader(expected) + ".");
}

void RunTransfers(Node& node, std::vector<Transfer>* transfers, uint64_t deadline) {
  for (;;) {
    const std::vector<Transfer*> active = Active(transfers);
    if (active.empty()) return;
    node.Await(AnyCanMove(node, active), deadline);
    for (Transfer* transfer : active) {
      while (!transfer->finished() && CanMove(node, *transfer)) MoveOne(node, transfer);
    }
  }
}

}  // namespace tenon::hccl
