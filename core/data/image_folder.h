#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/image_file.h"

namespace tenon {

// JPEG and PNG files below a folder that has one folder a class. Classes are numbered in byte order of their names, files
// of a class are in byte order of their paths. Other files are counted; pictures of formats that are not read are an
// error. Files are found when the folder is opened and read when their turn comes.
class ImageFolder final : public Dataset {
 public:
  static Result<std::shared_ptr<const ImageFolder>> Open(const std::string& folder, const ImageFileOptions& options);

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return static_cast<std::int64_t>(names_.size()); }
  // Labels alone.
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  std::unique_ptr<PictureReader> Pictures() const override;
  // The path of the file.
  std::string Place(std::int64_t index) const override;
  std::string description() const override;

  const std::vector<std::string>& class_names() const { return names_; }

 private:
  struct File {
    std::uint64_t name;  // where its name starts in paths_; it ends with a zero byte
    std::int64_t label;
  };
  ImageFolder() = default;
  Status AddClass(const std::string& name);

  std::string folder_;
  ImageFileOptions options_;
  SampleLayout layout_;
  std::vector<std::string> names_;
  std::string paths_;  // below the folders of the classes
  std::vector<File> files_;
  std::int64_t other_files_ = 0;
};

}  // namespace tenon
