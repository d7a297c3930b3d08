#include "core/data/stored_pictures.h"

#include <utility>

namespace tenon {

StoredPictures::StoredPictures(std::shared_ptr<const Dataset> dataset, const Shape& shape)
    : dataset_(std::move(dataset)), shape_(shape), stored_(static_cast<std::size_t>(shape.elements())) {}

Result<PictureSize> StoredPictures::Open(std::int64_t index) {
  TENON_TRY(dataset_->ReadBatch({&index, 1}, stored_.data(), nullptr));
  return PictureSize{shape_.dim(1), shape_.dim(2)};
}

Result<DecodedRect> StoredPictures::Decode(const PixelRect&, std::int64_t, Picture* out) {
  const std::int64_t height = shape_.dim(1), width = shape_.dim(2), plane = height * width;
  const std::int64_t step = shape_.dim(0) == 1 ? 0 : plane;
  out->Resize(height, width);
  std::uint8_t* pixel = out->row(0);
  const std::uint8_t* from = stored_.data();
  for (std::int64_t i = 0; i < plane; ++i, pixel += 4) {
    for (int c = 0; c < 3; ++c) pixel[c] = from[i + c * step];
    pixel[3] = 255;
  }
  return DecodedRect{{0, 0, height, width}, 1};
}

}  // namespace tenon
