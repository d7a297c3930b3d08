#include "core/train/layers/sync_batch_norm.h"

#include <numeric>

namespace tenon {
namespace {

// Takes the steps one after the other; each is a few nodes named after the layer.
class SyncBatchNorm {
 public:
  SyncBatchNorm(LayerBuilder& builder, const BatchNormValues& values) : builder_(builder), values_(values) {}

  Result<graph::ValueId> Add(double eps, double momentum) {
    builder_.exact = true;  // sums over all ranks lose too much in a short type
    TENON_TRY(FindShape());
    TENON_TRY(AddMean());
    TENON_TRY(AddVariance());
    TENON_TRY(AddRunning(values_.running_mean, mean_, momentum, "new_mean"));
    TENON_TRY(AddRunning(values_.running_var, variance_, momentum, "new_var"));
    return AddOutput(eps);
  }

 private:
  using Value = graph::ValueId;

  Result<Value> Op(std::string_view op, std::initializer_list<Value> in, std::string_view part, Attributes attrs = {}) {
    TENON_ASSIGN(const auto outputs, builder_.Op(op, in, std::move(attrs), 1, part));
    return outputs[0];
  }
  Result<Value> OverRanks(Value value, std::string_view part) {
    const Value inputs[] = {value};
    TENON_ASSIGN(const auto outputs, builder_.Node("tenon", "SumOverRanks", inputs, {}, 1, part));
    return outputs[0];
  }
  Value Number(std::string_view part, double value) {
    return builder_.graph.AddConstant(fmt::format("{}.{}", builder_.name, part),
                                      Tensor::Of<float>(Shape{1}, {static_cast<float>(value)}));
  }
  // [C] so that it goes with [N, C, D1 ..].
  Result<Value> PerChannel(Value value, std::string_view part) { return Op("Reshape", {value, channel_dims_}, part); }
  Result<Value> SumOfChannel(Value value, std::string_view part) {
    return Op("ReduceSum", {value, axes_}, part, {{"keepdims", std::int64_t{0}}});
  }

  Status FindShape() {
    const SymShape& shape = builder_.type(0).shape;
    TENON_ASSIGN(channels_, builder_.KnownDim(1));
    std::vector<std::int64_t> axes, dims(static_cast<std::size_t>(shape.rank()), 1);
    dims[1] = channels_;
    count_ = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis == 1) continue;
      axes.push_back(axis);
      TENON_ASSIGN(const std::int64_t dim, builder_.KnownDim(axis));
      count_ *= static_cast<double>(dim);
    }
    axes_ = builder_.Ints("axes", axes);
    channel_dims_ = builder_.Ints("channel_dims", dims);
    return {};
  }

  // Sums and counts in one message, as ranks may have different numbers of samples.
  Status AddMean() {
    TENON_ASSIGN(const Value sums, SumOfChannel(builder_.inputs[0], "sums"));
    TENON_ASSIGN(const Value mine, Op("Concat", {sums, Number("count", count_)}, "mine", {{"axis", std::int64_t{0}}}));
    TENON_ASSIGN(const Value all, OverRanks(mine, "all"));
    const std::int64_t parts[] = {channels_, 1};
    TENON_ASSIGN(const auto both,
                 builder_.Op("Split", {all, builder_.Ints("parts", parts)}, {{"axis", std::int64_t{0}}}, 2, "both"));
    all_count_ = both[1];
    TENON_ASSIGN(mean_, Op("Div", {both[0], all_count_}, "mean"));
    TENON_ASSIGN(const Value mean, PerChannel(mean_, "channel_mean"));
    TENON_ASSIGN(distance_, Op("Sub", {builder_.inputs[0], mean}, "distance"));
    return {};
  }

  // The squares of the distances from the mean of all.
  Status AddVariance() {
    TENON_ASSIGN(const Value squares, Op("Mul", {distance_, distance_}, "squares"));
    TENON_ASSIGN(const Value mine, SumOfChannel(squares, "my_squares"));
    TENON_ASSIGN(const Value all, OverRanks(mine, "all_squares"));
    TENON_ASSIGN(variance_, Op("Div", {all, all_count_}, "variance"));
    return {};
  }

  Status AddRunning(Value state, Value value, double momentum, std::string_view part) {
    const std::string name(part);
    TENON_ASSIGN(const Value kept, Op("Mul", {state, Number(name + ".keep", momentum)}, name + ".kept"));
    TENON_ASSIGN(const Value taken, Op("Mul", {value, Number(name + ".take", 1 - momentum)}, name + ".taken"));
    TENON_ASSIGN(const Value updated, Op("Add", {kept, taken}, name));
    builder_.Update(state, updated);
    return {};
  }

  Result<Value> AddOutput(double eps) {
    TENON_ASSIGN(const Value above, Op("Add", {variance_, Number("eps", eps)}, "above_zero"));
    TENON_ASSIGN(const Value deviation, Op("Sqrt", {above}, "deviation"));
    TENON_ASSIGN(const Value factor, Op("Div", {values_.scale, deviation}, "factor"));
    TENON_ASSIGN(const Value factors, PerChannel(factor, "factors"));
    TENON_ASSIGN(const Value shifts, PerChannel(values_.shift, "shifts"));
    TENON_ASSIGN(const Value scaled, Op("Mul", {distance_, factors}, "scaled"));
    return Op("Add", {scaled, shifts}, "");
  }

  LayerBuilder& builder_;
  const BatchNormValues& values_;
  std::int64_t channels_ = 0;
  double count_ = 0;  // values of a channel on this rank
  Value axes_ = graph::kNone, channel_dims_ = graph::kNone;
  Value all_count_ = graph::kNone, mean_ = graph::kNone, distance_ = graph::kNone, variance_ = graph::kNone;
};

}  // namespace

Result<graph::ValueId> AddSyncBatchNorm(LayerBuilder& builder, const BatchNormValues& values, double eps,
                                        double momentum) {
  return SyncBatchNorm(builder, values).Add(eps, momentum);
}

}  // namespace tenon
