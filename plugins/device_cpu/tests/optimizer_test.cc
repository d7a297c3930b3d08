#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

TEST(Optimizer, SgdFollowsItsFormula) {
  for (const Routines* r : AllRoutines())
    for (int64_t n : {1, 5, 64, 1001})
      for (int form = 0; form < 4; ++form) {
        auto p = Random(n, 1), m = Random(n, 2);
        const auto g = Random(n, 3);
        const double momentum = form == 0 ? 0 : 0.9, decay = form == 2 ? 0 : 0.1;
        const bool nesterov = form == 3;
        std::vector<double> want_p, want_m;
        for (int64_t i = 0; i < n; ++i) {
          const double d = g[i] + decay * p[i], b = momentum * m[i] + d;
          want_m.push_back(form == 0 ? m[i] : b);
          want_p.push_back(p[i] - 0.05 * (form == 0 ? d : nesterov ? d + momentum * b : b));
        }
        SgdArgs a;
        a.count = n, a.p = a.p_out = p.get(), a.g = g.get(), a.m = a.m_out = m.get(), a.lr = 0.05f;
        a.p_out = p.get(), a.m_out = m.get();
        a.momentum = static_cast<float>(momentum), a.weight_decay = static_cast<float>(decay), a.nesterov = nesterov;
        r->sgd(a, Threads(2));
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_NEAR(p[i], want_p[static_cast<size_t>(i)], 1e-6) << r->isa << form;
          ASSERT_NEAR(m[i], want_m[static_cast<size_t>(i)], 1e-6) << r->isa << form;
        }
      }
}

TEST(Optimizer, AdamFollowsItsFormula) {
  for (const Routines* r : AllRoutines())
    for (int64_t n : {3, 257})
      for (bool decoupled : {false, true}) {
        auto p = Random(n, 1), m = Random(n, 2), v = Random(n, 3, 0, 1);
        const auto g = Random(n, 4);
        AdamArgs a;
        a.count = n, a.p = p.get(), a.g = g.get(), a.m = m.get(), a.v = v.get(), a.lr = 0.01f, a.weight_decay = 0.1f;
        a.decoupled = decoupled, a.bias1 = 1 - std::pow(0.9, 3), a.bias2 = 1 - std::pow(0.999, 3);
        a.p_out = p.get(), a.m_out = m.get(), a.v_out = v.get();
        std::vector<double> want;
        for (int64_t i = 0; i < n; ++i) {
          const double d = g[i] + (decoupled ? 0 : 0.1 * p[i]), mm = 0.9 * m[i] + 0.1 * d,
                       vv = 0.999 * v[i] + 0.001 * d * d;
          want.push_back(p[i] * (decoupled ? 1 - 0.001 : 1) - 0.01 / a.bias1 * mm / (std::sqrt(vv / a.bias2) + 1e-8));
        }
        r->adam(a, Threads(1));
        for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(p[i], want[static_cast<size_t>(i)], 1e-6) << r->isa;
      }
}

TEST(Optimizer, DenormalMomentsBecomeZero) {
  for (const Routines* r : AllRoutines()) {
    Array<float> p(9, 1.0f), g(9), m(9, 1.2e-38f);
    SgdArgs a;
    a.count = 9, a.p = p.get(), a.g = g.get(), a.m = m.get(), a.lr = 0.1f, a.momentum = 0.9f;
    a.p_out = p.get(), a.m_out = m.get();
    r->sgd(a, Threads(1));
    for (int64_t i = 0; i < 9; ++i) ASSERT_EQ(m[i], 0.0f) << r->isa;
    volatile float small = 1.2e-38f;
    ASSERT_GT(small * 0.5f, 0.0f) << "the mode of the calling thread was not restored";
  }
}

}  // namespace
}  // namespace tenon::cpu
