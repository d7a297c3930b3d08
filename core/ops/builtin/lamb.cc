// tenon.Lamb: for every parameter w with gradient g, moments m and v (zero before the first step) and step t = 1, 2, ..,
//   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
//   r = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon) + weight_decay * w,
//   w = w - lr * |w| / |r| * r   with L2 norms over the parameter; the factor |w| / |r| is 1 where either norm is 0.
// Inputs: lr f32 scalar, step i64 scalar, then `count` parameters, m, v and gradients; outputs: parameters, m, v, updated
// where they lie. Source: You et al. 2020, algorithm 2 with phi(z) = z, which is also what MindSpore's nn.Lamb states.
#include <cmath>
#include <vector>

#include "core/ops/moments.h"

namespace tenon {
namespace {

template <class T>
void Update(const MomentSettings& s, std::int64_t n, const MomentSlots<T>& t) {
  using A = Accumulator<T>;
  const A beta1 = static_cast<A>(s.beta1), beta2 = static_cast<A>(s.beta2), epsilon = static_cast<A>(s.epsilon);
  const A rest1 = static_cast<A>(1 - s.beta1), rest2 = static_cast<A>(1 - s.beta2);
  const A decay = static_cast<A>(s.weight_decay);
  const A correction1 = static_cast<A>(s.correction1), correction2 = static_cast<A>(s.correction2);
  std::vector<A> direction(static_cast<std::size_t>(n));
  double w_squares = 0, r_squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const A w = static_cast<A>(t.w[i]), g = static_cast<A>(t.g[i]);
    const A m = beta1 * static_cast<A>(t.m[i]) + rest1 * g;
    const A v = beta2 * static_cast<A>(t.v[i]) + rest2 * g * g;
    const A r = m / correction1 / (std::sqrt(v) / correction2 + epsilon) + decay * w;
    t.m_out[i] = static_cast<T>(m);
    t.v_out[i] = static_cast<T>(v);
    direction[static_cast<std::size_t>(i)] = r;
    w_squares += static_cast<double>(w) * static_cast<double>(w);
    r_squares += static_cast<double>(r) * static_cast<double>(r);
  }
  const double ratio = w_squares > 0 && r_squares > 0 ? std::sqrt(w_squares) / std::sqrt(r_squares) : 1.0;
  const A step = static_cast<A>(s.lr * ratio);
  for (std::int64_t i = 0; i < n; ++i) {
    t.w_out[i] = static_cast<T>(static_cast<A>(t.w[i]) - step * direction[static_cast<std::size_t>(i)]);
  }
}

Status Reference(const ReferenceArgs& args) {
  return UpdateMoments(
      args, []<class T>(const MomentSettings& s, std::int64_t n, const MomentSlots<T>& t) { Update(s, n, t); });
}

}  // namespace

void DefineOp_lamb(OpRegistry& ops) { DefineMoments(ops, "Lamb", /*epsilon=*/1e-6, /*weight_decay=*/0.0, Reference); }

}  // namespace tenon
