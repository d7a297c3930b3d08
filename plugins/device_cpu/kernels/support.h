// What kernel files share.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {

// The host's pool in the form the routines take, for one call.
class KernelPool {
 public:
  KernelPool(sdk::Host host, sdk::Error& error, int64_t threads = 0) : host_(host), error_(&error) {
    parallel_.context = this;
    parallel_.threads = threads > 0 ? threads : static_cast<int64_t>(host.ThreadBudget());
    if (parallel_.threads > 1) parallel_.run = &Run;
  }
  KernelPool(const KernelPool&) = delete;
  KernelPool& operator=(const KernelPool&) = delete;
  const Parallel& parallel() const { return parallel_; }
  // What a kernel returns when its routine is done.
  int32_t code() const { return code_; }

 private:
  static void Run(void* context, int64_t count, Parallel::Body body, void* user) {
    KernelPool& self = *static_cast<KernelPool*>(context);
    auto piece = [body, user](int64_t begin, int64_t end, uint32_t) {
      for (int64_t i = begin; i < end; ++i) body(user, i);
    };
    const int32_t code = self.host_.ParallelFor(count, 1, 0, *self.error_, piece);
    if (code != TENON_OK) self.code_ = code;
  }

  sdk::Host host_;
  sdk::Error* error_;
  Parallel parallel_;
  int32_t code_ = TENON_OK;
};

// For routines over T that multiply pairs of bf16.
template <class T>
const TileMultiplier* UnitFor() {
  return std::is_same_v<T, Bf16> ? FindTileMultiplier() : nullptr;
}

// Base of all kernels: the routines, and the thread budget that was planned for.
class CpuKernel : public sdk::Kernel {
 public:
  const Routines& routines() const { return plugin_as<CpuPlugin>().routines(); }
  template <class T>
  const RoutinesOf<T>& routines_of() const {
    return routines().of<T>();
  }

 protected:
  // The budget of a plan; every call then keeps to it, as the workspace was sized for it.
  void SetThreads(const sdk::PlanArgs& args) {
    threads_ = static_cast<int64_t>(args.threads() > 0 ? args.threads() : host().ThreadBudget());
    if (threads_ < 1) threads_ = 1;
  }

  int64_t threads_ = 1;
};

// Routines of f32 and bf16 in one source: kernels are templates of the type T of the tensors, float or Bf16.
template <class T>
constexpr uint32_t kDType = TENON_DTYPE_F32;
template <>
constexpr uint32_t kDType<Bf16> = TENON_DTYPE_BF16;

template <class T>
bool IsOf(const sdk::Query& query, uint32_t input, sdk::Reason& reason) {
  return !query.has_input(input) || query.input(input).dtype() == kDType<T> ||
         reason.No("Input ", input, " is ", sdk::DTypeName(query.input(input).dtype()), "; this kernel takes ",
                   sdk::DTypeName(kDType<T>), ".");
}
// Are all present operands of T? Gives the reason otherwise.
template <class T>
bool AllOf(const sdk::Query& query, sdk::Reason& reason) {
  for (uint32_t i = 0; i < query.input_count(); ++i)
    if (!IsOf<T>(query, i, reason)) return false;
  return true;
}
inline bool AllF32(const sdk::Query& query, sdk::Reason& reason) { return AllOf<float>(query, reason); }

// For patterns of mixed precision, %x -> Cast -> ... -> Cast -> %c: is the format of %x that of %c, and a short one?
inline bool KeepsShortFormat(const sdk::Match& match, sdk::Reason& reason) {
  const uint32_t from = match["x"].dtype(), to = match["c"].dtype();
  return (from == to && from != TENON_DTYPE_F32) ||
         reason.No("X is ", sdk::DTypeName(from), " and the result ", sdk::DTypeName(to),
                   "; the fused operator keeps one short format.");
}

// Kernels of `math: high`, and whether a run permits them.
inline constexpr sdk::KernelOptions kMathHigh{0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | TENON_TRAIT_MATH_HIGH};
inline bool PermitsMathHigh(const sdk::Query& query, sdk::Reason& reason) {
  return (query.math_flags() & TENON_MATH_HIGH) != 0 || reason.No("math is exact.");
}

// Whether kernels multiply pairs of bf16; before the plugin is created as far as the processor does.
inline bool HasBf16(const CpuPlugin* plugin) {
  return FindBf16Routines() != nullptr && (plugin == nullptr || plugin->routines().lanes == 16);
}
inline bool HasBf16(const CpuPlugin* plugin, sdk::Reason& reason) {
  return HasBf16(plugin) || reason.No("This processor, or the option isa, has no instructions for bf16.");
}

// The instruction set that kernels will use; before the plugin is created that of the processor.
inline std::string_view IsaOf(const sdk::Query& query) {
  return query.plugin() != nullptr ? static_cast<const CpuPlugin*>(query.plugin())->routines().isa
                                   : FindRoutines("auto")->isa;
}

inline uint64_t Traits(uint64_t more = 0) { return TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | more; }

// Files of this folder add their kernels and fused operators through these.
using KernelList = std::vector<tenon_kernel_def>;
using FusedList = std::vector<tenon_fused_def>;
void AddAllFiniteKernels(KernelList& kernels);
void AddConvKernels(KernelList& kernels);
void AddLinesConvKernels(KernelList& kernels);
void AddBf16LinesConvKernels(KernelList& kernels);
void AddOneDnnConvKernels(KernelList& kernels);
void AddWinogradKernels(KernelList& kernels);
void AddBf16ConvKernels(KernelList& kernels);
void AddDepthwiseConvKernels(KernelList& kernels);
void AddConvFused(FusedList& fused);
void AddMixedConvFused(FusedList& fused);
// To be called after all kernels for Conv and ConvRelu.
void AddFoldedConvKernels(KernelList& kernels);
void AddFoldedConvFused(FusedList& fused);
void AddGemmKernels(KernelList& kernels);
void AddGemmFused(FusedList& fused);
void AddCrossEntropyKernels(KernelList& kernels);
void AddOptimizerKernels(KernelList& kernels);
void AddElementwiseKernels(KernelList& kernels);
void AddElementLossKernels(KernelList& kernels);
void AddReduceKernels(KernelList& kernels);
void AddSoftmaxKernels(KernelList& kernels);
void AddMatMulKernels(KernelList& kernels);
void AddPoolKernels(KernelList& kernels);
void AddBatchNormKernels(KernelList& kernels);
void AddBatchNormFused(FusedList& fused);
void AddExpandKernels(KernelList& kernels);
void AddSliceKernels(KernelList& kernels);
void AddTileKernels(KernelList& kernels);
void AddTileGradKernels(KernelList& kernels);
void AddPowerKernels(KernelList& kernels);
void AddBestGradKernels(KernelList& kernels);
void AddCompareKernels(KernelList& kernels);
void AddWhereKernels(KernelList& kernels);
void AddTransposeKernels(KernelList& kernels);
void AddPermuteKernels(KernelList& kernels);
void AddBf16ProductKernels(KernelList& kernels);
void AddInt8ProductKernels(KernelList& kernels);
void AddSplitMatMulKernels(KernelList& kernels);
void AddSplitGemmKernels(KernelList& kernels);
void AddWideWinogradKernels(KernelList& kernels);
void AddCastKernels(KernelList& kernels);
void AddAttentionKernels(KernelList& kernels);
void AddLayerNormKernels(KernelList& kernels);
void AddGeluKernels(KernelList& kernels);
void AddGroupNormKernels(KernelList& kernels);
void AddRmsNormKernels(KernelList& kernels);
void AddPReluKernels(KernelList& kernels);
void AddClipFactorKernels(KernelList& kernels);
void AddClipKernels(KernelList& kernels);
void AddVariadicKernels(KernelList& kernels);
void AddResizeKernels(KernelList& kernels);
void AddPadKernels(KernelList& kernels);
void AddPadGradKernels(KernelList& kernels);
void AddOneHotKernels(KernelList& kernels);
void AddGatherElementsKernels(KernelList& kernels);
void AddElementIndexKernels(KernelList& kernels);
void AddArgBestKernels(KernelList& kernels);
void AddTopKKernels(KernelList& kernels);
void AddCumSumKernels(KernelList& kernels);
void AddGatherKernels(KernelList& kernels);
void AddDropoutKernels(KernelList& kernels);
void AddPieceKernels(KernelList& kernels);
void AddPoolFused(FusedList& fused);
void AddLayerNormFused(FusedList& fused);
void AddGeluFused(FusedList& fused);
// To be called after all kernels that take f32 alone: adds for every kernel so far, but those of bf16 themselves, one that
// takes bf16 and f16 operands through it.
void AddWidenedKernels(KernelList& kernels);

// Can kernels of oneDNN run with this instruction set?
#if TENON_HAVE_ONEDNN
bool OneDnnIsReady(std::string_view isa);
#else
inline bool OneDnnIsReady(std::string_view) { return false; }
#endif

template <class T>
tenon_kernel_def Def(std::string_view domain, std::string_view op_type, std::string_view name,
                     const sdk::KernelOptions& options = {0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC}) {
  return sdk::MakeKernel<T>(domain, op_type, kDeviceKind, name, options);
}
// What the name of a kernel of bf16 ends with.
constexpr std::string_view kBf16Ending = "_bf16";
// K<float>, and K<Bf16> under the name of it with that ending.
template <template <class> class K>
void AddOfBoth(KernelList& kernels, std::string_view domain, std::string_view op_type, std::string_view bf16_name,
               const sdk::KernelOptions& options = {0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC}) {
  const std::string_view name = bf16_name.substr(0, bf16_name.size() - kBf16Ending.size());
  kernels.push_back(Def<K<float>>(domain, op_type, name, options));
  kernels.push_back(Def<K<Bf16>>(domain, op_type, bf16_name, options));
}

}  // namespace tenon::cpu
