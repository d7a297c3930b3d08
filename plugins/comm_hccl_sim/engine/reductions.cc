// all_reduce, reduce and reduce_scatter.
#include <algorithm>
#include <cstring>

#include "engine/between.h"
#include "engine/engine.h"

namespace tenon::hccl {
namespace {

// One share from all sends, all at once.
class InBlock final : public Steps {
 public:
  InBlock(Recipe recipe, Share share, std::vector<const char*> sends, std::vector<char*> targets)
      : recipe_(recipe), share_(share), sends_(std::move(sends)), targets_(std::move(targets)) {}
  bool Next() override {
    if (reduced_) return true;
    ReduceDirect(recipe_, share_, sends_, targets_);
    reduced_ = true;
    return false;
  }

 private:
  const Recipe recipe_;
  const Share share_;
  const std::vector<const char*> sends_;
  const std::vector<char*> targets_;
  bool reduced_ = false;
};

}  // namespace

// `whole`: the result is final, so that it is divided and scaled.
Recipe Engine::RecipeOf(const Operation& operation, bool whole) const {
  const bool average = operation.op.reduction == TENON_REDUCE_AVERAGE;
  Recipe recipe;
  recipe.dtype = operation.op.dtype;
  recipe.reduction = average ? static_cast<uint32_t>(TENON_REDUCE_SUM) : operation.op.reduction;
  recipe.divisor = average && whole ? world_.size : 1;
  recipe.factor = whole ? operation.factor() : 1;
  recipe.width = operation.width();
  return recipe;
}

// Can every rank read all sends and write all receives?
bool Engine::AllShared() const {
  return std::all_of(headers_.begin(), headers_.end(),
                     [](const Header& header) { return header.send.shared() && header.receive.shared(); });
}

// This rank's share from all sends into the targets, of which equal ones are written once.
std::unique_ptr<Steps> Engine::ReduceInBlock(const Operation& operation, uint64_t deadline) {
  std::vector<const char*> sends;
  std::vector<char*> targets;
  std::vector<Place> places;
  for (const Header& header : headers_) {
    sends.push_back(world_.files->Resolve(header.send, deadline));
    if (std::find(places.begin(), places.end(), header.receive) != places.end()) continue;
    places.push_back(header.receive);
    targets.push_back(world_.files->Resolve(header.receive, deadline));
  }
  const std::vector<Share> shares = CutShares(operation.op.count, operation.width(), node_.ranks());
  return std::make_unique<InBlock>(RecipeOf(operation, true), shares[node_.me()], std::move(sends), std::move(targets));
}

std::vector<const char*> Engine::OpenSends(uint64_t deadline) {
  std::vector<const char*> open(headers_.size(), nullptr);
  for (size_t i = 0; i < headers_.size(); ++i) {
    if (headers_[i].send.shared()) open[i] = world_.files->Resolve(headers_[i].send, deadline);
  }
  return open;
}

std::unique_ptr<Steps> Engine::ReduceInNode(const Operation& operation, uint64_t deadline) {
  StagedReduction work;
  work.recipe = RecipeOf(operation, true);
  work.send = operation.send;
  work.receive = operation.receive;
  work.open = OpenSends(deadline);
  if (operation.kind == TENON_COLLECTIVE_REDUCE_SCATTER) {
    work.keep = Keep::kShare;
    for (uint32_t index = 0; index < node_.ranks(); ++index)
      work.shares.push_back({node_.rank_of(index) * operation.op.count, operation.op.count, 0});
  } else {
    work.keep = operation.kind == TENON_COLLECTIVE_REDUCE ? Keep::kRoot : Keep::kAll;
    work.root = operation.op.root;
    work.shares = CutShares(operation.op.count, work.recipe.width, node_.ranks());
  }
  return ReduceStaged(node_, std::move(work));
}

// Reduced in the node into shares, each share between the nodes, and gathered in the node.
void Engine::AllReduceOverNodes(const Operation& operation, const char* send, char* receive, uint64_t count,
                                uint64_t deadline) {
  StagedReduction work;
  work.recipe = RecipeOf(operation, false);
  work.send = send;
  work.receive = receive;
  work.keep = Keep::kShare;
  work.open.assign(node_.ranks(), nullptr);
  const uint32_t talkers = world_.even() ? node_.ranks() : 1;
  work.shares = CutShares(count, work.recipe.width, talkers);
  work.shares.resize(node_.ranks());
  RunSteps(node_, *ReduceStaged(node_, work), deadline);
  const uint64_t tag = NextTag();
  if (node_.me() < talkers) {
    const Share& share = work.shares[node_.me()];
    ReduceBetween(*world_.wire, RecipeOf(operation, true), world_.Counterparts(), world_.my_node,
                  receive + share.first * work.recipe.width, share.count, tag, deadline);
  }
  node_.Step(deadline);
  Gather(work.shares, work.recipe.width, receive, deadline);
}

// Every rank's share of `data` to all ranks of the node.
void Engine::Gather(const std::vector<Share>& shares, uint64_t width, char* data, uint64_t deadline) {
  Exchange work;
  work.send = data;
  work.receive = data;
  work.same = true;
  for (const Share& share : shares) {
    const Piece piece{share.first * width, share.first * width, share.count * width};
    work.take.push_back(piece);
    work.longest = std::max(work.longest, piece.bytes);
  }
  work.give = {work.take[node_.me()]};
  work.open.assign(node_.ranks(), nullptr);
  RunSteps(node_, *RunExchange(node_, std::move(work)), deadline);
}

void Engine::ReduceOverNodes(const Operation& operation, uint64_t deadline) {
  const uint64_t count = operation.op.count, width = operation.width();
  if (operation.kind == TENON_COLLECTIVE_ALL_REDUCE)
    return AllReduceOverNodes(operation, operation.send, operation.receive, count, deadline);
  const bool scatter = operation.kind == TENON_COLLECTIVE_REDUCE_SCATTER;
  if (!scatter && operation.op.root == world_.rank)
    return AllReduceOverNodes(operation, operation.send, operation.receive, count, deadline);
  // No rank but the root has memory for a whole result: it goes beside.
  const uint64_t whole = scatter ? count * world_.size : count;
  scratch_.resize(std::max<uint64_t>(scratch_.size(), whole * width));
  AllReduceOverNodes(operation, operation.send, scratch_.data(), whole, deadline);
  if (scatter && count > 0)
    std::memcpy(operation.receive, scratch_.data() + world_.rank * count * width, count * width);
}

}  // namespace tenon::hccl
