// Carries out operations of one rank, one after the other. All ranks call the same ones in the same order, or learn of the
// difference before data flows.
#pragma once

#include <memory>
#include <vector>

#include "engine/world.h"
#include "node/channel.h"
#include "node/pipeline.h"
#include "operation.h"

namespace tenon::hccl {

// How far an operation is, so that the thread that started it may leave it to another.
struct Course {
  enum class Stage { kNew, kPosted, kStepping };
  Stage stage = Stage::kNew;
  uint64_t copy = 0;             // of the headers
  std::unique_ptr<Steps> steps;  // kStepping: the next one starts when all have arrived
};

class Engine {
 public:
  explicit Engine(World& world) : world_(world), node_(*world.node) {}

  // Tells the others what this rank does, without waiting.
  void Post(const Operation& operation, Course* course);
  // Goes on with a posted operation as far as it comes without waiting for long; true when it is done.
  bool TryFinish(const Operation& operation, Course* course);
  // Waits for the others as needed.
  void Finish(const Operation& operation, Course* course, uint64_t deadline);
  // Sends and receives of one group, side by side.
  void RunMessages(std::vector<Operation*>& operations, uint64_t deadline);

  // Small enough to travel with its header: where its memory lies for others does not matter.
  bool Eager(const Operation& operation) const;
  // Is it worth trying on the thread that calls?
  bool Quick(const Operation& operation) const;

 private:
  uint64_t EagerBytes(const Operation& operation) const;
  void ReadHeaders(const Course& course);
  void CompareAll(const Course& course, uint64_t deadline);
  void ExchangeHeaders(const Course& course, uint64_t deadline);
  bool AllShared() const;

  void FinishEager(const Operation& operation, const Course& course);
  std::unique_ptr<Steps> StepsOf(const Operation& operation, uint64_t deadline);
  std::unique_ptr<Steps> ReduceInBlock(const Operation& operation, uint64_t deadline);
  Recipe RecipeOf(const Operation& operation, bool whole) const;
  void RunOverNodes(const Operation& operation, uint64_t deadline);
  void ShareBlock(const Operation& operation, uint64_t deadline);

  std::unique_ptr<Steps> ReduceInNode(const Operation& operation, uint64_t deadline);
  void AllReduceOverNodes(const Operation& operation, const char* send, char* receive, uint64_t count,
                          uint64_t deadline);
  void ReduceOverNodes(const Operation& operation, uint64_t deadline);
  void Gather(const std::vector<Share>& shares, uint64_t width, char* data, uint64_t deadline);
  void BroadcastOverNodes(const Operation& operation, uint64_t deadline);
  void MoveOverNodes(const Operation& operation, uint64_t deadline);
  std::unique_ptr<Steps> MoveInNode(const Operation& operation, uint64_t deadline);
  void CompareCounts(uint32_t source, uint64_t offered, uint64_t expected) const;
  void CompareRemoteCounts(const Operation& operation, uint64_t deadline);
  std::vector<const char*> OpenSends(uint64_t deadline);
  uint64_t NextTag() { return ++tags_ << 24; }

  World& world_;
  Node& node_;
  std::vector<Header> headers_;    // of the node's ranks, of the operation that runs
  std::vector<uint64_t> offered_;  // all_to_all_v: what each of them sends to this one
  uint64_t tags_ = 0;
  std::vector<uint64_t> messages_out_ = std::vector<uint64_t>(world_.size), messages_in_ = messages_out_;
  std::vector<char> scratch_;
};

}  // namespace tenon::hccl
