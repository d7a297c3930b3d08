#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon {

// tenon train CONFIG. `resume` without a value stands for the newest checkpoint of the output folder.
struct TrainOptions {
  std::string config;
  std::vector<std::string> overrides;    // --set a.b.c=value
  std::vector<std::string> plugin_dirs;  // --plugin-dir
  bool resume = false;
  std::string resume_from;
  bool lenient = false;
  std::optional<std::string> repeat_seeds;  // "1,2,3"; absent: the seed of the file
  std::string output;                       // --output; empty: that of the file
  bool dry_run = false;
  std::string profile;  // --profile; empty: none
};

// Returns the exit code: 0 done, 1 failed, 2 wrong config or data file, 3 no such device, 128 + n ended by signal n.
int RunTrain(const TrainOptions& options);

}  // namespace tenon
