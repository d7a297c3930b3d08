#include "core/data/csv_reader.h"

#include <algorithm>
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

constexpr std::int64_t kChunk = 256 * 1024;
constexpr std::size_t kLongestLine = std::size_t{64} * 1024 * 1024;

// Gives the lines of a file one by one, without their ends (\n or \r\n).
class LineReader {
 public:
  explicit LineReader(ByteReader& reader) : reader_(reader) {}

  // The next line, valid until the next call; nothing at the end of the file.
  Result<std::optional<std::string_view>> Next() {
    std::size_t searched = used_;
    while (true) {
      const char* start = text_.data() + used_;
      const void* end =
          searched < text_.size() ? std::memchr(text_.data() + searched, '\n', text_.size() - searched) : nullptr;
      if (end) {
        const std::string_view line(start, static_cast<std::size_t>(static_cast<const char*>(end) - start));
        used_ += line.size() + 1;
        return Counted(line);
      }
      searched = text_.size();
      if (at_end_) break;
      const std::size_t kept = text_.size() - used_;
      if (kept > kLongestLine) {
        return InvalidArgument("The line is longer than {} bytes.", kLongestLine)
            .At(fmt::format("{}:{}", reader_.path(), line_ + 1));
      }
      text_.erase(0, used_);
      used_ = 0;
      const std::size_t chunk = static_cast<std::size_t>(std::min(kChunk, reader_.bound() + 1));
      text_.resize(kept + chunk);
      TENON_ASSIGN(const std::int64_t got, reader_.Read(text_.data() + kept, static_cast<std::int64_t>(chunk)));
      text_.resize(kept + static_cast<std::size_t>(got));
      searched = kept;
      at_end_ = static_cast<std::size_t>(got) < chunk;
    }
    if (used_ == text_.size()) return std::optional<std::string_view>();
    const std::string_view line(text_.data() + used_, text_.size() - used_);
    used_ = text_.size();
    return Counted(line);
  }
  std::int64_t line() const { return line_; }  // number of the line given last, from 1

 private:
  std::optional<std::string_view> Counted(std::string_view line) {
    ++line_;
    if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  ByteReader& reader_;
  std::string text_;
  std::size_t used_ = 0;
  bool at_end_ = false;
  std::int64_t line_ = 0;
};

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

enum class NumberError { kNone, kEmpty, kNotNumber, kTooLarge, kNotFinite };

NumberError ParseNumber(std::string_view field, double* value) {
  if (field.empty()) return NumberError::kEmpty;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *value);
  if (error == std::errc::result_out_of_range) return NumberError::kTooLarge;
  if (error != std::errc() || end != field.data() + field.size()) return NumberError::kNotNumber;
  if (!std::isfinite(*value)) return NumberError::kNotFinite;
  return NumberError::kNone;
}

NumberError ParseFloat(std::string_view field, std::vector<float>* values) {
  double value = 0;
  const NumberError error = ParseNumber(field, &value);
  if (error != NumberError::kNone) return error;
  if (std::fabs(value) > std::numeric_limits<float>::max()) return NumberError::kTooLarge;
  values->push_back(static_cast<float>(value));
  return NumberError::kNone;
}

class CsvParser {
 public:
  CsvParser(ByteReader& reader, const CsvOptions& options) : reader_(reader), options_(options), lines_(reader) {}

  Result<std::unique_ptr<MemoryDataset>> Parse() {
    while (true) {
      TENON_ASSIGN(const std::optional<std::string_view> line, lines_.Next());
      if (!line) break;
      if (TrimBlanks(*line).empty()) {
        if (blank_ == 0) blank_ = lines_.line();
        continue;
      }
      if (blank_ != 0)
        return InvalidArgument("The line is empty, but rows follow it.")
            .At(fmt::format("{}:{}", reader_.path(), blank_));
      if (lines_.line() == 1 && IsHeader(*line)) {
        header_ = true;
        continue;
      }
      TENON_TRY(Row(*line));
    }
    if (rows_ == 0) return InvalidArgument("There are no rows of numbers in it.").At(reader_.path());
    return Finish();
  }

 private:
  bool IsHeader(std::string_view line) const {
    std::size_t at = 0;
    while (true) {
      const std::size_t end = std::min(line.find(options_.delimiter, at), line.size());
      double value = 0;
      const NumberError error = ParseNumber(TrimBlanks(line.substr(at, end - at)), &value);
      if (error != NumberError::kNotNumber) return false;
      if (end == line.size()) return true;
      at = end + 1;
    }
  }

  Status Row(std::string_view line) {
    std::int64_t columns = 0;
    std::size_t at = 0;
    while (true) {
      const std::size_t end = std::min(line.find(options_.delimiter, at), line.size());
      const bool last = end == line.size();
      TENON_TRY(Field(line, at, end, last));
      ++columns;
      if (last) break;
      at = end + 1;
    }
    if (columns_ == 0) {
      columns_ = columns;
      first_line_ = lines_.line();
      if (columns < 2) {
        return InvalidArgument("The row has 1 column; at least one value and a label, separated by '{}', are needed.",
                               options_.delimiter)
            .At(Place(0));
      }
    }
    if (columns != columns_) {
      return InvalidArgument("The row has {} columns, but row 1 (line {}) has {}.", columns, first_line_, columns_)
          .At(fmt::format("{}:{}", reader_.path(), lines_.line()));
    }
    ++rows_;
    return {};
  }

  Status Field(std::string_view line, std::size_t begin, std::size_t end, bool last) {
    const std::string_view field = TrimBlanks(line.substr(begin, end - begin));
    if (last && options_.label == LabelKind::kClass) return ClassLabel(field, begin);
    const NumberError error = ParseFloat(field, last ? &value_labels_ : &values_);
    return error == NumberError::kNone ? Status() : Explain(field, error, begin);
  }

  // Class numbers may be written as integers or, as some programs do, as floats of integer value ("3.0e+00").
  Status ClassLabel(std::string_view field, std::size_t begin) {
    double value = 0;
    const NumberError error = ParseNumber(field, &value);
    if (error != NumberError::kNone) return Explain(field, error, begin);
    if (value != std::floor(value) || std::fabs(value) > 9e15) {
      return InvalidArgument("The label '{}' in the last column is not a class number.", field).At(Place(begin));
    }
    if (value < 0 && static_cast<std::int64_t>(value) != options_.ignored) {
      return InvalidArgument("The label of sample {} is {}, but class labels start at 0.", rows_, field)
          .At(Place(begin));
    }
    class_labels_.push_back(static_cast<std::int64_t>(value));
    return {};
  }

  Status Explain(std::string_view field, NumberError error, std::size_t begin) const {
    const std::string shown(field.substr(0, 40));
    switch (error) {
      case NumberError::kEmpty:
        return InvalidArgument("A number is missing here.").At(Place(begin));
      case NumberError::kTooLarge:
        return InvalidArgument("The number '{}' is beyond the range of float32.", shown).At(Place(begin));
      case NumberError::kNotFinite:
        return InvalidArgument("The value '{}' is not a finite number.", shown).At(Place(begin));
      default:
        break;
    }
    const bool first = lines_.line() == 1;
    return InvalidArgument("'{}' is not a number.{}", shown,
                           first ? " (A header is recognised only when none of its columns is a number.)" : "")
        .At(Place(begin));
  }

  std::string Place(std::size_t begin) const {
    return fmt::format("{}:{}:{}", reader_.path(), lines_.line(), begin + 1);
  }

  template <class T>
  static Tensor Adopt(std::vector<T>&& values, const Shape& shape) {
    auto owner = std::make_shared<std::vector<T>>(std::move(values));
    T* data = owner->data();
    return Tensor::FromOwner(kDTypeOf<T>, shape, std::move(owner), data);
  }

  Result<std::unique_ptr<MemoryDataset>> Finish() {
    Provenance provenance;
    provenance.description = fmt::format("csv {}{}", reader_.path(), header_ ? " (header passed over)" : "");
    provenance.file = reader_.path();
    provenance.unit = Provenance::Unit::kLine;
    provenance.first = first_line_;
    values_.shrink_to_fit();
    Tensor samples = Adopt(std::move(values_), Shape{rows_, columns_ - 1});
    Tensor labels = options_.label == LabelKind::kValue ? Adopt(std::move(value_labels_), Shape{rows_})
                                                        : Adopt(std::move(class_labels_), Shape{rows_});
    return MemoryDataset::Create(std::move(samples), std::move(labels), std::move(provenance), options_.ignored);
  }

  ByteReader& reader_;
  const CsvOptions options_;
  LineReader lines_;
  std::vector<float> values_;
  std::vector<float> value_labels_;
  std::vector<std::int64_t> class_labels_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t first_line_ = 0;
  std::int64_t blank_ = 0;  // first of the empty lines seen since the last row, 0 = none
  bool header_ = false;
};

}  // namespace

Result<std::unique_ptr<MemoryDataset>> ReadCsv(ByteReader& reader, const CsvOptions& options) {
  return CsvParser(reader, options).Parse();
}

Result<std::unique_ptr<MemoryDataset>> OpenCsv(const std::string& path, const CsvOptions& options) {
  TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
  return ReadCsv(reader, options);
}

}  // namespace tenon
