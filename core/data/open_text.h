#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/data/data_config.h"
#include "core/data/dataset.h"
#include "core/data/vocabulary.h"

namespace tenon {

struct TextParts {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;  // null: rows of `train`, by the rule of `split` (lines alone)
  std::shared_ptr<const Vocabulary> vocabulary;
};

// Opens `data` of type text. A running text without `test` is cut: its end is for testing, the last tenth or the fraction
// that `split` says. Test samples follow each other without overlap, so each token is counted once. Lines are dealt like
// the rows of any source. The vocabulary is that of both parts, or the one that `tokens.vocabulary` names.
Result<TextParts> OpenTexts(const DataConfig& config);

}  // namespace tenon
