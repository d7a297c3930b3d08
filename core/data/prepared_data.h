#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/cached_dataset.h"
#include "core/data/dataset.h"
#include "core/data/picture_transform.h"
#include "core/data/plane_view.h"
#include "core/data/transform.h"

namespace tenon {

// A data set and all that is done to its samples on their way into a batch.
struct PreparedData {
  std::shared_ptr<const Dataset> dataset;
  Transform transform;  // of labels; of samples unless `pictures` is set
  std::shared_ptr<const PictureTransform>
      pictures{};                           // samples are pictures: files, or stored bytes that are resampled
  std::shared_ptr<const PlaneView> view{};  // after `transform`: a window, mirrored by chance
  double mixup_alpha = 0;                   // 0: samples are not mixed
  std::uint64_t seed = 0;                   // of the chances
  bool skip_unreadable = false;
  std::int64_t skip_limit = 0;          // in one epoch
  std::vector<std::int64_t> buckets{};  // lengths of batches, increasing; only for a data set that varies

  // What comes out.
  SampleLayout layout() const;
};

// Transformed samples are kept when the transform is costly (it resizes) and all of them take at most this much.
inline constexpr std::int64_t kCacheBytes = std::int64_t{64} << 20;

// `dataset` and `transform`, or a CachedDataset and what remains to be done, by the rule at kCacheBytes.
Result<PreparedData> PrepareData(std::shared_ptr<const Dataset> dataset, const Transform& transform);

}  // namespace tenon
