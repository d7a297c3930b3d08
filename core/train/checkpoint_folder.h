#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_state.h"

namespace tenon {

// A checkpoint file of a run: <folder>/<name>-<epoch>_<step in epoch>.<format>.
struct CheckpointFile {
  std::string path;
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
};

// A checkpoint that could be loaded, with its place.
struct FoundCheckpoint {
  CheckpointFile file;
  Checkpoint checkpoint;
};

// The checkpoints of one run. Files of other names in the folder are never touched.
class CheckpointFolder {
 public:
  // `keep`: how many of the newest files stay; 0 or less keeps all.
  CheckpointFolder(std::string folder, std::string name, CheckpointFormat format, std::int64_t keep)
      : folder_(std::move(folder)), name_(std::move(name)), format_(format), keep_(keep) {}

  // Saves under the name of the state's position, makes the folder when it is missing, and afterwards removes the oldest
  // files beyond `keep`. A failure leaves all former files. Returns the path.
  Result<std::string> Save(const RunState& state) const;

  // Files of this run by (epoch, step), oldest first; both formats. Temporary files of dead writers are removed.
  std::vector<CheckpointFile> List() const;

  // The newest file that loads and can continue a run. Damaged ones are skipped with a warning that says why. NOT_FOUND
  // when there is none.
  Result<FoundCheckpoint> FindLatest() const;

 private:
  void RemoveOldest(const std::string& saved) const;

  std::string folder_;
  std::string name_;
  CheckpointFormat format_;
  std::int64_t keep_;
};

}  // namespace tenon
