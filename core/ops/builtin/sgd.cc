// tenon.SGD: for every parameter w with gradient g and momentum buffer v (zero before the first step),
//   g' = g + weight_decay * w,   v = momentum * v + g',   w = w - lr * (nesterov ? g' + momentum * v : v);
// without momentum w = w - lr * g'. Inputs: lr f32 scalar, `count` parameters, `count` buffers (absent when momentum is
// 0), `count` gradients; outputs: the parameters and buffers, updated where they lie. Semantics of torch.optim.SGD
// (dampening 0).
#include "core/ops/optimizer.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const Attributes& attrs = context.attrs();
  const double momentum = attrs.Float("momentum");
  TENON_INVALID_IF(momentum < 0, "SGD momentum is {}; it cannot be negative.", momentum);
  TENON_INVALID_IF(attrs.Int("nesterov") != 0 && momentum == 0, "SGD with nesterov needs a momentum above 0.");
  if (momentum == 0) return InferOptimizer(context, {.scalars = 1, .updated = 1}, {"parameter", "gradient"});
  return InferOptimizer(context, {.scalars = 1, .updated = 2}, {"parameter", "momentum buffer", "gradient"});
}

struct Settings {
  double lr, momentum, weight_decay;
  bool nesterov;
};

template <class T>
void Update(const Settings& s, std::int64_t n, const T* g, const T* w, const T* v, T* w_out, T* v_out) {
  using A = Accumulator<T>;
  const A lr = static_cast<A>(s.lr), momentum = static_cast<A>(s.momentum), decay = static_cast<A>(s.weight_decay);
  for (std::int64_t i = 0; i < n; ++i) {
    A step = static_cast<A>(g[i]) + decay * static_cast<A>(w[i]);
    if (v != nullptr) {
      const A buffer = momentum * static_cast<A>(v[i]) + step;
      v_out[i] = static_cast<T>(buffer);
      step = s.nesterov ? step + momentum * buffer : buffer;
    }
    w_out[i] = static_cast<T>(static_cast<A>(w[i]) - lr * step);
  }
}

Status Reference(const ReferenceArgs& args) {
  const Settings settings{ScalarInput(args, 0), args.attrs.Float("momentum"), args.attrs.Float("weight_decay"),
                          args.attrs.Int("nesterov") != 0};
  const bool buffered = settings.momentum != 0;
  const std::int64_t count = args.attrs.Int("count");
  const OptimizerGroups groups{.scalars = 1, .updated = buffered ? 2 : 1};
  for (std::int64_t k = 0; k < count; ++k) {
    const Tensor& w = args.inputs[groups.Input(0, k, count)];
    const Tensor& g = args.inputs[groups.Input(groups.updated, k, count)];
    Tensor& w_out = args.outputs[static_cast<std::size_t>(k)];
    const Tensor* v = buffered ? &args.inputs[groups.Input(1, k, count)] : nullptr;
    Tensor* v_out = buffered ? &args.outputs[static_cast<std::size_t>(count + k)] : nullptr;
    ForFloating(w.dtype(), [&]<class T>() {
      Update<T>(settings, w.elements(), g.data<T>(), w.data<T>(), v ? v->data<T>() : nullptr, w_out.data<T>(),
                v_out ? v_out->data<T>() : nullptr);
    });
  }
  return {};
}

}  // namespace

void DefineOp_sgd(OpRegistry& ops) {
  ops.DefineTenon("SGD")
      .Input("lr", {DType::kF32}, "lr")
      .VariadicInput("tensors", kFloatingTypes, "")
      .VariadicOutput("updated")
      .UpdatesInputs(1)
      .Attr("momentum", 0.0)
      .Attr("weight_decay", 0.0)
      .Attr("nesterov", 0)
      .RequiredAttr("count", AttrType::kInt)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
