#include "plugins/device_cpu/tests/support.h"
#include "plugins/device_cpu/tests/tile_multipliers.h"

namespace tenon::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

struct Problem {
  int64_t batch = 2, heads = 3, queries, keys, width, value_width;
  bool causal = false, side_by_side = false;
  int mask = 0;      // 1: floats [queries, keys], 2: bytes [batch, 1, 1, keys]
  float growth = 0;  // each key is so much longer than the one before, in units of the first
};

// Operands, results and their gradients, and the same in plain double precision.
struct Case {
  explicit Case(const Problem& problem)
      : p(problem),
        q(Random(p.batch * p.heads * p.queries * p.width, 1)),
        k(Random(p.batch * p.heads * p.keys * p.width, 2)),
        v(Random(p.batch * p.heads * p.keys * p.value_width, 3)),
        dy(Random(p.batch * p.heads * p.queries * p.value_width, 4)),
        mask(Random(p.queries * p.keys, 5)),
        bytes(p.batch * p.keys, 1) {
    for (int64_t i = 0; i < k.size(); ++i) k[i] *= 1 + p.growth * static_cast<float>(i / p.width % p.keys);
    for (Array<float>* x : {&q, &k, &v, &dy}) *x = Widened(Rounded(*x));
    for (int64_t i = 0; i < mask.size(); i += 3) mask[i] = -kInfinity;
    for (int64_t i = 0; i < bytes.size(); i += 4) bytes[i] = 0;
    a.batch = p.batch, a.heads = p.heads, a.queries = p.queries, a.keys = p.keys;
    a.width = p.width, a.value_width = p.value_width, a.causal = p.causal, a.scale = 0.7f;
    a.q_at = At(p.queries, p.width), a.k_at = At(p.keys, p.width);
    a.v_at = At(p.keys, p.value_width), a.y_at = At(p.queries, p.value_width);
    a.q = q.get(), a.k = k.get(), a.v = v.get();
    if (p.mask == 1) a.mask = mask.get(), a.mask_strides[2] = p.keys, a.mask_strides[3] = 1;
    if (p.mask == 2) a.mask_bytes = bytes.get(), a.mask_strides[0] = p.keys, a.mask_strides[3] = 1;
  }

  AttentionOperand At(int64_t length, int64_t width) const {
    if (p.side_by_side) return {length * p.heads * width, width, p.heads * width};
    return {p.heads * length * width, length * width, width};
  }

  double Added(int64_t b, int64_t i, int64_t j) const {
    if (p.causal && j > i) return -kInfinity;
    if (p.mask == 1) return mask[i * p.keys + j];
    if (p.mask == 2) return bytes[b * p.keys + j] != 0 ? 0 : -kInfinity;
    return 0;
  }

  void Solve() {
    y.assign(static_cast<size_t>(dy.size()), 0);
    log_sum.assign(static_cast<size_t>(p.batch * p.heads * p.queries), -kInfinity);
    dq.assign(static_cast<size_t>(q.size()), 0), dk.assign(static_cast<size_t>(k.size()), 0);
    dv.assign(static_cast<size_t>(v.size()), 0);
    for (int64_t at = 0; at < p.batch * p.heads; ++at)
      for (int64_t i = 0; i < p.queries; ++i) SolveQuery(at, at / p.heads, at % p.heads, i);
  }

  void SolveQuery(int64_t at, int64_t b, int64_t h, int64_t i) {
    const int64_t qi = a.q_at.base(b, h) + i * a.q_at.row, yi = a.y_at.base(b, h) + i * a.y_at.row;
    std::vector<double> logits;
    double total = 0;
    for (int64_t j = 0; j < p.keys; ++j) {
      double dot = 0;
      for (int64_t c = 0; c < p.width; ++c) dot += double{q[qi + c]} * k[a.k_at.base(b, h) + j * a.k_at.row + c];
      logits.push_back(dot * double{a.scale} + Added(b, i, j));
      total += std::exp(logits.back());
    }
    if (total == 0) return;
    log_sum[static_cast<size_t>(at * p.queries + i)] = std::log(total);
    double rest = 0;
    std::vector<double> dp;
    for (int64_t j = 0; j < p.keys; ++j) {
      const int64_t vj = a.v_at.base(b, h) + j * a.v_at.row;
      const double weight = std::exp(logits[static_cast<size_t>(j)]) / total;
      double d = 0;
      for (int64_t c = 0; c < p.value_width; ++c) {
        y[static_cast<size_t>(yi + c)] += weight * v[vj + c];
        dv[static_cast<size_t>(vj + c)] += weight * dy[yi + c];
        d += double{dy[yi + c]} * v[vj + c];
      }
      dp.push_back(d);
      rest += weight * d;
    }
    for (int64_t j = 0; j < p.keys; ++j) {
      const int64_t kj = a.k_at.base(b, h) + j * a.k_at.row;
      const double weight = std::exp(logits[static_cast<size_t>(j)]) / total;
      const double ds = weight * (dp[static_cast<size_t>(j)] - rest) * double{a.scale};
      for (int64_t c = 0; c < p.width; ++c) {
        dq[static_cast<size_t>(qi + c)] += ds * k[kj + c];
        dk[static_cast<size_t>(kj + c)] += ds * q[qi + c];
      }
    }
  }

  Problem p;
  Array<float> q, k, v, dy, mask;
  Array<uint8_t> bytes;
  AttentionArgs a;
  std::vector<double> y, log_sum, dq, dk, dv;
};

void ExpectNear(const Array<float>& got, const std::vector<double>& want, const std::string& what,
                double tolerance = 2e-5) {
  for (int64_t i = 0; i < got.size(); ++i) {
    const double w = want[static_cast<size_t>(i)];
    if (std::isinf(w)) {
      ASSERT_EQ(got[i], w) << what << " " << i;
    } else {
      ASSERT_NEAR(got[i], w, tolerance * (1 + std::abs(w))) << what << " " << i;
    }
  }
}

void Check(const Problem& problem) {
  Case c(problem);
  c.Solve();
  for (const Routines* r : AllRoutines()) {
    Array<float> y(c.dy.size()), log_sum(problem.batch * problem.heads * problem.queries);
    Array<float> dq(c.q.size()), dk(c.k.size()), dv(c.v.size());
    Workspace space(std::max(r->f32.attention_workspace(c.a, 2), r->f32.attention_grad_workspace(c.a, 2)));
    r->f32.attention({c.a, y.get(), log_sum.get()}, space.get(), Threads(2));
    const std::string name =
        std::string(r->isa) + " " + std::to_string(problem.queries) + "x" + std::to_string(problem.keys);
    ExpectNear(y, c.y, name + " y");
    ExpectNear(log_sum, c.log_sum, name + " log_sum");
    r->f32.attention_grad({c.a, y.get(), c.dy.get(), log_sum.get(), dq.get(), dk.get(), dv.get()}, space.get(),
                          Threads(2));
    ExpectNear(dq, c.dq, name + " dq");
    ExpectNear(dk, c.dk, name + " dk");
    ExpectNear(dv, c.dv, name + " dv");
  }
}

// The same problem without its operands.
AttentionArgsOf<Bf16> InBf16(const AttentionArgs& of) {
  AttentionArgsOf<Bf16> a;
  a.batch = of.batch, a.heads = of.heads, a.queries = of.queries, a.keys = of.keys, a.width = of.width;
  a.value_width = of.value_width, a.q_at = of.q_at, a.k_at = of.k_at, a.v_at = of.v_at, a.y_at = of.y_at;
  a.scale = of.scale, a.causal = of.causal, a.mask = of.mask, a.mask_bytes = of.mask_bytes;
  std::copy(of.mask_strides, of.mask_strides + 4, a.mask_strides);
  return a;
}

// The same with operands and results in bf16; weights and gradients of scores may be rounded to it as well.
void CheckBf16(const Problem& problem) {
  Case c(problem);
  c.Solve();
  AttentionArgsOf<Bf16> a = InBf16(c.a);
  const auto q = Rounded(c.q), k = Rounded(c.k), v = Rounded(c.v), d = Rounded(c.dy);
  a.q = q.get(), a.k = k.get(), a.v = v.get();
  for (const auto& [r, unit] : EachOnEveryUnit()) {
    a.unit = unit.multiplier;
    Array<Bf16> y(d.size()), dq(q.size()), dk(k.size()), dv(v.size());
    Array<float> log_sum(problem.batch * problem.heads * problem.queries);
    Workspace space(std::max(r->bf16.attention_workspace(a, 2), r->bf16.attention_grad_workspace(a, 2)));
    r->bf16.attention({a, y.get(), log_sum.get()}, space.get(), Threads(2));
    r->bf16.attention_grad({a, y.get(), d.get(), log_sum.get(), dq.get(), dk.get(), dv.get()}, space.get(), Threads(2));
    const std::string name =
        unit.name + " bf16 " + std::to_string(problem.queries) + "x" + std::to_string(problem.keys);
    ExpectNear(Widened(y), c.y, name + " y", 6e-3);
    ExpectNear(log_sum, c.log_sum, name + " log_sum");
    ExpectNear(Widened(dq), c.dq, name + " dq", 1e-2);
    ExpectNear(Widened(dk), c.dk, name + " dk", 1e-2);
    ExpectNear(Widened(dv), c.dv, name + " dv", 1e-2);
  }
}

TEST(Attention, AgreesWithDoublePrecisionInBf16) {
  CheckBf16({.queries = 1, .keys = 1, .width = 1, .value_width = 1});
  CheckBf16({.queries = 7, .keys = 13, .width = 5, .value_width = 3});
  CheckBf16({.queries = 33, .keys = 129, .width = 16, .value_width = 24});
  CheckBf16({.queries = 131, .keys = 257, .width = 33, .value_width = 17});
  CheckBf16({.queries = 70, .keys = 70, .width = 32, .value_width = 32, .side_by_side = true});
  CheckBf16({.queries = 9, .keys = 5, .width = 17, .value_width = 2, .side_by_side = true});
  CheckBf16({.queries = 101, .keys = 101, .width = 8, .value_width = 8, .causal = true});
  CheckBf16({.queries = 200, .keys = 40, .width = 64, .value_width = 64, .causal = true});
  CheckBf16({.queries = 20, .keys = 151, .width = 8, .value_width = 8, .causal = true, .mask = 1});
  CheckBf16({.queries = 12, .keys = 9, .width = 8, .value_width = 8, .causal = true, .mask = 2});
}

TEST(Attention, AgreesWithDoublePrecision) {
  Check({.queries = 1, .keys = 1, .width = 1, .value_width = 1});
  Check({.queries = 7, .keys = 13, .width = 5, .value_width = 3});
  Check({.queries = 33, .keys = 129, .width = 16, .value_width = 24});
  Check({.queries = 130, .keys = 257, .width = 20, .value_width = 16});
}

// The largest score of a query may come in any block of keys, and exceed those before it by much.
TEST(Attention, TakesScoresThatGrow) {
  Check({.queries = 40, .keys = 500, .width = 4, .value_width = 4, .growth = 0.05f});
  Check({.queries = 300, .keys = 300, .width = 4, .value_width = 4, .causal = true, .growth = 0.05f});
  CheckBf16({.queries = 40, .keys = 500, .width = 4, .value_width = 4, .growth = 0.01f});
}

TEST(Attention, TakesHeadsSideBySide) {
  Check({.queries = 70, .keys = 70, .width = 32, .value_width = 32, .side_by_side = true});
  Check({.queries = 9, .keys = 5, .width = 17, .value_width = 2, .side_by_side = true});
}

TEST(Attention, CausalReadsNothingBehindTheQuery) {
  Check({.queries = 1, .keys = 4, .width = 3, .value_width = 3, .causal = true});
  Check({.queries = 100, .keys = 100, .width = 8, .value_width = 8, .causal = true});
  Check({.queries = 40, .keys = 200, .width = 8, .value_width = 8, .causal = true});
  Check({.queries = 200, .keys = 40, .width = 8, .value_width = 8, .causal = true});
}

TEST(Attention, AddsMasksAndGivesZeroWithoutKeys) {
  Check({.queries = 20, .keys = 31, .width = 8, .value_width = 8, .mask = 1});
  Check({.queries = 20, .keys = 150, .width = 8, .value_width = 8, .causal = true, .mask = 1});
  Check({.queries = 12, .keys = 9, .width = 8, .value_width = 8, .causal = true, .mask = 2});  // query 0 has no key
}

TEST(Attention, NanStaysWithinItsQueries) {
  for (const Routines* r : AllRoutines()) {
    Case c({.batch = 1, .heads = 1, .queries = 40, .keys = 40, .width = 4, .value_width = 4, .causal = true});
    c.k[35 * 4] = std::nanf("");
    Array<float> y(c.dy.size());
    Workspace space(r->f32.attention_workspace(c.a, 1));
    r->f32.attention({c.a, y.get(), nullptr}, space.get(), {});
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(y[i * 4]), i >= 35) << r->isa << " " << i;
    const auto q = Rounded(c.q), k = Rounded(c.k), v = Rounded(c.v);
    AttentionArgsOf<Bf16> a = InBf16(c.a);
    a.q = q.get(), a.k = k.get(), a.v = v.get();
    Array<Bf16> narrow(c.dy.size());
    Workspace narrow_space(r->bf16.attention_workspace(a, 1));
    r->bf16.attention({a, narrow.get(), nullptr}, narrow_space.get(), {});
    const Array<float> wide = Widened(narrow);
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(wide[i * 4]), i >= 35) << r->isa << " bf16 " << i;
  }
}

// With v the identity the result is the dropped probabilities: those of the plain result or 0, the same in every table, and
// the gradient is that of the finite difference.
TEST(Attention, DropsTheSameElementsEverywhere) {
  Case c({.batch = 1, .heads = 2, .queries = 5, .keys = 21, .width = 4, .value_width = 21});
  for (int64_t i = 0; i < c.v.size(); ++i) c.v[i] = i % (21 * 21) % 22 == 0 ? 1.0f : 0.0f;
  Array<float> plain(c.dy.size()), first(c.dy.size()), y(c.dy.size()), log_sum(10), dv(c.v.size());
  const Routines* base = AllRoutines().front();
  Workspace space(int64_t{1} << 20);
  base->f32.attention({c.a, plain.get(), nullptr}, space.get(), {});
  c.a.dropout = 0.3, c.a.random_key = 99, c.a.random_offset = 7;
  base->f32.attention({c.a, first.get(), nullptr}, space.get(), {});
  int64_t dropped = 0;
  for (int64_t i = 0; i < first.size(); ++i) {
    dropped += first[i] == 0 ? 1 : 0;
    ASSERT_NEAR(first[i], first[i] == 0 ? 0 : plain[i] / 0.7f, 1e-5) << i;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(first.size()), 0.3, 0.12);
  for (const Routines* r : AllRoutines()) {
    Workspace own(std::max(r->f32.attention_workspace(c.a, 2), r->f32.attention_grad_workspace(c.a, 2)));
    r->f32.attention({c.a, y.get(), log_sum.get()}, own.get(), Threads(2));
    for (int64_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], first[i], 1e-6) << r->isa << " " << i;
    AttentionGradArgs g{c.a, y.get(), c.dy.get(), log_sum.get(), nullptr, nullptr, dv.get()};
    r->f32.attention_grad(g, own.get(), Threads(2));
    for (int64_t h = 0; h < 2; ++h)  // dv[j] = sum over queries of the dropped probability times dy
      for (int64_t j = 0; j < 21; ++j) {
        double want = 0;
        for (int64_t i = 0; i < 5; ++i) want += double{first[(h * 5 + i) * 21 + j]} * c.dy[(h * 5 + i) * 21 + 3];
        ASSERT_NEAR(dv[(h * 21 + j) * 21 + 3], want, 1e-5) << r->isa;
      }
  }
}

}  // namespace
}  // namespace tenon::cpu
