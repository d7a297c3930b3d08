#include "core/train/run_folder.h"

#include <filesystem>

#include "core/platform/process.h"

namespace tenon {
namespace fs = std::filesystem;
namespace {

// False also where nothing can be seen: using the folder then fails with the reason.
bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool HoldsRun(const fs::path& folder) {
  return Exists(folder / "config.yaml") || Exists(folder / "summary.json") || Exists(folder / "metrics.jsonl");
}

Result<std::string> MoveAside(const fs::path& folder) {
  for (int k = 1; k < 100000; ++k) {
    const fs::path target = folder.string() + "." + std::to_string(k);
    if (Exists(target)) continue;
    std::error_code failed;
    fs::rename(folder, target, failed);
    if (failed)
      return Error(Code::kPermissionDenied, "The earlier run in '{}' cannot be renamed to '{}': {}.", folder.string(),
                   target.string(), failed.message());
    return target.string();
  }
  return Error(Code::kAlreadyExists, "There are too many earlier runs beside '{}'.", folder.string());
}

}  // namespace

Result<RunFolder> RunFolder::Open(const std::string& path, bool keep, Communicator& ranks) {
  RunFolder folder;
  if (ranks.rank() == 0) {
    TENON_ASSIGN(folder, Open(path, keep));
  }
  TENON_TRY_WHILE(ranks.Barrier(), "waiting for the output folder '{}'", path);
  if (ranks.rank() == 0) return folder;
  folder.path_ = fmt::format("{}/rank_{}", WithoutSlash(path), ranks.rank());
  TENON_TRY_WHILE(MakeFolders(folder.path_), "making the folder '{}' of rank {}", folder.path_, ranks.rank());
  return folder;
}

Result<RunFolder> RunFolder::Open(const std::string& path, bool keep) {
  RunFolder folder;
  folder.path_ = WithoutSlash(path);
  std::error_code ignored;
  if (Exists(folder.path_) && !fs::is_directory(folder.path_, ignored))
    return Error(Code::kAlreadyExists, "The output folder '{}' is a file.", folder.path_);
  const bool there = Exists(folder.path_);
  if (there) {
    TENON_ASSIGN(folder.lock_, FolderLock::Take(folder.path_));
  }
  if (!keep && HoldsRun(folder.path_)) {
    TENON_ASSIGN(folder.moved_to_, MoveAside(folder.path_));
  }
  TENON_TRY_WHILE(MakeFolders(folder.path_), "making the output folder '{}'", folder.path_);
  if (!there || !folder.moved_to_.empty()) {
    TENON_ASSIGN(folder.lock_, FolderLock::Take(folder.path_));
  }
  return folder;
}

}  // namespace tenon
