// The plugin: its option, the choice of the instruction set, and the tables that the files in ops/ fill.
#include "plugins/ops_custom/definition.h"

namespace tenon::ops {
namespace {

constexpr std::string_view kIsaNames[] = {"sse2", "avx2", "avx512"};

// As the compiler flags of the loops: x86-64, -v3 and -v4.
Isa BestIsa() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  if (!avx2) return Isa::kSse2;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}

}  // namespace

int32_t CustomOps::Start(const tenon_create_args&, sdk::Error& error) {
  std::string_view wanted;
  const int32_t code =
      host().Option("isa", "auto", "instruction set of the loops: auto, sse2, avx2 or avx512", wanted, error);
  if (code != TENON_OK) return code;
  const Isa best = BestIsa();
  if (wanted == "auto") {
    isa_ = best;
    return TENON_OK;
  }
  for (const Isa isa : {Isa::kSse2, Isa::kAvx2, Isa::kAvx512}) {
    if (wanted != kIsaNames[static_cast<int>(isa)]) continue;
    if (isa > best) {
      return error.Fail(TENON_INVALID_ARGUMENT, "Option isa is '", wanted,
                        "', which this processor does not have; its best is '", kIsaNames[static_cast<int>(best)],
                        "'.");
    }
    isa_ = isa;
    return TENON_OK;
  }
  return error.Fail(TENON_INVALID_ARGUMENT, "Option isa is '", wanted, "'; it can be auto, sse2, avx2 or avx512.");
}

namespace {

const Library& TheLibrary() {
  static const Library library = [] {
    Library all;
    AddAttention(all);
    AddCtcLoss(all);
    AddDeformConv(all);
    AddEmbeddingBag(all);
    AddFocalLoss(all);
    AddRotaryEmbedding(all);
    AddSoftmaxCrossEntropy(all);
    AddSwiGlu(all);
    return all;
  }();
  return library;
}

struct Tables {
  static sdk::Table<tenon_operator_def> Operators() {
    return {TheLibrary().operators.data(), TheLibrary().operators.size()};
  }
  static sdk::Table<tenon_kernel_def> Kernels() { return {TheLibrary().kernels.data(), TheLibrary().kernels.size()}; }
};

constexpr tenon_interface kInterfaces[] = {sdk::OpInterface<Tables>()};

}  // namespace
}  // namespace tenon::ops

TENON_SDK_PLUGIN(tenon::ops::CustomOps, "org.tenon.ops_custom", "0.1.0", "Tenon authors", "Apache-2.0", TENON_KIND_OP,
                 tenon::ops::kInterfaces);
