#include "core/train/rank_checkpoint.h"

namespace tenon {
namespace {

// The text of the first rank on all of them.
Result<std::string> TextOfFirst(Communicator& host, std::string text) {
  std::uint64_t length = text.size();
  TENON_ASSIGN(const Communicator::Ticket announced,
               host.Broadcast(Communicator::AddressOf(&length), sizeof length, 0));
  TENON_TRY(host.Wait(announced));
  text.resize(static_cast<std::size_t>(length));
  TENON_ASSIGN(const Communicator::Ticket sent,
               host.Broadcast(Communicator::AddressOf(text.data()), static_cast<std::int64_t>(length), 0));
  TENON_TRY(host.Wait(sent));
  return text;
}

Result<FoundCheckpoint> Load(const CheckpointFolder& folder, const std::string& path) {
  if (path.empty()) {
    TENON_ASSIGN_WHILE(FoundCheckpoint found, folder.FindLatest(), "looking for a checkpoint to go on from");
    return found;
  }
  FoundCheckpoint found;
  found.file.path = path;
  TENON_ASSIGN(found.checkpoint, LoadCheckpoint(path));
  return found;
}

}  // namespace

Result<FoundCheckpoint> LoadForAll(const CheckpointFolder& folder, const std::string& path, RunRanks* ranks) {
  FoundCheckpoint found;
  if (ranks == nullptr || ranks->first()) {
    TENON_ASSIGN(found, Load(folder, path));
  }
  if (ranks == nullptr) return found;
  TENON_ASSIGN_WHILE(const std::string chosen, TextOfFirst(ranks->host(), found.file.path),
                     "agreeing on a checkpoint to go on from");
  if (ranks->first()) return found;
  auto loaded = Load(folder, chosen);
  if (loaded.ok()) return loaded;
  return std::move(loaded).status().While(fmt::format(
      "loading on rank {} the checkpoint that rank 0 goes on from; all hosts must see the file", ranks->rank().rank));
}

Result<std::string> SaveForAll(const CheckpointFolder& folder, const RunState& state, RunRanks* ranks) {
  std::string path;
  if (ranks == nullptr || ranks->first()) {
    TENON_ASSIGN(path, folder.Save(state));
  }
  if (ranks != nullptr) TENON_TRY_WHILE(ranks->host().Barrier(), "waiting for the checkpoint of rank 0");
  return path;
}

}  // namespace tenon
