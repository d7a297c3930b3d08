#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/sampler.h"

namespace tenon {

// Which samples make up each batch of an epoch.
//
// Samples of one size: the order of the epoch, cut into batches. Samples of different length without buckets: the same,
// and a batch is as long as its longest sample. With buckets each sample belongs to the shortest bucket that it fits;
// a batch holds samples of one bucket, in the order of the epoch, and stands where its last sample stands; what is left
// of each bucket at the end makes one batch each, short buckets first.
class BatchPlan {
 public:
  struct Options {
    std::int64_t batch = 0;
    bool drop_last = false;  // leave out batches with fewer samples
    std::vector<std::int64_t> buckets;
  };
  // Refuses an empty part, a plan without batches, and a sample longer than the last bucket.
  static Result<BatchPlan> Create(std::shared_ptr<const Dataset> dataset, Sampler sampler, const Options& options);

  std::int64_t steps() const { return steps_; }      // batches an epoch
  std::int64_t samples() const { return samples_; }  // in them
  std::int64_t largest() const { return largest_; }  // samples in the largest batch

  void SetEpoch(std::int64_t epoch);
  // Of the epoch set.
  std::span<const std::int64_t> Indices(std::int64_t step) const;
  // Tokens of each sample of the batch, padding included; 0 when all samples are of one size.
  std::int64_t Length(std::int64_t step) const;

 private:
  struct Piece {
    std::int64_t first;
    std::int64_t count;
    std::int64_t length;
  };
  BatchPlan(std::shared_ptr<const Dataset> dataset, Sampler sampler, const Options& options);
  Status CheckLengths() const;
  std::size_t BucketOf(std::int64_t sample) const;
  void FillBuckets();
  void CutOrder();

  std::shared_ptr<const Dataset> dataset_;
  Sampler sampler_;
  Options options_;
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t largest_ = 0;
  std::vector<std::int64_t> order_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<std::int64_t>> waiting_;  // one a bucket
  std::vector<std::int64_t> arranged_;
};

}  // namespace tenon
