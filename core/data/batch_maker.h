#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/transform.h"

namespace tenon {

// Reads and transforms whole batches. Owns the scratch memory for `batch` samples; one instance a thread.
class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform, std::int64_t batch);

  // Fills `samples` and `labels` (layout: the transform's output, at most `batch` indices). Allocates nothing unless
  // it fails.
  Status Make(std::span<const std::int64_t> indices, void* samples, void* labels);

 private:
  Status MakeSamples(std::span<const std::int64_t> indices, void* samples);
  Status MakeLabels(std::span<const std::int64_t> indices, void* labels);

  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const Transform> transform_;
  std::vector<std::byte> stored_;
  std::vector<std::int64_t> labels_;
  std::vector<float> scratch_;
};

}  // namespace tenon
