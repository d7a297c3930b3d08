#include "node/node.h"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tenon::hccl {
namespace {

constexpr uint64_t kGlance = 20'000'000;  // between looks at processes and failures while sleeping

// All ranks have finished the steps of this one.
class AllThere final : public Waiting {
 public:
  AllThere(Node& node) : node_(node) {}
  bool Ready() const override { return node_.AllArrived(); }
  int Missing() const override {
    for (uint32_t index = 0; index < node_.ranks(); ++index) {
      if (node_.line(index).steps.load(std::memory_order_acquire) < node_.steps()) return static_cast<int>(index);
    }
    return -1;
  }

 private:
  Node& node_;
};

}  // namespace

Node::Node(std::vector<Neighbour> neighbours, uint32_t me, uint32_t size, const Descriptor& segment,
           const std::atomic<bool>& stop)
    : neighbours_(std::move(neighbours)),
      me_(me),
      layout_(static_cast<uint32_t>(neighbours_.size()), size),
      stop_(stop) {
  void* memory = mmap(nullptr, layout_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, segment.get(), 0);
  if (memory == MAP_FAILED)
    throw MakeFault(TENON_RESOURCE_EXHAUSTED, Ei::kAllocation,
                    "The " + std::to_string(layout_.bytes()) +
                        " bytes that the ranks of this node share cannot be mapped: " + std::strerror(errno) + ".");
  base_ = static_cast<char*>(memory);
  madvise(base_, layout_.bytes(), MADV_HUGEPAGE);
  if (sched_getaffinity(0, sizeof(cpu_set_t), &line(me_).cores) != 0) CPU_ZERO(&line(me_).cores);
  line(me_).state.store(static_cast<uint32_t>(LineState::kIn), std::memory_order_release);
}

void Node::Begin(uint64_t deadline) {
  Step(deadline);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (uint32_t index = 0; index < ranks(); ++index) CPU_OR(&all, &all, &line(index).cores);
  const bool enough = ranks() <= static_cast<uint32_t>(CPU_COUNT(&all));
  if (enough) spin_.Allow();
  // A rank without a core of its own is woken for every piece: fewer, larger ones.
  if (me_ == 0) layout_.head(base_).slice = enough ? 256u << 10 : 1u << 20;
  Step(deadline);
}

Node::~Node() {
  if (base_ != nullptr) munmap(base_, layout_.bytes());
}

int Node::IndexOf(uint32_t rank) const {
  for (uint32_t index = 0; index < ranks(); ++index) {
    if (neighbours_[index].rank == rank) return static_cast<int>(index);
  }
  return -1;
}

std::string Node::Name(uint32_t index) const {
  return "rank " + std::to_string(neighbours_[index].rank) + " (process " + std::to_string(neighbours_[index].process) +
         ")";
}

// ---- steps ----

void Node::Arrive() {
  layout_.line(base_, me_).steps.store(++steps_, std::memory_order_seq_cst);
  for (uint32_t index = 0; index < ranks(); ++index) {
    if (index != me_) Ring(index);
  }
}

bool Node::AllArrived() const {
  for (uint32_t index = 0; index < ranks(); ++index) {
    if (layout_.line(base_, index).steps.load(std::memory_order_acquire) < steps_) return false;
  }
  return true;
}

void Node::AwaitAll(uint64_t deadline) { Await(AllThere(*this), deadline); }

void Node::Ring(uint32_t index) {
  RankLine& other = layout_.line(base_, index);
  if (other.sleeping.load(std::memory_order_seq_cst) == 0) return;
  other.bell.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(&other.bell);
}

void Node::RingAll() {
  for (uint32_t index = 0; index < ranks(); ++index) Ring(index);
}

void Node::Await(const Waiting& waiting, uint64_t deadline) {
  const auto ready = [&waiting] { return waiting.Ready(); };
  if (ready()) return;
  const uint64_t start = NowNs();
  bool there = spin_.Until(ready);
  RankLine& mine = line(me_);
  while (!there) {
    const int missing = waiting.Missing();
    if (missing >= 0) waiting_for_.store(rank_of(static_cast<uint32_t>(missing)), std::memory_order_relaxed);
    mine.sleeping.store(1, std::memory_order_seq_cst);
    const uint32_t seen = mine.bell.load(std::memory_order_seq_cst);
    there = ready();
    if (there) break;
    try {
      Check(missing);
    } catch (const Fault&) {
      // Who came and then left has done its part.
      there = ready();
      if (!there) throw;
      break;
    }
    const uint64_t now = NowNs();
    if (now >= deadline) throw LateFault(waiting.Missing(), now - start);
    FutexWait(&mine.bell, seen, std::min(kGlance, deadline - now));
    there = ready();
  }
  mine.sleeping.store(0, std::memory_order_relaxed);
  waiting_for_.store(-1, std::memory_order_relaxed);
}

// ---- failures ----

void Node::Check(int missing) {
  ThrowPublished();
  if (stop_.load(std::memory_order_acquire))
    throw Fault(TENON_CANCELLED, Ei::kNone, "The communicator was aborted on this rank.");
  CheckProcesses();
  if (missing < 0) return;
  const auto index = static_cast<uint32_t>(missing);
  const auto state = static_cast<LineState>(line(index).state.load(std::memory_order_acquire));
  if (state == LineState::kAborted) throw Fault(TENON_ABORTED, Ei::kNone, Name(index) + " aborted the communicator.");
  if (state == LineState::kLeft)
    throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect,
                    Name(index) + " left the communicator while this rank waits for it in an operation.");
}

void Node::ThrowPublished() {
  FailureRecord& record = layout_.head(base_).failure;
  if (record.state.load(std::memory_order_acquire) != 2) return;
  throw Fault(record.code, static_cast<Ei>(record.ei), std::string(record.text, record.size));
}

void Node::CheckProcesses() {
  std::vector<pollfd> watched;
  std::vector<uint32_t> indices;
  for (uint32_t index = 0; index < ranks(); ++index) {
    if (!neighbours_[index].pidfd.valid()) continue;
    watched.push_back({neighbours_[index].pidfd.get(), POLLIN, 0});
    indices.push_back(index);
  }
  if (watched.empty() || poll(watched.data(), watched.size(), 0) <= 0) return;
  for (size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].revents == 0) continue;
    const auto state = static_cast<LineState>(line(indices[i]).state.load(std::memory_order_acquire));
    if (state == LineState::kLeft) continue;
    throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect, Name(indices[i]) + " ended without leaving the communicator.");
  }
}

Fault Node::LateFault(int missing, uint64_t waited_ns) {
  std::string text = "An operation did not end within " + Seconds(waited_ns) + ":";
  bool any = false;
  for (uint32_t index = 0; index < ranks(); ++index) {
    const RankLine& other = line(index);
    const bool late = static_cast<int>(index) == missing || other.steps.load(std::memory_order_acquire) < steps_;
    if (index == me_ || !late) continue;
    text += (any ? ", " : " ") + Name(index) + " did not arrive (it is at " +
            KindName(other.kind.load(std::memory_order_relaxed)) + ", operation " +
            std::to_string(other.sequence.load(std::memory_order_relaxed)) + ")";
    any = true;
  }
  return MakeFault(TENON_DEADLINE_EXCEEDED, Ei::kTimeout, text + (any ? "." : " a rank of this node did not arrive."));
}

void Node::Publish(const Fault& fault) { Record(fault.code(), fault.ei(), fault.text()); }

void Node::MarkAborted(std::string_view reason) {
  const sdk::TextBuffer text("Rank ", rank_of(me_), " aborted the communicator: ", reason);
  Record(TENON_CANCELLED, Ei::kNone, text.View());
  line(me_).state.store(static_cast<uint32_t>(LineState::kAborted), std::memory_order_release);
}

// Allocates nothing.
void Node::Record(int32_t code, Ei ei, std::string_view text) {
  FailureRecord& record = layout_.head(base_).failure;
  uint32_t none = 0;
  if (record.state.compare_exchange_strong(none, 1)) {
    record.code = code;
    record.ei = static_cast<int32_t>(ei);
    record.size = static_cast<uint32_t>(std::min(text.size(), sizeof record.text));
    std::memcpy(record.text, text.data(), record.size);
    record.state.store(2, std::memory_order_release);
  }
  RingAll();
}

void Node::Leave() {
  RankLine& mine = line(me_);
  uint32_t in = static_cast<uint32_t>(LineState::kIn);
  mine.state.compare_exchange_strong(in, static_cast<uint32_t>(LineState::kLeft), std::memory_order_acq_rel);
  RingAll();
}

void Node::SetActivity(uint32_t kind, uint64_t sequence) {
  RankLine& mine = line(me_);
  mine.kind.store(kind, std::memory_order_relaxed);
  mine.sequence.store(sequence, std::memory_order_relaxed);
}

}  // namespace tenon::hccl
