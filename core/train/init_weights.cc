#include "core/train/init_weights.h"

#include "core/train/weights_file.h"

namespace tenon {

Result<FirstValues> LoadFirstValues(const InitFromConfig& config, const std::map<std::string, InitialTensor>& variables,
                                    RunSummary* summary) {
  const InitFrom from{config.path.resolved.string(), config.rename, config.strict};
  TENON_ASSIGN(const Checkpoint weights, LoadWeights(from.path));
  std::vector<TensorTarget> targets;
  for (const auto& variable : variables) targets.push_back({variable.first, DType::kF32, variable.second.shape});
  TENON_ASSIGN(const MatchReport report, MatchWeights(weights, targets, from));
  FirstValues values;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (report.tensors[i] != nullptr) values[targets[i].name] = *report.tensors[i];
  }
  summary->init_from = {from.path, report.loaded, static_cast<std::int64_t>(report.missing.size()),
                        static_cast<std::int64_t>(report.extra.size()),
                        static_cast<std::int64_t>(report.mismatched.size())};
  if (!report.complete()) summary->warnings.push_back(fmt::format("{}: {}", from.path, report.Counts()));
  return values;
}

}  // namespace tenon
