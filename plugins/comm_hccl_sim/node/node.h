// The ranks of this node that belong to a communicator: steps that all take together, the memory they share, and who of them
// is still alive.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "node/clock.h"
#include "node/descriptor.h"
#include "node/futex.h"
#include "node/segment.h"
#include "node/spin.h"

namespace tenon::hccl {

// One rank of the node.
struct Neighbour {
  uint32_t rank = 0;  // in the communicator
  pid_t process = 0;
  Descriptor socket;  // none to oneself
  Descriptor pidfd;   // readable when the process has ended
};

// Who is waited for, for checks and texts.
class Waiting {
 public:
  virtual ~Waiting() = default;
  virtual bool Ready() const = 0;
  // Neighbour that is missing; -1: none or not known.
  virtual int Missing() const = 0;
};

class Node {
 public:
  // `me`: index in `neighbours`. `segment`: the memory file; `size`: of the communicator. `stop`: the communicator was
  // aborted on this rank.
  Node(std::vector<Neighbour> neighbours, uint32_t me, uint32_t size, const Descriptor& segment,
       const std::atomic<bool>& stop);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  uint32_t me() const { return me_; }
  uint32_t ranks() const { return static_cast<uint32_t>(neighbours_.size()); }
  uint32_t rank_of(uint32_t index) const { return neighbours_[index].rank; }
  // Index of a rank of the communicator; -1: on another node.
  int IndexOf(uint32_t rank) const;
  const Neighbour& neighbour(uint32_t index) const { return neighbours_[index]; }

  // ---- shared memory ----
  Header& header(uint64_t copy, uint32_t index) { return layout_.header(base_, copy, index); }
  char* eager(uint64_t copy, uint32_t index) { return layout_.eager(base_, copy, index); }
  Header* everyone() { return layout_.everyone(base_); }
  char* stage(uint64_t copy, uint32_t index) { return layout_.stage(base_, copy, index); }
  char* result(uint64_t copy, uint32_t index) { return layout_.result(base_, copy, index); }
  Channel& channel(uint32_t from, uint32_t to) { return layout_.channel(base_, from, to); }
  RankLine& line(uint32_t index) { return layout_.line(base_, index); }
  uint64_t slice() const { return layout_.head(base_).slice; }

  // Waits until all ranks of the node have mapped the memory.
  void Begin(uint64_t deadline);

  // ---- steps ----
  // This rank has finished a step.
  void Arrive();
  uint64_t steps() const { return steps_; }
  // Have all ranks finished as many steps as this one?
  bool AllArrived() const;
  // Looks for AllArrived for a short while.
  bool SoonAllArrived() {
    return spin_.Until([this] { return AllArrived(); });
  }
  void AwaitAll(uint64_t deadline);
  void Step(uint64_t deadline) {
    Arrive();
    AwaitAll(deadline);
  }

  // Waits until ready; throws the Fault of an abort, a failure in the node, a dead rank, or of `deadline`.
  void Await(const Waiting& waiting, uint64_t deadline);
  // Throws what Await would throw now, except for the time.
  void Check(int missing);
  // Makes a rank that sleeps look again.
  void Ring(uint32_t index);
  void RingAll();

  // ---- failures ----
  // The first one stays, and every rank of the node learns of it.
  void Publish(const Fault& fault);
  // This rank aborted: no waiting, no allocation.
  void MarkAborted(std::string_view reason);
  void Leave();
  Fault LateFault(int missing, uint64_t waited_ns);
  // Rank of the communicator that was last waited for; -1: none.
  int64_t waiting_for() const { return waiting_for_.load(std::memory_order_relaxed); }
  void SetActivity(uint32_t kind, uint64_t sequence);

 private:
  void Record(int32_t code, Ei ei, std::string_view text);
  void ThrowPublished();
  void CheckProcesses();
  std::string Name(uint32_t index) const;

  std::vector<Neighbour> neighbours_;
  const uint32_t me_;
  const SegmentLayout layout_;
  const std::atomic<bool>& stop_;
  char* base_ = nullptr;
  uint64_t steps_ = 0;
  Spin spin_;
  std::atomic<int64_t> waiting_for_{-1};
};

}  // namespace tenon::hccl
