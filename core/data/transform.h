#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/data/dataset.h"
#include "core/data/resize.h"

namespace tenon {

// What is done to each sample, in this order: seen as `shape`, times `scale`, resized, padded, normalised; and to its
// label: made a vector.
struct TransformSpec {
  bool image = false;          // integers of 4 or 8 bytes stay ids (int64) unless they are an image
  std::optional<Shape> shape;  // how the stored values are seen; empty: as stored
  double scale = 1.0;
  std::optional<std::array<std::int64_t, 2>> resize;  // height, width
  ResizeMode resize_mode = ResizeMode::kBilinear;
  std::int64_t pad = 0;      // zeros on each side of the last two axes
  std::vector<double> mean;  // one for all channels or one a channel; empty: no normalisation
  std::vector<double> std;
  bool one_hot = false;
};

// A TransformSpec made ready for samples of one layout: scale, mean and std become one multiplication and one addition
// a channel (value * (scale / std) - mean / std, in float32), index tables of the resize are computed once.
// Results are float32, or int64 for ids. Immutable, any thread; scratch belongs to the caller.
class Transform {
 public:
  // Checks that the parts of `spec` fit each other and the stored layout; `classes` is needed for one_hot.
  static Result<Transform> Compile(const TransformSpec& spec, const SampleLayout& stored, std::int64_t classes);

  // What comes out.
  const SampleLayout& output() const { return output_; }
  // How the stored values are seen.
  const Shape& stored_shape() const { return stored_shape_; }
  // What a stored 0 becomes, one value a plane.
  std::vector<float> ValuesOfZero() const;
  // Floats of scratch that ApplySample needs.
  std::int64_t scratch() const;
  // True when samples come out bit for bit as they are stored.
  bool copies_samples() const { return kind_ == Kind::kCopy; }
  // True when a sample costs much more than a copy, so that keeping results pays.
  bool costly() const { return resizer_ != nullptr; }
  bool changes_labels() const { return one_hot_classes_ > 0; }
  // A transform with the same effect on labels for samples that have been through this one.
  Transform Remainder() const;

  // One sample in the stored dtype to one in the output dtype.
  void ApplySample(const void* stored, void* out, float* scratch) const;
  // `count` class labels to vectors; only when changes_labels(). Labels must be in range.
  void ApplyLabels(const std::int64_t* labels, std::int64_t count, float* out) const;

 private:
  enum class Kind { kCopy, kIds, kFloat };
  struct Affine {
    float factor = 1;
    float offset = 0;
  };

  Status SetShape(const TransformSpec& spec, const SampleLayout& stored);
  Status SetAffine(const TransformSpec& spec);
  Status SetGeometry(const TransformSpec& spec);
  Status SetLabels(const TransformSpec& spec, const SampleLayout& stored, std::int64_t classes);
  template <class T>
  void Floats(const T* stored, float* out, float* scratch) const;
  void PadBorder(float* plane, float value) const;

  Kind kind_ = Kind::kCopy;
  DType stored_dtype_ = DType::kF32;
  Shape stored_shape_;
  SampleLayout output_;
  std::int64_t planes_ = 1;  // channels: product of all axes but the last two
  std::int64_t in_height_ = 1;
  std::int64_t in_width_ = 1;
  std::int64_t out_height_ = 1;  // with padding
  std::int64_t out_width_ = 1;
  std::int64_t pad_ = 0;
  bool identity_affine_ = true;
  std::vector<Affine> affine_;              // one a plane
  std::shared_ptr<const Resizer> resizer_;  // null: the size stays
  std::int64_t one_hot_classes_ = 0;
};

}  // namespace tenon
