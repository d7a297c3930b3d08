#include "core/train/vocabulary_state.h"

#include <algorithm>

namespace tenon {

namespace {
constexpr const char* kName = "train.vocabulary";  // code points of the characters; empty for bytes
}

void AddVocabulary(const Vocabulary* vocabulary, RunState* state) {
  if (!vocabulary) return;
  const auto points = vocabulary->code_points();
  Tensor tensor(DType::kI64, Shape{static_cast<std::int64_t>(points.size())});
  std::copy(points.begin(), points.end(), tensor.data<std::int64_t>());
  state->extra.push_back({kName, std::move(tensor)});
}

Status CheckVocabulary(const RunState& state, const Vocabulary* vocabulary) {
  for (const NamedTensor& extra : state.extra) {
    if (extra.name != kName || extra.tensor.dtype() != DType::kI64) continue;
    TENON_INVALID_IF(!vocabulary, "The checkpoint is of a run on a text; this run reads other data.");
    const std::int64_t* first = extra.tensor.data<std::int64_t>();
    std::vector<std::uint32_t> points;
    for (std::int64_t i = 0; i < extra.tensor.elements(); ++i) points.push_back(static_cast<std::uint32_t>(first[i]));
    Vocabulary saved = Vocabulary::OfBytes();
    if (!points.empty()) {
      TENON_ASSIGN(saved, Vocabulary::OfCharacters(std::move(points)));
    }
    const std::string difference = saved.DifferenceTo(*vocabulary);
    TENON_INVALID_IF(!difference.empty(),
                     "The vocabulary of the checkpoint is not that of this run. {} 'data.tokens.vocabulary' takes the "
                     "vocabulary.txt of the first run.",
                     difference);
  }
  return {};
}

}  // namespace tenon
