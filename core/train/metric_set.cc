#include "core/train/metric_set.h"

#include <algorithm>
#include <cmath>

#include "core/train/loss.h"
#include "core/train/metric_name.h"

namespace tenon {
namespace {

double Part(std::int64_t count, std::int64_t of) {
  return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(of, 1));
}

}  // namespace

std::int64_t ConfusionMatrix::samples() const {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

std::int64_t ConfusionMatrix::right() const {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += counts[static_cast<std::size_t>(c * classes + c)];
  return sum;
}

double ConfusionMatrix::MacroF1() const {
  double sum = 0;
  std::int64_t present = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    std::int64_t labelled = 0, predicted = 0;
    for (std::int64_t other = 0; other < classes; ++other) {
      labelled += counts[static_cast<std::size_t>(c * classes + other)];
      predicted += counts[static_cast<std::size_t>(other * classes + c)];
    }
    if (labelled + predicted == 0) continue;
    ++present;
    sum += Part(2 * counts[static_cast<std::size_t>(c * classes + c)], labelled + predicted);
  }
  return present == 0 ? 0.0 : sum / static_cast<double>(present);
}

double ConfusionMatrix::MicroF1() const { return Part(right(), samples()); }

std::string ConfusionMatrix::ToCsv() const {
  std::string text = "label";
  for (std::int64_t c = 0; c < classes; ++c) text += fmt::format(",{}", c);
  text += "\n";
  for (std::int64_t label = 0; label < classes; ++label) {
    text += std::to_string(label);
    for (std::int64_t c = 0; c < classes; ++c)
      text += fmt::format(",{}", counts[static_cast<std::size_t>(label * classes + c)]);
    text += "\n";
  }
  return text;
}

MetricSet::MetricSet(const std::vector<std::string>& names, std::int64_t classes, std::optional<std::int64_t> ignored)
    : names_(names), ignored_(ignored) {
  for (const std::string& name : names_) {
    if (const auto k = TopKOf(name)) ks_.push_back(*k);
    wants_matrix_ = wants_matrix_ || name == "f1_macro" || name == "f1_micro" || name == "confusion_matrix";
    wants_classes_ = wants_classes_ || name == "accuracy";
    wants_differences_ = wants_differences_ || name == "mae" || name == "mse";
  }
  wants_classes_ = wants_classes_ || wants_matrix_ || !ks_.empty();
  among_.assign(ks_.size(), 0);
  SetClasses(classes);
}

void MetricSet::SetClasses(std::int64_t classes) {
  matrix_.classes = classes;
  matrix_.counts.assign(wants_matrix_ ? static_cast<std::size_t>(classes * classes) : 0, 0);
}

Status MetricSet::Add(const StepRunner::Evaluation& result, const Batch& batch, double weight) {
  if (weight > 0) loss_ += result.loss * weight;  // the loss of a batch that counts nothing is no number
  loss_weight_ += weight;
  if (wants_classes_) TENON_TRY(AddClasses(*result.output, batch.labels));
  if (wants_differences_) AddDifferences(*result.output, batch.labels);
  return {};
}

Status MetricSet::AddClasses(const Tensor& output, const Tensor& labels) {
  const int axis = ClassAxis(SymShape(output.shape()), SymShape(labels.shape()));
  const std::int64_t classes = output.shape().dim(axis);
  for (const std::int64_t label : labels.values<std::int64_t>()) {
    TENON_INVALID_IF(label >= classes && label != ignored_, "A label is {}; the network has {} classes.", label,
                     classes);
  }
  const std::int64_t inner = axis > 1 ? 1 : labels.elements() / std::max<std::int64_t>(1, labels.shape().dim(0));
  if (matrix_.classes != classes) SetClasses(classes);
  ForFloating(output.dtype(), [&]<class T>() {
    const T* scores = output.data<T>();
    for (std::int64_t i = 0; i < labels.elements(); ++i) {
      const std::int64_t label = labels.data<std::int64_t>()[i];
      if (label < 0 || label == ignored_) continue;
      const T* first = scores + i / inner * classes * inner + i % inner;
      const auto score = [&](std::int64_t c) { return static_cast<double>(first[c * inner]); };
      std::int64_t best = 0, ahead = 0;  // how many classes come before the label
      for (std::int64_t c = 0; c < classes; ++c) {
        if (score(c) > score(best)) best = c;
        if (score(c) > score(label) || (score(c) == score(label) && c < label)) ++ahead;
      }
      ++decisions_;
      if (best == label) ++right_;
      for (std::size_t k = 0; k < ks_.size(); ++k) {
        if (ahead < ks_[k]) ++among_[k];
      }
      if (wants_matrix_) matrix_.Add(label, best);
    }
  });
  return {};
}

void MetricSet::AddDifferences(const Tensor& output, const Tensor& labels) {
  const Tensor want = Cast(labels, DType::kF64), got = Cast(output, DType::kF64);
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double difference = got.data<double>()[i] - want.data<double>()[i];
    absolute_ += std::abs(difference);
    squared_ += difference * difference;
  }
  differences_ += got.elements();
}

template <class Self, class Fn>
void MetricSet::ForEachSum(Self& self, Fn fn) {
  for (auto* sum : {&self.loss_, &self.loss_weight_, &self.absolute_, &self.squared_}) fn(*sum);
  for (auto* count : {&self.decisions_, &self.right_, &self.differences_}) fn(*count);
  for (auto& count : self.among_) fn(count);
  for (auto& count : self.matrix_.counts) fn(count);
}

std::vector<double> MetricSet::Sums() const {
  std::vector<double> sums;
  ForEachSum(*this, [&](const auto& sum) { sums.push_back(static_cast<double>(sum)); });
  return sums;
}

Status MetricSet::SetSums(std::span<const double> sums) {
  std::size_t count = 0;
  ForEachSum(*this, [&](const auto&) { ++count; });
  if (sums.size() != count)
    return Error(Code::kInternal, "The metrics of this evaluation are made of {} sums, but {} are given.", count,
                 sums.size());
  auto next = sums.begin();
  ForEachSum(*this, [&](auto& sum) { sum = static_cast<std::decay_t<decltype(sum)>>(*next++); });
  return {};
}

std::map<std::string, double> MetricSet::Values() const {
  std::map<std::string, double> values;
  const double loss = loss_weight_ > 0 ? loss_ / loss_weight_ : 0;
  const auto count = static_cast<double>(std::max<std::int64_t>(differences_, 1));
  std::size_t k = 0;
  for (const std::string& name : names_) {
    if (name == "loss") values[name] = loss;
    if (name == "perplexity") values[name] = std::exp(loss);
    if (name == "accuracy") values[name] = Part(right_, decisions_);
    if (name == "f1_macro") values[name] = matrix_.MacroF1();
    if (name == "f1_micro") values[name] = matrix_.MicroF1();
    if (name == "mae") values[name] = absolute_ / count;
    if (name == "mse") values[name] = squared_ / count;
    if (TopKOf(name)) values[name] = Part(among_[k++], decisions_);
  }
  return values;
}

namespace {

bool IsLogLikelihood(const LossConfig& loss) {
  return std::holds_alternative<SoftmaxCrossEntropyConfig>(loss) || std::holds_alternative<NllConfig>(loss);
}

Status CheckMetric(const std::string& name, const RunConfig& config, const ValueType& labels, const ValueType& output) {
  const auto k = TopKOf(name);
  const bool of_classes = k || name == "accuracy" || name.starts_with("f1_") || name == "confusion_matrix";
  const bool of_values = name == "mae" || name == "mse";
  TENON_INVALID_IF(name == "perplexity" && !IsLogLikelihood(config.loss),
                   "The metric 'perplexity' is the exponential of a cross entropy; the loss of this run is '{}'.",
                   KindOf(config.loss));
  TENON_INVALID_IF(of_classes && labels.dtype != DType::kI64,
                   "The metric '{}' needs labels that are classes; those of a batch are {}.", name, labels.ToString());
  TENON_INVALID_IF(of_values && labels.dtype == DType::kI64,
                   "The metric '{}' needs labels that are values; those of the data are classes.", name);
  TENON_INVALID_IF(of_classes && output.shape.rank() < 2,
                   "The metric '{}' needs an output [batch, classes, ...]; the network's is {}.", name,
                   output.ToString());
  if (!k) return {};
  const int axis = ClassAxis(output.shape, labels.shape);
  TENON_INVALID_IF(output.shape[axis].known() && *k > output.shape[axis].value(),
                   "The metric '{}' needs at least {} classes; the network has {}.", name, *k,
                   output.shape[axis].value());
  return {};
}

}  // namespace

Result<std::vector<std::string>> MetricsOf(const RunConfig& config, const ValueType& labels, const ValueType& output) {
  const ConfigNode* eval = config.source.Find("eval");
  const bool written = eval != nullptr && eval->Find("metrics") != nullptr;
  std::vector<std::string> metrics;
  for (std::size_t i = 0; i < config.eval.metrics.size(); ++i) {
    const std::string& name = config.eval.metrics[i];
    Status fits = CheckMetric(name, config, labels, output);
    if (!fits.ok() && !written) continue;
    if (!fits.ok()) return std::move(fits).At(PlaceOf(config.source, fmt::format("eval.metrics.{}", i)).ToString());
    metrics.push_back(name);
  }
  return metrics;
}

}  // namespace tenon
