#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/config/node.h"
#include "core/data/shard.h"
#include "core/data/transform_config.h"

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
  bool orientation = false;                         // images: turned as the camera noted (EXIF)
  bool fast_shrink = true;  // images: a JPEG much larger than needed is decoded at 1/2, 1/4 or 1/8
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

// What a text is cut into.
enum class TextUnit { kCharacters, kBytes };
std::vector<std::string> ConfigNamesOf(TextUnit);

// Sequences of token numbers: made up (`vocab`), or from a text (`unit`). In a file a text may have the scalar
// `tokens: characters` for {unit: characters}.
struct TokensConfig {
  std::int64_t vocab = 0;     // synthetic: tokens are below it
  std::int64_t length = 128;  // tokens a sample
  TextUnit unit = TextUnit::kCharacters;
  std::optional<std::int64_t> stride{};  // tokens from one training sample to the next; absent: `length`
  ConfigPath vocabulary{};               // of another run; absent: the characters of the text
  bool lines = false;                    // each line is a sample, padded to the longest of its batch
};

// What stands behind the end of a sample that is shorter than its batch.
struct PadConfig {
  std::int64_t value = 0;
  std::int64_t label = -100;
};

enum class OnError { kFail, kSkip };
std::vector<std::string> ConfigNamesOf(OnError);

struct DataConfig {
  std::string type;   // idx | cifar | cifar10 | cifar100 | csv | npy | text | images | synthetic
  ConfigPath path;    // idx, cifar: folder of the usual files, plain or .gz; csv, text: file, plain or .gz;
                      // npy: file of samples; images: folder of one folder a class; synthetic: empty
  ConfigPath labels;  // npy: file of labels (empty for the other types)
  std::optional<std::int64_t> samples;  // at most so many; synthetic: how many (required there)
  std::optional<std::int64_t> classes;  // synthetic images, one_hot, and the check of labels; absent: from the data
  std::optional<ImageConfig> image;     // absent: as the file says; csv: one row of features
  std::optional<TokensConfig> tokens;   // text; synthetic in place of `image`, where without `classes` the label is
                                        // the next token
  std::vector<std::int64_t> buckets;    // lengths that batches of samples of different length are padded to
  std::optional<PadConfig> pad;
  SplitConfig split;
  std::optional<TestDataConfig> test;  // never together with `split`
  std::int64_t batch = 32;             // of each rank
  bool drop_last = false;
  bool shuffle = true;
  ShardRule shard = ShardRule::kExact;     // read where the run has several ranks
  std::int64_t workers = 1;                // threads that prepare batches; 0: the training thread does
  OnError on_error = OnError::kFail;       // images: what a file that cannot be read does
  std::optional<std::int64_t> skip_limit;  // with kSkip: more in one epoch end the run; absent: 100
  std::vector<TransformConfig> transforms;
};

// Where samples differ in length (`tokens.lines`): how long a batch can be at most. Else 0.
std::int64_t LongestOf(const DataConfig& config);

const ConfigTable& ConfigTableOf(const ImageConfig*);
const ConfigTable& ConfigTableOf(const SplitConfig*);
const ConfigTable& ConfigTableOf(const TestDataConfig*);
const ConfigTable& ConfigTableOf(const TokensConfig*);
const ConfigTable& ConfigTableOf(const PadConfig*);
const ConfigTable& ConfigTableOf(const DataConfig*);

}  // namespace tenon
