#include "core/data/image_file.h"

#include <algorithm>
#include <string>

namespace tenon {

Status CheckPictureSize(std::int64_t height, std::int64_t width) {
  TENON_INVALID_IF(height < 1 || width < 1, "The image is {} x {} pixels.", width, height);
  TENON_INVALID_IF(height > kMostPicturePixels / width, "The image claims {} x {} pixels; at most {} are decoded.",
                   width, height, kMostPicturePixels);
  return {};
}

ImageFileDecoder::ImageFileDecoder(const ImageFileOptions& options)
    : options_(options), formats_{MakeJpegFormat(), MakePngFormat()} {}

Result<PictureSize> ImageFileDecoder::Open(std::span<const std::uint8_t> file) {
  current_ = nullptr;
  if (file.empty()) return Error(Code::kDataLoss, "The file is empty.");
  for (const auto& format : formats_) {
    if (!format->Knows(file)) continue;
    TENON_ASSIGN(const PictureSize size, format->Open(file, options_));
    current_ = format.get();
    return size;
  }
  std::string start;
  for (const std::uint8_t byte : file.first(std::min<std::size_t>(file.size(), 8)))
    start += fmt::format(" {:02x}", byte);
  return Error(Code::kDataLoss, "The file is neither JPEG (ff d8 ff) nor PNG (89 50 4e 47 0d 0a 1a 0a): {}{}.",
               file.size() < 8 ? "all that it holds is" : "it starts with", start);
}

Result<DecodedRect> ImageFileDecoder::Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) {
  if (!current_) return Error(Code::kFailedPrecondition, "No image is open.");
  ImageFormat& format = *current_;
  current_ = nullptr;
  return format.Decode(wanted, shrink, out);
}

}  // namespace tenon
