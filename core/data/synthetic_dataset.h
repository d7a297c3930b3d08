#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/data/dataset.h"

namespace tenon {

// Made-up data, the same for the same seed on every machine; description() says that it is made up.
// Images: float32 of any shape; each class has a fixed pattern of values in [0, 1), a sample is 3/4 of its class's
// pattern and 1/4 noise, so a network can learn it. Sample i has class i mod classes.
// Tokens: int64 [length], each token below `vocab`: token t + 1 is (5 * token t + 7) mod vocab, with one of eight
// replaced by chance; the label of each position is the token that follows. With classes > 0 the label is one class
// a sample instead, which decides the first token.
struct SyntheticOptions {
  std::int64_t samples = 0;
  std::int64_t classes = 10;  // of images, at least 1; of tokens: 0 = next token
  Shape image;                // rank 0: tokens
  std::int64_t vocab = 0;
  std::int64_t length = 0;
  std::uint64_t seed = 0;
  std::int64_t first = 0;  // number of the first sample: a test part continues behind the train part
};

class SyntheticDataset final : public Dataset {
 public:
  static Result<std::unique_ptr<SyntheticDataset>> Create(const SyntheticOptions& options);

  std::int64_t size() const override { return options_.samples; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return classes_; }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  std::string Place(std::int64_t index) const override;
  std::string description() const override;

 private:
  explicit SyntheticDataset(const SyntheticOptions& options);
  void MakeImage(std::int64_t number, float* sample) const;
  // The tokens of a sample and the one that follows the last; `label` (if any) gets the labels.
  void MakeTokens(std::int64_t number, std::int64_t* sample, std::int64_t* label) const;
  std::int64_t ClassOf(std::int64_t number) const { return number % options_.classes; }

  SyntheticOptions options_;
  SampleLayout layout_;
  std::int64_t classes_ = 0;
};

}  // namespace tenon
