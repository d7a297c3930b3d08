#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

struct ConfigTable;

// How long and in what way to train (section `train`).
struct TrainConfig {
  std::int64_t epochs = 10;
  std::optional<std::int64_t> steps;  // stop after so many, even within an epoch
};

// When and how to test (section `eval`).
struct EvalConfig {
  std::int64_t every = 1;  // epochs; 0: only after the last one
  std::vector<std::string> metrics{"loss", "accuracy"};
};

const ConfigTable& ConfigTableOf(const TrainConfig*);
const ConfigTable& ConfigTableOf(const EvalConfig*);

}  // namespace tenon
