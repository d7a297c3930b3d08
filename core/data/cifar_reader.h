#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/byte_reader.h"
#include "core/data/dataset.h"

namespace tenon {

// The binary form of CIFAR-10 (a label byte and 3072 pixel bytes a record) and CIFAR-100 (a coarse label, a fine label,
// 3072 pixel bytes). Pixels are three planes of 32x32: red, green, blue. The label of CIFAR-100 is the fine one.
enum class CifarKind { kCifar10, kCifar100 };
enum class CifarPart { kTrain, kTest };

struct CifarFiles {
  CifarKind kind = CifarKind::kCifar10;
  std::vector<std::string> paths;
};

// The usual files of a part in a folder, plain or .gz: data_batch_1.bin to data_batch_5.bin and test_batch.bin, or
// train.bin and test.bin. `type` is cifar10, cifar100, or cifar for whichever is there. A missing file is an error with
// its name, except that no file at all for the test part gives no paths.
Result<CifarFiles> FindCifarFiles(const std::string& folder, const std::string& type, CifarPart part);

// Samples uint8 [3, 32, 32], held in memory as stored. Labels are checked while reading.
class CifarDataset final : public Dataset {
 public:
  // All records of the files, in order. In each file a size that is no whole number of records, no record, and a label out
  // of range are errors with file, record and byte.
  static Result<std::unique_ptr<CifarDataset>> Open(const CifarFiles& files);
  static Result<std::unique_ptr<CifarDataset>> Read(ByteReader& reader, CifarKind kind);

  std::int64_t size() const override { return size_; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override;
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  std::string Place(std::int64_t index) const override;
  std::string description() const override;

 private:
  struct File {
    std::string path;
    std::int64_t first;  // number of its first sample
    std::vector<unsigned char> records;
  };

  explicit CifarDataset(CifarKind kind);
  Status Append(ByteReader& reader);  // the records of one file
  std::int64_t label_bytes() const { return kind_ == CifarKind::kCifar10 ? 1 : 2; }
  std::int64_t record_bytes() const;
  const File& FileOf(std::int64_t index) const;
  const unsigned char* Record(std::int64_t index) const;

  CifarKind kind_;
  SampleLayout layout_;
  std::vector<File> files_;
  std::int64_t size_ = 0;
};

}  // namespace tenon
