#include "core/data/cached_dataset.h"

#include <cstring>
#include <utility>
#include <vector>

namespace tenon {

CachedDataset::CachedDataset(std::shared_ptr<const Dataset> source, const Transform& transform)
    : source_(std::move(source)), layout_(source_->layout()) {
  layout_.shape = transform.output().shape;
  layout_.dtype = transform.output().dtype;
  samples_ = Tensor(layout_.dtype, layout_.samples_shape(source_->size()));
}

Result<std::shared_ptr<const Dataset>> CachedDataset::Create(std::shared_ptr<const Dataset> source,
                                                             const Transform& transform) {
  auto cached = std::shared_ptr<CachedDataset>(new CachedDataset(std::move(source), transform));
  const Dataset& from = *cached->source_;
  std::vector<std::byte> stored(static_cast<std::size_t>(from.layout().sample_bytes()));
  std::vector<float> scratch(static_cast<std::size_t>(transform.scratch()));
  char* out = static_cast<char*>(cached->samples_.raw());
  for (std::int64_t i = 0; i < from.size(); ++i, out += cached->layout_.sample_bytes()) {
    TENON_TRY(from.ReadBatch({&i, 1}, stored.data(), nullptr));
    transform.ApplySample(stored.data(), out, scratch.data());
  }
  return std::shared_ptr<const Dataset>(std::move(cached));
}

Status CachedDataset::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  const std::int64_t bytes = layout_.sample_bytes();
  char* out = static_cast<char*>(samples);
  for (std::size_t i = 0; samples && i < indices.size(); ++i, out += bytes) {
    std::memcpy(out, resident() + indices[i] * bytes, static_cast<std::size_t>(bytes));
  }
  return labels ? source_->ReadBatch(indices, nullptr, labels) : Status();
}

}  // namespace tenon
