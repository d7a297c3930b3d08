#include "core/train/checkpoint_wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "core/base/digest.h"
#include "core/train/wire_reader.h"

namespace tenon {
namespace {

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypeNames[] = {
    {DType::kI8, "Int8"},       {DType::kU8, "UInt8"},    {DType::kI16, "Int16"},   {DType::kU16, "UInt16"},
    {DType::kI32, "Int32"},     {DType::kU32, "UInt32"},  {DType::kI64, "Int64"},   {DType::kU64, "UInt64"},
    {DType::kF16, "Float16"},   {DType::kF32, "Float32"}, {DType::kF64, "Float64"}, {DType::kBool, "Bool"},
    {DType::kBF16, "BFloat16"},
};
constexpr std::string_view kText = "str";

constexpr std::string_view kChecksumMark = "crc_num";
constexpr std::size_t kChecksumDigits = 10;
constexpr std::size_t kChecksumBytes = kChecksumMark.size() + kChecksumDigits;

// Field numbers.
constexpr std::uint32_t kValue = 1;
constexpr std::uint32_t kTag = 1;
constexpr std::uint32_t kTensor = 2;
constexpr std::uint32_t kMapTensor = 3;
constexpr std::uint32_t kDims = 1;
constexpr std::uint32_t kType = 2;
constexpr std::uint32_t kContent = 3;

Result<std::string_view> TypeNameOf(const NamedTensor& entry) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == entry.tensor.dtype()) return type.name;
  }
  return InvalidArgument("Tensor '{}' has the type {}, which a checkpoint cannot hold.", entry.name,
                         NameOf(entry.tensor.dtype()));
}

// --- Writing -------------------------------------------------------------------------------------------------------

// Everything of a value that stands before the content.
std::string ValueHead(const NamedTensor& entry, std::string_view type, std::uint64_t content_bytes) {
  std::string dims;
  for (const std::int64_t dim : entry.tensor.shape().dims()) {
    AppendVarint(&dims, std::uint64_t{kDims} << 3);
    AppendVarint(&dims, static_cast<std::uint64_t>(dim));
  }
  std::string tensor = dims;
  AppendFieldHead(&tensor, kType, type.size());
  tensor.append(type);
  AppendFieldHead(&tensor, kContent, content_bytes);
  const std::uint64_t tensor_bytes = tensor.size() + content_bytes;

  std::string value;
  AppendFieldHead(&value, kTag, entry.name.size());
  value.append(entry.name);
  AppendFieldHead(&value, kTensor, tensor_bytes);
  std::string head;
  AppendFieldHead(&head, kValue, value.size() + tensor_bytes);
  return head + value + tensor;
}

// Passes bytes on and keeps their CRC.
class CheckedSink {
 public:
  explicit CheckedSink(const ByteSink& sink) : sink_(sink) {}
  Status Write(const void* data, std::size_t bytes) {
    crc_ = Crc32(crc_, data, bytes);
    return sink_(data, bytes);
  }
  Status WriteChecksum() {
    std::string trailer(kChecksumMark);
    for (std::size_t i = 0; i < kChecksumDigits; ++i) {
      const std::size_t shift = 8 * (kChecksumDigits - 1 - i);
      trailer.push_back(shift >= 32 ? '\0' : static_cast<char>((crc_ >> shift) & 0xff));
    }
    return sink_(trailer.data(), trailer.size());
  }

 private:
  const ByteSink& sink_;
  std::uint32_t crc_ = 0;
};

Status WriteTensor(const NamedTensor& entry, std::int64_t piece_bytes, CheckedSink* sink) {
  TENON_ASSIGN(const std::string_view type, TypeNameOf(entry));
  const char* content = static_cast<const char*>(entry.tensor.raw());
  std::int64_t left = entry.tensor.bytes();
  do {
    const std::size_t bytes = static_cast<std::size_t>(std::min(left, piece_bytes));
    const std::string head = ValueHead(entry, type, bytes);
    TENON_TRY(sink->Write(head.data(), head.size()));
    if (bytes > 0) TENON_TRY(sink->Write(content, bytes));
    content += bytes;
    left -= static_cast<std::int64_t>(bytes);
  } while (left > 0);
  return {};
}

// --- Reading -------------------------------------------------------------------------------------------------------

// The fields of one value, not yet judged.
struct RawValue {
  std::string tag;
  std::vector<std::int64_t> dims;
  std::string type;
  std::span<const std::uint8_t> content;
  std::int64_t offset = 0;
  bool has_tag = false, has_tensor = false, has_map = false, has_type = false, has_content = false;
};

Status ReadTensorProto(WireReader reader, RawValue* value) {
  while (!reader.done()) {
    TENON_ASSIGN(const WireField field, reader.Next());
    if (field.number == kDims && !field.is_bytes) {
      value->dims.push_back(static_cast<std::int64_t>(field.value));
    } else if (field.number == kDims) {
      WireReader packed(field.bytes, reader.OffsetOf(field.bytes));
      while (!packed.done()) {
        TENON_ASSIGN(const std::uint64_t dim, packed.Varint());
        value->dims.push_back(static_cast<std::int64_t>(dim));
      }
    } else if (field.number == kType && field.is_bytes) {
      value->type = field.text();
      value->has_type = true;
    } else if (field.number == kContent && field.is_bytes) {
      value->content = field.bytes;
      value->has_content = true;
    }
  }
  return {};
}

Result<RawValue> ReadValue(WireReader reader) {
  RawValue value;
  value.offset = reader.offset();
  while (!reader.done()) {
    TENON_ASSIGN(const WireField field, reader.Next());
    if (!field.is_bytes) continue;
    if (field.number == kTag) {
      value.tag = field.text();
      value.has_tag = true;
    } else if (field.number == kTensor) {
      value.has_tensor = true;
      TENON_TRY(ReadTensorProto(WireReader(field.bytes, reader.OffsetOf(field.bytes)), &value));
    } else if (field.number == kMapTensor) {
      value.has_map = true;
    }
  }
  return value;
}

// "Float32 [2,3]" of a file, also for types and dims that no tensor has.
std::string Describe(const RawValue& value) { return fmt::format("{} [{}]", value.type, fmt::join(value.dims, ",")); }

// UTF-8 of UTF-32; nullopt when a number is no character.
std::optional<std::string> DecodeText(std::span<const std::uint8_t> content) {
  if (content.size() % 4 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < content.size(); i += 4) {
    std::uint32_t c = 0;
    std::memcpy(&c, content.data() + i, 4);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return std::nullopt;
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xc0 | (c >> 6)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | (c >> 12)));
      out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
    } else {
      out.push_back(static_cast<char>(0xf0 | (c >> 18)));
      out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3f)));
      out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
    }
  }
  return out;
}

// Puts values together: checks each and joins the pieces of large tensors.
class Assembler {
 public:
  // `left` is the number of bytes of the file from the content on; no tensor can need more.
  Status Take(const RawValue& value, std::int64_t left) {
    if (!value.has_tag || value.tag.empty()) {
      return Error(Code::kDataLoss, "The value at byte {} has no name.", value.offset);
    }
    if (value.has_map && !value.has_tensor) {
      return InvalidArgument("'{}' is a hash-table parameter (MapParameter). Tenon reads tensors only.", value.tag);
    }
    if (!value.has_tensor || !value.has_type || !value.has_content) {
      return Error(Code::kDataLoss, "Tensor '{}' at byte {} has no {}.", value.tag, value.offset,
                   !value.has_tensor ? "value"
                   : !value.has_type ? "type"
                                     : "content");
    }
    if (open_) {
      if (value.tag != NameOfLast()) return TooShort();
      return Continue(value);
    }
    if (!names_.insert(value.tag).second) {
      return Error(Code::kDataLoss, "The name '{}' appears twice, the second time at byte {}.", value.tag,
                   value.offset);
    }
    return value.type == kText ? TakeText(value) : Begin(value, left);
  }

  Result<Checkpoint> Finish() && {
    if (open_) return TooShort();
    return std::move(checkpoint_);
  }

 private:
  const std::string& NameOfLast() const { return checkpoint_.tensors.back().name; }

  Status TooShort() const {
    const Tensor& tensor = checkpoint_.tensors.back().tensor;
    return Error(Code::kDataLoss, "Tensor '{}' is {}, which takes {} bytes; the file has only {} bytes for it.",
                 NameOfLast(), description_, tensor.bytes(), filled_);
  }

  Status TakeText(const RawValue& value) {
    std::optional<std::string> text = DecodeText(value.content);
    if (!text) return Error(Code::kDataLoss, "Text '{}' at byte {} is not UTF-32.", value.tag, value.offset);
    checkpoint_.texts.push_back({value.tag, *std::move(text)});
    return {};
  }

  Status Begin(const RawValue& value, std::int64_t left) {
    DType dtype = DType::kUndefined;
    for (const TypeName& type : kTypeNames) dtype = type.name == value.type ? type.dtype : dtype;
    if (dtype == DType::kUndefined) {
      return InvalidArgument("Tensor '{}' has the type '{}', which Tenon does not read. It reads {}.", value.tag,
                             value.type, KnownTypes());
    }
    // Scalars have no dims, or, in files of some versions, the single dim 0 with the bytes of one element.
    std::span<const std::int64_t> dims = value.dims;
    const std::int64_t content = static_cast<std::int64_t>(value.content.size());
    if (dims.size() == 1 && dims[0] == 0 && content == SizeOf(dtype)) dims = {};
    Result<Shape> shape = Shape::Make(dims);
    if (!shape.ok())
      return std::move(shape).status().While(fmt::format("reading tensor '{}' at byte {}", value.tag, value.offset));
    const std::int64_t count = shape->elements();
    description_ = Describe(value);
    if (count > left / SizeOf(dtype)) {
      return Error(Code::kDataLoss, "Tensor '{}' is {}, which takes more bytes than the {} that the file still has.",
                   value.tag, description_, left);
    }
    if (content > count * SizeOf(dtype)) {
      return Error(Code::kDataLoss, "Tensor '{}' is {}, which takes {} bytes; the file has {} bytes for it.", value.tag,
                   description_, count * SizeOf(dtype), content);
    }
    checkpoint_.Add(value.tag, Tensor(dtype, *shape));
    dims_ = value.dims;
    type_ = value.type;
    filled_ = 0;
    open_ = true;
    return Copy(value);
  }

  Status Continue(const RawValue& value) {
    const Tensor& tensor = checkpoint_.tensors.back().tensor;
    const std::int64_t content = static_cast<std::int64_t>(value.content.size());
    if (value.dims != dims_ || value.type != type_ || filled_ == 0) {
      return Error(Code::kDataLoss,
                   "The pieces of tensor '{}' do not belong together: {} of {} bytes, then {} at byte {}.", value.tag,
                   description_, filled_, Describe(value), value.offset);
    }
    if (content > tensor.bytes() - filled_ || content == 0) {
      return Error(Code::kDataLoss, "Tensor '{}' is {}, which takes {} bytes; the file has {} bytes for it.", value.tag,
                   description_, tensor.bytes(), filled_ + content);
    }
    return Copy(value);
  }

  Status Copy(const RawValue& value) {
    Tensor& tensor = checkpoint_.tensors.back().tensor;
    if (!value.content.empty()) {
      std::memcpy(static_cast<char*>(tensor.raw()) + filled_, value.content.data(), value.content.size());
    }
    filled_ += static_cast<std::int64_t>(value.content.size());
    open_ = filled_ < tensor.bytes();
    if (tensor.dtype() != DType::kBool) return {};
    for (const std::uint8_t byte : value.content) {
      if (byte > 1) return Error(Code::kDataLoss, "Tensor '{}' is Bool and holds the value {}.", value.tag, byte);
    }
    return {};
  }

  static std::string KnownTypes() {
    std::vector<std::string_view> names;
    for (const TypeName& type : kTypeNames) names.push_back(type.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  Checkpoint checkpoint_;
  std::unordered_set<std::string> names_;
  bool open_ = false;  // the last tensor lacks bytes
  std::vector<std::int64_t> dims_;
  std::string type_;
  std::string description_;
  std::int64_t filled_ = 0;
};

// Takes the checksum off `file` when there is one, and compares.
Status CheckChecksum(std::span<const std::uint8_t>* file, bool* checksum) {
  if (file->size() < kChecksumBytes) return {};
  const std::span<const std::uint8_t> trailer = file->last(kChecksumBytes);
  if (std::memcmp(trailer.data(), kChecksumMark.data(), kChecksumMark.size()) != 0) return {};
  *file = file->first(file->size() - kChecksumBytes);
  std::uint64_t stored = 0;
  bool fits = true;  // ten bytes, of which a CRC-32 needs four
  for (std::size_t i = kChecksumMark.size(); i < kChecksumBytes; ++i) {
    stored = (stored << 8) | trailer[i];
    fits = fits && stored <= 0xffffffffU;
  }
  const std::uint32_t computed = Crc32(0, file->data(), file->size());
  if (!fits || stored != computed) {
    return Error(Code::kDataLoss,
                 "The checksum is wrong: the file says {:08x}, its content gives {:08x}. It was changed "
                 "or damaged after it was written.",
                 stored, computed);
  }
  if (checksum != nullptr) *checksum = true;
  return {};
}

}  // namespace

Status WriteCkpt(const Checkpoint& checkpoint, const CkptWriteOptions& options, const ByteSink& sink) {
  CheckedSink checked(sink);
  std::unordered_set<std::string_view> names;
  for (const NamedTensor& entry : checkpoint.tensors) {
    TENON_INVALID_IF(entry.name.empty(), "A tensor without a name cannot be saved.");
    TENON_INVALID_IF(!names.insert(entry.name).second, "Two tensors are called '{}'.", entry.name);
    TENON_TRY(WriteTensor(entry, options.piece_bytes, &checked));
  }
  TENON_INVALID_IF(!checkpoint.texts.empty(), "Text '{}' cannot be saved; a checkpoint of Tenon holds tensors.",
                   checkpoint.texts.front().name);
  return options.checksum ? checked.WriteChecksum() : Status();
}

std::string_view EncryptionOf(std::span<const std::uint8_t> file) {
  std::uint32_t magic = 0;
  if (file.size() < sizeof(magic)) return "";
  std::memcpy(&magic, file.data(), sizeof(magic));
  switch (magic) {
    case 0x7F3A5ED8:
      return "AES-GCM";
    case 0x7F3A5ED9:
      return "AES-CBC";
    case 0x7F3A5EDA:
      return "SM4-CBC";
    default:
      return "";
  }
}

Result<Checkpoint> ReadCkpt(std::span<const std::uint8_t> file, bool* checksum) {
  if (checksum != nullptr) *checksum = false;
  TENON_TRY(CheckChecksum(&file, checksum));
  WireReader reader(file, 0);
  Assembler assembler;
  while (!reader.done()) {
    const std::int64_t start = reader.offset();
    TENON_ASSIGN(const WireField field, reader.Next());
    if (field.number != kValue || !field.is_bytes) {
      return Error(Code::kDataLoss, "Field {} at byte {} does not belong into a checkpoint.", field.number, start);
    }
    TENON_ASSIGN(const RawValue value, ReadValue(WireReader(field.bytes, reader.OffsetOf(field.bytes))));
    const std::int64_t left = file.data() + file.size() - field.bytes.data();
    TENON_TRY(assembler.Take(value, left));
  }
  return std::move(assembler).Finish();
}

}  // namespace tenon
