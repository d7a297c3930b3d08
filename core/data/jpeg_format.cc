// JPEG through libjpeg-turbo. Only the part that is wanted is brought to pixels: rows above it pass through the entropy
// decoder alone, columns beside it are left out in whole blocks, rows below are not read.
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <jerror.h>  // after <cstdio>
#include <jpeglib.h>

#include <algorithm>
#include <string>

#include "core/data/exif.h"
#include "core/data/image_file.h"

namespace tenon {

namespace {

// Columns decoded beside the part wanted: smooth upsampling of the colours looks at neighbours, and a block of colours can
// be 16 pixels wide (4:1:1: 32).
constexpr std::int64_t kMargin = 32;
constexpr std::size_t kEndSearch = 1024;  // bytes behind the end marker that cameras add

struct ErrorState {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = {};
};

ErrorState& StateOf(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

[[noreturn]] void Fail(j_common_ptr info) {
  ErrorState& state = StateOf(info);
  state.manager.format_message(info, state.text);
  std::longjmp(state.jump, 1);
}

// Damage that the library would paint over is an error; oddities that leave the pixels alone are not.
void OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_PROGRESSION:
      Fail(info);
    default:
      return;
  }
}

std::uint8_t Multiplied(int key, int colour) { return static_cast<std::uint8_t>((key * colour + 127) / 255); }

// Inverted CMYK, as Adobe's files store it and libjpeg gives it, to red, green, blue.
void CmykToRgb(const std::uint8_t* in, std::int64_t width, std::uint8_t* out) {
  for (std::int64_t x = 0; x < width; ++x, in += 4, out += 4) {
    const int key = in[3];
    for (int c = 0; c < 3; ++c) out[c] = Multiplied(key, in[c]);
    out[3] = 255;
  }
}

class JpegFormat final : public ImageFormat {
 public:
  JpegFormat() {
    info_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = Fail;
    error_.manager.emit_message = OnMessage;
    error_.manager.output_message = [](j_common_ptr) {};
    if (setjmp(error_.jump) == 0) {
      jpeg_create_decompress(&info_);
      jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
      created_ = true;
    }
  }
  ~JpegFormat() override { jpeg_destroy_decompress(&info_); }
  JpegFormat(const JpegFormat&) = delete;
  JpegFormat& operator=(const JpegFormat&) = delete;

  bool Knows(std::span<const std::uint8_t> file) const override {
    return file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff;
  }

  Result<PictureSize> Open(std::span<const std::uint8_t> file, const ImageFileOptions& options) override {
    file_ = file;
    if (!created_ || !ReadHeader()) return Failure();
    TENON_TRY(CheckPictureSize(info_.image_height, info_.image_width));
    orientation_ = options.orientation ? Orientation() : 1;
    PictureSize size{info_.image_height, info_.image_width};
    if (orientation_ >= 5) std::swap(size.height, size.width);
    return size;
  }

  Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) override {
    const bool whole = orientation_ != 1 || info_.out_color_space == JCS_CMYK || !HasEnd();
    plan_ = {whole ? PixelRect{0, 0, info_.image_height, info_.image_width} : wanted, shrink, whole};
    Picture* target = orientation_ == 1 ? out : &turned_;
    DecodedRect done;
    if (!ReadPixels(target, &done)) return Failure();
    if (orientation_ != 1) {
      Turn(orientation_, turned_, out);
      done.rect = {0, 0, out->height(), out->width()};
    }
    return done;
  }

 private:
  struct Plan {
    PixelRect wanted;
    std::int64_t shrink = 1;
    bool to_the_end = false;
  };

  // These two run under setjmp: nothing with a destructor lives in them.
  bool ReadHeader() {
    if (setjmp(error_.jump) != 0) return false;
    jpeg_abort_decompress(&info_);
    jpeg_mem_src(&info_, file_.data(), static_cast<unsigned long>(file_.size()));
    jpeg_read_header(&info_, TRUE);
    const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
    return true;
  }

  bool ReadPixels(Picture* out, DecodedRect* done) {
    if (setjmp(error_.jump) != 0) return false;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(plan_.shrink);
    info_.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&info_);
    const PixelRect rect = CropColumns();
    out->Resize(rect.height, rect.width);
    if (rect.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(rect.top));
    for (std::int64_t y = 0; y < rect.height;) {
      JSAMPROW row = out->row(y);
      y += jpeg_read_scanlines(&info_, &row, 1);
    }
    if (plan_.to_the_end)
      jpeg_finish_decompress(&info_);
    else
      jpeg_abort_decompress(&info_);
    if (info_.out_color_space == JCS_CMYK) {
      for (std::int64_t y = 0; y < rect.height; ++y) CmykToRgb(out->row(y), rect.width, out->row(y));
    }
    *done = {rect, plan_.shrink};
    return true;
  }

  // The part wanted in pixels of the shrunk picture; tells the library which columns to leave out.
  PixelRect CropColumns() {
    const std::int64_t shrink = plan_.shrink;
    const PixelRect& wanted = plan_.wanted;
    const std::int64_t height = info_.output_height, width = info_.output_width;
    PixelRect rect;
    rect.top = wanted.top / shrink;
    rect.height = std::min(height, (wanted.top + wanted.height + shrink - 1) / shrink) - rect.top;
    const std::int64_t left = std::max<std::int64_t>(0, wanted.left / shrink - kMargin);
    const std::int64_t right = std::min(width, (wanted.left + wanted.width + shrink - 1) / shrink + kMargin);
    JDIMENSION first = static_cast<JDIMENSION>(left), count = static_cast<JDIMENSION>(right - left);
    if (left > 0 || right < width) jpeg_crop_scanline(&info_, &first, &count);
    rect.left = first;
    rect.width = count;
    return rect;
  }

  // Whether the end marker stands where it should. A file without it is decoded to its end, to see what is missing.
  bool HasEnd() const {
    const std::size_t from = file_.size() > kEndSearch ? file_.size() - kEndSearch : 2;
    for (std::size_t i = file_.size() - 1; i > from; --i) {
      if (file_[i - 1] == 0xff && file_[i] == JPEG_EOI) return true;
    }
    return false;
  }

  int Orientation() const {
    constexpr std::size_t kPrefix = 6;  // "Exif", two zero bytes
    for (const jpeg_marker_struct* marker = info_.marker_list; marker; marker = marker->next) {
      if (marker->marker != JPEG_APP0 + 1 || marker->data_length < kPrefix) continue;
      const std::span<const std::uint8_t> data(marker->data, marker->data_length);
      if (std::string(data.begin(), data.begin() + kPrefix) == std::string("Exif\0\0", kPrefix))
        return ExifOrientation(data.subspan(kPrefix));
    }
    return 1;
  }

  Status Failure() {
    const std::size_t left = info_.src ? info_.src->bytes_in_buffer : 0;
    const std::size_t at = left <= file_.size() ? file_.size() - left : file_.size();
    return Error(Code::kDataLoss, "The JPEG data cannot be decoded, near byte {} of {}: {}.", at, file_.size(),
                 error_.text);
  }

  ErrorState error_;
  jpeg_decompress_struct info_{};
  bool created_ = false;
  std::span<const std::uint8_t> file_;
  int orientation_ = 1;
  Plan plan_;
  Picture turned_;
};

}  // namespace

std::unique_ptr<ImageFormat> MakeJpegFormat() { return std::make_unique<JpegFormat>(); }

}  // namespace tenon
