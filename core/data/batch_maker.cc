#include "core/data/batch_maker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/data/mixup.h"
#include "core/data/stored_pictures.h"

namespace tenon {

namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMostPrefetched = 64 * kLine;

void Prefetch(const std::byte* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < std::min(bytes, kMostPrefetched); at += kLine) __builtin_prefetch(data + at);
}

}  // namespace

BatchMaker::BatchMaker(std::shared_ptr<const PreparedData> data, std::int64_t batch)
    : data_(std::move(data)), dataset_(data_->dataset.get()), transform_(&data_->transform) {
  const SampleLayout& stored = dataset_->layout();
  if (transform_->changes_labels()) labels_.resize(static_cast<std::size_t>(batch * stored.label_shape.elements()));
  scratch_.resize(static_cast<std::size_t>(transform_->scratch()));
  if (data_->pictures) {
    reader_ = dataset_->Pictures();
    if (!reader_) reader_ = std::make_unique<StoredPictures>(data_->dataset, data_->transform.stored_shape());
    used_.reserve(static_cast<std::size_t>(batch));
    return;
  }
  if (dataset_->varies()) {
    stored_.resize(static_cast<std::size_t>(stored.sample_bytes()));
    return;
  }
  if (!dataset_->resident() && !transform_->copies_samples())
    stored_.resize(static_cast<std::size_t>(batch * stored.sample_bytes()));
  if (data_->view) whole_.resize(static_cast<std::size_t>(batch * transform_->output().shape.elements()));
}

Status BatchMaker::Make(const BatchOrder& order, void* samples, void* labels) {
  skipped_.clear();
  if (order.indices.empty()) return {};
  if (order.length > 0) return MakePadded(order, samples, labels);
  TENON_TRY(MakeRows(order, samples, labels));
  if (data_->mixup_alpha == 0) return {};
  return Mix(order, static_cast<float*>(samples), static_cast<float*>(labels));
}

Status BatchMaker::MakeRows(const BatchOrder& order, void* samples, void* labels) {
  std::span<const std::int64_t> indices = order.indices;
  if (data_->pictures) {
    TENON_TRY(MakePictures(order, static_cast<float*>(samples)));
    indices = used_;
  } else if (data_->view) {
    TENON_TRY(MakeSamples(indices, whole_.data()));
    View(order, static_cast<float*>(samples));
  } else {
    TENON_TRY(MakeSamples(indices, samples));
  }
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

Status BatchMaker::MakePictures(const BatchOrder& order, float* samples) {
  const std::int64_t elements = data_->pictures->output().elements();
  used_.assign(order.indices.begin(), order.indices.end());
  holes_.clear();
  for (std::size_t i = 0; i < used_.size(); ++i) {
    float* out = samples + static_cast<std::int64_t>(i) * elements;
    Status status = data_->pictures->Apply(*reader_, used_[i], order.epoch, &picture_scratch_, out);
    if (status.ok()) continue;
    if (!data_->skip_unreadable) return status;
    holes_.push_back(i);
    skipped_.push_back(std::move(status));
  }
  return holes_.empty() ? Status() : FillSkipped(order, samples);
}

Status BatchMaker::FillSkipped(const BatchOrder& order, float* samples) {
  const std::int64_t elements = data_->pictures->output().elements();
  if (holes_.size() == used_.size())
    return Status(skipped_.front()).While("looking for a sample of the batch that can be read");
  const auto is_hole = [&](std::size_t i) { return std::binary_search(holes_.begin(), holes_.end(), i); };
  for (const std::size_t hole : holes_) {
    std::size_t next = hole;
    while (is_hole(next)) next = (next + 1) % used_.size();
    std::copy_n(samples + static_cast<std::int64_t>(next) * elements, elements,
                samples + static_cast<std::int64_t>(hole) * elements);
    used_[hole] = order.indices[next];
  }
  return {};
}

void BatchMaker::View(const BatchOrder& order, float* samples) {
  const std::int64_t in = transform_->output().shape.elements(), out = data_->view->output().elements();
  const float* whole = whole_.data();
  for (const std::int64_t index : order.indices) {
    data_->view->Apply(whole, SampleRandom(data_->seed, order.epoch, index), samples);
    whole += in;
    samples += out;
  }
}

Status BatchMaker::Mix(const BatchOrder& order, float* samples, float* labels) {
  const SampleRandom random(data_->seed, order.epoch, order.lead);
  const float share = static_cast<float>(DrawBeta(data_->mixup_alpha, random.For(SampleRandom::Purpose::kMix)));
  const SampleLayout layout = data_->layout();
  const std::int64_t count = std::ssize(order.indices);
  const std::int64_t width = layout.shape.elements(), label_width = layout.label_shape.elements();
  if (order.partners.empty()) {
    MixRows(share, samples, count, width, &spare_);
    MixRows(share, labels, count, label_width, &spare_);
    return {};
  }
  if (count == 1 && order.partners[0] == order.indices[0]) return {};
  spare_.resize(static_cast<std::size_t>(count * width));
  spare_labels_.resize(static_cast<std::size_t>(count * label_width));
  const std::size_t skipped = skipped_.size();
  TENON_TRY(MakeRows({.epoch = order.epoch, .indices = order.partners}, spare_.data(), spare_labels_.data()));
  skipped_.resize(skipped);  // those of others are named where they are due
  MixPairs(share, samples, spare_.data(), count * width);
  MixPairs(share, labels, spare_labels_.data(), count * label_width);
  return {};
}

Status BatchMaker::MakeLabels(std::span<const std::int64_t> indices, void* labels) {
  if (!transform_->changes_labels()) return dataset_->ReadBatch(indices, nullptr, labels);
  TENON_TRY(dataset_->ReadBatch(indices, nullptr, labels_.data()));
  const std::int64_t count = static_cast<std::int64_t>(indices.size()) * dataset_->layout().label_shape.elements();
  transform_->ApplyLabels(labels_.data(), count, static_cast<float*>(labels));
  return {};
}

// Samples come padded to the longest of all; the front of each is kept.
Status BatchMaker::MakePadded(const BatchOrder& order, void* samples, void* labels) {
  const std::int64_t stored = dataset_->layout().shape.dim(0), kept = std::min(stored, order.length);
  const std::size_t bytes = static_cast<std::size_t>(kept) * sizeof(std::int64_t);
  for (void* const target : {samples, labels}) {
    std::int64_t* out = static_cast<std::int64_t*>(target);
    for (const std::int64_t index : order.indices) {
      const bool labels_wanted = target == labels;
      TENON_TRY(dataset_->ReadBatch({&index, 1}, labels_wanted ? nullptr : stored_.data(),
                                    labels_wanted ? stored_.data() : nullptr));
      std::memcpy(out, stored_.data(), bytes);
      const std::int64_t pad = labels_wanted ? dataset_->padding().label : dataset_->padding().value;
      std::fill(out + kept, out + order.length, pad);
      out += order.length;
    }
  }
  return {};
}

}  // namespace tenon
