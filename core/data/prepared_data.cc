#include "core/data/prepared_data.h"

#include <utility>

namespace tenon {

SampleLayout PreparedData::layout() const {
  SampleLayout layout = transform.output();
  if (pictures) {
    layout.shape = pictures->output();
    layout.dtype = DType::kF32;
  }
  if (view) layout.shape = view->output();
  if (!buckets.empty()) {
    layout.shape = Shape{buckets.back()};
    layout.label_shape = layout.shape;
  }
  return layout;
}

Result<PreparedData> PrepareData(std::shared_ptr<const Dataset> dataset, const Transform& transform) {
  const std::int64_t bytes = transform.output().sample_bytes();
  PreparedData data;
  if (!transform.costly() || bytes > kCacheBytes || dataset->size() > kCacheBytes / bytes) {
    data.dataset = std::move(dataset);
    data.transform = transform;
    return data;
  }
  TENON_ASSIGN(data.dataset, CachedDataset::Create(std::move(dataset), transform));
  data.transform = transform.Remainder();
  return data;
}

}  // namespace tenon
