// org.tenon.custom.SwiGLU(Gate, Up) -> Y:  Y = Gate * sigmoid(Gate) * Up, elementwise over one shape.
// Source: Shazeer 2020, "GLU Variants Improve Transformer", eq. 5, without the two products before it.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

template <class T>
struct SwiGluArgs {
  const T* gate = nullptr;
  const T* up = nullptr;
  T* y = nullptr;         // forward
  const T* dy = nullptr;  // backward
  T* d_gate = nullptr;
  T* d_up = nullptr;
};
template <class T>
struct SwiGluLoopsOf {
  void (*forward)(const SwiGluArgs<T>&, Range elements);
  void (*backward)(const SwiGluArgs<T>&, Range elements);
};
using SwiGluLoops = BothTypes<SwiGluLoopsOf>;

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/loops.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

// Elements between two fetches. Memory is what the loops wait for: operands are fetched so many chunks before their use.
constexpr int64_t kChunk = 64, kAhead = 8;

template <class T>
TENON_INLINE void FetchAhead(const T* chunk) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < kChunk; i += kLine) __builtin_prefetch(chunk + kAhead * kChunk + i);
}

// body(range) for chunk after chunk, and for what remains.
template <class Body>
TENON_INLINE void EachChunk(Range elements, const Body& body) {
  int64_t first = elements.begin;
  for (; first + kChunk <= elements.end; first += kChunk) body(Range{first, first + kChunk});
  if (first < elements.end) body(Range{first, elements.end});
}

template <class T>
void Forward(const SwiGluArgs<T>& a, Range elements) {
  const T *gate = a.gate, *up = a.up;
  T* y = a.y;
  EachChunk(elements, [=](Range chunk) {
    FetchAhead(gate + chunk.begin);
    FetchAhead(up + chunk.begin);
    TENON_SIMD for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      const float g = Load(gate[i]);
      Store(y[i], g * Sigmoid(g) * Load(up[i]));
    }
  });
}

// dUp = dY silu(g), dGate = dY Up (s + g s (1 - s)) with s = sigmoid(g).
template <class T>
void Backward(const SwiGluArgs<T>& a, Range elements) {
  const T *gate = a.gate, *up = a.up, *dy = a.dy;
  T *d_gate = a.d_gate, *d_up = a.d_up;
  EachChunk(elements, [=](Range chunk) {
    FetchAhead(gate + chunk.begin);
    FetchAhead(up + chunk.begin);
    FetchAhead(dy + chunk.begin);
    TENON_SIMD for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      const float g = Load(gate[i]), d = Load(dy[i]), s = Sigmoid(g), silu = g * s;
      Store(d_gate[i], d * Load(up[i]) * (s + silu * (1.0f - s)));
      Store(d_up[i], d * silu);
    }
  });
}

}  // namespace

extern const SwiGluLoops kSwiGlu;
const SwiGluLoops kSwiGlu = {{&Forward<float>, &Backward<float>}, {&Forward<Bf16>, &Backward<Bf16>}};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(SwiGluLoops, kSwiGlu);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("Gate", 0, kF32OrBf16, 1), sdk::Param("Up", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32OrBf16, 1), sdk::Param("Gate", 0, kF32OrBf16, 1),
                                           sdk::Param("Up", 0, kF32OrBf16, 1)};
constexpr tenon_param_def kGradOutputs[] = {sdk::Param("dGate", 0, kF32OrBf16, 1), sdk::Param("dUp", 0, kF32OrBf16, 1)};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0), sdk::FromInput(1)};
constexpr uint32_t kGradOf[] = {0, 1};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "SwiGLUGrad", 1, kSources, kGradOf);

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireSameShape(node, 0, 1, "Gate", "Up");
    node.SameAsInput(0, 0);
  });
}

constexpr tenon_operator_def kOperator =
    sdk::OperatorBuilder(kDomain, "SwiGLU", 1).Inputs(kInputs).Outputs(kOutputs).Infer(&Infer).Paired(&kGradient);

template <class T>
class SwiGluKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return IsOf<T>(query, 0, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetThreads(args);
    elements_ = args.output(0).elements();
    return TENON_OK;
  }

 protected:
  static constexpr double kNanoseconds = 0.5;  // of an element

  int64_t elements_ = 0;
};

template <class T>
class Forward : public SwiGluKernel<T> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const SwiGluArgs<T> args{call.in<T>(0), call.in<T>(1), call.out<T>(0)};
    const auto loop = kSwiGlu(this->isa()).template of<T>().forward;
    return this->ForEach(error, this->elements_, this->kNanoseconds, [&](Range r, uint32_t) { loop(args, r); });
  }
};

template <class T>
class Backward : public SwiGluKernel<T> {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const SwiGluArgs<T> args{call.in<T>(1), call.in<T>(2), nullptr, call.in<T>(0), call.out<T>(0), call.out<T>(1)};
    const auto loop = kSwiGlu(this->isa()).template of<T>().backward;
    return this->ForEach(error, this->elements_, this->kNanoseconds, [&](Range r, uint32_t) { loop(args, r); });
  }
};

}  // namespace

void AddSwiGlu(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "SwiGLUGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward<float>>("SwiGLU", "swi_glu");
  library.AddKernel<Forward<Bf16>>("SwiGLU", "swi_glu_bf16");
  library.AddKernel<Backward<float>>("SwiGLUGrad", "swi_glu_grad");
  library.AddKernel<Backward<Bf16>>("SwiGLUGrad", "swi_glu_grad_bf16");
}

}  // namespace tenon::ops
#endif
