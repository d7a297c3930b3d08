#pragma once

#include <string>

namespace tenon {

struct CkptShowOptions {
  std::string file;
  bool json = false;
};

// `tenon ckpt show`: prints what a checkpoint holds. Returns the exit code: 2 when the file cannot be read.
int RunCkptShow(const CkptShowOptions& options);

struct CkptDiffOptions {
  std::string a, b;
  double rtol = 0;
  double atol = 0;
  bool json = false;
};

// `tenon ckpt diff`: compares two checkpoints by name. Returns the exit code: 0 equal, 1 different, 2 not readable.
int RunCkptDiff(const CkptDiffOptions& options);

}  // namespace tenon
