#pragma once

#include <memory>
#include <vector>

#include "core/data/dataset.h"

namespace tenon {

// The samples of a data set, uint8 [3, h, w] or [1, h, w] seen as `shape`, as pictures; grey is repeated.
class StoredPictures final : public PictureReader {
 public:
  StoredPictures(std::shared_ptr<const Dataset> dataset, const Shape& shape);
  Result<PictureSize> Open(std::int64_t index) override;
  Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) override;

 private:
  std::shared_ptr<const Dataset> dataset_;
  Shape shape_;
  std::vector<std::uint8_t> stored_;
};

}  // namespace tenon
