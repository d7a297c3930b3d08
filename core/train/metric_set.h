#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data/loader.h"
#include "core/train/run_config.h"
#include "core/train/step_runner.h"

namespace tenon {

// counts[label * classes + prediction].
struct ConfusionMatrix {
  std::int64_t classes = 0;
  std::vector<std::int64_t> counts;

  void Add(std::int64_t label, std::int64_t prediction) {
    ++counts[static_cast<std::size_t>(label * classes + prediction)];
  }
  std::int64_t samples() const;
  std::int64_t right() const;
  // Mean of the F1 scores of the classes that occur as label or prediction.
  double MacroF1() const;
  // F1 over all decisions together; with one class a sample it is the accuracy.
  double MicroF1() const;
  // A line a label: how often each class was predicted.
  std::string ToCsv() const;
};

// The metrics of one pass over a part of the data.
//   loss              mean over what counts in it          perplexity   exp of it
//   accuracy          part whose largest output is at the label; the first of equal ones counts
//   top_K             part whose label is among the K largest outputs
//   f1_macro, f1_micro, confusion_matrix                   of the predicted classes
//   mae, mse          mean absolute, mean squared difference of outputs and labels
// Classes stand on the axis that ClassAxis names; labels below 0 and the ignored one are passed over.
class MetricSet {
 public:
  // `classes`: of the network's output; 0: as the first batch has. `ignored`: a label that does not count.
  explicit MetricSet(const std::vector<std::string>& names, std::int64_t classes = 0,
                     std::optional<std::int64_t> ignored = {});

  // `weight`: what the batch counts in the loss (CountedWeight).
  Status Add(const StepRunner::Evaluation& result, const Batch& batch, double weight);
  std::map<std::string, double> Values() const;

  // All that was added, as numbers of which each is a sum: those of several sets with the same names and classes may be added
  // up, and give the set of all their batches. Counts are exact up to 2^53.
  std::vector<double> Sums() const;
  // Takes such sums in place of its own. INTERNAL when there are more or fewer than Sums() has.
  Status SetSums(std::span<const double> sums);

  const ConfusionMatrix& matrix() const { return matrix_; }

 private:
  Status AddClasses(const Tensor& output, const Tensor& labels);
  void AddDifferences(const Tensor& output, const Tensor& labels);
  void SetClasses(std::int64_t classes);
  // Calls `fn` with every sum, in one order.
  template <class Self, class Fn>
  static void ForEachSum(Self& self, Fn fn);

  std::vector<std::string> names_;
  std::vector<std::int64_t> ks_;  // of the top_K metrics
  std::optional<std::int64_t> ignored_;
  bool wants_classes_ = false, wants_matrix_ = false, wants_differences_ = false;
  double loss_ = 0, loss_weight_ = 0, absolute_ = 0, squared_ = 0;
  std::int64_t decisions_ = 0, right_ = 0, differences_ = 0;
  std::vector<std::int64_t> among_;  // by position in ks_
  ConfusionMatrix matrix_;
};

// The metrics that go with labels and loss of a run: those configured; of the default list those that fit. An error points
// at the metric. The types are those of a batch.
Result<std::vector<std::string>> MetricsOf(const RunConfig& config, const ValueType& labels, const ValueType& output);

}  // namespace tenon
