// Kernels whose work is Body::Run<T> over operands in host memory. Body has
//   using Attributes = ...;  static constexpr const Signature& signature();  static Attributes Read(const FindAttribute&);
//   template <class T> static void Run(const Attributes&, const Arrays<T>& inputs, Arrays<T>& outputs);
#pragma once

#include "support/arrays.h"
#include "support/attributes.h"
#include "support/signature.h"

namespace support {

template <class Body>
class CpuKernel : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsTypes(Body::signature(), query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    attributes_ = Body::Read(AttributesOf(query));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    operands_ = Operands::Of(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (uint32_t i = 0; i < call.input_count(); ++i) inputs.push_back(call.has_input(i) ? call.in<void>(i) : nullptr);
    for (uint32_t i = 0; i < call.output_count(); ++i)
      outputs.push_back(call.has_output(i) ? call.out<void>(i) : nullptr);
    Run<Body>(attributes_, operands_, inputs.data(), outputs.data());
    return TENON_OK;
  }

 private:
  typename Body::Attributes attributes_;
  Operands operands_;
};

// Empty operands are served too: a reduction over nothing has a value.
constexpr sdk::KernelOptions ReferenceOptions() {
  sdk::KernelOptions options;
  options.traits = TENON_TRAIT_DETERMINISTIC | TENON_TRAIT_EMPTY_SAFE;
  return options;
}

}  // namespace support
