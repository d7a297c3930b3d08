#include "core/train/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

#include "core/base/log.h"
#include "core/base/number.h"
#include "core/platform/atomic_file.h"

namespace tenon {
namespace {

std::optional<std::int64_t> ParseCount(std::string_view text) {
  const auto value = ParseNumber<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

// "<name>-<epoch>_<step>.<format>"; nullopt for any other name.
std::optional<CheckpointFile> ParseName(std::string_view file, std::string_view name) {
  if (!file.starts_with(name) || file.size() <= name.size() || file[name.size()] != '-') return std::nullopt;
  if (!CheckpointFormatOfPath(file).ok()) return std::nullopt;
  const std::string_view position = file.substr(name.size() + 1, file.rfind('.') - name.size() - 1);
  const std::size_t line = position.find('_');
  if (line == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> epoch = ParseCount(position.substr(0, line));
  const std::optional<std::int64_t> step = ParseCount(position.substr(line + 1));
  if (!epoch || !step) return std::nullopt;
  return CheckpointFile{"", *epoch, *step};
}

}  // namespace

std::vector<CheckpointFile> CheckpointFolder::List() const {
  RemoveAbandonedTemporaries(folder_);
  std::vector<CheckpointFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder_, error);
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error)) {
    std::optional<CheckpointFile> file = ParseName(entries->path().filename().string(), name_);
    if (!file) continue;
    file->path = entries->path().string();
    files.push_back(*std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const CheckpointFile& a, const CheckpointFile& b) {
    return std::tie(a.epoch, a.step_in_epoch, a.path) < std::tie(b.epoch, b.step_in_epoch, b.path);
  });
  return files;
}

Result<std::string> CheckpointFolder::Save(const RunState& state) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return Error(Code::kPermissionDenied, "The folder '{}' for checkpoints cannot be made: {}.", folder_,
                 error.message());
  }
  const std::string path =
      fmt::format("{}/{}-{}_{}.{}", folder_, name_, state.epoch, state.step_in_epoch, NameOf(format_));
  TENON_TRY(SaveCheckpoint(ToCheckpoint(state), path));
  RemoveOldest(path);
  return path;
}

void CheckpointFolder::RemoveOldest(const std::string& saved) const {
  if (keep_ <= 0) return;
  std::vector<CheckpointFile> files = List();
  std::erase_if(files, [&](const CheckpointFile& file) { return std::filesystem::path(file.path) == saved; });
  const std::size_t others = static_cast<std::size_t>(keep_ - 1);
  for (std::size_t i = 0; i + others < files.size(); ++i) {
    std::error_code error;
    std::filesystem::remove(files[i].path, error);
    if (error)
      TENON_LOG(kWarning, "train", "The old checkpoint '{}' cannot be removed: {}.", files[i].path, error.message());
  }
}

Result<FoundCheckpoint> CheckpointFolder::FindLatest() const {
  std::vector<CheckpointFile> files = List();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    Result<Checkpoint> checkpoint = LoadCheckpoint(file->path);
    const Status status = checkpoint.ok() ? ReadRunScalars(*checkpoint).status() : checkpoint.status();
    if (status.ok()) return FoundCheckpoint{*file, std::move(checkpoint).value()};
    TENON_LOG(kWarning, "train", "The checkpoint '{}' is skipped: {}", file->path, status.message());
  }
  return Error(Code::kNotFound, "There is no checkpoint of '{}' in '{}' to resume from{}.", name_, folder_,
               files.empty() ? "" : fmt::format("; all {} files are damaged", files.size()));
}

}  // namespace tenon
