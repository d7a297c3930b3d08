#include "tools/msopgen/write_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/text.h"

namespace tenon::msopgen {
namespace {

namespace fs = std::filesystem;

Status Failed(const fs::path& path, const std::error_code& code) {
  return Error(code == std::errc::permission_denied ? Code::kPermissionDenied : Code::kInvalidArgument,
               "{} cannot be written: {}.", path.string(), code.message());
}

// Removed when it goes out of scope.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& beside)
      : path_(beside.parent_path() / fmt::format(".{}.msopgen-{}", beside.filename().string(), ::getpid())) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Makes folders, and removes those again that hold nothing, unless they are to stay.
class NewFolders {
 public:
  NewFolders() = default;
  ~NewFolders() {
    std::error_code ignored;
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) fs::remove(*made, ignored);
  }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  // The folder, and all above it that are not there.
  std::error_code Make(const fs::path& folder) {
    std::error_code failed;
    if (fs::is_directory(folder, failed)) return {};
    if (folder != folder.parent_path()) {
      failed = Make(folder.parent_path());
      if (failed) return failed;
    }
    if (fs::create_directory(folder, failed)) made_.push_back(folder);
    return failed;
  }
  void Keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

Status WriteOne(const fs::path& file, const std::string& text) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) return Failed(file.parent_path(), failed);
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) return Failed(file, std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
  if (file.extension() == ".sh")
    fs::permissions(file, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add,
                    failed);
  return {};
}

Status RefuseExisting(const fs::path& folder, const Files& files, const std::vector<std::string>& replaced) {
  std::vector<std::string> there;
  for (const auto& file : files) {
    const bool allowed = std::find(replaced.begin(), replaced.end(), file.first) != replaced.end();
    if (!allowed && fs::exists(fs::symlink_status(folder / file.first))) there.push_back(file.first);
  }
  if (there.empty()) return {};
  const std::size_t more = there.size() > 8 ? there.size() - 8 : 0;
  there.resize(there.size() - more);
  return Error(Code::kInvalidArgument,
               "{} holds {}{} already; nothing was written. Choose another folder, or add an operator "
               "to the project there with -m 1.",
               folder.string(), JoinAnd(there), more > 0 ? fmt::format(" and {} more of these files", more) : "");
}

}  // namespace

Status WriteFiles(const std::string& folder, const Files& files, const std::vector<std::string>& replaced) {
  const fs::path target = fs::absolute(folder).lexically_normal() / "";
  const fs::path root = target.parent_path();
  if (fs::exists(root) && !fs::is_directory(root))
    return InvalidArgument("{} is there already and is no folder.", root.string());
  TENON_TRY(RefuseExisting(root, files, replaced));
  NewFolders folders;
  std::error_code failed = folders.Make(root.parent_path());
  if (failed) return Failed(root.parent_path(), failed);
  const TemporaryFolder temporary(root);
  for (const auto& file : files) TENON_TRY(WriteOne(temporary.path() / file.first, file.second));
  if (!fs::exists(root)) {
    fs::rename(temporary.path(), root, failed);
    if (failed) return Failed(root, failed);
    folders.Keep();
    return {};
  }
  // What replaces a file comes last: until then the project is as it was.
  std::vector<fs::path> placed;
  for (const bool replacing : {false, true}) {
    for (const auto& file : files) {
      const fs::path place = root / file.first;
      const bool replaces = std::find(replaced.begin(), replaced.end(), file.first) != replaced.end();
      if (replaces != replacing) continue;
      failed = folders.Make(place.parent_path());
      if (!failed) fs::rename(temporary.path() / file.first, place, failed);
      if (failed) {
        std::error_code ignored;
        for (const fs::path& earlier : placed) fs::remove(earlier, ignored);
        return Failed(place, failed);
      }
      if (!replaces) placed.push_back(place);
    }
  }
  folders.Keep();
  return {};
}

}  // namespace tenon::msopgen
