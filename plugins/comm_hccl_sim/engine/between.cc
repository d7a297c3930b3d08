#include "engine/between.h"

#include <algorithm>

namespace tenon::hccl {
namespace {

constexpr uint64_t kSegment = 256u << 10;  // bytes
constexpr uint64_t kResults = 1u << 20;    // tags of results come after those of contributions

}  // namespace

void ReduceBetween(Wire& wire, const Recipe& recipe, const std::vector<uint32_t>& ranks, uint32_t mine, char* data,
                   uint64_t count, uint64_t tag, uint64_t deadline) {
  const auto nodes = static_cast<uint32_t>(ranks.size());
  const std::vector<Share> parts = CutShares(count, recipe.width, nodes);
  const uint64_t own_bytes = parts[mine].count * recipe.width;
  char* scratch = wire.Scratch(own_bytes * nodes);
  // Parts of 1 TB and more have larger segments: there are fewer tags than that.
  const uint64_t most = std::max_element(parts.begin(), parts.end(), [](const Share& a, const Share& b) {
                          return a.count < b.count;
                        })->count;
  const uint64_t segment = std::max<uint64_t>(kSegment / recipe.width, (most + kResults - 1) / kResults);
  const auto segments = [segment](const Share& part) { return (part.count + segment - 1) / segment; };
  const auto bytes_of = [&](const Share& part, uint64_t at) {
    return std::min(segment, part.count - at * segment) * recipe.width;
  };
  const auto place = [&](const Share& part, uint64_t at) { return data + (part.first + at * segment) * recipe.width; };

  std::vector<std::vector<Message>> coming(nodes), results(nodes);
  std::vector<Message> sent;
  for (uint32_t other = 0; other < nodes; ++other) {
    if (other == mine) continue;
    for (uint64_t at = 0; at < segments(parts[mine]); ++at)
      coming[other].push_back(wire.Receive(ranks[other], tag + at,
                                           scratch + other * own_bytes + at * segment * recipe.width,
                                           bytes_of(parts[mine], at)));
    for (uint64_t at = 0; at < segments(parts[other]); ++at) {
      sent.push_back(wire.Send(ranks[other], tag + at, place(parts[other], at), bytes_of(parts[other], at)));
    }
  }
  // A result comes only after this rank's contribution has arrived, so it may take its place.
  for (uint32_t other = 0; other < nodes; ++other) {
    for (uint64_t at = 0; other != mine && at < segments(parts[other]); ++at)
      results[other].push_back(
          wire.Receive(ranks[other], tag + kResults + at, place(parts[other], at), bytes_of(parts[other], at)));
  }
  std::vector<const char*> sources(nodes);
  for (uint64_t at = 0; at < segments(parts[mine]); ++at) {
    const uint64_t bytes = bytes_of(parts[mine], at);
    for (uint32_t other = 0; other < nodes; ++other) {
      if (other != mine) wire.Await(&coming[other][at], deadline);
      sources[other] =
          other == mine ? place(parts[mine], at) : scratch + other * own_bytes + at * segment * recipe.width;
    }
    char* targets[] = {place(parts[mine], at)};
    ReduceDirect(recipe, {0, bytes / recipe.width, 0}, sources, targets);
    for (uint32_t other = 0; other < nodes; ++other) {
      if (other != mine) sent.push_back(wire.Send(ranks[other], tag + kResults + at, place(parts[mine], at), bytes));
    }
  }
  for (std::vector<Message>& messages : results) {
    for (Message& message : messages) wire.Await(&message, deadline);
  }
  for (Message& message : sent) wire.Await(&message, deadline);
}

}  // namespace tenon::hccl
