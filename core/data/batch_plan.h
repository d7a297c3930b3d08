#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/sampler.h"
#include "core/data/shard.h"

namespace tenon {

// Which samples make up each batch of an epoch, on one of the ranks that share its steps (shard.h).
//
// Samples of one size: the order of the epoch, cut into steps. Samples of different length without buckets: the same,
// and a batch is as long as the longest sample of its step. With buckets each sample belongs to the shortest bucket that
// it fits; a step has samples of one bucket, in the order of the epoch, and stands where its last sample stands; what is
// left of each bucket at the end makes one step each, short buckets first.
class BatchPlan {
 public:
  struct Options {
    std::int64_t batch = 0;  // samples a step on each rank
    bool drop_last = false;  // leave out steps with fewer samples
    std::vector<std::int64_t> buckets;
    Shard shard{};
    bool partners = false;  // Partners() is wanted
  };
  // Refuses an empty part, a plan without steps, and a sample longer than the last bucket. In training also a rank without
  // samples.
  static Result<BatchPlan> Create(std::shared_ptr<const Dataset> dataset, const Sampler& sampler,
                                  const Options& options);

  std::int64_t steps() const { return steps_; }      // batches an epoch; equal on all ranks unless shard.whole_batches
  std::int64_t samples() const { return samples_; }  // in them, on this rank
  std::int64_t largest() const { return largest_; }  // samples in the largest batch of this rank

  void SetEpoch(std::int64_t epoch);
  // Of the epoch set, on this rank; empty where it has none of the step.
  std::span<const std::int64_t> Indices(std::int64_t step) const;
  // The sample before each of Indices() in its step, on whatever rank; before the first comes the last. Empty on one rank,
  // where they are among Indices().
  std::span<const std::int64_t> Partners(std::int64_t step) const;
  // Samples of the step on all ranks together.
  std::int64_t Total(std::int64_t step) const { return pieces_[static_cast<std::size_t>(step)].total; }
  // The first sample of the step on all ranks.
  std::int64_t Lead(std::int64_t step) const { return pieces_[static_cast<std::size_t>(step)].lead; }
  // Tokens of each sample of the batch, padding included; 0 when all samples are of one size.
  std::int64_t Length(std::int64_t step) const { return pieces_[static_cast<std::size_t>(step)].length; }

 private:
  struct Piece {
    std::int64_t first;
    std::int64_t count;
    std::int64_t length;
    std::int64_t lead;
    std::int64_t total = 0;
  };
  BatchPlan(std::shared_ptr<const Dataset> dataset, const Sampler& sampler, const Options& options);
  Status CheckLengths() const;
  Status CheckShare() const;
  std::size_t BucketOf(std::int64_t sample) const;
  void Wrap(std::vector<std::int64_t>& samples, const std::vector<std::int64_t>& front) const;
  void FillBuckets();
  void CutOrder();
  void KeepWholeBatches();
  void KeepPlaces();

  std::shared_ptr<const Dataset> dataset_;
  Sampler sampler_;
  Options options_;
  std::int64_t step_samples_;  // on all ranks that share a step
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t largest_ = 0;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> partners_;
  std::vector<Piece> pieces_;                       // of order_
  std::vector<std::vector<std::int64_t>> waiting_;  // one a bucket
  std::vector<std::vector<std::int64_t>> fronts_;   // the first samples of each bucket, where leftovers are wrapped
  std::vector<std::int64_t> arranged_;
};

}  // namespace tenon
