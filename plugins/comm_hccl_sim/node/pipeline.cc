#include "node/pipeline.h"

#include <algorithm>
#include <cstring>

#include "tenon/abi/collective.h"

namespace tenon::hccl {
namespace {

// What does not fit into the last cache is written past it.
constexpr uint64_t kStreamed = 16u << 20;

uint64_t Pieces(uint64_t whole, uint64_t piece) { return (whole + piece - 1) / piece; }

// A staged reduction in progress on this rank. Piece k of every share is staged in step k, reduced by its owner in step
// k + 1 and taken from there in step k + 2, so that all three go on side by side.
class Reducer final : public Steps {
 public:
  Reducer(Node& node, StagedReduction work)
      : node_(node), work_(std::move(work)), me_(node.me()), ranks_(node.ranks()) {
    const uint64_t width = work_.recipe.width;
    const uint64_t others = std::max<uint32_t>(ranks_ - 1, 1);
    slice_ = std::max<uint64_t>(node.slice() / others / width / 64 * 64, 64);
    slice_ = std::min(slice_, kStage / others / width);
    uint64_t most = 0, all = 0;
    for (const Share& share : work_.shares) {
      most = std::max(most, share.count);
      all += share.count;
    }
    pieces_ = Pieces(most, slice_);
    stream_ = all * width >= kStreamed;
    lag_ = work_.keep == Keep::kShare ? 1 : 2;
    // Who lent its memory gets it back when all have read it.
    const auto lent = [](const char* open) { return open != nullptr; };
    last_ = pieces_ + lag_ - 1;
    if (lag_ == 1 && std::any_of(work_.open.begin(), work_.open.end(), lent)) ++last_;
  }

  bool Next() override {
    const uint64_t step = step_++;
    if (step >= 1 && step <= pieces_) Reduce(step - 1);
    if (step < pieces_) Stage(step);
    if (step >= 2 && lag_ == 2) Collect(step - 2);
    return step >= last_;
  }

 private:
  // Elements [first, first + count) of a share that are piece k.
  uint64_t CountOf(const Share& share, uint64_t piece) const {
    const uint64_t at = piece * slice_;
    return at >= share.count ? 0 : std::min(slice_, share.count - at);
  }
  // Where a rank stages what `owner` reduces.
  char* StageOf(uint64_t piece, uint32_t rank, uint32_t owner) {
    const uint64_t place = owner < rank ? owner : owner - 1;
    return node_.stage(piece % 2, rank) + place * slice_ * work_.recipe.width;
  }

  void Stage(uint64_t piece) {
    if (work_.open[me_] != nullptr) return;
    const uint64_t width = work_.recipe.width;
    for (uint32_t owner = 0; owner < ranks_; ++owner) {
      const Share& share = work_.shares[owner];
      const uint64_t count = CountOf(share, piece);
      if (owner == me_ || count == 0) continue;
      BestRoutines().copy(StageOf(piece, me_, owner), work_.send + (share.first + piece * slice_) * width,
                          count * width, false);
    }
  }

  bool KeptHere() const { return work_.keep != Keep::kRoot || work_.root == me_; }
  bool KeptElsewhere() const {
    return ranks_ > 1 && (work_.keep == Keep::kAll || (work_.keep == Keep::kRoot && work_.root != me_));
  }

  void Reduce(uint64_t piece) {
    const Share& share = work_.shares[me_];
    const uint64_t count = CountOf(share, piece), width = work_.recipe.width;
    if (count == 0) return;
    const char* sources[kMaxLocal];
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const char* whole = rank == me_ ? work_.send : work_.open[rank];
      sources[rank] = whole != nullptr ? whole + (share.first + piece * slice_) * width : StageOf(piece, rank, me_);
    }
    char* targets[2];
    Fold fold;
    if (KeptElsewhere()) targets[fold.target_count++] = node_.result(piece % 2, me_);
    if (KeptHere()) {
      if (stream_) fold.stream = 1u << fold.target_count;
      targets[fold.target_count++] = work_.receive + (share.target + piece * slice_) * width;
    }
    fold.dtype = work_.recipe.dtype;
    fold.reduction = work_.recipe.reduction;
    fold.divisor = work_.recipe.divisor;
    fold.factor = work_.recipe.factor;
    fold.sources = sources;
    fold.source_count = ranks_;
    fold.targets = targets;
    fold.count = count;
    BestRoutines().fold(fold);
  }

  void Collect(uint64_t piece) {
    if (!KeptHere()) return;
    const uint64_t width = work_.recipe.width;
    for (uint32_t owner = 0; owner < ranks_; ++owner) {
      const Share& share = work_.shares[owner];
      const uint64_t count = CountOf(share, piece);
      if (owner == me_ || count == 0) continue;
      BestRoutines().copy(work_.receive + (share.target + piece * slice_) * width, node_.result(piece % 2, owner),
                          count * width, stream_);
    }
  }

  Node& node_;
  const StagedReduction work_;
  const uint32_t me_, ranks_;
  uint64_t slice_ = 0;  // elements
  uint64_t pieces_ = 0, lag_ = 0;
  uint64_t step_ = 0, last_ = 0;
  bool stream_ = false;
};

// An exchange in progress on this rank: piece k is staged in step k and taken in step k + 1.
class Exchanger final : public Steps {
 public:
  Exchanger(Node& node, Exchange given) : node_(node), work_(std::move(given)), me_(node.me()), ranks_(node.ranks()) {
    const Exchange& work = work_;
    slice_ = std::min(node.slice(), kStage);
    if (!work.same) slice_ = std::max<uint64_t>(slice_ / ranks_ / 64 * 64, 64);
    all_open_ = std::none_of(work.open.begin(), work.open.end(), [](const char* open) { return open == nullptr; });
    any_open_ = std::any_of(work.open.begin(), work.open.end(), [](const char* open) { return open != nullptr; });
    pieces_ = all_open_ ? 0 : Pieces(work.longest, slice_);
    stream_ = work.longest >= kStreamed;
    // Who lent its memory gets it back when all have read it.
    last_ = any_open_ ? std::max<uint64_t>(pieces_, 1) : pieces_;
  }

  bool Next() override {
    const uint64_t step = step_++;
    if (step == 0) {
      KeepOwn();
      TakeOpen();
    }
    if (step < pieces_) Stage(step);
    if (step >= 1 && step <= pieces_) Take(step - 1);
    return step >= last_;
  }

 private:
  void Copy(char* to, const char* from, uint64_t bytes) {
    if (bytes > 0 && to != from) BestRoutines().copy(to, from, bytes, stream_);
  }
  void TakeOpen() {
    for (uint32_t source = 0; source < ranks_; ++source) {
      if (source == me_ || work_.open[source] == nullptr) continue;
      const Piece& piece = work_.take[source];
      Copy(work_.receive + piece.to, work_.open[source] + piece.from, piece.bytes);
    }
  }
  void KeepOwn() {
    const Piece& piece = work_.take[me_];
    if (piece.bytes > 0) std::memmove(work_.receive + piece.to, work_.send + piece.from, piece.bytes);
  }
  uint64_t BytesOf(const Piece& piece, uint64_t step) const {
    const uint64_t at = step * slice_;
    return at >= piece.bytes ? 0 : std::min(slice_, piece.bytes - at);
  }
  void Stage(uint64_t step) {
    if (work_.open[me_] != nullptr || ranks_ == 1) return;
    char* stage = node_.stage(step % 2, me_);
    for (uint32_t reader = 0; reader < (work_.same ? 1 : ranks_); ++reader) {
      if (!work_.same && reader == me_) continue;
      const Piece& piece = work_.give[reader];
      const uint64_t bytes = BytesOf(piece, step);
      if (bytes > 0)
        BestRoutines().copy(stage + reader * slice_, work_.send + piece.from + step * slice_, bytes, false);
    }
  }
  void Take(uint64_t step) {
    for (uint32_t source = 0; source < ranks_; ++source) {
      if (source == me_ || work_.open[source] != nullptr) continue;
      const Piece& piece = work_.take[source];
      Copy(work_.receive + piece.to + step * slice_, node_.stage(step % 2, source) + (work_.same ? 0 : me_ * slice_),
           BytesOf(piece, step));
    }
  }

  Node& node_;
  const Exchange work_;
  const uint32_t me_, ranks_;
  uint64_t slice_ = 0, pieces_ = 0;
  uint64_t step_ = 0, last_ = 0;
  bool all_open_ = false, any_open_ = false, stream_ = false;
};

}  // namespace

std::vector<Share> CutShares(uint64_t count, uint64_t width, uint32_t ranks) {
  const uint64_t line = std::max<uint64_t>(64 / width, 1);
  const uint64_t each = (count / ranks + line - 1) / line * line;
  std::vector<Share> shares(ranks);
  uint64_t first = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const uint64_t part = rank + 1 == ranks ? count - first : std::min(each, count - first);
    shares[rank] = {first, part, first};
    first += part;
  }
  return shares;
}

void RunSteps(Node& node, Steps& steps, uint64_t deadline) {
  while (!steps.Next()) node.Step(deadline);
}

std::unique_ptr<Steps> ReduceStaged(Node& node, StagedReduction work) {
  return std::make_unique<Reducer>(node, std::move(work));
}

void ReduceDirect(const Recipe& recipe, const Share& share, std::span<const char* const> sends,
                  std::span<char* const> targets) {
  if (share.count == 0) return;
  const char* sources[kMaxLocal];
  char* places[kMaxLocal];
  for (size_t i = 0; i < sends.size(); ++i) sources[i] = sends[i] + share.first * recipe.width;
  for (size_t i = 0; i < targets.size(); ++i) places[i] = targets[i] + share.target * recipe.width;
  Fold fold;
  fold.dtype = recipe.dtype;
  fold.reduction = recipe.reduction;
  fold.divisor = recipe.divisor;
  fold.factor = recipe.factor;
  fold.sources = sources;
  fold.source_count = static_cast<uint32_t>(sends.size());
  fold.targets = places;
  fold.target_count = static_cast<uint32_t>(targets.size());
  fold.count = share.count;
  BestRoutines().fold(fold);
}

std::unique_ptr<Steps> RunExchange(Node& node, Exchange work) {
  return std::make_unique<Exchanger>(node, std::move(work));
}

}  // namespace tenon::hccl
