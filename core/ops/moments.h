#pragma once

#include "core/ops/optimizer.h"

namespace tenon {

// What Adam, AdamW and Lamb share: of each gradient two moments, m and v, corrected for the zeros with which they begin. The
// files of the operators state the formulas.
struct MomentSettings {
  double lr, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta1^t, sqrt(1 - beta2^t)
};

// A parameter, its moments and its gradient; and where the new ones go.
template <class T>
struct MomentSlots {
  const T *w, *m, *v, *g;
  T *w_out, *m_out, *v_out;
};

inline constexpr OptimizerGroups kMomentGroups{.scalars = 2, .updated = 3};

Result<MomentSettings> MomentSettingsOf(const ReferenceArgs& args);

// Calls update(settings, number of elements, slots) for each parameter.
template <class Update>
Status UpdateMoments(const ReferenceArgs& args, Update update) {
  TENON_ASSIGN(const MomentSettings settings, MomentSettingsOf(args));
  const std::int64_t count = args.attrs.Int("count");
  for (std::int64_t k = 0; k < count; ++k) {
    const auto in = [&](int group) -> const Tensor& { return args.inputs[kMomentGroups.Input(group, k, count)]; };
    const auto out = [&](int group) -> Tensor& { return args.outputs[static_cast<std::size_t>(group * count + k)]; };
    ForFloating(in(0).dtype(), [&]<class T>() {
      update(settings, in(0).elements(),
             MomentSlots<T>{in(0).template data<T>(), in(1).template data<T>(), in(2).template data<T>(),
                            in(3).template data<T>(), out(0).template data<T>(), out(1).template data<T>(),
                            out(2).template data<T>()});
    });
  }
  return {};
}

void DefineMoments(OpRegistry& ops, const char* type, double epsilon, double weight_decay, ReferenceFn reference);

}  // namespace tenon
