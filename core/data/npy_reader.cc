#include "core/data/npy_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace tenon {

namespace {

constexpr std::int64_t kLongestHeader = 1 << 20;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Reads the dictionary that stands in the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> Parse() {
    Header header;
    bool descr = false;
    bool order = false;
    bool shape = false;
    if (!Take('{')) return Bad("'{'");
    while (!Take('}')) {
      const std::optional<std::string> key = String();
      if (!key || !Take(':')) return Bad("a name in quotes and ':'");
      bool* seen = *key == "descr" ? &descr : *key == "fortran_order" ? &order : *key == "shape" ? &shape : nullptr;
      if (!seen) return InvalidArgument("The .npy header has an unknown entry '{}'.", *key);
      if (*seen) return InvalidArgument("The .npy header names '{}' twice.", *key);
      *seen = true;
      if (seen == &descr) {
        if (Peek() == '[')
          return InvalidArgument("The array has a structured type (fields); save one plain array a file.");
        const std::optional<std::string> value = String();
        if (!value) return Bad("a type in quotes");
        header.descr = *value;
      } else if (seen == &order) {
        const bool yes = Word("True");
        if (!yes && !Word("False")) return Bad("True or False");
        header.fortran_order = yes;
      } else {
        TENON_ASSIGN(header.shape, Tuple());
      }
      if (!Take(',') && Peek() != '}') return Bad("',' or '}'");
    }
    Skip();
    if (at_ != text_.size()) return Bad("the end of the header");
    if (!descr || !order || !shape)
      return InvalidArgument("The .npy header lacks '{}'.", !descr ? "descr" : !order ? "fortran_order" : "shape");
    return header;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char Peek() {
    Skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool Word(std::string_view word) {
    Skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> String() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  Result<std::vector<std::int64_t>> Tuple() {
    std::vector<std::int64_t> dims;
    if (!Take('(')) return Bad("'('");
    while (!Take(')')) {
      Skip();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) return Bad("a dimension");
      at_ = static_cast<std::size_t>(end - text_.data());
      dims.push_back(value);
      if (!Take(',') && Peek() != ')') return Bad("',' or ')'");
    }
    return dims;
  }
  Status Bad(std::string_view expected) const {
    return InvalidArgument("The .npy header is not readable at its character {}: expected {}.", at_, expected);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<DType> TypeOf(std::string_view descr) {
  static constexpr std::array<std::pair<std::string_view, DType>, 11> kTypes = {{{"f4", DType::kF32},
                                                                                 {"f8", DType::kF64},
                                                                                 {"f2", DType::kF16},
                                                                                 {"u1", DType::kU8},
                                                                                 {"u2", DType::kU16},
                                                                                 {"u4", DType::kU32},
                                                                                 {"u8", DType::kU64},
                                                                                 {"i1", DType::kI8},
                                                                                 {"i2", DType::kI16},
                                                                                 {"i4", DType::kI32},
                                                                                 {"i8", DType::kI64}}};
  const bool marked = !descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '>' || descr[0] == '=');
  const std::string_view kind = marked ? descr.substr(1) : descr;
  for (const auto& type : kTypes) {
    if (type.first != kind) continue;
    if (descr[0] == '>' && SizeOf(type.second) > 1) {
      return InvalidArgument("The array is big-endian ('{}'); save it with a.astype('<{}').", descr, kind);
    }
    return type.second;
  }
  return InvalidArgument("Arrays of type '{}' are not read; save f2, f4, f8, u1 to u8 or i1 to i8, little-endian.",
                         descr);
}

Result<Header> ReadHeader(ByteReader& reader) {
  std::array<unsigned char, 8> start{};
  TENON_TRY(reader.ReadExactly(start.data(), 8, "the magic number and version"));
  if (std::memcmp(start.data(), "\x93NUMPY", 6) != 0) {
    return InvalidArgument(
        "This is not a .npy file: it starts with {:02x} {:02x} {:02x} {:02x} {:02x} {:02x}, expected 93 4e 55 4d 50 "
        "59.",
        start[0], start[1], start[2], start[3], start[4], start[5]);
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    return InvalidArgument("The .npy format version is {}.{}; versions 1.0, 2.0 and 3.0 are read.", version, start[7]);
  }
  std::array<unsigned char, 4> length{};
  TENON_TRY(reader.ReadExactly(length.data(), version == 1 ? 2 : 4, "the header's length"));
  const std::int64_t bytes = std::int64_t{length[0]} | (std::int64_t{length[1]} << 8) |
                             (std::int64_t{length[2]} << 16) | (std::int64_t{length[3]} << 24);
  if (bytes > kLongestHeader || bytes > reader.bound()) {
    return Error(Code::kDataLoss, "The .npy header claims {} bytes, more than {}.", bytes,
                 std::min(kLongestHeader, reader.bound()));
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  TENON_TRY(reader.ReadExactly(text.data(), bytes, "the header"));
  return HeaderParser(text).Parse();
}

Result<NpyArray> ReadArray(ByteReader& reader) {
  TENON_ASSIGN(const Header header, ReadHeader(reader));
  TENON_ASSIGN(const DType dtype, TypeOf(header.descr));
  TENON_ASSIGN(const Shape shape, Shape::Make(header.shape));
  if (header.fortran_order && shape.rank() > 1) {
    return InvalidArgument("The array {} is in Fortran order; save it with numpy.ascontiguousarray(a).", shape);
  }
  const std::int64_t width = SizeOf(dtype);
  const std::int64_t start = reader.position();
  if (shape.elements() > reader.bound() / width) {
    return Error(
        Code::kDataLoss,
        "The file is cut short: shape {} takes {} values of {} bytes each from byte {} on, but {} {} bytes follow.",
        shape, shape.elements(), width, start, reader.packed() ? "no more than" : "only", reader.bound());
  }
  NpyArray array{Tensor(dtype, shape), start};
  TENON_TRY(reader.ReadExactly(array.values.raw(), array.values.bytes(), fmt::format("the data of shape {}", shape)));
  TENON_TRY(reader.ExpectEnd());
  return array;
}

// What stands for float32 values must be finite there.
Status CheckFinite(const Tensor& values, const char* what, const std::string& path) {
  if (!IsFloating(values.dtype())) return {};
  constexpr auto most = static_cast<double>(std::numeric_limits<float>::max());
  const std::int64_t each =
      std::max<std::int64_t>(1, values.elements() / std::max<std::int64_t>(1, values.shape().dim(0)));
  Status status;
  ForFloating(values.dtype(), [&]<class T>() {
    const T* data = values.data<T>();
    for (std::int64_t i = 0; i < values.elements() && status.ok(); ++i) {
      const auto value = static_cast<double>(data[i]);
      if (!(std::abs(value) <= most))
        status = InvalidArgument("Element {} of {} {} is {}, which is not a finite float32 number.", i % each, what,
                                 i / each, value)
                     .At(path);
    }
  });
  return status;
}

}  // namespace

Result<NpyArray> ReadNpy(ByteReader& reader) {
  auto array = ReadArray(reader);
  if (!array.ok()) return Status(array.status()).At(reader.path());
  return array;
}

Result<NpyArray> ReadNpyFile(const std::string& path) {
  TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
  return ReadNpy(reader);
}

Result<std::unique_ptr<MemoryDataset>> OpenNpy(const std::string& samples_path, const std::string& labels_path) {
  TENON_ASSIGN(NpyArray labels, ReadNpyFile(labels_path));
  return OpenNpy(samples_path, labels_path, std::move(labels));
}

Result<std::unique_ptr<MemoryDataset>> OpenNpy(const std::string& samples_path, const std::string& labels_path,
                                               NpyArray labels, std::optional<std::int64_t> ignored) {
  TENON_ASSIGN(NpyArray samples, ReadNpyFile(samples_path));
  if (labels.values.shape().rank() < 1)
    return InvalidArgument("Labels need rank 1 or more; this file holds a scalar.").At(labels_path);
  if (samples.values.shape().rank() < 2) {
    return InvalidArgument("Samples need rank 2 or more; this file holds {}.", samples.values.Describe())
        .At(samples_path);
  }
  const std::int64_t count = labels.values.shape().dim(0);
  if (samples.values.shape().dim(0) != count) {
    return InvalidArgument("This file holds {} samples, but '{}' holds {} labels.", samples.values.shape().dim(0),
                           labels_path, count)
        .At(samples_path);
  }
  TENON_TRY(CheckFinite(labels.values, "label", labels_path));
  TENON_TRY(CheckFinite(samples.values, "sample", samples_path));
  Provenance provenance;
  provenance.description = fmt::format("npy {}", samples_path);
  provenance.file = labels_path;
  provenance.first = labels.data_start;
  provenance.stride = count > 0 ? labels.values.bytes() / count : 0;
  return MemoryDataset::Create(std::move(samples.values), std::move(labels.values), std::move(provenance), ignored);
}

}  // namespace tenon
