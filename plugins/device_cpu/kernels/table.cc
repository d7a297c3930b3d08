// The tables that the plugin hands out. Order among kernels of one operator: fast first.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

sdk::Table<tenon_kernel_def> CpuTables::Kernels() {
  static const KernelList kernels = [] {
    KernelList list;
    AddWinogradKernels(list);
    AddLinesConvKernels(list);
    AddBf16LinesConvKernels(list);
    AddBf16ConvKernels(list);
    AddDepthwiseConvKernels(list);
#if TENON_HAVE_ONEDNN
    AddOneDnnConvKernels(list);
#endif
    AddConvKernels(list);
    AddFoldedConvKernels(list);
    AddAllFiniteKernels(list);
    AddGemmKernels(list);
    AddCrossEntropyKernels(list);
    AddOptimizerKernels(list);
    AddElementwiseKernels(list);
    AddElementLossKernels(list);
    AddReduceKernels(list);
    AddSoftmaxKernels(list);
    AddMatMulKernels(list);
    AddPoolKernels(list);
    AddBatchNormKernels(list);
    AddExpandKernels(list);
    AddTransposeKernels(list);
    AddAttentionKernels(list);
    AddLayerNormKernels(list);
    AddGeluKernels(list);
    AddGroupNormKernels(list);
    AddRmsNormKernels(list);
    AddPReluKernels(list);
    AddClipFactorKernels(list);
    AddClipKernels(list);
    AddVariadicKernels(list);
    AddResizeKernels(list);
    AddPadGradKernels(list);
    AddElementIndexKernels(list);
    AddArgBestKernels(list);
    AddTopKKernels(list);
    AddCumSumKernels(list);
    AddTileGradKernels(list);
    AddPowerKernels(list);
    AddBestGradKernels(list);
    AddCompareKernels(list);
    AddGatherKernels(list);
    AddDropoutKernels(list);
    AddWidenedKernels(list);
    AddGatherElementsKernels(list);
    AddOneHotKernels(list);
    AddPadKernels(list);
    AddPieceKernels(list);
    AddPermuteKernels(list);
    AddSliceKernels(list);
    AddTileKernels(list);
    AddWhereKernels(list);
    KernelList all;  // what computes in bf16 itself comes before the widened kernels
    if (FindBf16Routines() != nullptr) {
      AddSplitMatMulKernels(all);
      AddSplitGemmKernels(all);
    }
    AddWideWinogradKernels(all);
    AddBf16ProductKernels(all);
    AddCastKernels(all);
    AddInt8ProductKernels(all);
    all.insert(all.end(), list.begin(), list.end());
    return all;
  }();
  return {kernels.data(), kernels.size()};
}

sdk::Table<tenon_fused_def> CpuTables::Fused() {
  static const FusedList fused = [] {
    FusedList list;
    AddConvFused(list);
    AddMixedConvFused(list);
    AddFoldedConvFused(list);
    AddGemmFused(list);
    AddPoolFused(list);
    AddBatchNormFused(list);
    AddLayerNormFused(list);
    AddGeluFused(list);
    return list;
  }();
  return {fused.data(), fused.size()};
}

}  // namespace tenon::cpu
