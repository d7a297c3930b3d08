#include "core/data/dataset.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

Shape Stacked(std::int64_t count, const Shape& one) {
  Shape all{count};
  for (const std::int64_t dim : one.dims()) all.push_back(dim);
  return all;
}

}  // namespace

Shape SampleLayout::samples_shape(std::int64_t count) const { return Stacked(count, shape); }
Shape SampleLayout::labels_shape(std::int64_t count) const { return Stacked(count, label_shape); }

Status CheckLabels(const Dataset& dataset, std::int64_t classes, std::optional<std::int64_t> ignored) {
  const SampleLayout& layout = dataset.layout();
  if (layout.label_kind != LabelKind::kClass || dataset.classes() <= classes) return {};
  const std::int64_t per_sample = layout.label_shape.elements();
  const std::int64_t chunk = std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(per_sample, 1), 1, 65536);
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> labels(static_cast<std::size_t>(chunk * per_sample));
  for (std::int64_t first = 0; first < dataset.size(); first += chunk) {
    const std::int64_t count = std::min(chunk, dataset.size() - first);
    indices.resize(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), first);
    TENON_TRY(dataset.ReadBatch(indices, nullptr, labels.data()));
    for (std::int64_t i = 0; i < count * per_sample; ++i) {
      const std::int64_t label = labels[static_cast<std::size_t>(i)];
      if ((label >= 0 && label < classes) || label == ignored) continue;
      const std::int64_t sample = first + i / per_sample;
      return InvalidArgument("The label of sample {} is {}, but with {} classes it must be between 0 and {}.", sample,
                             label, classes, classes - 1)
          .At(dataset.Place(sample));
    }
  }
  return {};
}

}  // namespace tenon
