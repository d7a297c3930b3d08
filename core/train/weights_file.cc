#include "core/train/weights_file.h"

#include "core/base/text.h"
#include "core/debug/non_finite.h"
#include "core/platform/mapped_file.h"
#include "core/train/checkpoint_state.h"
#include "core/train/npz.h"

namespace tenon {

Result<Checkpoint> LoadWeights(const std::string& path) {
  if (!path.ends_with(".npz")) {
    TENON_INVALID_IF(!CheckpointFormatOfPath(path).ok(),
                     "'{}' is not the name of a file with weights; the names end in .ckpt, .safetensors or .npz.",
                     path);
    return LoadCheckpoint(path);
  }
  TENON_ASSIGN(const MappedFile file, MappedFile::Open(path));
  Result<Checkpoint> weights = ReadNpz(file.bytes());
  if (!weights.ok()) return std::move(weights).status().While(fmt::format("loading '{}'", path));
  return weights;
}

namespace {

Status CheckRenames(const Checkpoint& weights, const InitFrom& from) {
  for (const auto& rule : from.rename) {
    const std::string& name = rule.first;
    std::vector<std::string> names;
    for (const NamedTensor& entry : weights.tensors) {
      names.push_back(name.ends_with('.') ? entry.name.substr(0, entry.name.rfind('.') + 1) : entry.name);
      if (entry.name == name || (name.ends_with('.') && entry.name.starts_with(name))) names.clear();
      if (names.empty()) break;
    }
    if (names.empty()) continue;
    const std::string near = NearestName(name, names);
    return InvalidArgument("init_from.rename: no tensor of '{}' {} '{}'.{}", from.path,
                           name.ends_with('.') ? "has a name that begins with" : "is called", name,
                           near.empty() ? "" : fmt::format(" Did you mean '{}'?", near));
  }
  return {};
}

// Weights that no step could train.
Status CheckFinite(const MatchReport& report, std::span<const TensorTarget> parameters, const InitFrom& from) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor* tensor = report.tensors[i];
    const std::int64_t bad = tensor != nullptr && IsFloating(tensor->dtype()) ? FirstNonFinite(*tensor) : -1;
    TENON_INVALID_IF(bad >= 0, "The first weights are not finite: element {} of '{}' in '{}'.", bad, parameters[i].name,
                     from.path);
  }
  return {};
}

}  // namespace

Result<MatchReport> MatchWeights(const Checkpoint& weights, std::span<const TensorTarget> parameters,
                                 const InitFrom& from) {
  TENON_TRY(CheckRenames(weights, from));
  MatchOptions options;
  options.lenient = !from.strict;
  options.rename = from.rename;
  options.lenient_by = "init_from.strict: false";
  options.ignore = [](const std::string& name) { return IsRunScalarName(name) || IsOptimizerStateName(name); };
  Result<MatchReport> report = MatchTensors(weights, parameters, options);
  if (!report.ok())
    return std::move(report).status().While(fmt::format("taking the first weights from '{}'", from.path));
  TENON_TRY(CheckFinite(*report, parameters, from));
  return report;
}

}  // namespace tenon
