#include "core/platform/file_trust.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

namespace {

bool IsTrustedOwner(std::uint32_t owner) { return owner == 0 || owner == ::geteuid(); }

void CheckFolder(const std::string& folder, std::vector<TrustFinding>* findings) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return;
  if ((info.st_mode & S_IWOTH) != 0) {
    const bool sticky = (info.st_mode & S_ISVTX) != 0 && IsTrustedOwner(info.st_uid);
    if (!sticky) {
      findings->push_back(
          {TrustFinding::Kind::kFolderWritable, folder, "is world-writable", fmt::format("chmod o-w {}", folder)});
    }
  } else if (!IsTrustedOwner(info.st_uid)) {
    findings->push_back({TrustFinding::Kind::kFolderOwner, folder, fmt::format("belongs to user {}", info.st_uid),
                         fmt::format("chown {} {}", ::geteuid(), folder)});
  }
}

}  // namespace

std::vector<TrustFinding> CheckTrust(const OpenedFile& file, const std::string& real_path) {
  std::vector<TrustFinding> findings;
  if (!IsTrustedOwner(file.owner())) {
    findings.push_back({TrustFinding::Kind::kFileOwner, real_path, fmt::format("belongs to user {}", file.owner()),
                        fmt::format("chown {} {}", ::geteuid(), real_path)});
  }
  if ((file.mode() & S_IWOTH) != 0) {
    findings.push_back(
        {TrustFinding::Kind::kFileWritable, real_path, "is world-writable", fmt::format("chmod o-w {}", real_path)});
  } else if ((file.mode() & S_IWGRP) != 0 && file.group() != file.owner()) {
    findings.push_back(
        {TrustFinding::Kind::kFileWritable, real_path, "is group-writable", fmt::format("chmod g-w {}", real_path)});
  }
  for (std::string folder = ParentFolder(real_path);; folder = ParentFolder(folder)) {
    CheckFolder(folder, &findings);
    if (folder == "/" || folder == "." || folder.empty()) break;
  }
  return findings;
}

bool IsSystemPath(const std::string& real_path) {
  constexpr std::array<std::string_view, 6> kFolders = {"/usr", "/lib", "/lib64", "/opt", "/bin", "/sbin"};
  for (const std::string_view folder : kFolders) {
    if (real_path == folder) return true;
    if (real_path.size() > folder.size() && real_path.compare(0, folder.size(), folder) == 0 &&
        real_path[folder.size()] == '/') {
      return true;
    }
  }
  return false;
}

}  // namespace tenon
