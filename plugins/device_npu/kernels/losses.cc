// Losses and their gradients. Against class labels: scores [N, C, D1 ..], labels [N, D1 ..]. Element by element: predictions
// and targets of one shape.
#include <cstring>
#include <optional>

#include "kernels/map.h"
#include "kernels/walk.h"

namespace tenon::npu {
namespace {

enum class Reduction { kNone, kSum, kMean };

Reduction ReductionOf(const Request& request) {
  const std::string_view text = request.attributes().String("reduction", "mean");
  if (text == "none") return Reduction::kNone;
  if (text == "sum") return Reduction::kSum;
  if (text == "mean") return Reduction::kMean;
  Refuse("reduction is '", text, "'");
}

// ---- class labels

struct Labels {
  uint32_t input = 1;
  bool wide = false;  // i64
  int64_t count = 0, classes = 0, area = 1;
  std::optional<int64_t> ignore;

  // Element of scores for position i and class 0; classes follow in steps of area.
  int64_t Base(int64_t i) const { return i / area * classes * area + i % area; }
  // Nothing where the position does not count.
  std::optional<int64_t> At(const Operands& o, int64_t i) const {
    const int64_t label = wide ? o.in<int64_t>(input)[i] : o.in<int32_t>(input)[i];
    if (ignore && label == *ignore) return std::nullopt;
    if (label < 0 || label >= classes) {
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "The label of sample ", i / area, " is ", label, "; with ", classes,
                         " classes it must be 0 to ", classes - 1, ".");
    }
    return label;
  }
};

Labels LabelsOf(const Request& request, uint32_t scores, uint32_t input) {
  Labels labels;
  labels.input = input;
  labels.wide = request.input(input).dtype() == TENON_DTYPE_I64;
  if (!labels.wide) request.RequireType(input, TENON_DTYPE_I32);
  const sdk::Dims dims = request.input(scores).dims();
  labels.count = request.input(input).elements();
  labels.classes = dims[1];
  for (uint32_t axis = 2; axis < dims.size(); ++axis) labels.area *= dims[axis];
  if (request.attributes().Has("ignore_index")) labels.ignore = request.attributes().Int("ignore_index", 0);
  return labels;
}

// How a position's loss weighs its classes: -sum over c of Of(c) * log_prob[c].
template <class T>
struct Shares {
  const T* weights;  // NULL: all 1
  int64_t classes;
  float smoothing;

  float Weight(int64_t c) const { return weights != nullptr ? Widen(weights[c]) : 1.0f; }
  float Of(int64_t c, int64_t label) const {
    const float hot = c == label ? (1 - smoothing) * Weight(c) : 0.0f;
    return hot + smoothing / static_cast<float>(classes) * Weight(c);
  }
  float Loss(const float* log_prob, int64_t label) const {
    if (smoothing == 0) return -Weight(label) * log_prob[label];
    float loss = 0;
    for (int64_t c = 0; c < classes; ++c) loss -= Of(c, label) * log_prob[c];
    return loss;
  }
};

template <class T>
Shares<T> SharesOf(const Operands& o, uint32_t weights, int64_t classes, float smoothing) {
  return {o.has_in(weights) ? o.in<T>(weights) : nullptr, classes, smoothing};
}

float SmoothingOf(const Request& request) { return FloatAttribute(request, "label_smoothing", 0); }

// The total of the losses or, for the mean, divided by the weights that counted.
template <class T>
void StoreTotal(const Operands& o, Reduction reduction, double total, double weights) {
  if (reduction == Reduction::kNone || !o.has_out(0)) return;
  *o.out<T>(0) = Narrow<T>(static_cast<float>(reduction == Reduction::kMean ? total / weights : total));
}

Work MakeCrossEntropy(const Request& request) {
  request.RequireFloat(0);
  const Labels labels = LabelsOf(request, 0, 1);
  if (request.has_input(2)) request.RequireType(2, request.input(0).dtype());
  const Reduction reduction = ReductionOf(request);
  const float smoothing = SmoothingOf(request);
  Work work;
  work.workspace = static_cast<uint64_t>(labels.classes) * sizeof(float);
  work.cost = {0, 2 * kTranscendental * static_cast<uint64_t>(request.input(0).elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const Shares<T> shares = SharesOf<T>(o, 2, labels.classes, smoothing);
      float* row = o.workspace<float>();
      double total = 0, weights = 0;
      for (int64_t i = 0; i < labels.count; ++i) {
        const T* x = o.in<T>(0) + labels.Base(i);
        float top = Widen(x[0]), sum = 0;
        for (int64_t c = 0; c < labels.classes; ++c) {
          row[c] = Widen(x[c * labels.area]);
          top = row[c] > top || row[c] != row[c] ? row[c] : top;
        }
        for (int64_t c = 0; c < labels.classes; ++c) sum += std::exp(row[c] - top);
        const float log_sum = std::log(sum);
        for (int64_t c = 0; c < labels.classes; ++c) row[c] = row[c] - top - log_sum;
        for (int64_t c = 0; o.has_out(1) && c < labels.classes; ++c)
          o.out<T>(1)[labels.Base(i) + c * labels.area] = Narrow<T>(row[c]);
        const std::optional<int64_t> label = labels.At(o, i);
        const float loss = label ? shares.Loss(row, *label) : 0.0f;
        total += static_cast<double>(loss);
        if (label) weights += static_cast<double>(shares.Weight(*label));
        if (reduction == Reduction::kNone && o.has_out(0)) o.out<T>(0)[i] = Narrow<T>(loss);
      }
      StoreTotal<T>(o, reduction, total, weights);
    };
  });
  return work;
}

// Inputs: dloss, log_prob, labels, weights.
Work MakeCrossEntropyGrad(const Request& request) {
  request.RequireFloat(1);
  request.RequireType(0, request.input(1).dtype());
  const Labels labels = LabelsOf(request, 1, 2);
  if (request.has_input(3)) request.RequireType(3, request.input(1).dtype());
  const Reduction reduction = ReductionOf(request);
  const float smoothing = SmoothingOf(request);
  Work work;
  work.cost = {0, kTranscendental * static_cast<uint64_t>(request.input(1).elements()), request.bytes()};
  ForFloat(request.input(1).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const Shares<T> shares = SharesOf<T>(o, 3, labels.classes, smoothing);
      double weights = 0, all = 0;
      for (int64_t i = 0; i < labels.count; ++i) {
        if (const auto label = labels.At(o, i)) weights += static_cast<double>(shares.Weight(*label));
      }
      for (int64_t c = 0; c < labels.classes; ++c) all += static_cast<double>(shares.Weight(c));
      const auto divisor = reduction == Reduction::kMean ? static_cast<float>(weights) : 1.0f;
      for (int64_t i = 0; i < labels.count; ++i) {
        const std::optional<int64_t> label = labels.At(o, i);
        const float scale = Widen(o.in<T>(0)[reduction == Reduction::kNone ? i : 0]) / divisor;
        const float whole = label ? (1 - smoothing) * shares.Weight(*label) +
                                        smoothing / static_cast<float>(labels.classes) * static_cast<float>(all)
                                  : 0.0f;
        for (int64_t c = 0; c < labels.classes; ++c) {
          const int64_t at = labels.Base(i) + c * labels.area;
          const float slope = label ? std::exp(Widen(o.in<T>(1)[at])) * whole - shares.Of(c, *label) : 0.0f;
          o.out<T>(0)[at] = Narrow<T>(label ? scale * slope : 0.0f);
        }
      }
    };
  });
  return work;
}

// Inputs: log probabilities, labels, weights.
Work MakeNegativeLogLikelihood(const Request& request) {
  request.RequireFloat(0);
  const Labels labels = LabelsOf(request, 0, 1);
  if (request.has_input(2)) request.RequireType(2, request.input(0).dtype());
  const Reduction reduction = ReductionOf(request);
  Work work;
  work.cost = {0, static_cast<uint64_t>(labels.count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const Shares<T> shares = SharesOf<T>(o, 2, labels.classes, 0);
      double total = 0, weights = 0;
      for (int64_t i = 0; i < labels.count; ++i) {
        const std::optional<int64_t> label = labels.At(o, i);
        const float weight = label ? shares.Weight(*label) : 0.0f;
        const float loss = label ? -weight * Widen(o.in<T>(0)[labels.Base(i) + *label * labels.area]) : 0.0f;
        total += static_cast<double>(loss);
        weights += static_cast<double>(weight);
        if (reduction == Reduction::kNone) o.out<T>(0)[i] = Narrow<T>(loss);
      }
      StoreTotal<T>(o, reduction, total, weights);
    };
  });
  return work;
}

// Inputs: dloss, input (its shape only), labels, weights.
Work MakeNegativeLogLikelihoodGrad(const Request& request) {
  request.RequireFloat(0);
  const Labels labels = LabelsOf(request, 1, 2);
  if (request.has_input(3)) request.RequireType(3, request.input(0).dtype());
  request.RequireType(1, request.input(0).dtype());
  const Reduction reduction = ReductionOf(request);
  const int64_t elements = request.input(1).elements();
  Work work;
  work.cost = {0, static_cast<uint64_t>(labels.count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const Shares<T> shares = SharesOf<T>(o, 3, labels.classes, 0);
      double weights = 0;
      for (int64_t i = 0; i < labels.count; ++i) {
        if (const auto label = labels.At(o, i)) weights += static_cast<double>(shares.Weight(*label));
      }
      const auto divisor = reduction == Reduction::kMean ? static_cast<float>(weights) : 1.0f;
      std::memset(o.out<T>(0), 0, static_cast<size_t>(elements) * sizeof(T));
      for (int64_t i = 0; i < labels.count; ++i) {
        const std::optional<int64_t> label = labels.At(o, i);
        if (!label) continue;
        const float share = Widen(o.in<T>(0)[reduction == Reduction::kNone ? i : 0]) / divisor;
        o.out<T>(0)[labels.Base(i) + *label * labels.area] = Narrow<T>(-shares.Weight(*label) * share);
      }
    };
  });
  return work;
}

// ---- element by element

// Places of an operand that broadcasts to the predictions, or nothing when it is absent.
struct Extra {
  bool present = false;
  Walk<1> walk;

  Extra(const Request& request, uint32_t input, sdk::Dims dims) : present(request.has_input(input)) {
    if (!present) return;
    const auto strides = BroadcastStrides(request.input(input).dims(), dims);
    for (uint32_t axis = 0; axis < dims.size(); ++axis) walk.Add(dims[axis], {strides[axis]});
  }
};

// fn(i, weight of element i) for all elements in order; the weight is 1 where there is none.
template <class T, class Fn>
void EachWeighted(const Operands& o, const Extra& extra, uint32_t input, int64_t count, Fn fn) {
  if (!extra.present) {
    for (int64_t i = 0; i < count; ++i) fn(i, 1.0f);
    return;
  }
  const T* weights = o.in<T>(input);
  int64_t i = 0;
  extra.walk.Rows(0, extra.walk.rows(), [&](const Walk<1>::Places& at) {
    for (int64_t k = 0; k < extra.walk.row(); ++k) fn(i++, Widen(weights[at[0] + k * extra.walk.step()[0]]));
  });
}

// loss(x, t, weight); inputs: predictions, targets and perhaps weights.
template <class Fn>
Work ElementLoss(const Request& request, Fn loss) {
  request.RequireFloat(0);
  for (uint32_t i = 1; i < request.input_count(); ++i)
    if (request.has_input(i)) request.RequireType(i, request.input(0).dtype());
  const Reduction reduction = ReductionOf(request);
  const int64_t count = request.input(0).elements();
  const Extra extra(request, 2, request.input(0).dims());
  Work work;
  work.cost = {0, 4 * static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T *x = o.in<T>(0), *t = o.in<T>(1);
      double total = 0;
      EachWeighted<T>(o, extra, 2, count, [&](int64_t i, float weight) {
        const float value = loss(Widen(x[i]), Widen(t[i]), weight);
        total += static_cast<double>(value);
        if (reduction == Reduction::kNone) o.out<T>(0)[i] = Narrow<T>(value);
      });
      StoreTotal<T>(o, reduction, total, static_cast<double>(count));
    };
  });
  return work;
}

// slope(x, t, weight); inputs: dloss, predictions, targets and perhaps weights.
template <class Fn>
Work ElementLossGrad(const Request& request, Fn slope) {
  request.RequireFloat(1);
  for (uint32_t i = 0; i < request.input_count(); ++i)
    if (request.has_input(i)) request.RequireType(i, request.input(1).dtype());
  const Reduction reduction = ReductionOf(request);
  const int64_t count = request.input(1).elements();
  const Extra extra(request, 3, request.input(1).dims());
  Work work;
  work.cost = {0, 4 * static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(1).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T *dloss = o.in<T>(0), *x = o.in<T>(1), *t = o.in<T>(2);
      const float divisor = reduction == Reduction::kMean ? static_cast<float>(count) : 1.0f;
      EachWeighted<T>(o, extra, 3, count, [&](int64_t i, float weight) {
        const float share = Widen(dloss[reduction == Reduction::kNone ? i : 0]) / divisor;
        o.out<T>(0)[i] = Narrow<T>(share * slope(Widen(x[i]), Widen(t[i]), weight));
      });
    };
  });
  return work;
}

Work MakeSmoothL1(const Request& request) {
  const float beta = FloatAttribute(request, "beta", 1);
  return ElementLoss(request, [beta](float x, float t, float) {
    const float d = std::abs(x - t);
    return d < beta ? d * d / (2 * beta) : d - beta / 2;
  });
}
Work MakeSmoothL1Grad(const Request& request) {
  const float beta = FloatAttribute(request, "beta", 1);
  return ElementLossGrad(request, [beta](float x, float t, float) {
    const float d = x - t;
    return std::abs(d) < beta ? d / beta : d > 0 ? 1.0f : d < 0 ? -1.0f : d;
  });
}

float Softplus(float x) { return (x < 0 ? 0.0f : x) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

void AddLosses(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn make, std::string_view domain = "tenon") {
    entries.push_back({domain, op, "vector_loss", make});
  };
  add("SoftmaxCrossEntropyLoss", MakeCrossEntropy, "");
  add("SmoothedCrossEntropyLoss", MakeCrossEntropy);
  add("SoftmaxCrossEntropyLossGrad", MakeCrossEntropyGrad);
  add("SmoothedCrossEntropyLossGrad", MakeCrossEntropyGrad);
  add("NegativeLogLikelihoodLoss", MakeNegativeLogLikelihood, "");
  add("NegativeLogLikelihoodLossGrad", MakeNegativeLogLikelihoodGrad);
  add("MeanSquaredErrorLoss",
      [](const Request& r) { return ElementLoss(r, [](float x, float t, float) { return (x - t) * (x - t); }); });
  add("MeanSquaredErrorLossGrad",
      [](const Request& r) { return ElementLossGrad(r, [](float x, float t, float) { return 2 * (x - t); }); });
  add("L1Loss",
      [](const Request& r) { return ElementLoss(r, [](float x, float t, float) { return std::abs(x - t); }); });
  add("L1LossGrad", [](const Request& r) {
    return ElementLossGrad(r, [](float x, float t, float) { return x > t ? 1.0f : x < t ? -1.0f : x - t; });
  });
  add("SmoothL1Loss", MakeSmoothL1);
  add("SmoothL1LossGrad", MakeSmoothL1Grad);
  add("BinaryCrossEntropyWithLogitsLoss", [](const Request& r) {
    return ElementLoss(r, [](float x, float t, float p) { return (1 - t) * x + (1 + (p - 1) * t) * Softplus(-x); });
  });
  add("BinaryCrossEntropyWithLogitsLossGrad", [](const Request& r) {
    return ElementLossGrad(r, [](float x, float t, float p) { return (1 - t) - (1 + (p - 1) * t) * Logistic(-x); });
  });
}

}  // namespace tenon::npu
