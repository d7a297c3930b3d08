#include "core/data/memory_dataset.h"

#include <algorithm>
#include <cstring>

namespace tenon {

namespace {

// Shape of one row of an array of rows.
Shape RowShape(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

void CopyRows(const void* from, std::span<const std::int64_t> rows, std::int64_t row_bytes, void* to) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  if (bytes == 0) return;
  for (const std::int64_t row : rows) {
    std::memcpy(target, source + row * row_bytes, bytes);
    target += row_bytes;
  }
}

}  // namespace

Result<std::unique_ptr<MemoryDataset>> MemoryDataset::Create(Tensor samples, Tensor labels, Provenance provenance,
                                                             std::optional<std::int64_t> ignored) {
  const std::string place = provenance.file;
  if (samples.shape().rank() < 1 || labels.shape().rank() < 1) {
    return InvalidArgument(
               "Samples and labels need a first dimension that counts them; the samples are {}, the labels {}.",
               samples.Describe(), labels.Describe())
        .At(place);
  }
  const std::int64_t count = samples.shape().dim(0);
  if (count != labels.shape().dim(0)) {
    return InvalidArgument("There are {} samples but {} labels.", count, labels.shape().dim(0)).At(place);
  }
  if (count == 0) return InvalidArgument("There are no samples in it.").At(place);
  if (!IsInteger(labels.dtype()) && !IsFloating(labels.dtype())) {
    return InvalidArgument("Labels are integers (classes) or floats (values); these are {}.", NameOf(labels.dtype()))
        .At(place);
  }

  auto dataset = std::unique_ptr<MemoryDataset>(new MemoryDataset());
  SampleLayout& layout = dataset->layout_;
  layout.shape = RowShape(samples.shape());
  layout.dtype = samples.dtype();
  layout.label_shape = RowShape(labels.shape());
  layout.label_kind = IsFloating(labels.dtype()) ? LabelKind::kValue : LabelKind::kClass;
  layout.label_dtype = layout.label_kind == LabelKind::kValue ? DType::kF32 : DType::kI64;
  dataset->samples_ = std::move(samples);
  dataset->labels_ = labels.dtype() == layout.label_dtype ? std::move(labels) : Cast(labels, layout.label_dtype);
  dataset->provenance_ = std::move(provenance);
  dataset->size_ = count;

  if (layout.label_kind == LabelKind::kClass) {
    const auto values = std::as_const(dataset->labels_).values<std::int64_t>();
    const std::int64_t per_sample = layout.label_shape.elements();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == ignored) continue;
      if (values[i] >= 0) {
        dataset->classes_ = std::max(dataset->classes_, values[i] + 1);
        continue;
      }
      const std::int64_t sample = static_cast<std::int64_t>(i) / per_sample;
      return InvalidArgument("The label of sample {} is {}, but class labels start at 0.", sample, values[i])
          .At(dataset->Place(sample));
    }
  }
  return dataset;
}

Status MemoryDataset::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  if (samples) CopyRows(samples_.raw(), indices, layout_.sample_bytes(), samples);
  if (labels) CopyRows(labels_.raw(), indices, layout_.label_bytes(), labels);
  return {};
}

std::string MemoryDataset::Place(std::int64_t index) const {
  const std::int64_t at = provenance_.first + index * provenance_.stride;
  if (provenance_.unit == Provenance::Unit::kLine) return fmt::format("{}:{}", provenance_.file, at);
  return fmt::format("{}: record {} at byte {}", provenance_.file, index, at);
}

}  // namespace tenon
