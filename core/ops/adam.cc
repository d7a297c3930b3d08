#include "core/ops/adam.h"

#include <cmath>

#include "core/ops/moments.h"

namespace tenon {
namespace {

template <class T>
void Update(const MomentSettings& s, std::int64_t n, const MomentSlots<T>& t, bool decoupled) {
  using A = Accumulator<T>;
  const A beta1 = static_cast<A>(s.beta1), beta2 = static_cast<A>(s.beta2), epsilon = static_cast<A>(s.epsilon);
  const A decay = static_cast<A>(s.weight_decay), shrink = static_cast<A>(1 - s.lr * s.weight_decay);
  const A rest1 = static_cast<A>(1 - s.beta1), rest2 = static_cast<A>(1 - s.beta2);
  const A step = static_cast<A>(s.lr / s.correction1), correction2 = static_cast<A>(s.correction2);
  for (std::int64_t i = 0; i < n; ++i) {
    A w = static_cast<A>(t.w[i]), g = static_cast<A>(t.g[i]);
    if (decoupled) {
      w *= shrink;
    } else {
      g += decay * w;
    }
    const A m = beta1 * static_cast<A>(t.m[i]) + rest1 * g;
    const A v = beta2 * static_cast<A>(t.v[i]) + rest2 * g * g;
    t.m_out[i] = static_cast<T>(m);
    t.v_out[i] = static_cast<T>(v);
    t.w_out[i] = static_cast<T>(w - step * m / (std::sqrt(v) / correction2 + epsilon));
  }
}

}  // namespace

Status UpdateAdam(const ReferenceArgs& args, bool decoupled) {
  return UpdateMoments(args, [decoupled]<class T>(const MomentSettings& s, std::int64_t n, const MomentSlots<T>& t) {
    Update(s, n, t, decoupled);
  });
}

}  // namespace tenon
