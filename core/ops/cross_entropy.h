#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/ops/loss_reduction.h"

namespace tenon {

// What losses against class labels share: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, SmoothedCrossEntropyLoss, and
// their gradients.

// scores [N, C, D1 ..] and labels [N, D1 ..].
inline Status CheckLossShapes(const SymShape& scores, const SymShape& labels) {
  SymShape expected;
  for (int axis = 0; axis < scores.rank(); ++axis) {
    if (axis != 1) expected.push_back(scores[axis]);
  }
  TENON_INVALID_IF(scores.rank() < 2 || !(labels == expected),
                   "scores have shape {} and labels {}; they must be [N, C, D1 ..] and [N, D1 ..].", scores, labels);
  TENON_INVALID_IF(scores[1].Is(0), "scores have shape {}: there are no classes.", scores);
  return {};
}

struct LossLabels {
  std::vector<std::int64_t> values;
  std::optional<std::int64_t> ignore;
  std::int64_t classes = 0;
  std::int64_t area = 1;  // product of D1 ..

  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
  bool Ignored(std::int64_t i) const { return ignore && values[static_cast<std::size_t>(i)] == *ignore; }
  // Element of scores for label i and class 0; classes follow in steps of `area`.
  std::int64_t Base(std::int64_t i) const { return i / area * classes * area + i % area; }
};

// weights (input `index`, if there) is [C].
inline Status CheckClassWeights(const InferContext& context, const SymShape& scores, int index) {
  TENON_INVALID_IF(context.has_input(index) && !(context.shape(index) == SymShape{scores[1]}),
                   "weights has shape {}; scores {} need [{}].", context.shape(index), scores, scores[1]);
  return {};
}

// Labels as int64, all inside [0, C) or equal to ignore_index; an error names the sample, the label and C.
inline Result<LossLabels> LossLabelsOf(const Attributes& attrs, const Shape& scores, const Tensor& labels) {
  LossLabels out;
  const Tensor ints = Cast(labels, DType::kI64);
  const auto values = ints.values<std::int64_t>();
  out.values.assign(values.begin(), values.end());
  if (attrs.Has("ignore_index")) out.ignore = attrs.Int("ignore_index");
  out.classes = scores[1];
  for (int axis = 2; axis < scores.rank(); ++axis) out.area *= scores[axis];
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::int64_t label = out.values[static_cast<std::size_t>(i)];
    TENON_INVALID_IF(!out.Ignored(i) && (label < 0 || label >= out.classes),
                     "The label of sample {} is {}; with {} classes it must be 0 to {}.{}", i / out.area, label,
                     out.classes, out.classes - 1,
                     label < 0 ? fmt::format(" ignore_index: {} leaves such labels out.", label) : std::string());
  }
  return out;
}

// Attribute `label_smoothing` of SmoothedCrossEntropyLoss, in [0, 1]; 0 where an operator has none.
Result<double> LabelSmoothingOf(const Attributes& attrs);

// Rules, references and gradient of SoftmaxCrossEntropyLoss and SmoothedCrossEntropyLoss (their files state the formulas).
Status InferCrossEntropy(InferContext& context);
Status CrossEntropyReference(const ReferenceArgs& args);
Status CrossEntropyGradient(GradBuilder& b, GradArgs& args, std::string_view type);
Status InferCrossEntropyGrad(InferContext& context);
Status CrossEntropyGradReference(const ReferenceArgs& args);

}  // namespace tenon
