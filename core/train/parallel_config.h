#pragma once

#include <cstdint>
#include <string>

namespace tenon {

struct ConfigTable;

// How the processes (ranks) of a run work together. Nothing here matters to a run of one process.
struct ParallelConfig {
  std::string comm = "auto";           // plugin of the collectives: id or file name
  double first_bucket_mb = 1;          // 2^20 bytes
  double bucket_mb = 25;               // 2^20 bytes
  double timeout_s = 1800;             // of joining and of each collective
  std::int64_t straggler_every = 100;  // steps between two looks; 0: none
};

const ConfigTable& ConfigTableOf(const ParallelConfig*);

}  // namespace tenon
