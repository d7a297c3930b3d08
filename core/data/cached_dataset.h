#pragma once

#include <memory>
#include <string>

#include "core/data/dataset.h"
#include "core/data/transform.h"
#include "core/tensor/tensor.h"

namespace tenon {

// Holds the samples of another data set as they come out of a transform; labels and places stay the other's.
class CachedDataset final : public Dataset {
 public:
  // Transforms every sample now. Reading errors of the source come out.
  static Result<std::shared_ptr<const Dataset>> Create(std::shared_ptr<const Dataset> source,
                                                       const Transform& transform);

  std::int64_t size() const override { return source_->size(); }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return source_->classes(); }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  const std::byte* resident() const override { return static_cast<const std::byte*>(samples_.raw()); }
  std::string Place(std::int64_t index) const override { return source_->Place(index); }
  std::string description() const override { return source_->description(); }

 private:
  CachedDataset(std::shared_ptr<const Dataset> source, const Transform& transform);

  std::shared_ptr<const Dataset> source_;
  SampleLayout layout_;
  Tensor samples_;
};

}  // namespace tenon
