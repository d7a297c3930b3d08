#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/data/prepared_data.h"

namespace tenon {

// Which samples a batch is made of, and when: chances depend on the epoch and the samples alone.
struct BatchOrder {
  std::int64_t epoch = 0;
  std::span<const std::int64_t> indices;
  std::int64_t length = 0;  // tokens a sample, padding included; 0: the samples are of one size
  // Where samples are mixed: the one that each is mixed with (empty: the one before it in the batch, before the first the
  // last), and the one whose chance all follow.
  std::span<const std::int64_t> partners{};
  std::int64_t lead = 0;
};

// Reads and transforms whole batches. Owns the scratch memory for `batch` samples; one instance a thread.
class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const PreparedData> data, std::int64_t batch);

  // Fills `samples` and `labels` (layout: that of the data, with `length` in place of its axis if that is not 0; at most
  // `batch` indices, none are fine). Allocates nothing unless it fails; decoding a picture may.
  Status Make(const BatchOrder& order, void* samples, void* labels);

  // Of the last batch, when unreadable samples are skipped: why each of them could not be read. The next sample of the
  // batch that could be read stands in its place.
  const std::vector<Status>& skipped() const { return skipped_; }

 private:
  Status MakeRows(const BatchOrder& order, void* samples, void* labels);
  Status MakeSamples(std::span<const std::int64_t> indices, void* samples);
  Status MakePictures(const BatchOrder& order, float* samples);
  Status FillSkipped(const BatchOrder& order, float* samples);
  Status MakeLabels(std::span<const std::int64_t> indices, void* labels);
  Status MakePadded(const BatchOrder& order, void* samples, void* labels);
  void View(const BatchOrder& order, float* samples);
  Status Mix(const BatchOrder& order, float* samples, float* labels);

  std::shared_ptr<const PreparedData> data_;
  const Dataset* dataset_;
  const Transform* transform_;
  std::vector<std::byte> stored_;
  std::vector<std::int64_t> labels_;
  std::vector<float> scratch_;
  std::vector<float> whole_;  // samples before their view
  std::vector<float> spare_, spare_labels_;
  std::unique_ptr<PictureReader> reader_;
  PictureTransform::Scratch picture_scratch_;
  std::vector<std::int64_t> used_;  // indices of the batch, without those skipped
  std::vector<std::size_t> holes_;
  std::vector<Status> skipped_;
};

}  // namespace tenon
