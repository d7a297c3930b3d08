#pragma once

#include <vector>

#include "core/data/vocabulary.h"
#include "core/train/checkpoint_state.h"

namespace tenon {

// A run on a text carries the numbers of its characters in every checkpoint: the network means nothing without them.
void AddVocabulary(const Vocabulary* vocabulary, RunState* state);

// Refuses a checkpoint whose characters are numbered otherwise than those of this run; the error names the first
// difference. A checkpoint without a vocabulary passes.
Status CheckVocabulary(const RunState& state, const Vocabulary* vocabulary);

}  // namespace tenon
