#include "core/data/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon {

Result<Transform> Transform::Compile(const TransformSpec& spec, const SampleLayout& stored, std::int64_t classes) {
  Transform t;
  t.stored_dtype_ = stored.dtype;
  TENON_TRY(t.SetShape(spec, stored));
  TENON_TRY(t.SetAffine(spec));
  TENON_TRY(t.SetGeometry(spec));
  TENON_TRY(t.SetLabels(spec, stored, classes));

  const bool ids = IsInteger(stored.dtype) && SizeOf(stored.dtype) >= 4 && !spec.image;
  const bool same_values = t.identity_affine_ && !t.resizer_ && t.pad_ == 0;
  if (ids) {
    TENON_INVALID_IF(
        !same_values,
        "The samples are {} without an 'image:' block, which are ids; they cannot be scaled, resized or normalised.",
        NameOf(stored.dtype));
    t.output_.dtype = DType::kI64;
    t.kind_ = stored.dtype == DType::kI64 ? Kind::kCopy : Kind::kIds;
  } else {
    t.output_.dtype = DType::kF32;
    t.kind_ = stored.dtype == DType::kF32 && same_values ? Kind::kCopy : Kind::kFloat;
  }
  return t;
}

Status Transform::SetShape(const TransformSpec& spec, const SampleLayout& stored) {
  const Shape shape = spec.shape.value_or(stored.shape);
  TENON_INVALID_IF(shape.elements() != stored.shape.elements(),
                   "A sample has {} values (stored as {}), but 'image.shape' is {}, which are {}.",
                   stored.shape.elements(), stored.shape, shape, shape.elements());
  TENON_INVALID_IF(shape.elements() == 0, "A sample of shape {} has no values.", shape);
  stored_shape_ = shape;
  output_ = stored;
  output_.shape = shape;
  const int rank = shape.rank();
  in_width_ = rank >= 1 ? shape.dim(rank - 1) : 1;
  in_height_ = rank >= 2 ? shape.dim(rank - 2) : 1;
  planes_ = shape.elements() / (in_width_ * in_height_);
  return {};
}

Status Transform::SetAffine(const TransformSpec& spec) {
  TENON_INVALID_IF(!std::isfinite(spec.scale), "'image.scale' is {}, which is not a finite number.", spec.scale);
  const bool normalises = !spec.mean.empty() || !spec.std.empty();
  const std::size_t planes = static_cast<std::size_t>(planes_);
  for (const auto* values : {&spec.mean, &spec.std}) {
    if (!normalises || values->size() == 1 || values->size() == planes) continue;
    return InvalidArgument("'normalize' has {} values of '{}', but a sample of shape {} has {} channels.",
                           values->size(), values == &spec.mean ? "mean" : "std", output_.shape, planes_);
  }
  for (std::size_t c = 0; c < planes; ++c) {
    double factor = spec.scale;
    double offset = 0;
    if (normalises) {
      const double mean = spec.mean[spec.mean.size() == 1 ? 0 : c];
      const double std = spec.std[spec.std.size() == 1 ? 0 : c];
      TENON_INVALID_IF(!(std > 0) || !std::isfinite(std) || !std::isfinite(mean),
                       "'normalize' has mean {} and std {} for channel {}; std must be above 0, both finite.", mean,
                       std, c);
      factor /= std;
      offset = -mean / std;
    }
    affine_.push_back({static_cast<float>(factor), static_cast<float>(offset)});
    if (affine_.back().factor != 1.0f || affine_.back().offset != 0.0f) identity_affine_ = false;
  }
  return {};
}

Status Transform::SetGeometry(const TransformSpec& spec) {
  const int rank = output_.shape.rank();
  pad_ = spec.pad;
  out_height_ = in_height_;
  out_width_ = in_width_;
  if (!spec.resize && spec.pad == 0) return {};
  TENON_INVALID_IF(rank < 2,
                   "Only images can be resized or padded, but a sample has shape {}; 'image.shape' says how its values "
                   "are laid out.",
                   output_.shape);
  TENON_INVALID_IF(spec.pad < 0 || spec.pad > (1 << 20), "'image.pad' is {}; it must be between 0 and {}.", spec.pad,
                   1 << 20);
  if (spec.resize) {
    const auto [height, width] = *spec.resize;
    TENON_INVALID_IF(height < 1 || width < 1 || height > (1 << 20) || width > (1 << 20),
                     "'image.resize' is [{}, {}]; both must be between 1 and {}.", height, width, 1 << 20);
    if (height != in_height_ || width != in_width_) {
      resizer_ = std::make_shared<const Resizer>(in_height_, in_width_, height, width, spec.resize_mode);
    }
    out_height_ = height;
    out_width_ = width;
  }
  out_height_ += 2 * pad_;
  out_width_ += 2 * pad_;
  output_.shape.set_dim(rank - 2, out_height_);
  output_.shape.set_dim(rank - 1, out_width_);
  return {};
}

Status Transform::SetLabels(const TransformSpec& spec, const SampleLayout& stored, std::int64_t classes) {
  if (!spec.one_hot) return {};
  TENON_INVALID_IF(stored.label_kind != LabelKind::kClass, "'one_hot' needs class labels, but the labels are values.");
  TENON_INVALID_IF(classes < 1, "'one_hot' needs the number of classes.");
  TENON_INVALID_IF(stored.label_shape.rank() >= kMaxRank, "Labels of shape {} have no room for one more axis.",
                   stored.label_shape);
  one_hot_classes_ = classes;
  output_.label_shape.push_back(classes);
  output_.label_dtype = DType::kF32;
  output_.label_kind = LabelKind::kValue;
  return {};
}

std::int64_t Transform::scratch() const { return resizer_ ? in_height_ * in_width_ + resizer_->scratch() : 0; }

std::vector<float> Transform::ValuesOfZero() const {
  std::vector<float> values;
  for (const Affine& affine : affine_) values.push_back(affine.offset);
  return values;
}

Transform Transform::Remainder() const {
  Transform rest = *this;
  rest.kind_ = Kind::kCopy;
  rest.stored_dtype_ = output_.dtype;
  rest.in_height_ = out_height_;
  rest.in_width_ = out_width_;
  rest.pad_ = 0;
  rest.identity_affine_ = true;
  std::fill(rest.affine_.begin(), rest.affine_.end(), Affine());
  rest.resizer_.reset();
  return rest;
}

void Transform::ApplySample(const void* stored, void* out, float* scratch) const {
  switch (kind_) {
    case Kind::kCopy:
      std::memcpy(out, stored, static_cast<std::size_t>(output_.sample_bytes()));
      return;
    case Kind::kIds:
      ForInteger(stored_dtype_, [&]<class T>() {
        const T* from = static_cast<const T*>(stored);
        std::transform(from, from + output_.shape.elements(), static_cast<std::int64_t*>(out),
                       [](T value) { return static_cast<std::int64_t>(value); });
      });
      return;
    case Kind::kFloat:
      ForNumeric(stored_dtype_,
                 [&]<class T>() { Floats(static_cast<const T*>(stored), static_cast<float*>(out), scratch); });
      return;
  }
}

template <class T>
void Transform::Floats(const T* stored, float* out, float* scratch) const {
  const std::int64_t in_plane = in_height_ * in_width_;
  for (std::int64_t c = 0; c < planes_; ++c, stored += in_plane, out += out_height_ * out_width_) {
    const Affine affine = affine_[static_cast<std::size_t>(c)];
    const auto convert = [factor = affine.factor, offset = affine.offset](T value) {
      return static_cast<float>(value) * factor + offset;
    };
    float* inner = out + pad_ * out_width_ + pad_;
    if (resizer_) {
      std::transform(stored, stored + in_plane, scratch, convert);
      resizer_->Apply(scratch, inner, out_width_, scratch + in_plane);
    } else if (pad_ == 0) {
      std::transform(stored, stored + in_plane, inner, convert);
    } else {
      for (std::int64_t y = 0; y < in_height_; ++y) {
        std::transform(stored + y * in_width_, stored + (y + 1) * in_width_, inner + y * out_width_, convert);
      }
    }
    if (pad_ > 0) PadBorder(out, affine.offset);
  }
}

void Transform::PadBorder(float* plane, float value) const {
  std::fill_n(plane, pad_ * out_width_, value);
  std::fill_n(plane + (out_height_ - pad_) * out_width_, pad_ * out_width_, value);
  for (std::int64_t y = pad_; y < out_height_ - pad_; ++y) {
    std::fill_n(plane + y * out_width_, pad_, value);
    std::fill_n(plane + (y + 1) * out_width_ - pad_, pad_, value);
  }
}

void Transform::ApplyLabels(const std::int64_t* labels, std::int64_t count, float* out) const {
  std::fill_n(out, count * one_hot_classes_, 0.0f);
  for (std::int64_t i = 0; i < count; ++i) out[i * one_hot_classes_ + labels[i]] = 1.0f;
}

}  // namespace tenon
