#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/status.h"
#include "core/data/picture.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace tenon {

// What a label means: the number of a class (checked against the class count), or a value to be met (regression).
enum class LabelKind { kClass, kValue };

// One sample as it is stored. A label of shape [] is one number a sample; [T] is one a position of a sequence.
struct SampleLayout {
  Shape shape;
  DType dtype = DType::kF32;
  Shape label_shape;
  DType label_dtype = DType::kI64;  // kI64 for classes, kF32 for values
  LabelKind label_kind = LabelKind::kClass;

  // Of `count` samples one after the other, and of their labels.
  Shape samples_shape(std::int64_t count) const;
  Shape labels_shape(std::int64_t count) const;
  std::int64_t sample_bytes() const { return shape.elements() * SizeOf(dtype); }
  std::int64_t label_bytes() const { return label_shape.elements() * SizeOf(label_dtype); }
};

// What stands behind the end of a sample that is shorter than others.
struct Padding {
  std::int64_t value = 0;
  std::int64_t label = 0;
};

// A set of samples that can be read in any order. All functions may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  virtual const SampleLayout& layout() const = 0;
  // Largest class number in the data plus one (or what the source declares); 0 when labels are values. No class number
  // is below 0: whoever makes a data set refuses those. The label that the loss leaves out is none.
  virtual std::int64_t classes() const = 0;

  // Copies the samples `indices` (each in [0, size())) into caller memory, one after the other, in the stored dtype:
  // `samples` has room for indices.size() * layout().sample_bytes() bytes, `labels` for indices.size() *
  // layout().label_bytes(); either may be null when it is not wanted. Allocates nothing unless it fails. An error
  // carries the place of the sample that could not be read.
  virtual Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const = 0;

  // All samples one after the other when they lie in memory (ReadBatch's first copy can then be left out), else null.
  virtual const std::byte* resident() const { return nullptr; }

  // Whether samples differ in length along their only axis. layout() is then of the longest; ReadBatch pads the others.
  virtual bool varies() const { return false; }
  // How much of a sample is not padding, and what padding is; only when varies().
  virtual std::int64_t Length(std::int64_t) const { return 0; }
  virtual Padding padding() const { return {}; }

  // Files of pictures of any size give their pixels this way, one reader a thread, and only labels by ReadBatch; the
  // layout then is [3, 0, 0]. Null for all others.
  virtual std::unique_ptr<PictureReader> Pictures() const { return nullptr; }

  // Where a sample (its label, when that lies in another file) comes from: "digits.csv:17",
  // "train-labels-idx1-ubyte: record 4 at byte 12".
  virtual std::string Place(std::int64_t index) const = 0;

  // The source in a few words for logs: "csv data/optdigits.csv.gz".
  virtual std::string description() const = 0;
};

// Refuses the first class label that is not below `classes`; the error names the sample, its place, the value and
// the bound. Labels that are values always pass, and so does the label that the loss leaves out.
Status CheckLabels(const Dataset& dataset, std::int64_t classes, std::optional<std::int64_t> ignored = std::nullopt);

}  // namespace tenon
