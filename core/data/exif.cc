#include "core/data/exif.h"

#include <cstring>

namespace tenon {

namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShortType = 3;

// Numbers of a TIFF block in its own byte order; 0 beyond its end.
class TiffBytes {
 public:
  explicit TiffBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes), big_(bytes.size() > 1 && bytes[0] == 'M') {}

  std::uint32_t Number(std::size_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value = (value << 8) | bytes_[at + (big_ ? i : width - 1 - i)];
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool big_;
};

}  // namespace

int ExifOrientation(std::span<const std::uint8_t> tiff) {
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const TiffBytes bytes(tiff);
  if (bytes.Number(2, 2) != 42) return 1;
  const std::size_t list = bytes.Number(4, 4);
  const std::uint32_t count = bytes.Number(list, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = list + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (bytes.Number(entry, 2) != kOrientationTag || bytes.Number(entry + 2, 2) != kShortType) continue;
    const std::uint32_t orientation = bytes.Number(entry + 8, 2);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

void Turn(int orientation, const Picture& in, Picture* out) {
  const bool transposed = orientation >= 5;
  const std::int64_t height = transposed ? in.width() : in.height();
  const std::int64_t width = transposed ? in.height() : in.width();
  // Whether rows and columns of `in` are read from their end.
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  out->Resize(height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      std::int64_t row = transposed ? x : y;
      std::int64_t column = transposed ? y : x;
      if (from_bottom) row = in.height() - 1 - row;
      if (from_right) column = in.width() - 1 - column;
      std::memcpy(out->row(y) + 4 * x, in.row(row) + 4 * column, 4);
    }
  }
}

}  // namespace tenon
