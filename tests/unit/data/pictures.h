#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/data/picture.h"

namespace tenon::testing {

// A file of tests/fixtures/images; make.py there says how each was made.
inline std::vector<std::uint8_t> FixtureBytes(const std::string& name) {
  std::ifstream file(std::string(TENON_SOURCE_DIR) + "/tests/fixtures/images/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Red, green and blue of each pixel, row by row.
inline std::vector<std::uint8_t> RgbOf(const Picture& picture) {
  std::vector<std::uint8_t> rgb;
  for (std::int64_t y = 0; y < picture.height(); ++y) {
    for (std::int64_t x = 0; x < picture.width(); ++x)
      rgb.insert(rgb.end(), picture.row(y) + 4 * x, picture.row(y) + 4 * x + 3);
  }
  return rgb;
}

inline Picture FromRgb(const std::vector<std::uint8_t>& rgb, std::int64_t height, std::int64_t width) {
  Picture picture;
  picture.Resize(height, width);
  for (std::int64_t i = 0; i < height * width; ++i) {
    for (int c = 0; c < 3; ++c) picture.row(0)[4 * i + c] = rgb[static_cast<std::size_t>(3 * i + c)];
  }
  return picture;
}

// The largest difference of two files of bytes; 256 when their sizes differ.
inline int LargestDifference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int{a[i]} - int{b[i]}));
  return largest;
}

}  // namespace tenon::testing
