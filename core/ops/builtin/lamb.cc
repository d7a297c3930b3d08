// tenon.Lamb: for every parameter w with gradient g, moments m and v (zero before the first step) and step t = 1, 2, ..,
//   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
//   r = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon) + weight_decay * w,
//   w = w - lr * |w| / |r| * r   with L2 norms over the parameter; the factor |w| / |r| is 1 where either norm is 0.
// Inputs: lr f32 scalar, step i64 scalar, then `count` parameters, m, v and gradients; outputs: parameters, m, v, updated
// where they lie. Source: You et al. 2020, algorithm 2 with phi(z) = z, which is also what MindSpore's nn.Lamb states.
#include <cmath>
#include <vector>

#include "core/ops/optimizer.h"

namespace tenon {
namespace {

constexpr OptimizerGroups kGroups{.scalars = 2, .updated = 3};

Status Infer(InferContext& context) {
  for (const char* name : {"beta1", "beta2"}) {
    const double beta = context.attrs().Float(name);
    TENON_INVALID_IF(!(beta >= 0 && beta < 1), "{} is {}; it must be in [0, 1).", name, beta);
  }
  return InferOptimizer(context, kGroups, {"parameter", "first moment", "second moment", "gradient"});
}

struct Settings {
  double lr, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta1^t, sqrt(1 - beta2^t)
};

template <class T>
struct Slots {
  const T *w, *m, *v, *g;
  T *w_out, *m_out, *v_out;
};

template <class T>
void Update(const Settings& s, std::int64_t n, const Slots<T>& t) {
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
  const std::int64_t count = args.attrs.Int("count"), step = *args.inputs[1].data<std::int64_t>();
  TENON_INVALID_IF(step < 1, "The step of an optimiser counts from 1; it is {}.", step);
  Settings s{ScalarInput(args, 0),
             args.attrs.Float("beta1"),
             args.attrs.Float("beta2"),
             args.attrs.Float("epsilon"),
             args.attrs.Float("weight_decay"),
             0,
             0};
  s.correction1 = 1 - std::pow(s.beta1, static_cast<double>(step));
  s.correction2 = std::sqrt(1 - std::pow(s.beta2, static_cast<double>(step)));
  for (std::int64_t k = 0; k < count; ++k) {
    const auto in = [&](int group) -> const Tensor& { return args.inputs[kGroups.Input(group, k, count)]; };
    const auto out = [&](int group) -> Tensor& { return args.outputs[static_cast<std::size_t>(group * count + k)]; };
    ForFloating(in(0).dtype(), [&]<class T>() {
      Update<T>(s, in(0).elements(),
                {in(0).template data<T>(), in(1).template data<T>(), in(2).template data<T>(), in(3).template data<T>(),
                 out(0).template data<T>(), out(1).template data<T>(), out(2).template data<T>()});
    });
  }
  return {};
}

}  // namespace

void DefineOp_lamb(OpRegistry& ops) {
  ops.DefineTenon("Lamb")
      .Input("lr", {DType::kF32}, "lr")
      .Input("step", {DType::kI64}, "step")
      .VariadicInput("tensors", kFloatingTypes, "")
      .VariadicOutput("updated")
      .UpdatesInputs(2)
      .Attr("beta1", 0.9)
      .Attr("beta2", 0.999)
      .Attr("epsilon", 1e-6)
      .Attr("weight_decay", 0.0)
      .RequiredAttr("count", AttrType::kInt)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
