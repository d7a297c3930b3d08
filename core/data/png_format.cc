// PNG through libpng. A picture is always decoded as a whole.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/data/exif.h"
#include "core/data/image_file.h"

namespace tenon {

namespace {

constexpr std::size_t kSignatureBytes = 8;

class PngFormat final : public ImageFormat {
 public:
  ~PngFormat() override { Close(); }

  bool Knows(std::span<const std::uint8_t> file) const override {
    return file.size() >= kSignatureBytes && png_sig_cmp(file.data(), 0, kSignatureBytes) == 0;
  }

  Result<PictureSize> Open(std::span<const std::uint8_t> file, const ImageFileOptions& options) override {
    Close();
    file_ = file;
    position_ = 0;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, [](png_structp, png_const_charp) {});
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) return Error(Code::kResourceExhausted, "libpng could not be started.");
    if (!ReadHeader()) return Failure();
    const PictureSize stored{png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
    TENON_TRY(CheckPictureSize(stored.height, stored.width));
    orientation_ = options.orientation ? Orientation() : 1;
    return orientation_ >= 5 ? PictureSize{stored.width, stored.height} : stored;
  }

  Result<DecodedRect> Decode(const PixelRect&, std::int64_t, Picture* out) override {
    Picture* target = orientation_ == 1 ? out : &turned_;
    const std::int64_t height = png_get_image_height(png_, info_);
    target->Resize(height, png_get_image_width(png_, info_));
    rows_.clear();
    for (std::int64_t y = 0; y < height; ++y) rows_.push_back(target->row(y));
    if (!ReadPixels()) return Failure();
    Close();
    if (orientation_ != 1) Turn(orientation_, turned_, out);
    return DecodedRect{{0, 0, out->height(), out->width()}, 1};
  }

 private:
  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    static_cast<PngFormat*>(png_get_error_ptr(png))->error_ = text;
    png_longjmp(png, 1);
  }

  static void OnRead(png_structp png, png_bytep out, std::size_t bytes) {
    PngFormat& self = *static_cast<PngFormat*>(png_get_io_ptr(png));
    if (bytes > self.file_.size() - self.position_) png_error(png, "the file is cut short");
    std::memcpy(out, self.file_.data() + self.position_, bytes);
    self.position_ += bytes;
  }

  // These two run under setjmp: nothing with a destructor lives in them.
  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, OnRead);
    png_read_info(png_, info_);
    const int colour = png_get_color_type(png_, info_);
    png_set_expand(png_);  // palettes and grey of fewer bits
    if (png_get_bit_depth(png_, info_) == 16) png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    if (colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_GRAY_ALPHA) png_set_gray_to_rgb(png_);
    png_set_filler(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return png_get_rowbytes(png_, info_) == 4 * static_cast<std::size_t>(png_get_image_width(png_, info_));
  }

  bool ReadPixels() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  int Orientation() {
    png_uint_32 bytes = 0;
    png_bytep data = nullptr;
    if (png_get_eXIf_1(png_, info_, &bytes, &data) == 0 || !data) return 1;
    return ExifOrientation({data, bytes});
  }

  Status Failure() {
    Status status = Error(Code::kDataLoss, "The PNG data cannot be decoded, near byte {} of {}: {}.", position_,
                          file_.size(), error_);
    Close();
    return status;
  }

  void Close() {
    if (png_) png_destroy_read_struct(&png_, &info_, nullptr);
    png_ = nullptr;
    info_ = nullptr;
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::uint8_t> file_;
  std::size_t position_ = 0;
  int orientation_ = 1;
  std::string error_;
  std::vector<png_bytep> rows_;
  Picture turned_;
};

}  // namespace

std::unique_ptr<ImageFormat> MakePngFormat() { return std::make_unique<PngFormat>(); }

}  // namespace tenon
