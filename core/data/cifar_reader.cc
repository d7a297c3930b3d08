#include "core/data/cifar_reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/text.h"

namespace tenon {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPixelBytes = 3 * 32 * 32;
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;

const char* NameOf(CifarKind kind) { return kind == CifarKind::kCifar10 ? "CIFAR-10" : "CIFAR-100"; }

std::vector<std::string> UsualNames(CifarKind kind, CifarPart part) {
  if (kind == CifarKind::kCifar100) return {part == CifarPart::kTrain ? "train.bin" : "test.bin"};
  if (part == CifarPart::kTest) return {"test_batch.bin"};
  std::vector<std::string> names;
  for (int i = 1; i <= 5; ++i) names.push_back(fmt::format("data_batch_{}.bin", i));
  return names;
}

// The path of a file or of its packed form; empty when neither is there.
std::string FindFile(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  for (const std::string& candidate : {name, name + ".gz"}) {
    const fs::path path = fs::path(folder) / candidate;
    if (fs::exists(path, ignored)) return path.string();
  }
  return "";
}

bool HasAny(const std::string& folder, CifarKind kind, CifarPart part) {
  const std::vector<std::string> names = UsualNames(kind, part);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return !FindFile(folder, name).empty(); });
}

// People have the archive, the folder around the unpacked folder, or the files for Python.
std::string Advice(const std::string& folder) {
  std::error_code ignored;
  for (const char* inner : {"cifar-10-batches-bin", "cifar-100-binary"}) {
    if (fs::is_directory(fs::path(folder) / inner, ignored))
      return fmt::format(" The folder '{}' in it looks like the right one.", inner);
  }
  for (const char* python : {"data_batch_1", "train", "cifar-10-batches-py", "cifar-100-python"}) {
    if (fs::exists(fs::path(folder) / python, ignored))
      return " The files in it are those for Python; the binary version is needed.";
  }
  return "";
}

Status CheckFolder(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return Error(Code::kNotFound, "The folder does not exist.").At(folder);
  if (fs::is_directory(folder, ignored)) return {};
  for (const char* ending : {".tar.gz", ".tgz", ".tar"}) {
    if (folder.ends_with(ending))
      return InvalidArgument(
                 "This is an archive; a folder is needed here. Unpack it (tar xf {}) and name the folder that comes "
                 "out.",
                 fs::path(folder).filename().string())
          .At(folder);
  }
  return InvalidArgument("This is a file; a folder with CIFAR files is needed here.").At(folder);
}

Result<CifarKind> KindIn(const std::string& folder, const std::string& type) {
  if (type == "cifar10") return CifarKind::kCifar10;
  if (type == "cifar100") return CifarKind::kCifar100;
  const auto has = [&](CifarKind kind) {
    return HasAny(folder, kind, CifarPart::kTrain) || HasAny(folder, kind, CifarPart::kTest);
  };
  const bool ten = has(CifarKind::kCifar10);
  const bool hundred = has(CifarKind::kCifar100);
  if (ten != hundred) return ten ? CifarKind::kCifar10 : CifarKind::kCifar100;
  if (ten)
    return InvalidArgument(
               "The folder has files of CIFAR-10 and of CIFAR-100; the type cifar10 or cifar100 says which.")
        .At(folder);
  return Error(Code::kNotFound,
               "The folder has neither 'data_batch_1.bin' (CIFAR-10) nor 'train.bin' (CIFAR-100), plain or .gz.{}",
               Advice(folder))
      .At(folder);
}

}  // namespace

Result<CifarFiles> FindCifarFiles(const std::string& folder, const std::string& type, CifarPart part) {
  TENON_TRY(CheckFolder(folder));
  CifarFiles files;
  TENON_ASSIGN(files.kind, KindIn(folder, type));
  if (part == CifarPart::kTest && !HasAny(folder, files.kind, part)) return files;
  for (const std::string& name : UsualNames(files.kind, part)) {
    std::string path = FindFile(folder, name);
    if (path.empty()) {
      return Error(Code::kNotFound, "The folder has no file '{}' or '{}.gz', which belongs to {}.{}", name, name,
                   NameOf(files.kind), Advice(folder))
          .At(folder);
    }
    files.paths.push_back(std::move(path));
  }
  return files;
}

CifarDataset::CifarDataset(CifarKind kind) : kind_(kind) {
  layout_.shape = Shape{3, 32, 32};
  layout_.dtype = DType::kU8;
}

Result<std::unique_ptr<CifarDataset>> CifarDataset::Open(const CifarFiles& files) {
  auto dataset = std::unique_ptr<CifarDataset>(new CifarDataset(files.kind));
  for (const std::string& path : files.paths) {
    TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
    TENON_TRY(dataset->Append(reader));
  }
  return dataset;
}

Result<std::unique_ptr<CifarDataset>> CifarDataset::Read(ByteReader& reader, CifarKind kind) {
  auto dataset = std::unique_ptr<CifarDataset>(new CifarDataset(kind));
  TENON_TRY(dataset->Append(reader));
  return dataset;
}

std::int64_t CifarDataset::classes() const { return kind_ == CifarKind::kCifar10 ? 10 : 100; }
std::int64_t CifarDataset::record_bytes() const { return label_bytes() + kPixelBytes; }

Status CifarDataset::Append(ByteReader& reader) {
  File file{reader.path(), size_, {}};
  std::int64_t bytes = 0;
  if (!reader.packed()) file.records.reserve(static_cast<std::size_t>(reader.bound()));
  while (true) {
    file.records.resize(static_cast<std::size_t>(bytes + kChunkBytes));
    TENON_ASSIGN(const std::int64_t got, reader.Read(file.records.data() + bytes, kChunkBytes));
    bytes += got;
    if (got < kChunkBytes) break;
  }
  file.records.resize(static_cast<std::size_t>(bytes));
  if (bytes == 0) return Error(Code::kDataLoss, "The file is empty.").At(file.path);
  if (bytes % record_bytes() != 0) {
    return Error(Code::kDataLoss,
                 "The file is cut short or is not {}: {} bytes are {} records of {} bytes, and {} bytes are left.",
                 NameOf(kind_), bytes, bytes / record_bytes(), record_bytes(), bytes % record_bytes())
        .At(file.path);
  }
  const std::int64_t count = bytes / record_bytes();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * record_bytes() + label_bytes() - 1;
    const int label = file.records[static_cast<std::size_t>(at)];
    if (label < classes()) continue;
    return Error(Code::kDataLoss, "The label of record {} (byte {}) is {}; {} has the labels 0 to {}.", i, at, label,
                 NameOf(kind_), classes() - 1)
        .At(file.path);
  }
  size_ += count;
  files_.push_back(std::move(file));
  return {};
}

const CifarDataset::File& CifarDataset::FileOf(std::int64_t index) const {
  std::size_t at = files_.size() - 1;
  while (files_[at].first > index) --at;
  return files_[at];
}

const unsigned char* CifarDataset::Record(std::int64_t index) const {
  const File& file = FileOf(index);
  return file.records.data() + (index - file.first) * record_bytes();
}

Status CifarDataset::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  unsigned char* out = static_cast<unsigned char*>(samples);
  std::int64_t* label = static_cast<std::int64_t*>(labels);
  for (const std::int64_t index : indices) {
    const unsigned char* record = Record(index);
    if (label) *label++ = record[label_bytes() - 1];
    if (!out) continue;
    std::memcpy(out, record + label_bytes(), static_cast<std::size_t>(kPixelBytes));
    out += kPixelBytes;
  }
  return {};
}

std::string CifarDataset::Place(std::int64_t index) const {
  const File& file = FileOf(index);
  const std::int64_t record = index - file.first;
  return fmt::format("{}: record {} at byte {}", file.path, record, record * record_bytes());
}

std::string CifarDataset::description() const {
  return fmt::format("{} {}{}", NameOf(kind_), files_.front().path,
                     files_.size() > 1 ? fmt::format(" and {} more files", files_.size() - 1) : "");
}

}  // namespace tenon
