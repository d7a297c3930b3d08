#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/status.h"
#include "core/data/picture.h"

namespace tenon {

struct ImageFileOptions {
  bool orientation = false;  // turn a picture as its EXIF note says
};

// A file format of pictures. Everything becomes 8-bit red, green and blue: grey is repeated, alpha is dropped, of 16 bits
// the upper 8 stay, CMYK is multiplied out, palettes are looked up. Open a file, then decode it, once. The bytes stay the
// caller's until then. Errors name the cause and, where the format knows it, the byte. One thread at a time.
class ImageFormat {
 public:
  virtual ~ImageFormat() = default;
  virtual bool Knows(std::span<const std::uint8_t> file) const = 0;
  virtual Result<PictureSize> Open(std::span<const std::uint8_t> file, const ImageFileOptions& options) = 0;
  // As PictureReader::Decode.
  virtual Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) = 0;
};

std::unique_ptr<ImageFormat> MakeJpegFormat();
std::unique_ptr<ImageFormat> MakePngFormat();

// More pixels in one picture than this are refused: memory is taken as the header says, before the data is seen.
inline constexpr std::int64_t kMostPicturePixels = std::int64_t{1} << 28;
Status CheckPictureSize(std::int64_t height, std::int64_t width);

// Decodes JPEG and PNG; which of the two is seen from the first bytes. One thread at a time.
class ImageFileDecoder {
 public:
  explicit ImageFileDecoder(const ImageFileOptions& options);
  Result<PictureSize> Open(std::span<const std::uint8_t> file);
  Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out);

 private:
  ImageFileOptions options_;
  std::unique_ptr<ImageFormat> formats_[2];
  ImageFormat* current_ = nullptr;
};

}  // namespace tenon
