#include "tools/tenon/ckpt.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/train/checkpoint.h"
#include "core/train/checkpoint_diff.h"
#include "core/train/checkpoint_state.h"
#include "core/train/metrics_file.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintJson(const Json& json) { Print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string Text(double value) {
  std::string text;
  AppendJsonNumber(&text, value);
  return std::isnan(value) ? "nan" : std::isinf(value) ? (value > 0 ? "inf" : "-inf") : text;
}

// Statistics over the finite values of a tensor.
struct Statistics {
  double min = 0, max = 0, mean = 0;
  std::int64_t not_finite = 0;
};

Statistics StatisticsOf(const Tensor& tensor) {
  Statistics result;
  result.min = std::numeric_limits<double>::infinity();
  result.max = -result.min;
  double sum = 0;
  ForAny(tensor.dtype(), [&]<class T>() {
    for (const T& element : tensor.values<T>()) {
      const double value = static_cast<double>(element);
      if (!std::isfinite(value)) {
        ++result.not_finite;
        continue;
      }
      result.min = std::min(result.min, value);
      result.max = std::max(result.max, value);
      sum += value;
    }
  });
  const std::int64_t finite = tensor.elements() - result.not_finite;
  result.mean = finite > 0 ? sum / static_cast<double>(finite) : std::nan("");
  return result;
}

double ScalarOf(const Tensor& tensor) { return *Cast(tensor, DType::kF64).data<double>(); }

// The value as JSON; integers keep all digits.
Json ScalarJson(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBool) return *tensor.data<bool>();
  if (tensor.dtype() == DType::kU64) return *tensor.data<std::uint64_t>();
  if (IsInteger(tensor.dtype())) return *Cast(tensor, DType::kI64).data<std::int64_t>();
  return Number(ScalarOf(tensor));
}

std::string ScalarText(const Tensor& tensor) {
  return IsFloating(tensor.dtype()) ? Text(ScalarOf(tensor)) : ScalarJson(tensor).dump();
}

// "0.1.0" of the file's producer, or nullopt for files of other programs.
std::optional<std::string> ProducerVersion(const Checkpoint& checkpoint) {
  const Tensor* version = checkpoint.Find("tenon_version");
  if (version == nullptr || version->Describe() != "int64[]") return std::nullopt;
  const std::int64_t number = *version->data<std::int64_t>();
  return fmt::format("{}.{}.{}", number / 1000000, number / 1000 % 1000, number % 1000);
}

std::vector<NamedTensor> ParametersOf(const Checkpoint& checkpoint) {
  std::vector<NamedTensor> parameters;
  for (const NamedTensor& entry : checkpoint.tensors) {
    if (!IsRunScalarName(entry.name) && !IsOptimizerStateName(entry.name)) parameters.push_back(entry);
  }
  return parameters;
}

Json TensorJson(const NamedTensor& entry) {
  const Tensor& tensor = entry.tensor;
  Json json = {{"name", entry.name},
               {"dtype", NameOf(tensor.dtype())},
               {"shape", tensor.shape().dims()},
               {"elements", tensor.elements()},
               {"bytes", tensor.bytes()}};
  if (tensor.shape().rank() == 0) {
    json["value"] = ScalarJson(tensor);
  } else {
    const Statistics statistics = StatisticsOf(tensor);
    json["min"] = Number(statistics.min);
    json["max"] = Number(statistics.max);
    json["mean"] = Number(statistics.mean);
    json["not_finite"] = statistics.not_finite;
  }
  return json;
}

void ShowJson(const std::string& path, const Checkpoint& checkpoint, const CheckpointFileInfo& info) {
  Json json = {{"path", path}, {"format", NameOf(info.format)}, {"bytes", info.bytes}, {"checksum", info.checksum}};
  const auto producer = ProducerVersion(checkpoint);
  json["producer"] = producer ? Json("tenon " + *producer) : Json(nullptr);
  json["weights_sha256"] = WeightsSha256(ParametersOf(checkpoint));
  json["tensors"] = Json::array();
  for (const NamedTensor& entry : checkpoint.tensors) json["tensors"].push_back(TensorJson(entry));
  json["texts"] = Json::object();
  for (const Checkpoint::Text& text : checkpoint.texts) json["texts"][text.name] = text.value;
  PrintJson(json);
}

void ShowText(const std::string& path, const Checkpoint& checkpoint, const CheckpointFileInfo& info) {
  const auto producer = ProducerVersion(checkpoint);
  Print(fmt::format("{}: {}, {} bytes, {}{}\n", path, NameOf(info.format), info.bytes,
                    info.checksum ? "checksum right" : "no checksum",
                    producer ? ", written by tenon " + *producer : ""));
  std::size_t width = 4;
  for (const NamedTensor& entry : checkpoint.tensors) width = std::max(width, entry.name.size());
  std::int64_t elements = 0;
  for (const NamedTensor& entry : checkpoint.tensors) {
    const Tensor& tensor = entry.tensor;
    elements += tensor.elements();
    std::string line = fmt::format("  {:<{}}  {:<20}", entry.name, width, tensor.Describe());
    if (tensor.shape().rank() == 0) {
      line += fmt::format("  {}", ScalarText(tensor));
    } else if (tensor.elements() > 0) {
      const Statistics statistics = StatisticsOf(tensor);
      line += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", statistics.min, statistics.max, statistics.mean);
      if (statistics.not_finite > 0) line += fmt::format("  {} not finite", statistics.not_finite);
    }
    Print(line + "\n");
  }
  for (const Checkpoint::Text& text : checkpoint.texts)
    Print(fmt::format("  {:<{}}  text  {}\n", text.name, width, text.value));
  Print(fmt::format("{} tensors, {} elements\n", checkpoint.tensors.size(), elements));
}

Json DifferenceJson(const TensorDifference& difference) {
  Json json = {{"name", difference.name}, {"a", difference.a}, {"b", difference.b}};
  json["reason"] = difference.same_kind ? "values" : "kind";
  if (!difference.same_kind) return json;
  json["elements"] = difference.elements;
  json["differing"] = difference.differing;
  json["max_abs"] = Number(difference.max_abs);
  json["max_rel"] = Number(difference.max_rel);
  json["first"] = {{"index", difference.first}, {"a", Number(difference.first_a)}, {"b", Number(difference.first_b)}};
  return json;
}

void DiffJson(const CheckpointDiff& diff) {
  Json json = {{"equal", diff.same()}, {"equal_tensors", diff.equal}, {"only_a", diff.only_a}, {"only_b", diff.only_b}};
  json["different"] = Json::array();
  for (const TensorDifference& difference : diff.different) json["different"].push_back(DifferenceJson(difference));
  PrintJson(json);
}

void DiffText(const CkptDiffOptions& options, const CheckpointDiff& diff) {
  for (const std::string& name : diff.only_a) Print(fmt::format("only in {}: {}\n", options.a, name));
  for (const std::string& name : diff.only_b) Print(fmt::format("only in {}: {}\n", options.b, name));
  for (const TensorDifference& d : diff.different) {
    if (!d.same_kind) {
      Print(fmt::format("{}: {} and {}\n", d.name, d.a, d.b));
      continue;
    }
    Print(fmt::format("{}: {}, {} of {} values differ, by up to {:.6g} (relative {:.3g}); first at [{}]: {} and {}\n",
                      d.name, d.a, d.differing, d.elements, d.max_abs, d.max_rel, fmt::join(d.first, ","),
                      Text(d.first_a), Text(d.first_b)));
  }
  Print(fmt::format("{} tensors are equal, {} differ, {} are in one file only\n", diff.equal, diff.different.size(),
                    diff.only_a.size() + diff.only_b.size()));
}

}  // namespace

int RunCkptShow(const CkptShowOptions& options) {
  CheckpointFileInfo info;
  const Result<Checkpoint> checkpoint = LoadCheckpoint(options.file, &info);
  if (!checkpoint.ok()) {
    cli::Report(checkpoint.status());
    return 2;
  }
  options.json ? ShowJson(options.file, *checkpoint, info) : ShowText(options.file, *checkpoint, info);
  return 0;
}

int RunCkptDiff(const CkptDiffOptions& options) {
  const Result<Checkpoint> a = LoadCheckpoint(options.a);
  const Result<Checkpoint> b = LoadCheckpoint(options.b);
  if (!a.ok()) cli::Report(a.status());
  if (!b.ok()) cli::Report(b.status());
  if (!a.ok() || !b.ok()) return 2;
  const CheckpointDiff diff = Diff(*a, *b, {options.rtol, options.atol});
  options.json ? DiffJson(diff) : DiffText(options, diff);
  return diff.same() ? 0 : 1;
}

}  // namespace tenon
