// ops_custom_speed [--case NAME] [--rounds N]: milliseconds of processor time of operators of plugins/ops_custom on one
// thread, and of the standard operators that compute the same, in turn; medians, as JSON. The time of an operator with its gradient is that of
// both through the tape, less that of the loss at their end, which is measured by itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <time.h>

#include "tenon/tenon.h"

namespace {

namespace tn = tenon::api;
using tn::Tensor;
using tn::ops::Add;
using tn::ops::Mul;
using tn::ops::Sub;

constexpr char kDomain[] = "org.tenon.custom.";

// Processor time of this thread, which does all the work: what else the machine does counts less.
double Now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// An output whose sum with weights is the loss; of one element: the loss.
using Forward = std::function<Tensor()>;

struct Case {
  std::string name;
  std::vector<Tensor> targets;  // whose gradients are taken
  Forward own, composed;        // composed may be empty
};

class Bench {
 public:
  Bench(const tn::Runtime& runtime, int rounds) : runtime_(runtime), rounds_(rounds) {}

  void Run(const Case& row) {
    const Tensor y = row.own();
    std::int64_t count = y.elements();
    Check(row, y);
    weights_ = count == 1 ? Tensor() : Random(y.shape());
    const Tensor leaf = y.Detached().RequireGradient();
    std::vector<double> own, own_forward, composed, composed_forward, loss;
    for (int i = 0; i < rounds_ + 1; ++i) {  // the first round plans
      loss.push_back(count == 1 ? 0.0 : Timed([&] { Backward(leaf, {leaf}); }));
      own.push_back(Timed([&] { Backward(row.own(), row.targets); }));
      if (row.composed) composed.push_back(Timed([&] { Backward(row.composed(), row.targets); }));
      const tn::NoRecording only_forward(runtime_);
      own_forward.push_back(Timed([&] { row.own(); }));
      if (row.composed) composed_forward.push_back(Timed([&] { row.composed(); }));
    }
    const double end = Median(loss);
    std::printf("%s{\"case\": \"%s\", \"forward_ms\": %.4f, \"ms\": %.4f", first_ ? "[" : ",\n ", row.name.c_str(),
                Median(own_forward), Median(own) - end);
    if (row.composed)
      std::printf(", \"composed_forward_ms\": %.4f, \"composed_ms\": %.4f", Median(composed_forward),
                  Median(composed) - end);
    std::printf("}");
    std::fflush(stdout);
    first_ = false;
  }

  Tensor Random(const tn::Shape& shape, float low = -1, float high = 1) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = low + (high - low) * static_cast<float>(Word() >> 8) * 0x1p-24f;
    return Tensor::Of(runtime_, shape, values);
  }
  Tensor Integers(const tn::Shape& shape, std::int64_t first, std::int64_t end) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::int64_t& value : values) value = first + static_cast<std::int64_t>(Word()) % (end - first);
    return Tensor::Of(runtime_, shape, values);
  }
  Tensor Of(const tn::Shape& shape, const std::vector<float>& values) { return Tensor::Of(runtime_, shape, values); }
  Tensor Number(float value) { return Of({}, {value}); }
  const tn::Runtime& runtime() const { return runtime_; }

 private:
  std::uint32_t Word() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  static double Median(std::vector<double> times) {
    times.erase(times.begin());
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }
  template <class Fn>
  static double Timed(const Fn& fn) {
    const double start = Now();
    fn();
    return Now() - start;
  }
  void Backward(const Tensor& y, const std::vector<Tensor>& targets) {
    const Tensor loss = y.elements() == 1 ? y : tn::ops::ReduceSum(Mul(y, weights_));
    const auto gradients = tn::Gradients(loss, targets);
    if (!gradients[0]) std::abort();
  }
  // Both sides compute the same.
  static void Check(const Case& row, const Tensor& y) {
    if (!row.composed) return;
    const std::vector<float> a = y.Values<float>(), b = row.composed().Values<float>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i < b.size() && std::abs(a[i] - b[i]) <= 1e-3f * (1 + std::abs(b[i]))) continue;
      std::fprintf(stderr, "%s: element %zu differs: %g and %g\n", row.name.c_str(), i, static_cast<double>(a[i]),
                   static_cast<double>(b[i]));
      std::exit(1);
    }
  }

  const tn::Runtime& runtime_;
  int rounds_;
  bool first_ = true;
  Tensor weights_;
  std::uint64_t state_ = 1;
};

std::string Own(const char* name) { return std::string(kDomain) + name; }

Case SwiGlu(Bench& b) {
  const Tensor gate = b.Random({2048, 2816}).RequireGradient(), up = b.Random({2048, 2816}).RequireGradient();
  return {"swi_glu",
          {gate, up},
          [=] {
            return tn::Op(Own("SwiGLU"), {gate, up});
          },
          [=] { return Mul(tn::Op("Swish", {gate}), up); }};
}

Case Rotary(Bench& b) {
  constexpr std::int64_t kLength = 1024, kWidth = 64;
  const Tensor x = b.Random({4, kLength, 16, kWidth}).RequireGradient();
  std::vector<float> cosines, sines;
  for (std::int64_t p = 0; p < kLength; ++p) {
    for (std::int64_t k = 0; k < kWidth; ++k) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(k % (kWidth / 2)) * 2 / kWidth);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  const Tensor c = b.Of({kLength, 1, kWidth}, cosines), s = b.Of({kLength, 1, kWidth}, sines);
  return {"rotary",
          {x},
          [=] { return tn::Op(Own("RotaryEmbedding"), {x}); },
          [=] {
            const auto halves = tn::Op("Split", {x}, {{"axis", -1}, {"num_outputs", 2}}, 2);
            const Tensor turned = tn::Op("Concat", {tn::ops::Neg(halves[1]), halves[0]}, {{"axis", -1}});
            return Add(Mul(x, c), Mul(turned, s));
          }};
}

// Against two operators, or against the standard one that is both.
Case CrossEntropy(Bench& b, bool one) {
  const Tensor x = b.Random({2048, 32000}, -4, 4).RequireGradient(), labels = b.Integers({2048}, 0, 32000);
  const auto own = [=] { return tn::Op(Own("SoftmaxCrossEntropy"), {x, labels}); };
  const auto composed = [=] {
    if (one) return tn::ops::SoftmaxCrossEntropyLoss(x, labels);
    return tn::Op("NegativeLogLikelihoodLoss", {tn::Op("LogSoftmax", {x}, {{"axis", -1}}), labels},
                  {{"reduction", "mean"}});
  };
  return {one ? "softmax_cross_entropy_one" : "softmax_cross_entropy", {x}, own, composed};
}

Case FocalLoss(Bench& b) {
  const Tensor x = b.Random({8192, 80}, -4, 4).RequireGradient();
  std::vector<float> values(8192 * 80);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 7 == 0 ? 1.0f : 0.0f;
  const Tensor t = b.Of({8192, 80}, values), two = b.Number(2), high = b.Number(0.75f), half = b.Number(0.5f);
  return {"focal_loss",
          {x},
          [=] {
            return tn::Op(Own("SigmoidFocalLoss"), {x, t}, {{"reduction", "mean"}});
          },
          [=] {
            const Tensor p = tn::ops::Sigmoid(x);
            const Tensor entropy = tn::Op("tenon.BinaryCrossEntropyWithLogitsLoss", {x, t}, {{"reduction", "none"}});
            const Tensor q = Sub(Add(p, t), Mul(Mul(two, t), p)), weight = Sub(high, Mul(half, t));
            return tn::ops::ReduceMean(Mul(Mul(entropy, weight), Mul(q, q)));
          }};
}

Case Attention(Bench& b, bool causal) {
  constexpr std::int64_t kLength = 1024;
  const tn::Shape shape = {1, 8, kLength, 64};
  const Tensor q = b.Random(shape).RequireGradient(), k = b.Random(shape).RequireGradient(),
               v = b.Random(shape).RequireGradient(), scale = b.Number(0.125f);
  Tensor mask;
  if (causal) {
    std::vector<float> values(kLength * kLength);
    for (std::int64_t i = 0; i < kLength * kLength; ++i)
      values[static_cast<std::size_t>(i)] = i % kLength > i / kLength ? -1e30f : 0.0f;
    mask = b.Of({kLength, kLength}, values);
  }
  return {causal ? "attention_causal" : "attention",
          {q, k, v},
          [=] {
            return tn::Op(Own("Attention"), {q, k, v}, {{"causal", causal ? 1 : 0}});
          },
          [=] {
            Tensor scores = Mul(tn::ops::MatMul(q, tn::ops::Transpose(k, {0, 1, 3, 2})), scale);
            if (mask) scores = Add(scores, mask);
            return tn::ops::MatMul(tn::ops::Softmax(scores), v);
          }};
}

Case EmbeddingBag(Bench& b) {
  constexpr std::int64_t kBags = 2000, kEach = 50;
  const Tensor weight = b.Random({20000, 64}).RequireGradient(), indices = b.Integers({kBags, kEach}, 0, 20000);
  const Tensor flat = tn::Op("Reshape", {indices, tn::Tensor::Of<std::int64_t>(b.runtime(), {1}, {kBags * kEach})});
  std::vector<std::int64_t> starts;
  for (std::int64_t bag = 0; bag < kBags; ++bag) starts.push_back(bag * kEach);
  const Tensor offsets = tn::Tensor::Of(b.runtime(), {kBags}, starts);
  const Tensor axis = tn::Tensor::Of<std::int64_t>(b.runtime(), {1}, {1});
  return {"embedding_bag",
          {weight},
          [=] {
            return tn::Op(Own("EmbeddingBag"), {weight, flat, offsets}, {{"mode", "sum"}});
          },
          [=] {
            return tn::Op("ReduceSum", {tn::Op("Gather", {weight, indices}), axis}, {{"keepdims", 0}});
          }};
}

// The log-softmax in front is part of neither side's time: the probabilities are the start of the tape.
Case CtcLoss(Bench& b) {
  constexpr std::int64_t kTime = 128, kBatch = 16, kClasses = 64, kLabels = 32;
  const Tensor scores = b.Random({kTime, kBatch, kClasses}, -3, 3);
  const Tensor x = tn::Op("LogSoftmax", {scores}, {{"axis", -1}}).RequireGradient();
  const Tensor targets = b.Integers({kBatch, kLabels}, 1, kClasses);
  const auto lengths = [&](std::int64_t length) {
    return tn::Tensor::Of(b.runtime(), {kBatch}, std::vector<std::int64_t>(kBatch, length));
  };
  const Tensor steps = lengths(kTime), labels = lengths(kLabels);
  return {"ctc_loss", {x}, [=] { return tn::Op(Own("CTCLoss"), {x, targets, steps, labels}); }, {}};
}

Case DeformConv(Bench& b) {
  const Tensor x = b.Random({1, 64, 56, 56}).RequireGradient(), weight = b.Random({64, 64, 3, 3}).RequireGradient();
  const Tensor offset = b.Random({1, 18, 56, 56}).RequireGradient(),
               mask = b.Random({1, 9, 56, 56}, 0).RequireGradient();
  const Tensor bias = b.Random({64}).RequireGradient();
  return {"deform_conv",
          {x, weight, offset, bias, mask},
          [=] {
            return tn::Op(Own("DeformConv"), {x, weight, offset, bias, mask}, {{"padding", {1, 1}}});
          },
          {}};
}

struct Maker {
  const char* name;
  Case (*make)(Bench&);
};
constexpr Maker kCases[] = {
    {"swi_glu", &SwiGlu},
    {"rotary", &Rotary},
    {"softmax_cross_entropy", [](Bench& b) { return CrossEntropy(b, false); }},
    {"softmax_cross_entropy_one", [](Bench& b) { return CrossEntropy(b, true); }},
    {"focal_loss", &FocalLoss},
    {"embedding_bag", &EmbeddingBag},
    {"ctc_loss", &CtcLoss},
    {"deform_conv", &DeformConv},
    {"attention", [](Bench& b) { return Attention(b, false); }},
    {"attention_causal", [](Bench& b) { return Attention(b, true); }},
};

int Fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string wanted;
  int rounds = 7;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
      wanted = argv[++i];
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      return Fail("usage: ops_custom_speed [--case NAME] [--rounds N]");
    }
  }
  try {
    tn::RuntimeOptions options;
    options.plugins = {TENON_OPS_CUSTOM};
    const tn::Runtime runtime(options);
    Bench bench(runtime, rounds);
    bool any = false;
    for (const Maker& row : kCases) {
      if (!wanted.empty() && wanted != row.name) continue;
      bench.Run(row.make(bench));
      any = true;
    }
    if (!any) return Fail("There is no case '" + wanted + "'.");
    std::printf("]\n");
  } catch (const tn::Error& error) {
    return Fail(error.what());
  }
  return 0;
}
