#include "core/data/idx_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace tenon {

namespace {

struct IdxType {
  unsigned char code;
  DType dtype;
};
constexpr std::array<IdxType, 6> kTypes = {{{0x08, DType::kU8},
                                            {0x09, DType::kI8},
                                            {0x0b, DType::kI16},
                                            {0x0c, DType::kI32},
                                            {0x0d, DType::kF32},
                                            {0x0e, DType::kF64}}};

DType TypeOfCode(unsigned char code) {
  for (const IdxType& type : kTypes) {
    if (type.code == code) return type.dtype;
  }
  return DType::kUndefined;
}

void SwapBytes(char* data, std::int64_t count, std::int64_t width) {
  for (std::int64_t i = 0; i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

Result<Shape> ReadDims(ByteReader& reader, int rank) {
  std::array<unsigned char, 4 * kMaxRank> bytes{};
  TENON_TRY(reader.ReadExactly(bytes.data(), 4 * rank, "the list of dimensions"));
  std::array<std::int64_t, kMaxRank> dims{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const unsigned char* b = &bytes[4 * i];
    dims[i] = (std::int64_t{b[0]} << 24) | (std::int64_t{b[1]} << 16) | (std::int64_t{b[2]} << 8) | std::int64_t{b[3]};
  }
  auto shape = Shape::Make(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
  if (!shape.ok()) return Status(shape.status()).At(reader.path());
  return shape;
}

Result<IdxArray> OpenArray(const std::string& path) {
  TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
  return ReadIdx(reader);
}

}  // namespace

Result<IdxArray> ReadIdx(ByteReader& reader) {
  std::array<unsigned char, 4> magic{};
  TENON_TRY(reader.ReadExactly(magic.data(), 4, "the magic number"));
  const DType dtype = TypeOfCode(magic[2]);
  const int rank = magic[3];
  if (magic[0] != 0 || magic[1] != 0 || dtype == DType::kUndefined || rank < 1 || rank > kMaxRank) {
    return InvalidArgument(
               "This is not an IDX file: its magic number is 0x{:02x}{:02x}{:02x}{:02x}, expected 0x0000TTRR with type "
               "TT 08, 09, 0b, "
               "0c, 0d or 0e and rank RR 01 to {:02x} (images of MNIST: 0x00000803, labels: 0x00000801).",
               magic[0], magic[1], magic[2], magic[3], kMaxRank)
        .At(reader.path());
  }
  TENON_ASSIGN(const Shape shape, ReadDims(reader, rank));
  const std::int64_t width = SizeOf(dtype);
  const std::int64_t start = reader.position();
  if (shape.elements() > reader.bound() / width) {
    return Error(Code::kDataLoss,
                 "The file is cut short: shape {} takes {} values of {} bytes each from byte {} on, but {} {} bytes "
                 "follow.",
                 shape, shape.elements(), width, start, reader.packed() ? "no more than" : "only", reader.bound())
        .At(reader.path());
  }
  IdxArray array{Tensor(dtype, shape), start};
  TENON_TRY(reader.ReadExactly(array.values.raw(), array.values.bytes(), fmt::format("the data of shape {}", shape)));
  TENON_TRY(reader.ExpectEnd());
  if (width > 1) SwapBytes(static_cast<char*>(array.values.raw()), shape.elements(), width);
  return array;
}

Result<std::unique_ptr<MemoryDataset>> OpenIdx(const std::string& images_path, const std::string& labels_path,
                                               std::optional<std::int64_t> ignored) {
  TENON_ASSIGN(IdxArray labels, OpenArray(labels_path));
  if (labels.values.shape().rank() != 1 || !IsInteger(labels.values.dtype())) {
    return InvalidArgument("Labels are integers of rank 1 (magic number 0x00000801); this file holds {}.",
                           labels.values.Describe())
        .At(labels_path);
  }
  TENON_ASSIGN(IdxArray images, OpenArray(images_path));
  Shape shape = images.values.shape();
  if (shape.rank() < 2) {
    return InvalidArgument("Samples need rank 2 or more (images of MNIST: 0x00000803); this file holds {}.",
                           images.values.Describe())
        .At(images_path);
  }
  if (shape.dim(0) != labels.values.shape().dim(0)) {
    return InvalidArgument("This file holds {} samples, but '{}' holds {} labels.", shape.dim(0), labels_path,
                           labels.values.shape().dim(0))
        .At(images_path);
  }
  if (shape.rank() == 3) shape = Shape{shape.dim(0), 1, shape.dim(1), shape.dim(2)};
  TENON_ASSIGN(Tensor samples, images.values.Reshaped(shape));
  Provenance provenance;
  provenance.description = fmt::format("idx {}", images_path);
  provenance.file = labels_path;
  provenance.first = labels.data_start;
  provenance.stride = SizeOf(labels.values.dtype());
  return MemoryDataset::Create(std::move(samples), std::move(labels.values), std::move(provenance), ignored);
}

Result<std::optional<IdxFiles>> FindIdxFiles(const std::string& folder, IdxPart part) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(folder, error)) return Error(Code::kNotFound, "The folder does not exist.").At(folder);
  if (!fs::is_directory(folder, error))
    return InvalidArgument("This is a file; a folder with IDX files is needed here.").At(folder);
  const std::string name = part == IdxPart::kTrain ? "train" : "t10k";
  const std::array<std::string, 2> stems = {fmt::format("{}-images-idx3-ubyte", name),
                                            fmt::format("{}-labels-idx1-ubyte", name)};
  std::array<std::string, 2> found;
  for (std::size_t i = 0; i < 2; ++i) {
    std::string dotted = stems[i];
    dotted[dotted.find("-idx")] = '.';
    for (const std::string& candidate : {stems[i], stems[i] + ".gz", dotted, dotted + ".gz"}) {
      const fs::path path = fs::path(folder) / candidate;
      if (found[i].empty() && fs::exists(path, error)) found[i] = path.string();
    }
  }
  if (part == IdxPart::kTest && found[0].empty() && found[1].empty()) return std::optional<IdxFiles>();
  for (std::size_t i = 0; i < 2; ++i) {
    if (!found[i].empty()) continue;
    return Error(Code::kNotFound, "The folder has no file '{}' or '{}.gz'.", stems[i], stems[i]).At(folder);
  }
  return std::optional<IdxFiles>(IdxFiles{found[0], found[1]});
}

}  // namespace tenon
