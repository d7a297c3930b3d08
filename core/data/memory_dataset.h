#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/data/dataset.h"
#include "core/tensor/tensor.h"

namespace tenon {

// Where the samples of a MemoryDataset lie in their files, so that an error about one can name its place.
struct Provenance {
  enum class Unit { kLine, kByte };
  std::string description;  // "csv data/optdigits.csv.gz"
  std::string file;         // the file that holds the labels
  Unit unit = Unit::kByte;
  std::int64_t first = 0;   // line (from 1) or byte of sample 0
  std::int64_t stride = 1;  // lines or bytes from one sample to the next
};

// Samples and labels held in memory as they were stored; the readers of files make these.
class MemoryDataset final : public Dataset {
 public:
  // `samples` is [n, shape of a sample...]. `labels` is [n, shape of a label...]: integers of any width are classes,
  // floats are values. Refuses different n, n = 0, and class labels below 0 other than the one that the loss leaves out.
  static Result<std::unique_ptr<MemoryDataset>> Create(Tensor samples, Tensor labels, Provenance provenance,
                                                       std::optional<std::int64_t> ignored = std::nullopt);

  std::int64_t size() const override { return size_; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return classes_; }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  const std::byte* resident() const override { return static_cast<const std::byte*>(samples_.raw()); }
  std::string Place(std::int64_t index) const override;
  std::string description() const override { return provenance_.description; }

 private:
  MemoryDataset() = default;

  Tensor samples_;
  Tensor labels_;
  SampleLayout layout_;
  Provenance provenance_;
  std::int64_t size_ = 0;
  std::int64_t classes_ = 0;
};

}  // namespace tenon
