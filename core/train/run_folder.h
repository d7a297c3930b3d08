#pragma once

#include <string>

#include "core/base/status.h"
#include "core/comm/communicator.h"
#include "core/platform/folder_lock.h"

namespace tenon {

// The output folder of a run. An earlier run in it is renamed to `<folder>.<k>` (the message says so) unless the run
// goes on with it. A folder that another run still writes into is refused.
class RunFolder {
 public:
  static Result<RunFolder> Open(const std::string& path, bool keep);
  // The same for a run with several ranks, all of which call it: the first opens the folder while the others wait, each of
  // which then has `rank_<r>` in it, where other files than its own stay as they are.
  static Result<RunFolder> Open(const std::string& path, bool keep, Communicator& ranks);

  const std::string& path() const { return path_; }
  const std::string& moved_to() const { return moved_to_; }  // where an earlier run went; empty: there was none
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_, moved_to_;
  FolderLock lock_;
};

}  // namespace tenon
