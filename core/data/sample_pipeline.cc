#include "core/data/sample_pipeline.h"

#include <utility>
#include <variant>

namespace tenon {

namespace {

constexpr std::int64_t kUsualSkipLimit = 100;

// The entries of `transforms`, each where it is applied.
struct Wishes {
  PictureSpec picture;  // without `scale`
  NormalizeConfig normalize;
  bool normalizes = false;
  bool one_hot = false;
  double mixup_alpha = 0;
  const char* needs_pixels = nullptr;  // a transform that works on 8-bit pictures alone

  void operator()(const ResizeConfig& resize) {
    picture.resize = resize;
    needs_pixels = ResizeConfig::kType;
  }
  void operator()(const RandomResizedCropConfig& crop) {
    picture.random_part = crop;
    needs_pixels = RandomResizedCropConfig::kType;
  }
  void operator()(const ColorJitterConfig& jitter) {
    picture.jitter = jitter;
    needs_pixels = ColorJitterConfig::kType;
  }
  void operator()(const CenterCropConfig& crop) {
    picture.window = WindowSpec{crop.size.height, crop.size.width, 0, false};
  }
  void operator()(const RandomCropConfig& crop) {
    picture.window = WindowSpec{crop.size.height, crop.size.width, crop.pad, true};
  }
  void operator()(const RandomFlipConfig& flip) { picture.flip_probability = flip.probability; }
  void operator()(const NormalizeConfig& given) {
    normalize = given;
    normalizes = true;
  }
  void operator()(const OneHotConfig&) { one_hot = true; }
  void operator()(const MixupConfig& mixup) { mixup_alpha = mixup.alpha; }
};

Wishes WishesOf(const DataConfig& config, std::uint64_t seed) {
  Wishes wishes;
  for (const TransformConfig& transform : config.transforms) std::visit(wishes, transform);
  wishes.picture.seed = seed;
  if (config.image) wishes.picture.fast_shrink = config.image->fast_shrink;
  return wishes;
}

Result<TransformSpec> SpecOf(const DataConfig& config, const Wishes& wishes) {
  TransformSpec spec;
  spec.one_hot = wishes.one_hot;
  if (wishes.normalizes) {
    spec.mean = wishes.normalize.mean;
    spec.std = wishes.normalize.std;
  }
  if (!config.image) return spec;
  spec.image = true;
  if (!config.image->shape.empty()) {
    TENON_ASSIGN(spec.shape, Shape::Make(config.image->shape));
  }
  spec.scale = config.image->scale;
  spec.pad = config.image->pad;
  if (config.image->resize) {
    const auto& size = *config.image->resize;
    TENON_INVALID_IF(size.size() != 2, "'image.resize' has {} numbers; it needs height and width.", size.size());
    spec.resize = {size[0], size[1]};
  }
  return spec;
}

Result<ColourScale> ScaleOf(const DataConfig& config, const Wishes& wishes, int planes) {
  ColourScale scale;
  const NormalizeConfig& normalize = wishes.normalize;
  for (const auto* values : {&normalize.mean, &normalize.std}) {
    TENON_INVALID_IF(values->size() != 1 && values->size() != static_cast<std::size_t>(planes),
                     "'normalize' has {} values of '{}', but a picture has {} channels.", values->size(),
                     values == &normalize.mean ? "mean" : "std", planes);
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(planes); ++c) {
    const double mean = normalize.mean[normalize.mean.size() == 1 ? 0 : c];
    const double std = normalize.std[normalize.std.size() == 1 ? 0 : c];
    scale.factor[c] = static_cast<float>((config.image ? config.image->scale : 1.0) / std);
    scale.offset[c] = static_cast<float>(-mean / std);
  }
  return scale;
}

// Stored samples that pictures can be made of: [1, h, w] or [3, h, w] of bytes.
Status CheckStoredPixels(const Dataset& dataset, const Shape& shape, const DataConfig& config, const char* transform) {
  const bool fits = shape.rank() == 3 && (shape.dim(0) == 1 || shape.dim(0) == 3);
  TENON_INVALID_IF(dataset.layout().dtype != DType::kU8 || !fits,
                   "The transform '{}' needs 8-bit images, uint8[3,h,w] or uint8[1,h,w], but a sample is {}{}.",
                   transform, NameOf(dataset.layout().dtype), shape);
  TENON_INVALID_IF(config.image && (config.image->resize || config.image->pad > 0),
                   "'image.resize' and 'image.pad' do not go with the transform '{}'; use the transforms 'resize' and "
                   "'random_crop'.",
                   transform);
  return {};
}

Status AddPictures(const DataConfig& config, const Wishes& wishes, const TransformSpec& spec, std::int64_t classes,
                   bool testing, PreparedData* data) {
  const Dataset& dataset = *data->dataset;
  PictureSpec pictures = testing ? wishes.picture.ForTesting() : wishes.picture;
  SampleLayout stored = dataset.layout();
  if (config.type != "images") {
    stored.shape = spec.shape.value_or(stored.shape);
    TENON_TRY(CheckStoredPixels(dataset, stored.shape, config, wishes.needs_pixels));
    pictures.planes = static_cast<int>(stored.shape.dim(0));
    if (!pictures.window && !pictures.random_part && (!pictures.resize || pictures.resize->size.single)) {
      TENON_INVALID_IF(pictures.resize.has_value() && stored.shape.dim(1) != stored.shape.dim(2),
                       "'resize' to one number needs a crop behind it, as the images are {} and not square.",
                       stored.shape);
      const ImageSize side =
          pictures.resize ? pictures.resize->size : ImageSize{stored.shape.dim(1), stored.shape.dim(2)};
      pictures.resize = ResizeConfig{{side.height, side.width, false}};
    }
  }
  TENON_ASSIGN(pictures.scale, ScaleOf(config, wishes, pictures.planes));
  TENON_ASSIGN(PictureTransform transform, PictureTransform::Compile(pictures));
  if (config.type == "images") stored.shape = transform.output();
  data->pictures = std::make_shared<const PictureTransform>(std::move(transform));
  TransformSpec labels;
  labels.image = true;
  labels.one_hot = spec.one_hot;
  TENON_ASSIGN(data->transform, Transform::Compile(labels, stored, classes));
  return {};
}

Status AddPlanes(const Wishes& wishes, const TransformSpec& spec, std::int64_t classes, bool testing,
                 const PreparedData* same, PreparedData* data) {
  TENON_ASSIGN(const Transform transform, Transform::Compile(spec, data->dataset->layout(), classes));
  PreparedData prepared;
  if (same) {
    prepared = *same;
  } else {
    TENON_ASSIGN(prepared, PrepareData(data->dataset, transform));
  }
  data->dataset = prepared.dataset;
  data->transform = prepared.transform;
  const PictureSpec picture = testing ? wishes.picture.ForTesting() : wishes.picture;
  if (!picture.window && picture.flip_probability == 0) return {};
  TENON_ASSIGN(PlaneView view, PlaneView::Compile(picture.window, picture.flip_probability, transform.output(),
                                                  transform.ValuesOfZero()));
  data->view = std::make_shared<const PlaneView>(std::move(view));
  return {};
}

}  // namespace

Result<PreparedData> MakePipeline(const DataConfig& config, std::shared_ptr<const Dataset> dataset,
                                  std::int64_t classes, std::uint64_t seed, bool testing, const PreparedData* same) {
  const Wishes wishes = WishesOf(config, seed);
  TENON_ASSIGN(const TransformSpec spec, SpecOf(config, wishes));
  PreparedData data;
  data.dataset = std::move(dataset);
  if (config.type == "images" || wishes.needs_pixels)
    TENON_TRY(AddPictures(config, wishes, spec, classes, testing, &data));
  else
    TENON_TRY(AddPlanes(wishes, spec, classes, testing, same, &data));
  data.seed = seed;
  data.mixup_alpha = testing ? 0 : wishes.mixup_alpha;
  TENON_INVALID_IF(data.mixup_alpha > 0 && data.layout().dtype != DType::kF32,
                   "'mixup' needs samples that are numbers, but these are {}.", NameOf(data.layout().dtype));
  data.skip_unreadable = config.on_error == OnError::kSkip;
  data.skip_limit = config.skip_limit.value_or(kUsualSkipLimit);
  TENON_INVALID_IF(!config.buckets.empty() && !data.dataset->varies(),
                   "Length buckets need samples of different length; these are all of one size.");
  data.buckets = config.buckets;
  return data;
}

}  // namespace tenon
