#include "core/train/loss_config.h"

#include <algorithm>

#include "core/config/fields.h"

namespace tenon {

bool ComparesValues(const LossConfig& loss) {
  return !std::holds_alternative<SoftmaxCrossEntropyConfig>(loss) && !std::holds_alternative<NllConfig>(loss);
}

namespace {

constexpr const char* kIgnoreSentence = "samples with this label do not count; it need not be a class";
constexpr const char* kWeightsSentence = "weight of each class; absent: 1";

// The mean of a batch divides by the weights of its labels, and smoothing gives also a label without weight a loss. So what
// batches of such labels alone add to a step, to an epoch or to the sum over ranks would depend on who got them.
void CheckSmoothing(const ConfigNode& node, SoftmaxCrossEntropyConfig& loss, ConfigReader& reader) {
  const auto zero = std::find(loss.class_weights.begin(), loss.class_weights.end(), 0.0);
  const ConfigNode* weights = node.Find("class_weights");
  if (loss.label_smoothing == 0 || zero == loss.class_weights.end() || weights == nullptr) return;
  reader.Fail(
      weights->place(),
      "'{}' is 0 for class {}, and '{}' spreads a share of each target over all classes: samples of a class "
      "that weighs nothing would have a loss that no mean counts. Leave them out with '{}', or give the class a "
      "weight.",
      reader.PathTo("class_weights"), zero - loss.class_weights.begin(), reader.PathTo("label_smoothing"),
      reader.PathTo("ignore_index"));
}

}  // namespace

const ConfigTable& ConfigTableOf(const SoftmaxCrossEntropyConfig*) {
  using T = SoftmaxCrossEntropyConfig;
  static const ConfigTable table = Table<T>("Softmax and cross entropy against class labels, mean over the batch.",
                                            {
                                                Field("label_smoothing", &T::label_smoothing, AtLeast(0) & AtMost(1),
                                                      "share of the target that is spread over all classes"),
                                                Field("ignore_index", &T::ignore_index, kIgnoreSentence),
                                                Field("class_weights", &T::class_weights, AtLeast(0), kWeightsSentence),
                                            },
                                            CheckSmoothing);
  return table;
}

const ConfigTable& ConfigTableOf(const NllConfig*) {
  using T = NllConfig;
  static const ConfigTable table =
      Table<T>("Negative log likelihood: the output holds log probabilities, the labels are classes.",
               {
                   Field("ignore_index", &T::ignore_index, kIgnoreSentence),
                   Field("class_weights", &T::class_weights, AtLeast(0), kWeightsSentence),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const MseConfig*) {
  static const ConfigTable table = Table<MseConfig>("Mean squared difference.", {});
  return table;
}

const ConfigTable& ConfigTableOf(const L1Config*) {
  static const ConfigTable table = Table<L1Config>("Mean absolute difference.", {});
  return table;
}

const ConfigTable& ConfigTableOf(const SmoothL1Config*) {
  using T = SmoothL1Config;
  static const ConfigTable table =
      Table<T>("Squared near zero, absolute beyond.",
               {
                   Field("beta", &T::beta, AtLeast(0), "difference at which one becomes the other"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const BceWithLogitsConfig*) {
  using T = BceWithLogitsConfig;
  static const ConfigTable table =
      Table<T>("Binary cross entropy of each output, which is taken before its sigmoid, against values from 0 to 1.",
               {
                   Field("pos_weight", &T::pos_weight, AtLeast(0),
                         "weight of the positive side: one number, or one for each column; absent: 1"),
               });
  return table;
}

}  // namespace tenon
