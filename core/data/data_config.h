#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/config/node.h"

namespace tenon {

struct ConfigTable;

// The `data:` section of a run. Defaults, bounds and sentences stand in data_config.cc; a value that arrives here has
// passed them.

// How the samples of an image are laid out and prepared: value * scale, then resize, then pad.
struct ImageConfig {
  std::vector<std::int64_t> shape;  // channels, height, width of one stored sample; empty: from the file
  double scale = 1.0;               // each stored value is multiplied by it
  std::int64_t pad = 0;             // zeros on each side, after resizing
  std::optional<std::vector<std::int64_t>> resize;  // height, width
};

// Part of a source. At most one of the two is set.
struct HeldOutConfig {
  std::int64_t every = 0;
  double fraction = 0.0;
  bool empty() const { return every == 0 && fraction == 0.0; }
};

// Which part of one source is held out for testing (at most one of the first two is set), and which part of the rest for
// validation.
struct SplitConfig {
  std::int64_t every = 0;  // n: rows n-1, 2n-1, ... counted from 0 (`every_5`: rows 4, 9, 14); 0: not this way
  double fraction = 0.0;   // in (0, 1): that part of the samples, chosen by the seed; 0: not this way
  HeldOutConfig validation;
  bool empty() const { return every == 0 && fraction == 0.0; }  // no part for testing
};

// An own source of test samples; the rest is as in the section around it.
struct TestDataConfig {
  ConfigPath path;
  ConfigPath labels;
  std::optional<std::int64_t> samples;
};

// (value - mean) / std per channel; one number stands for all channels.
struct NormalizeConfig {
  static constexpr const char* kType = "normalize";
  std::vector<double> mean{0.0};
  std::vector<double> std{1.0};
};

// Made-up sequences of token numbers.
struct TokensConfig {
  std::int64_t vocab = 0;   // tokens are below it
  std::int64_t length = 0;  // tokens a sample
};

// Labels become vectors of `classes` numbers, 1 at the label.
struct OneHotConfig {
  static constexpr const char* kType = "one_hot";
};

using TransformConfig = std::variant<NormalizeConfig, OneHotConfig>;

struct DataConfig {
  std::string type;   // idx | csv | npy | synthetic
  ConfigPath path;    // idx: folder of the usual files, plain or .gz; csv: file, plain or .gz, label last;
                      // npy: file of samples; synthetic: empty
  ConfigPath labels;  // npy: file of labels (empty for the other types)
  std::optional<std::int64_t> samples;  // at most so many; synthetic: how many (required there)
  std::optional<std::int64_t> classes;  // synthetic images, one_hot, and the check of labels; absent: from the data
  std::optional<ImageConfig> image;     // absent: as the file says; csv: one row of features
  std::optional<TokensConfig> tokens;   // synthetic, in place of `image`; without `classes` the label is the next token
  SplitConfig split;
  std::optional<TestDataConfig> test;  // never together with `split`
  std::int64_t batch = 32;
  bool drop_last = false;
  bool shuffle = true;
  std::int64_t workers = 1;  // threads that prepare batches; 0: the training thread does
  std::vector<TransformConfig> transforms;
};

const ConfigTable& ConfigTableOf(const ImageConfig*);
const ConfigTable& ConfigTableOf(const SplitConfig*);
const ConfigTable& ConfigTableOf(const TestDataConfig*);
const ConfigTable& ConfigTableOf(const NormalizeConfig*);
const ConfigTable& ConfigTableOf(const OneHotConfig*);
const ConfigTable& ConfigTableOf(const TokensConfig*);
const ConfigTable& ConfigTableOf(const DataConfig*);

}  // namespace tenon
