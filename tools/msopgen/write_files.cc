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
  std::error_code failed;
  const fs::path target = fs::absolute(folder).lexically_normal() / "";
  const fs::path root = target.parent_path();
  if (fs::exists(root) && !fs::is_directory(root))
    return InvalidArgument("{} is there already and is no folder.", root.string());
  TENON_TRY(RefuseExisting(root, files, replaced));
  fs::create_directories(root.parent_path(), failed);
  if (failed) return Failed(root.parent_path(), failed);
  const TemporaryFolder temporary(root);
  for (const auto& file : files) TENON_TRY(WriteOne(temporary.path() / file.first, file.second));
  if (!fs::exists(root)) {
    fs::rename(temporary.path(), root, failed);
    return failed ? Failed(root, failed) : Status();
  }
  // What replaces a file comes last: until then the project is as it was.
  std::vector<fs::path> placed;
  for (const bool replacing : {false, true}) {
    for (const auto& file : files) {
      const fs::path place = root / file.first;
      const bool replaces = std::find(replaced.begin(), replaced.end(), file.first) != replaced.end();
      if (replaces != replacing) continue;
      fs::create_directories(place.parent_path(), failed);
      if (!failed) fs::rename(temporary.path() / file.first, place, failed);
      if (failed) {
        std::error_code ignored;
        for (const fs::path& earlier : placed) fs::remove(earlier, ignored);
        return Failed(place, failed);
      }
      if (!replaces) placed.push_back(place);
    }
  }
  return {};
}

}  // namespace tenon::msopgen
