#include "core/train/metrics_file.h"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/platform/atomic_file.h"
#include "core/platform/mapped_file.h"

namespace tenon {
namespace {

// The step of a line, or nullopt when the line is not one of ours.
std::optional<std::int64_t> StepOf(std::string_view line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_integer()) return std::nullopt;
  return step->get<std::int64_t>();
}

// Keeps the lines up to `step`; the last of them.
Result<std::string> DropLater(const std::string& path, std::int64_t step) {
  std::string kept, last;
  {
    Result<MappedFile> file = MappedFile::Open(path);
    if (file.status().code() == Code::kNotFound) return last;
    if (!file.ok()) return std::move(file).status();
    std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const std::optional<std::int64_t> at = StepOf(text.substr(0, end));
      if (at && *at <= step) {
        last = text.substr(0, end + 1);
        kept.append(last);
      }
      text.remove_prefix(end + 1);
    }
    if (kept.size() == file->bytes().size()) return last;
  }
  TENON_TRY(WriteFileAtomically(path, kept));
  return last;
}

}  // namespace

void AppendJsonNumber(std::string* out, double value) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  const float narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) == value) {
    fmt::format_to(std::back_inserter(*out), "{}", narrow);
  } else {
    fmt::format_to(std::back_inserter(*out), "{}", value);
  }
}

Result<MetricsFile> MetricsFile::Open(const std::string& path, std::optional<std::int64_t> resume_step) {
  MetricsFile file;
  if (resume_step) {
    TENON_ASSIGN_WHILE(file.last_kept_, DropLater(path, *resume_step), "continuing '{}'", path);
  }
  TENON_ASSIGN(file.file_, AppendFile::Open(path, !resume_step));
  file.line_.reserve(1024);
  return file;
}

void MetricsFile::Begin(std::int64_t step, std::int64_t epoch) {
  line_.clear();
  fmt::format_to(std::back_inserter(line_), "{{\"step\": {}, \"epoch\": {}", step, epoch);
}

void MetricsFile::Add(std::string_view name, double value) {
  line_.append(", \"");
  line_.append(name);
  line_.append("\": ");
  AppendJsonNumber(&line_, value);
}

Status MetricsFile::End() {
  line_.append("}\n");
  if (line_ == last_kept_) return {};
  return file_.Append(line_);
}

Status MetricsFile::WriteStep(std::int64_t step, std::int64_t epoch, double loss, double lr, double step_ms,
                              std::optional<double> grad_norm) {
  Begin(step, epoch);
  Add("loss", loss);
  Add("lr", lr);
  Add("step_ms", step_ms);
  if (grad_norm) Add("grad_norm", *grad_norm);
  return End();
}

Status MetricsFile::WriteEvaluation(std::int64_t step, std::int64_t epoch, std::span<const Metric> metrics) {
  Begin(step, epoch);
  for (const Metric& metric : metrics) Add(metric.name, metric.value);
  return End();
}

}  // namespace tenon
