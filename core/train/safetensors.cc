#include "core/train/safetensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/digest.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypeNames[] = {
    {DType::kBool, "BOOL"}, {DType::kU8, "U8"},     {DType::kI8, "I8"},   {DType::kU16, "U16"}, {DType::kI16, "I16"},
    {DType::kF16, "F16"},   {DType::kBF16, "BF16"}, {DType::kU32, "U32"}, {DType::kI32, "I32"}, {DType::kF32, "F32"},
    {DType::kU64, "U64"},   {DType::kI64, "I64"},   {DType::kF64, "F64"},
};
constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the format's own library has it

constexpr const char* kChecksum = "tenon_crc";
constexpr const char* kForeignChecksum = "crc_num";

// MindSpore takes an integer scalar n for n zero bytes when it computes its checksum.
bool IsIntegerScalar(const Tensor& tensor) { return tensor.shape().rank() == 0 && IsInteger(tensor.dtype()); }

bool HasIntegerScalar(const std::vector<NamedTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const NamedTensor& entry) { return IsIntegerScalar(entry.tensor); });
}

std::vector<const NamedTensor*> SortedByName(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& entry : tensors) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return sorted;
}

// CRC-32 over names and values in byte order of the names.
std::uint32_t ChecksumOf(const std::vector<NamedTensor>& tensors) {
  std::uint32_t crc = 0;
  for (const NamedTensor* entry : SortedByName(tensors)) {
    crc = Crc32(crc, entry->name.data(), entry->name.size());
    crc = Crc32(crc, entry->tensor.raw(), static_cast<std::size_t>(entry->tensor.bytes()));
  }
  return crc;
}

// The same as MindSpore computes it; nullopt when an integer scalar stands for too many zero bytes.
std::optional<std::uint32_t> ForeignChecksumOf(const std::vector<NamedTensor>& tensors) {
  constexpr std::int64_t kMaxZeros = 1 << 24;
  std::uint32_t crc = 0;
  for (const NamedTensor* entry : SortedByName(tensors)) {
    crc = Crc32(crc, entry->name.data(), entry->name.size());
    if (!IsIntegerScalar(entry->tensor)) {
      crc = Crc32(crc, entry->tensor.raw(), static_cast<std::size_t>(entry->tensor.bytes()));
      continue;
    }
    const std::int64_t zeros = *Cast(entry->tensor, DType::kI64).data<std::int64_t>();
    if (zeros < 0 || zeros > kMaxZeros) return std::nullopt;
    const std::string bytes(static_cast<std::size_t>(zeros), '\0');
    crc = Crc32(crc, bytes.data(), bytes.size());
  }
  return crc;
}

// Where the header says that a tensor lies.
struct Slot {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<Json> ParseHeader(std::string_view text) {
  // The parser keeps the last of two equal keys; here two are an error.
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event != Json::parse_event_t::key) return true;
    const std::size_t level = static_cast<std::size_t>(depth);
    if (keys.size() <= level) keys.resize(level + 1);
    for (std::size_t deeper = level + 1; deeper < keys.size(); ++deeper) keys[deeper].clear();
    if (!keys[level].insert(value.get<std::string>()).second) repeated = value.get<std::string>();
    return true;
  };
  if (text.empty() || text.front() != '{') return Error(Code::kDataLoss, "The header does not begin with '{{'.");
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    return Error(Code::kDataLoss, "The header is not valid JSON: {}.", error.what());
  }
  if (!repeated.empty()) return Error(Code::kDataLoss, "The name '{}' appears twice in the header.", repeated);
  return header;
}

Result<DType> ReadType(const std::string& name, const Json& entry) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) return Error(Code::kDataLoss, "Tensor '{}' has no dtype.", name);
  const std::string text = found->get<std::string>();
  std::vector<std::string_view> known;
  for (const TypeName& type : kTypeNames) {
    if (type.name == text) return type.dtype;
    known.push_back(type.name);
  }
  return InvalidArgument("Tensor '{}' has the type '{}', which Tenon does not read. It reads {}.", name, text,
                         fmt::join(known, ", "));
}

Result<Shape> ReadShape(const std::string& name, const Json& entry) {
  const auto found = entry.find("shape");
  if (found == entry.end() || !found->is_array()) return Error(Code::kDataLoss, "Tensor '{}' has no shape.", name);
  std::vector<std::int64_t> dims;
  for (const Json& dim : *found) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      return Error(Code::kDataLoss, "The shape of tensor '{}' has the dim {}.", name, dim.dump());
    }
    dims.push_back(dim.get<std::int64_t>());
  }
  Result<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return std::move(shape).status().While(fmt::format("reading the shape of tensor '{}'", name));
  return shape;
}

Result<Slot> ReadSlot(const std::string& name, const Json& entry, std::uint64_t data_bytes) {
  if (!entry.is_object()) return Error(Code::kDataLoss, "The entry of tensor '{}' is no object.", name);
  if (name.empty()) return Error(Code::kDataLoss, "A tensor has no name.");
  Slot slot;
  slot.name = name;
  TENON_ASSIGN(slot.dtype, ReadType(name, entry));
  TENON_ASSIGN(slot.shape, ReadShape(name, entry));
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned()) {
    return Error(Code::kDataLoss, "Tensor '{}' has no data_offsets [begin, end].", name);
  }
  slot.begin = (*offsets)[0].get<std::uint64_t>();
  slot.end = (*offsets)[1].get<std::uint64_t>();
  if (slot.begin > slot.end || slot.end > data_bytes) {
    return Error(Code::kDataLoss, "Tensor '{}' lies at bytes {} to {}, but the file has only {} bytes of values.", name,
                 slot.begin, slot.end, data_bytes);
  }
  // shape.elements() is below 2^62, so the comparison is made in elements.
  const std::uint64_t size = static_cast<std::uint64_t>(SizeOf(slot.dtype));
  const std::uint64_t bytes = slot.end - slot.begin;
  if (bytes % size != 0 || bytes / size != static_cast<std::uint64_t>(slot.shape.elements())) {
    return Error(Code::kDataLoss,
                 "Tensor '{}' is {}{}, which are {} elements of {} bytes; the file has {} bytes for it.", name,
                 NameOf(slot.dtype), slot.shape, slot.shape.elements(), size, bytes);
  }
  return slot;
}

// Every byte belongs to one tensor.
Status CheckCover(const std::vector<Slot>& slots, std::uint64_t data_bytes) {
  std::uint64_t at = 0;
  const Slot* before = nullptr;
  for (const Slot& slot : slots) {
    if (slot.begin < at)
      return Error(Code::kDataLoss, "Tensors '{}' and '{}' overlap in the file.", before->name, slot.name);
    if (slot.begin > at) {
      return Error(Code::kDataLoss, "Bytes {} to {} of the values belong to no tensor.", at, slot.begin);
    }
    at = slot.end;
    before = &slot;
  }
  if (at != data_bytes) {
    return Error(Code::kDataLoss, "The tensors take {} bytes, but the file has {} bytes of values.", at, data_bytes);
  }
  return {};
}

Result<Tensor> CopyTensor(const Slot& slot, const std::uint8_t* data) {
  Tensor tensor(slot.dtype, slot.shape);
  const std::size_t bytes = static_cast<std::size_t>(slot.end - slot.begin);
  if (bytes > 0) std::memcpy(tensor.raw(), data + slot.begin, bytes);
  for (std::size_t i = 0; slot.dtype == DType::kBool && i < bytes; ++i) {
    if (data[slot.begin + i] > 1) {
      return Error(Code::kDataLoss, "Tensor '{}' is BOOL and holds the value {}.", slot.name, data[slot.begin + i]);
    }
  }
  return tensor;
}

Status CheckChecksum(const Json& header, const std::vector<NamedTensor>& tensors, bool* checksum) {
  const auto metadata = header.find(kMetadata);
  if (metadata == header.end()) return {};
  if (!metadata->is_object()) return Error(Code::kDataLoss, "__metadata__ is no object.");
  const bool own = metadata->contains(kChecksum);
  const auto found = metadata->find(own ? kChecksum : kForeignChecksum);
  if (found == metadata->end()) return {};
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  const std::optional<std::uint32_t> computed = own ? ChecksumOf(tensors) : ForeignChecksumOf(tensors);
  if (!computed) return {};
  if (text != std::to_string(*computed)) {
    return Error(Code::kDataLoss,
                 "The checksum is wrong: the file says {}, its content gives {}. It was changed or "
                 "damaged after it was written.",
                 text, *computed);
  }
  if (checksum != nullptr) *checksum = true;
  return {};
}

Result<std::string> MakeHeader(const std::vector<const NamedTensor*>& order, const Checkpoint& checkpoint,
                               bool checksum) {
  Json header;
  header[kMetadata] = Json::object();
  const std::string crc = checksum ? std::to_string(ChecksumOf(checkpoint.tensors)) : "";
  if (checksum && !HasIntegerScalar(checkpoint.tensors)) header[kMetadata][kForeignChecksum] = crc;
  header[kMetadata]["format"] = "ms";
  if (checksum) header[kMetadata][kChecksum] = crc;
  std::int64_t at = 0;
  for (const NamedTensor* entry : order) {
    std::string_view type;
    for (const TypeName& known : kTypeNames) type = known.dtype == entry->tensor.dtype() ? known.name : type;
    TENON_INVALID_IF(type.empty(), "Tensor '{}' has the type {}, which a checkpoint cannot hold.", entry->name,
                     NameOf(entry->tensor.dtype()));
    Json shape = Json::array();
    for (const std::int64_t dim : entry->tensor.shape().dims()) shape.push_back(dim);
    const std::int64_t end = at + entry->tensor.bytes();
    header[entry->name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    return InvalidArgument("The name of a tensor is not UTF-8.");
  }
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

}  // namespace

Status WriteSafetensors(const Checkpoint& checkpoint, bool checksum, const ByteSink& sink) {
  std::unordered_set<std::string_view> names;
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& entry : checkpoint.tensors) {
    TENON_INVALID_IF(entry.name.empty() || entry.name == kMetadata, "A tensor cannot be saved under the name '{}'.",
                     entry.name);
    TENON_INVALID_IF(!names.insert(entry.name).second, "Two tensors are called '{}'.", entry.name);
    order.push_back(&entry);
  }
  TENON_INVALID_IF(!checkpoint.texts.empty(), "Text '{}' cannot be saved; a checkpoint of Tenon holds tensors.",
                   checkpoint.texts.front().name);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return SizeOf(a->tensor.dtype()) > SizeOf(b->tensor.dtype());
  });
  TENON_ASSIGN(const std::string header, MakeHeader(order, checkpoint, checksum));
  const std::uint64_t length = header.size();
  TENON_TRY(sink(&length, sizeof(length)));
  TENON_TRY(sink(header.data(), header.size()));
  for (const NamedTensor* entry : order) {
    TENON_TRY(sink(entry->tensor.raw(), static_cast<std::size_t>(entry->tensor.bytes())));
  }
  return {};
}

Result<Checkpoint> ReadSafetensors(std::span<const std::uint8_t> file, bool* checksum) {
  if (checksum != nullptr) *checksum = false;
  if (file.size() < kLengthBytes)
    return Error(Code::kDataLoss, "The file has {} bytes, too few for a header.", file.size());
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMaxHeader || length > file.size() - kLengthBytes) {
    return Error(Code::kDataLoss, "The file says that its header has {} bytes; only {} bytes follow.", length,
                 file.size() - kLengthBytes);
  }
  const std::span<const std::uint8_t> head = file.subspan(kLengthBytes, static_cast<std::size_t>(length));
  TENON_ASSIGN(const Json header, ParseHeader({reinterpret_cast<const char*>(head.data()), head.size()}));
  const std::uint8_t* data = head.data() + head.size();
  const std::uint64_t data_bytes = file.size() - kLengthBytes - length;

  std::vector<Slot> slots;
  for (auto entry = header.begin(); entry != header.end(); ++entry) {
    if (entry.key() == kMetadata) continue;
    TENON_ASSIGN(Slot slot, ReadSlot(entry.key(), entry.value(), data_bytes));
    slots.push_back(std::move(slot));
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  TENON_TRY(CheckCover(slots, data_bytes));
  Checkpoint checkpoint;
  for (const Slot& slot : slots) {
    TENON_ASSIGN(Tensor tensor, CopyTensor(slot, data));
    checkpoint.Add(slot.name, std::move(tensor));
  }
  TENON_TRY(CheckChecksum(header, checkpoint.tensors, checksum));
  return checkpoint;
}

}  // namespace tenon
