#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/data/data_config.h"
#include "core/data/dataset.h"
#include "core/data/loader.h"
#include "core/data/prepared_data.h"
#include "core/data/sampler.h"
#include "core/data/vocabulary.h"

namespace tenon {

struct OpenDataOptions {
  std::uint64_t seed = 0;  // of the split, the order and synthetic samples
  std::int64_t rank = 0;   // of so many; each gets its share of an epoch
  std::int64_t ranks = 1;
  LabelKind csv_label = LabelKind::kClass;                   // csv: the last column is a class number, or a value
  std::optional<std::int64_t> ignored_label = std::nullopt;  // that the loss leaves out: it need not be a class
};

// The data of a run, opened: samples for training and for testing, of the same layout. Immutable; loaders keep what
// they need alive.
class DataSource {
 public:
  // One batch of this layout per sample comes out of the loaders (after all transforms).
  // Samples of different length: of the longest.
  SampleLayout layout() const { return train_.data.layout(); }
  // Have samples different lengths?
  bool varies() const { return train_.data.dataset->varies(); }
  // Then the length of the shortest batch of the training part that there can be, and whether a sample can be shorter than
  // its batch.
  std::int64_t shortest() const;
  bool pads() const;
  // Classes of the stored labels: as configured, else the largest in the data (both parts) plus one; 0 for values.
  std::int64_t classes() const { return classes_; }
  std::int64_t train_size() const { return static_cast<std::int64_t>(train_.rows->size()); }
  std::int64_t test_size() const { return test_.rows ? static_cast<std::int64_t>(test_.rows->size()) : 0; }
  bool has_test() const { return test_.rows != nullptr; }
  std::int64_t validation_size() const {
    return validation_.rows ? static_cast<std::int64_t>(validation_.rows->size()) : 0;
  }
  bool has_validation() const { return validation_.rows != nullptr; }
  // One line for the log: source, samples, shapes, classes, parts, whether transformed samples are kept in memory.
  const std::string& description() const { return description_; }

  // Of the labels and, where they need not be decoded, the samples of some rows of the training part, spread over it: what
  // has another one is not the same data.
  Result<std::uint64_t> Checksum() const;

  // Of a text, else null. A run keeps it, so that later runs number characters the same way.
  const Vocabulary* vocabulary() const { return vocabulary_.get(); }

  // For when the network has fewer classes than the data: the error names the first sample that does not fit.
  Status CheckClasses(std::int64_t classes) const;

  // Batches of the training part with batch size, order and workers of the config.
  Result<std::unique_ptr<Loader>> TrainLoader() const;
  // The test part in natural order, every sample once; of several ranks each gets whole batches of it. `batch` 0: that of
  // the config.
  Result<std::unique_ptr<Loader>> TestLoader(std::int64_t batch = 0) const;
  // The same for the part for validation.
  Result<std::unique_ptr<Loader>> ValidationLoader() const;

 private:
  friend class DataOpener;
  struct Part {
    PreparedData data;
    std::shared_ptr<const std::vector<std::int64_t>> rows;  // null: there is no such part
  };
  DataSource() = default;
  Result<std::unique_ptr<Loader>> InOrder(const Part& part, std::int64_t batch) const;

  Part train_;
  Part validation_;  // of the source of the training part
  Part test_;
  std::int64_t classes_ = 0;
  std::optional<std::int64_t> ignored_label_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::string description_;
  LoaderOptions loader_;
  SamplerOptions sampler_;
};

// Opens and checks everything that `config` names; nothing is found missing or broken later. Without `split` or `test`
// the test part is what the source has of its own (idx: the t10k files; cifar: its test files; text: the last tenth), or
// none. `samples` limits the source before a split, and the training part of a source that has an own test part.
Result<DataSource> OpenData(const DataConfig& config, const OpenDataOptions& options);

}  // namespace tenon
