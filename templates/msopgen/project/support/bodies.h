// From the formula of an operator (op_kernel/<op>.h) to the bodies of its kernels.
#pragma once

#include "support/elementwise.h"
#include "support/gradient.h"
#include "support/kernel.h"
#include "support/reduction.h"

namespace support {

// What a body takes from the formula: attributes and types.
template <class Formula>
struct ForwardBody {
  using Attributes = typename Formula::Attributes;
  static constexpr const Signature& signature() { return Formula::signature(); }
  static Attributes Read(const FindAttribute& find) { return Formula::Read(find); }
};
template <class Formula>
struct BackwardBody {
  using Attributes = typename Formula::Attributes;
  static constexpr const Signature& signature() { return Formula::gradient_signature(); }
  static Attributes Read(const FindAttribute& find) { return Formula::Read(find); }
  template <class T>
  static BackwardArrays<T> Arrange(const Arrays<T>& inputs, const Arrays<T>& outputs) {
    return Sort(Formula::signature(), Formula::differentiable(), inputs, outputs);
  }
};

// Calls body(inputs, outputs) once, or once for each member of the dynamic operands when outputs are dynamic too.
template <class T, class Body>
void EachMember(const Signature& signature, const Arrays<T>& in, const Arrays<T>& out, Body&& body) {
  if (signature.dynamic_outputs == 0) return body(in, out);
  const uint32_t share = Share(static_cast<uint32_t>(in.size()), signature.fixed_inputs, signature.dynamic_inputs);
  for (uint32_t i = 0; i < share; ++i)
    body(Member(in, signature.fixed_inputs, signature.dynamic_inputs, i),
         Member(out, signature.fixed_outputs, signature.dynamic_outputs, i));
}

template <class Formula>
struct ElementwiseForward : ForwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    EachMember(Formula::signature(), inputs, outputs,
               [&](const Arrays<T>& in, Arrays<T> out) { RunElements<Formula>(attributes, in, out); });
  }
};
template <class Formula>
struct ElementwiseBackward : BackwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    const BackwardArrays<T> all = BackwardBody<Formula>::Arrange(inputs, outputs);
    const Signature& signature = Formula::signature();
    if (signature.dynamic_outputs == 0) {
      Arrays<T> din = all.din;
      return RunElementGradients<Formula>(attributes, all.in, all.dout, din);
    }
    const uint32_t share =
        Share(static_cast<uint32_t>(all.in.size()), signature.fixed_inputs, signature.dynamic_inputs);
    for (uint32_t i = 0; i < share; ++i) {
      Arrays<T> din = Member(all.din, signature.fixed_inputs, signature.dynamic_inputs, i);
      RunElementGradients<Formula>(attributes, Member(all.in, signature.fixed_inputs, signature.dynamic_inputs, i),
                                   Member(all.dout, signature.fixed_outputs, signature.dynamic_outputs, i), din);
    }
  }
};

template <class Formula>
struct ReductionForward : ForwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    RunReduction<Formula>(attributes, Formula::Axes(attributes), inputs[0], outputs[0]);
  }
};
template <class Formula>
struct ReductionBackward : BackwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    RunReductionGradient<Formula>(attributes, Formula::Axes(attributes), inputs[1], inputs[0], outputs[0]);
  }
};

template <class Formula>
struct GenericForward : ForwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    auto out = Formula::PackOutputs(outputs);
    Formula::Compute(Formula::PackInputs(inputs), attributes, out);
  }
};
template <class Formula>
struct GenericBackward : BackwardBody<Formula> {
  template <class T>
  static void Run(const typename Formula::Attributes& attributes, const Arrays<T>& inputs, Arrays<T>& outputs) {
    const BackwardArrays<T> all = BackwardBody<Formula>::Arrange(inputs, outputs);
    auto din = Formula::PackInputs(all.din);
    Formula::ComputeGradient(Formula::PackInputs(all.in), Formula::PackOutputs(all.dout), attributes, din);
  }
};

}  // namespace support
