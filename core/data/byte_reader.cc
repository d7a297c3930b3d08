#include "core/data/byte_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace tenon {

namespace {

constexpr std::int64_t kBufferBytes = 256 * 1024;
constexpr std::int64_t kMostUnpackedPerPackedByte = 1032;  // the limit of the deflate format
constexpr std::int64_t kLargestRead = 1 << 30;

std::string ErrnoText() { return std::strerror(errno); }

}  // namespace

struct ByteReader::Impl {
  std::string path;
  int fd = -1;                        // -1: the bytes are in `memory`
  std::span<const std::byte> memory;  // not yet read
  std::int64_t file_bytes = 0;

  bool packed = false;
  bool stream_ready = false;
  bool at_end = false;  // of the packed data
  z_stream stream{};
  std::vector<unsigned char> buffer;  // read from the file, not yet used: [used, filled)
  std::int64_t used = 0;
  std::int64_t filled = 0;

  std::int64_t raw_position = 0;  // bytes taken from the file
  std::int64_t position = 0;      // bytes given out

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (stream_ready) inflateEnd(&stream);
    if (fd >= 0) ::close(fd);
  }

  Status Fail(Code code, std::string text) const { return Status(code, std::move(text)).At(path); }

  Result<std::int64_t> RawRead(void* out, std::int64_t bytes) {
    std::int64_t got = 0;
    if (fd < 0) {
      got = std::min<std::int64_t>(bytes, static_cast<std::int64_t>(memory.size()));
      if (got > 0) std::memcpy(out, memory.data(), static_cast<std::size_t>(got));
      memory = memory.subspan(static_cast<std::size_t>(got));
    }
    while (fd >= 0 && got < bytes) {
      const std::int64_t part = std::min(bytes - got, kLargestRead);
      const ssize_t n = ::read(fd, static_cast<char*>(out) + got, static_cast<std::size_t>(part));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return Fail(Code::kDataLoss,
                    fmt::format("The file cannot be read at byte {}: {}.", raw_position + got, ErrnoText()));
      }
      if (n == 0) break;
      got += n;
    }
    raw_position += got;
    return got;
  }

  // Puts more bytes behind those not yet used; leaves things as they are at the end of the file.
  Status Refill() {
    if (used > 0) {
      std::memmove(buffer.data(), buffer.data() + used, static_cast<std::size_t>(filled - used));
      filled -= used;
      used = 0;
    }
    TENON_ASSIGN(const std::int64_t got,
                 RawRead(buffer.data() + filled, static_cast<std::int64_t>(buffer.size()) - filled));
    filled += got;
    return {};
  }

  bool StartsLikeGzip() const {
    return filled - used >= 2 && buffer[static_cast<std::size_t>(used)] == 0x1f &&
           buffer[static_cast<std::size_t>(used) + 1] == 0x8b;
  }

  Result<std::int64_t> ReadPlain(void* out, std::int64_t bytes) {
    const std::int64_t from_buffer = std::min(bytes, filled - used);
    if (from_buffer > 0) std::memcpy(out, buffer.data() + used, static_cast<std::size_t>(from_buffer));
    used += from_buffer;
    if (from_buffer == bytes) return bytes;
    TENON_ASSIGN(const std::int64_t rest, RawRead(static_cast<char*>(out) + from_buffer, bytes - from_buffer));
    return from_buffer + rest;
  }

  // After the end of a member: another one, zeros as padding, or the end of the file.
  Status NextMember() {
    TENON_TRY(Refill());
    if (StartsLikeGzip()) {
      inflateReset(&stream);
      return {};
    }
    while (filled > 0) {
      for (std::int64_t i = 0; i < filled; ++i) {
        if (buffer[static_cast<std::size_t>(i)] == 0) continue;
        return Fail(Code::kDataLoss,
                    fmt::format("Bytes that are not gzip data follow its end (at byte {} of the file).",
                                raw_position - filled + i));
      }
      used = filled;
      TENON_TRY(Refill());
    }
    at_end = true;
    return {};
  }

  Result<std::int64_t> Unpack(void* out, std::int64_t bytes) {
    std::int64_t got = 0;
    while (got < bytes && !at_end) {
      if (used == filled) {
        TENON_TRY(Refill());
        if (filled == 0) {
          return Fail(
              Code::kDataLoss,
              fmt::format(
                  "The file is cut short: its {} bytes end in the middle of the gzip data, after {} unpacked bytes.",
                  raw_position, position + got));
        }
      }
      const std::int64_t part = std::min(bytes - got, kLargestRead);
      stream.next_in = buffer.data() + used;
      stream.avail_in = static_cast<uInt>(filled - used);
      stream.next_out = static_cast<unsigned char*>(out) + got;
      stream.avail_out = static_cast<uInt>(part);
      const int rc = inflate(&stream, Z_NO_FLUSH);
      used = filled - static_cast<std::int64_t>(stream.avail_in);
      got += part - static_cast<std::int64_t>(stream.avail_out);
      if (rc == Z_STREAM_END) {
        TENON_TRY(NextMember());
      } else if (rc == Z_MEM_ERROR) {
        return Fail(Code::kResourceExhausted, "Memory ran out while the gzip data was unpacked.");
      } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
        return Fail(Code::kDataLoss, fmt::format("The gzip data is damaged near byte {} of the file ({}).",
                                                 raw_position - (filled - used), stream.msg ? stream.msg : "bad data"));
      }
    }
    return got;
  }
};

ByteReader::ByteReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

Result<ByteReader> ByteReader::Open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (impl->fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return impl->Fail(Code::kNotFound, "The file does not exist.");
    return impl->Fail(errno == EACCES ? Code::kPermissionDenied : Code::kNotFound,
                      fmt::format("The file cannot be opened: {}.", ErrnoText()));
  }
  struct stat info {};
  if (::fstat(impl->fd, &info) != 0)
    return impl->Fail(Code::kNotFound, fmt::format("The file cannot be examined: {}.", ErrnoText()));
  if (S_ISDIR(info.st_mode)) return impl->Fail(Code::kInvalidArgument, "This is a folder; a file is needed here.");
  if (!S_ISREG(info.st_mode)) return impl->Fail(Code::kInvalidArgument, "This is not a regular file.");
  impl->file_bytes = info.st_size;
  return Start(std::move(impl));
}

Result<ByteReader> ByteReader::FromMemory(std::string name, std::span<const std::byte> data) {
  auto impl = std::make_unique<Impl>();
  impl->path = std::move(name);
  impl->memory = data;
  impl->file_bytes = static_cast<std::int64_t>(data.size());
  return Start(std::move(impl));
}

Result<ByteReader> ByteReader::Start(std::unique_ptr<Impl> impl) {
  impl->buffer.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(impl->file_bytes, 2, kBufferBytes)));
  TENON_TRY(impl->Refill());
  impl->packed = impl->StartsLikeGzip();
  if (!impl->packed && impl->path.ends_with(".gz")) {
    if (impl->filled == 0) return impl->Fail(Code::kDataLoss, "The file is empty; a gzip file is needed.");
    return impl->Fail(Code::kInvalidArgument,
                      fmt::format("This is not a gzip file: it starts with the bytes {:02x} {:02x}, expected 1f 8b.",
                                  impl->buffer[0], impl->filled > 1 ? impl->buffer[1] : 0));
  }
  if (impl->packed) {
    if (inflateInit2(&impl->stream, 15 + 16) != Z_OK)
      return impl->Fail(Code::kResourceExhausted, "zlib could not be started.");
    impl->stream_ready = true;
  }
  return ByteReader(std::move(impl));
}

Result<std::int64_t> ByteReader::Read(void* out, std::int64_t bytes) {
  auto got = impl_->packed ? impl_->Unpack(out, bytes) : impl_->ReadPlain(out, bytes);
  if (got.ok()) impl_->position += *got;
  return got;
}

Status ByteReader::ReadExactly(void* out, std::int64_t bytes, std::string_view what) {
  const std::int64_t start = impl_->position;
  TENON_ASSIGN(const std::int64_t got, Read(out, bytes));
  if (got == bytes) return {};
  return impl_->Fail(Code::kDataLoss,
                     fmt::format("The file is cut short: {} needs {} bytes from byte {} on, but only {} follow.", what,
                                 bytes, start, got));
}

Status ByteReader::ExpectEnd() {
  char extra = 0;
  const std::int64_t end = impl_->position;
  TENON_ASSIGN(const std::int64_t got, Read(&extra, 1));
  if (got == 0) return {};
  return impl_->Fail(Code::kDataLoss,
                     fmt::format("The file is longer than its header says: it should end after {} bytes.", end));
}

const std::string& ByteReader::path() const { return impl_->path; }
bool ByteReader::packed() const { return impl_->packed; }
std::int64_t ByteReader::position() const { return impl_->position; }

std::int64_t ByteReader::bound() const {
  const Impl& in = *impl_;
  const std::int64_t left = in.file_bytes - in.raw_position + in.filled - in.used;
  return in.packed ? (in.file_bytes + 1) * kMostUnpackedPerPackedByte : left;
}

}  // namespace tenon
