#pragma once

#include <cstdint>
#include <memory>

#include "core/base/status.h"
#include "core/data/data_config.h"
#include "core/data/prepared_data.h"

namespace tenon {

// From the keys `image`, `transforms`, `on_error`, `pad` and `buckets` to what is done with the samples of one data set.
// `testing` leaves chance out. Random crops and flips of samples that are finished otherwise work on planes of any type;
// resize, random_resized_crop and color_jitter need 8-bit pictures. `same`, if any, was made from the same data set:
// samples that it keeps in memory are shared.
Result<PreparedData> MakePipeline(const DataConfig& config, std::shared_ptr<const Dataset> dataset,
                                  std::int64_t classes, std::uint64_t seed, bool testing,
                                  const PreparedData* same = nullptr);

}  // namespace tenon
