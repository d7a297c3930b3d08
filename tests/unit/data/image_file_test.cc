#include "core/data/image_file.h"

#include <gtest/gtest.h>

#include "core/data/exif.h"
#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing::FixtureBytes;
using testing::LargestDifference;
using testing::RgbOf;
using Bytes = std::vector<std::uint8_t>;

std::string ErrorOf(const Bytes& file) {
  ImageFileDecoder decoder({});
  const auto size = decoder.Open(file);
  if (!size.ok()) return size.status().ToString();
  Picture picture;
  const auto decoded = decoder.Decode({0, 0, size->height, size->width}, 1, &picture);
  return decoded.ok() ? "" : decoded.status().ToString();
}

class ImageFiles : public ::testing::TestWithParam<const char*> {};

// Against what torchvision decodes from the same file.
TEST_P(ImageFiles, GiveTheBytesOfTheirNeighbour) {
  const Bytes file = FixtureBytes(GetParam());
  ImageFileDecoder decoder({.orientation = true});
  for (int again = 0; again < 2; ++again) {
    const auto size = decoder.Open(file);
    ASSERT_TRUE(size.ok()) << size.status().ToString();
    Picture picture;
    const auto decoded = decoder.Decode({0, 0, size->height, size->width}, 1, &picture);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(picture.height(), size->height);
    EXPECT_EQ(LargestDifference(RgbOf(picture), FixtureBytes(std::string(GetParam()) + ".rgb")), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ImageFiles,
                         ::testing::Values("halved.jpg", "full.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg",
                                           "turned2.jpg", "turned3.jpg", "turned4.jpg", "turned5.jpg", "turned6.jpg",
                                           "turned7.jpg", "turned8.jpg", "rgb.png", "rgba.png", "grey.png", "bits.png",
                                           "grey_alpha.png", "palette.png", "rgb16.png", "grey16.png"));

TEST(ImageFile, APartHasTheBytesOfTheWhole) {
  for (const char* name : {"halved.jpg", "full.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "rgb.png"}) {
    const Bytes file = FixtureBytes(name);
    const Picture whole = testing::FromRgb(FixtureBytes(std::string(name) + ".rgb"), 27, 37);
    ImageFileDecoder decoder({});
    for (const PixelRect& wanted : {PixelRect{3, 20, 11, 6}, {0, 0, 1, 1}, {26, 36, 1, 1}, {17, 0, 10, 37}}) {
      ASSERT_TRUE(decoder.Open(file).ok());
      Picture part;
      const auto decoded = decoder.Decode(wanted, 1, &part);
      ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
      for (std::int64_t y = 0; y < wanted.height; ++y) {
        for (std::int64_t x = 0; x < wanted.width; ++x) {
          const std::int64_t row = wanted.top + y, column = wanted.left + x;
          const std::uint8_t* got = part.row(row - decoded->rect.top) + 4 * (column - decoded->rect.left);
          EXPECT_TRUE(std::equal(got, got + 3, whole.row(row) + 4 * column)) << name << ' ' << row << ' ' << column;
        }
      }
    }
  }
}

TEST(ImageFile, DamageIsNamed) {
  EXPECT_EQ(ErrorOf({}), "error: The file is empty.");
  EXPECT_EQ(ErrorOf({'G', 'I', 'F', '8', '9'}),
            "error: The file is neither JPEG (ff d8 ff) nor PNG (89 50 4e 47 0d 0a 1a 0a): all that it holds is 47 49 "
            "46 38 39.");
  Bytes jpeg = FixtureBytes("halved.jpg");
  jpeg.resize(jpeg.size() * 7 / 10);
  EXPECT_NE(ErrorOf(jpeg).find("The JPEG data cannot be decoded, near byte"), std::string::npos) << ErrorOf(jpeg);
  EXPECT_NE(ErrorOf(jpeg).find("Premature end"), std::string::npos) << ErrorOf(jpeg);
  jpeg.resize(40);
  EXPECT_NE(ErrorOf(jpeg), "");
  Bytes png = FixtureBytes("rgb.png");
  png[png.size() / 2] ^= 1;
  EXPECT_NE(ErrorOf(png).find("The PNG data cannot be decoded, near byte"), std::string::npos) << ErrorOf(png);
  png = FixtureBytes("rgb.png");
  png.resize(png.size() * 7 / 10);
  EXPECT_NE(ErrorOf(png).find("cut short"), std::string::npos) << ErrorOf(png);
}

TEST(ImageFile, ACutFileIsFoundOutWhateverPartIsWanted) {
  Bytes jpeg = FixtureBytes("halved.jpg");
  jpeg.resize(jpeg.size() * 9 / 10);
  ImageFileDecoder decoder({});
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  Picture picture;
  EXPECT_FALSE(decoder.Decode({0, 0, 2, 2}, 1, &picture).ok());
}

TEST(ImageFile, ClaimsOfManyPixelsAreRefused) {
  Bytes jpeg = FixtureBytes("full.jpg");
  for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xff || jpeg[i + 1] != 0xc0) continue;
    for (std::size_t at = i + 5; at < i + 9; ++at) jpeg[at] = 0xfd;
  }
  EXPECT_EQ(ErrorOf(jpeg), "error: The image claims 65021 x 65021 pixels; at most 268435456 are decoded.");
}

TEST(Exif, DamagedNotesMeanUpright) {
  EXPECT_EQ(ExifOrientation({}), 1);
  // Intel order, list at 8 with one entry: tag 0x0112, type short, count 1, value 6.
  Bytes note = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  EXPECT_EQ(ExifOrientation(note), 6);
  for (std::size_t size = 0; size < note.size(); ++size)
    EXPECT_EQ(ExifOrientation(std::span(note).first(size)), 1) << size;
  note[18] = 9;
  EXPECT_EQ(ExifOrientation(note), 1);
}

}  // namespace
}  // namespace tenon
