// JPEG and PNG files: whatever the bytes, decoding a part ends in pixels or in an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/image_file.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/data/pictures.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;  // NOLINT: a program of one file
  for (const std::int64_t shrink : {1, 2}) {
    ImageFileDecoder decoder({.orientation = true});
    const auto opened = decoder.Open({data, size});
    if (!opened.ok() || opened->height * opened->width > (1 << 20)) continue;
    Picture picture;
    const PixelRect part{opened->height / 3, opened->width / 3, (opened->height + 1) / 2, (opened->width + 1) / 2};
    static_cast<void>(decoder.Decode(part, shrink, &picture).ok());
  }
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const char* name :
       {"halved.jpg", "progressive.jpg", "cmyk.jpg", "turned6.jpg", "rgba.png", "palette.png", "grey16.png"}) {
    const auto bytes = testing::FixtureBytes(name);
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}
