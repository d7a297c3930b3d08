// The gradient operator of a fused operator.
#pragma once

#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {

// `op_type` of this plugin's domain takes `sources` and gives the gradients of the inputs `inputs`. Both arrays are kept.
template <uint32_t kSources, uint32_t kInputs>
constexpr tenon_paired_gradient PairedGradient(std::string_view op_type,
                                               const tenon_gradient_source (&sources)[kSources],
                                               const uint32_t (&inputs)[kInputs]) {
  tenon_paired_gradient g = TENON_INIT(tenon_paired_gradient);
  g.version = 1;
  g.domain = sdk::Str(kDomain);
  g.op_type = sdk::Str(op_type);
  g.sources = sources;
  g.source_count = kSources;
  g.grad_inputs = inputs;
  g.grad_input_count = kInputs;
  return g;
}

}  // namespace tenon::cpu
