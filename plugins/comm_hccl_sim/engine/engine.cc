#include "engine/engine.h"

#include <algorithm>
#include <cstring>

#include "engine/pieces.h"

namespace tenon::hccl {
namespace {

constexpr uint64_t kQuick = 2u << 20;  // bytes that a calling thread moves itself

}  // namespace

// ---- what ranks tell each other ----

// Bytes that each source sends along with its header.
uint64_t Engine::EagerBytes(const Operation& operation) const {
  switch (operation.kind) {
    case TENON_COLLECTIVE_REDUCE_SCATTER:
    case TENON_COLLECTIVE_ALL_TO_ALL:
    case TENON_COLLECTIVE_SCATTER:
      return operation.bytes() * world_.size;
    default:
      return operation.bytes();
  }
}

bool Engine::Eager(const Operation& operation) const {
  if (!world_.one_node() || operation.kind == TENON_COLLECTIVE_ALL_TO_ALL_V || operation.kind == kShareBlock)
    return false;
  return EagerBytes(operation) <= kEager;
}

bool Engine::Quick(const Operation& operation) const {
  if (!world_.one_node() || operation.point_to_point() || operation.kind == kShareBlock) return false;
  return operation.kind != TENON_COLLECTIVE_ALL_TO_ALL_V && EagerBytes(operation) <= kQuick;
}

void Engine::Post(const Operation& operation, Course* course) {
  node_.SetActivity(operation.kind, operation.op.sequence);
  course->copy = node_.steps() % kCopies;
  node_.header(course->copy, node_.me()) = HeaderOf(operation);
  if (Eager(operation) && ExtentOf(operation, world_.rank, world_.size).send > 0 && operation.bytes() > 0)
    std::memcpy(node_.eager(course->copy, node_.me()), operation.send, EagerBytes(operation));
  if (operation.kind == TENON_COLLECTIVE_ALL_TO_ALL_V)
    std::memcpy(node_.eager(course->copy, node_.me()), operation.send_counts.data(), world_.size * sizeof(uint64_t));
  node_.Arrive();
  course->stage = Course::Stage::kPosted;
}

void Engine::ReadHeaders(const Course& course) {
  headers_.resize(node_.ranks());
  for (uint32_t index = 0; index < node_.ranks(); ++index) headers_[index] = node_.header(course.copy, index);
  offered_.clear();
  for (uint32_t index = 0; headers_[0].kind == TENON_COLLECTIVE_ALL_TO_ALL_V && index < node_.ranks(); ++index) {
    uint64_t offered = 0;
    std::memcpy(&offered, node_.eager(course.copy, index) + world_.rank * sizeof offered, sizeof offered);
    offered_.push_back(offered);
  }
}

void Engine::CompareAll(const Course& course, uint64_t deadline) {
  ReadHeaders(course);
  if (!world_.one_node()) return ExchangeHeaders(course, deadline);
  CompareHeaders(headers_, world_.nodes[0]);
}

// The first rank of each node tells the others of all in its node, and its node what it hears.
void Engine::ExchangeHeaders(const Course&, uint64_t deadline) {
  const uint64_t tag = NextTag();
  Header* everyone = node_.everyone();
  if (world_.leads()) {
    std::vector<std::vector<Header>> theirs(world_.nodes.size());
    std::vector<Message> coming, sent;
    for (size_t other = 0; other < world_.nodes.size(); ++other) {
      if (other == world_.my_node) continue;
      const uint32_t leader = world_.nodes[other][0];
      theirs[other].resize(world_.nodes[other].size());
      coming.push_back(world_.wire->Receive(leader, tag, theirs[other].data(), theirs[other].size() * sizeof(Header)));
      sent.push_back(world_.wire->Send(leader, tag, headers_.data(), headers_.size() * sizeof(Header)));
    }
    for (Message& message : coming) world_.wire->Await(&message, deadline);
    for (Message& message : sent) world_.wire->Await(&message, deadline);
    theirs[world_.my_node] = headers_;
    for (size_t node = 0; node < world_.nodes.size(); ++node) {
      for (size_t i = 0; i < theirs[node].size(); ++i) everyone[world_.nodes[node][i]] = theirs[node][i];
    }
  }
  node_.Step(deadline);
  std::vector<uint32_t> ranks(world_.size);
  for (uint32_t rank = 0; rank < world_.size; ++rank) ranks[rank] = rank;
  CompareHeaders(std::vector<Header>(everyone, everyone + world_.size), ranks);
}

// ---- the course of an operation ----

bool Engine::TryFinish(const Operation& operation, Course* course) {
  if (!node_.SoonAllArrived()) return false;
  CompareAll(*course, kForever);
  if (Eager(operation)) {
    FinishEager(operation, *course);
    return true;
  }
  course->steps = StepsOf(operation, kForever);
  course->stage = Course::Stage::kStepping;
  while (!course->steps->Next()) {
    node_.Arrive();
    if (!node_.SoonAllArrived()) return false;
  }
  return true;
}

void Engine::Finish(const Operation& operation, Course* course, uint64_t deadline) {
  if (course->stage == Course::Stage::kNew) Post(operation, course);
  node_.AwaitAll(deadline);
  if (course->stage == Course::Stage::kPosted) {
    CompareAll(*course, deadline);
    if (Eager(operation)) return FinishEager(operation, *course);
    if (operation.kind == kShareBlock) return ShareBlock(operation, deadline);
    if (!world_.one_node()) return RunOverNodes(operation, deadline);
    course->steps = StepsOf(operation, deadline);
  }
  RunSteps(node_, *course->steps, deadline);
}

std::unique_ptr<Steps> Engine::StepsOf(const Operation& operation, uint64_t deadline) {
  if (!operation.reduces()) return MoveInNode(operation, deadline);
  const bool in_block = operation.kind == TENON_COLLECTIVE_ALL_REDUCE && AllShared();
  return in_block ? ReduceInBlock(operation, deadline) : ReduceInNode(operation, deadline);
}

void Engine::RunOverNodes(const Operation& operation, uint64_t deadline) {
  switch (operation.kind) {
    case TENON_COLLECTIVE_BARRIER:
      return;  // all have arrived: the headers of all are here
    case TENON_COLLECTIVE_ALL_REDUCE:
    case TENON_COLLECTIVE_REDUCE:
    case TENON_COLLECTIVE_REDUCE_SCATTER:
      return ReduceOverNodes(operation, deadline);
    case TENON_COLLECTIVE_BROADCAST:
      return BroadcastOverNodes(operation, deadline);
    default:
      return MoveOverNodes(operation, deadline);
  }
}

void Engine::FinishEager(const Operation& operation, const Course& course) {
  const uint32_t me = world_.rank;
  if (!operation.reduces()) {
    for (uint32_t source = 0; source < world_.size; ++source) {
      const Piece piece = PieceOf(operation, me, source, me);
      if (piece.bytes > 0)
        std::memcpy(operation.receive + piece.to, node_.eager(course.copy, source) + piece.from, piece.bytes);
    }
    return;
  }
  if (operation.kind == TENON_COLLECTIVE_REDUCE && operation.op.root != me) return;
  const uint64_t first = operation.kind == TENON_COLLECTIVE_REDUCE_SCATTER ? me * operation.op.count : 0;
  const char* sends[kMaxLocal];
  for (uint32_t source = 0; source < world_.size; ++source) sends[source] = node_.eager(course.copy, source);
  char* targets[] = {operation.receive};
  ReduceDirect(RecipeOf(operation, true), {first, operation.op.count, 0}, {sends, world_.size}, targets);
}

// Makes a block for the ranks of the node. When memory is short no rank gets one, and the communicator goes on.
void Engine::ShareBlock(const Operation& operation, uint64_t deadline) {
  char* address = nullptr;
  const uint64_t copy = node_.steps() % kCopies;
  if (world_.leads()) {
    uint64_t made = 1;
    try {
      address = world_.files->Make(operation.op.count);
    } catch (const Fault& fault) {
      if (fault.ei() != Ei::kAllocation) throw;
      made = 0;
    }
    node_.header(copy, node_.me()).count = made;
  }
  node_.Step(deadline);
  const bool made = node_.header(copy, 0).count != 0;
  if (made && !world_.leads()) address = world_.files->Take(0, deadline);
  *static_cast<char**>(operation.result) = made ? address : nullptr;
}

}  // namespace tenon::hccl
