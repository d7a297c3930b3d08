#include "core/data/batch_maker.h"

#include <algorithm>
#include <utility>

namespace tenon {

namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMostPrefetched = 64 * kLine;

void Prefetch(const std::byte* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < std::min(bytes, kMostPrefetched); at += kLine) __builtin_prefetch(data + at);
}

}  // namespace

BatchMaker::BatchMaker(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
                       std::int64_t batch)
    : dataset_(std::move(dataset)), transform_(std::move(transform)) {
  const SampleLayout& stored = dataset_->layout();
  if (!dataset_->resident() && !transform_->copies_samples())
    stored_.resize(static_cast<std::size_t>(batch * stored.sample_bytes()));
  if (transform_->changes_labels()) labels_.resize(static_cast<std::size_t>(batch * stored.label_shape.elements()));
  scratch_.resize(static_cast<std::size_t>(transform_->scratch()));
}

Status BatchMaker::Make(std::span<const std::int64_t> indices, void* samples, void* labels) {
  TENON_TRY(MakeSamples(indices, samples));
  return MakeLabels(indices, labels);
}

Status BatchMaker::MakeSamples(std::span<const std::int64_t> indices, void* samples) {
  if (transform_->copies_samples()) return dataset_->ReadBatch(indices, samples, nullptr);
  const std::int64_t in_bytes = dataset_->layout().sample_bytes();
  const std::int64_t out_bytes = transform_->output().sample_bytes();
  char* out = static_cast<char*>(samples);
  if (const std::byte* all = dataset_->resident()) {
    for (std::size_t i = 0; i < indices.size(); ++i, out += out_bytes) {
      // The samples lie anywhere in memory: the next one is fetched while this one is worked on.
      if (i + 1 < indices.size()) Prefetch(all + indices[i + 1] * in_bytes, in_bytes);
      transform_->ApplySample(all + indices[i] * in_bytes, out, scratch_.data());
    }
    return {};
  }
  TENON_TRY(dataset_->ReadBatch(indices, stored_.data(), nullptr));
  for (std::size_t i = 0; i < indices.size(); ++i, out += out_bytes) {
    transform_->ApplySample(stored_.data() + static_cast<std::int64_t>(i) * in_bytes, out, scratch_.data());
  }
  return {};
}

Status BatchMaker::MakeLabels(std::span<const std::int64_t> indices, void* labels) {
  if (!transform_->changes_labels()) return dataset_->ReadBatch(indices, nullptr, labels);
  TENON_TRY(dataset_->ReadBatch(indices, nullptr, labels_.data()));
  const std::int64_t count = static_cast<std::int64_t>(indices.size()) * dataset_->layout().label_shape.elements();
  transform_->ApplyLabels(labels_.data(), count, static_cast<float*>(labels));
  return {};
}

}  // namespace tenon
