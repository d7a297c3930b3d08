#include "core/data/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/platform/file_error.h"

namespace tenon {

namespace {

namespace fs = std::filesystem;

enum class FileKind { kPicture, kUnreadPicture, kOther };

FileKind KindOf(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto is_one_of = [&](std::initializer_list<const char*> endings) {
    return std::find(endings.begin(), endings.end(), ending) != endings.end();
  };
  if (is_one_of({".jpg", ".jpeg", ".png"})) return FileKind::kPicture;
  if (is_one_of({".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp"})) return FileKind::kUnreadPicture;
  return FileKind::kOther;
}

// Reads a whole file into `out`, which keeps its memory.
Status ReadWhole(const std::string& path, std::vector<std::uint8_t>* out) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError("Opening", path, errno);
  struct stat info {};
  Status status;
  std::size_t filled = 0;
  if (::fstat(file, &info) != 0) {
    status = FileError("Reading", path, errno);
  } else {
    out->resize(static_cast<std::size_t>(info.st_size));
    while (filled < out->size()) {
      const ssize_t got = ::read(file, out->data() + filled, out->size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) status = FileError("Reading", path, errno);
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
  }
  ::close(file);
  out->resize(filled);
  return status;
}

class FolderPictures final : public PictureReader {
 public:
  FolderPictures(const ImageFolder& folder, const ImageFileOptions& options) : folder_(folder), decoder_(options) {}

  Result<PictureSize> Open(std::int64_t index) override {
    index_ = index;
    TENON_TRY(ReadWhole(folder_.Place(index), &bytes_));
    auto size = decoder_.Open(bytes_);
    if (!size.ok()) return std::move(size).status().At(folder_.Place(index));
    return size;
  }

  Result<DecodedRect> Decode(const PixelRect& wanted, std::int64_t shrink, Picture* out) override {
    auto decoded = decoder_.Decode(wanted, shrink, out);
    if (!decoded.ok()) return std::move(decoded).status().At(folder_.Place(index_));
    return decoded;
  }

 private:
  const ImageFolder& folder_;
  ImageFileDecoder decoder_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t index_ = 0;
};

Result<std::vector<std::string>> ClassFolders(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return Error(Code::kNotFound, "The folder does not exist.").At(folder);
  if (!fs::is_directory(folder, error))
    return InvalidArgument("This is a file; a folder with one folder a class is needed here.").At(folder);
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error)) names.push_back(at->path().filename().string());
  }
  if (error) return FileError("Reading", folder, error.value());
  std::sort(names.begin(), names.end());
  if (names.empty())
    return Error(Code::kNotFound, "The folder has no folder in it; each class needs one with its images.").At(folder);
  return names;
}

}  // namespace

Result<std::shared_ptr<const ImageFolder>> ImageFolder::Open(const std::string& folder,
                                                             const ImageFileOptions& options) {
  auto dataset = std::shared_ptr<ImageFolder>(new ImageFolder());
  dataset->folder_ = folder;
  dataset->options_ = options;
  dataset->layout_.shape = Shape{3, 0, 0};
  dataset->layout_.dtype = DType::kU8;
  TENON_ASSIGN(const std::vector<std::string> names, ClassFolders(folder));
  for (const std::string& name : names) TENON_TRY(dataset->AddClass(name));
  return std::shared_ptr<const ImageFolder>(std::move(dataset));
}

Status ImageFolder::AddClass(const std::string& name) {
  const fs::path root = fs::path(folder_) / name;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error)) continue;
    const FileKind kind = KindOf(at->path());
    if (kind == FileKind::kUnreadPicture)
      return Error(Code::kUnimplemented, "Images of this format are not read; JPEG and PNG are.")
          .At(at->path().string());
    if (kind == FileKind::kPicture)
      found.push_back(at->path().lexically_relative(root).string());
    else
      ++other_files_;
  }
  if (error) return FileError("Reading", root.string(), error.value());
  if (found.empty())
    return Error(Code::kNotFound, "The folder of class '{}' has no .jpg, .jpeg or .png file.", name).At(root.string());
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) {
    files_.push_back({paths_.size(), static_cast<std::int64_t>(names_.size())});
    paths_ += path;
    paths_ += '\0';
  }
  names_.push_back(name);
  return {};
}

Status ImageFolder::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  if (samples) return Error(Code::kFailedPrecondition, "Images of any size come through Pictures().");
  std::int64_t* out = static_cast<std::int64_t*>(labels);
  for (std::size_t i = 0; out && i < indices.size(); ++i) out[i] = files_[static_cast<std::size_t>(indices[i])].label;
  return {};
}

std::unique_ptr<PictureReader> ImageFolder::Pictures() const {
  return std::make_unique<FolderPictures>(*this, options_);
}

std::string ImageFolder::Place(std::int64_t index) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  return folder_ + '/' + names_[static_cast<std::size_t>(file.label)] + '/' + (paths_.c_str() + file.name);
}

std::string ImageFolder::description() const {
  std::string text = fmt::format("images {} ({} classes)", folder_, names_.size());
  if (other_files_ > 0) text += fmt::format(", {} other files left alone", other_files_);
  return text;
}

}  // namespace tenon
