// Declarations of the routines inside the namespace of one instruction set; see routines.h for what they do.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/attention.h"
#include "plugins/device_cpu/compute/batch_norm.h"
#include "plugins/device_cpu/compute/bf16.h"
#include "plugins/device_cpu/compute/conv_bf16.h"
#include "plugins/device_cpu/compute/conv_pool.h"
#include "plugins/device_cpu/compute/convert.h"
#include "plugins/device_cpu/compute/cross_entropy.h"
#include "plugins/device_cpu/compute/depthwise.h"
#include "plugins/device_cpu/compute/element_loss.h"
#include "plugins/device_cpu/compute/elementwise.h"
#include "plugins/device_cpu/compute/finite.h"
#include "plugins/device_cpu/compute/gather.h"
#include "plugins/device_cpu/compute/gelu.h"
#include "plugins/device_cpu/compute/gemm.h"
#include "plugins/device_cpu/compute/group_norm.h"
#include "plugins/device_cpu/compute/layer_norm.h"
#include "plugins/device_cpu/compute/optimizer.h"
#include "plugins/device_cpu/compute/p_relu.h"
#include "plugins/device_cpu/compute/parallel.h"
#include "plugins/device_cpu/compute/pool.h"
#include "plugins/device_cpu/compute/power.h"
#include "plugins/device_cpu/compute/reduce.h"
#include "plugins/device_cpu/compute/reorder.h"
#include "plugins/device_cpu/compute/rms_norm.h"
#include "plugins/device_cpu/compute/softmax.h"
#include "plugins/device_cpu/compute/squares.h"
#include "plugins/device_cpu/compute/winograd.h"

namespace tenon::cpu::TENON_CPU_ISA {

int64_t GemmWorkspace(const GemmArgs& args, int64_t threads);
void Gemm(const GemmArgs& args, float* workspace, const Parallel& pool);

int64_t ConvPoolForwardWorkspace(const ConvPoolForwardArgs& args, int64_t threads);
void ConvPoolForward(const ConvPoolForwardArgs& args, float* workspace, const Parallel& pool);
int64_t ConvPoolBackwardWorkspace(const ConvPoolBackwardArgs& args, int64_t threads);
void ConvPoolBackward(const ConvPoolBackwardArgs& args, float* workspace, const Parallel& pool);

template <class T>
int64_t WinogradForwardWorkspace(const WinogradForwardArgsOf<T>& args, int64_t threads);
template <class T>
void WinogradForward(const WinogradForwardArgsOf<T>& args, float* workspace, const Parallel& pool);
template <class T>
int64_t WinogradWeightsWorkspace(const WinogradWeightsArgsOf<T>& args, int64_t threads);
template <class T>
void WinogradWeights(const WinogradWeightsArgsOf<T>& args, float* workspace, const Parallel& pool);

template <class T>
int64_t DepthwiseWeightsWorkspace(const DepthwiseWeightsArgsOf<T>& args, int64_t threads);
template <class T>
void DepthwiseWeights(const DepthwiseWeightsArgsOf<T>& args, float* workspace, const Parallel& pool);

int64_t ConvBf16ForwardWorkspace(const ConvBf16ForwardArgs& args, int64_t threads);
void ConvBf16Forward(const ConvBf16ForwardArgs& args, float* workspace, const Parallel& pool);
int64_t ConvBf16DataWorkspace(const ConvBf16DataArgs& args, int64_t threads);
void ConvBf16Data(const ConvBf16DataArgs& args, float* workspace, const Parallel& pool);
int64_t ConvBf16WeightsWorkspace(const ConvBf16WeightsArgs& args, int64_t threads);
void ConvBf16Weights(const ConvBf16WeightsArgs& args, float* workspace, const Parallel& pool);

void MaxPool(const MaxPoolArgs& args, const Parallel& pool);
void MaxPoolGrad(const MaxPoolGradArgs& args, const Parallel& pool);
void AveragePool(const AveragePoolArgs& args, const Parallel& pool);
void AveragePoolGrad(const AveragePoolArgs& args, const Parallel& pool);
void MaxPoolPlanes(const MaxPoolArgs& args, const Parallel& pool);
void MaxPoolPlanesGrad(const MaxPoolGradArgs& args, const Parallel& pool);
void AveragePoolPlanes(const AveragePoolArgs& args, const Parallel& pool);
void AveragePoolPlanesGrad(const AveragePoolArgs& args, const Parallel& pool);

template <class T>
void BatchNormStats(const BatchNormStatsArgsOf<T>& args, const Parallel& pool);
template <class T>
void BatchNormApply(const BatchNormApplyArgsOf<T>& args, const Parallel& pool);
template <class T>
void BatchNormGrad(const BatchNormGradArgsOf<T>& args, const Parallel& pool);

void Softmax(const SoftmaxArgs& args, const Parallel& pool);
void SoftmaxGrad(const SoftmaxGradArgs& args, const Parallel& pool);
void CrossEntropy(const CrossEntropyArgs& args, const Parallel& pool);
void CrossEntropyGrad(const CrossEntropyGradArgs& args, const Parallel& pool);

template <class T>
int64_t AttentionForwardWorkspace(const AttentionArgsOf<T>& args, int64_t threads);
template <class T>
void AttentionForward(const AttentionForwardArgsOf<T>& args, float* workspace, const Parallel& pool);
template <class T>
int64_t AttentionGradWorkspace(const AttentionArgsOf<T>& args, int64_t threads);
template <class T>
void AttentionGrad(const AttentionGradArgsOf<T>& args, float* workspace, const Parallel& pool);

template <class T>
void LayerNorm(const LayerNormArgsOf<T>& args, const Parallel& pool);
template <class T>
int64_t LayerNormGradWorkspace(const LayerNormGradArgsOf<T>& args);
template <class T>
void LayerNormGrad(const LayerNormGradArgsOf<T>& args, float* workspace, const Parallel& pool);

void GroupNorm(const GroupNormArgs& args, float* workspace, const Parallel& pool);
void GroupNormGrad(const GroupNormGradArgs& args, float* workspace, const Parallel& pool);
void RmsNorm(const RmsNormArgs& args, const Parallel& pool);
int64_t RmsNormGradWorkspace(const RmsNormGradArgs& args);
void RmsNormGrad(const RmsNormGradArgs& args, float* workspace, const Parallel& pool);
int64_t PReluGradWorkspace(const PReluGradArgs& args);
void PReluGrad(const PReluGradArgs& args, float* workspace, const Parallel& pool);

template <class T>
void Gelu(const GeluArgsOf<T>& args, const Parallel& pool);
template <class T>
int64_t GeluGradWorkspace(const GeluGradArgsOf<T>& args);
template <class T>
void GeluGrad(const GeluGradArgsOf<T>& args, float* workspace, const Parallel& pool);

void Gather(const GatherArgs& args, const Parallel& pool);
void GatherGrad(const GatherGradArgs& args, const Parallel& pool);
void CopyRows(const CopyRowsArgs& args, const Parallel& pool);
void Dropout(const DropoutArgs& args, const Parallel& pool);
void DropoutGrad(const DropoutGradArgs& args, const Parallel& pool);

template <class T>
void MaskGradient(const MaskArgsOf<T>& args, const Parallel& pool);
bool AllFinite(const FiniteArgs& args);
void Convert(const ConvertArgs& args, const Parallel& pool);
template <class T>
void Unary(const UnaryArgsOf<T>& args, const Parallel& pool);
template <class T>
void Binary(const BinaryArgsOf<T>& args, const Parallel& pool);
void Power(const BinaryArgs& args, const Parallel& pool);
void PowerGrad(const PowerGradArgs& args, const Parallel& pool);
void ElementLosses(const ElementLossArgs& args, const Parallel& pool);
void ElementLossGrad(const ElementLossGradArgs& args, const Parallel& pool);
template <class T>
void Reduce(const ReduceArgsOf<T>& args, const Parallel& pool);
void TransposeMatrices(const TransposeArgs& args, const Parallel& pool);

double SumOfSquares(const SquaresArgs& args, const Parallel& pool);
void Blend(const BlendArgs& args, const Parallel& pool);
void Sgd(const SgdArgs& args, const Parallel& pool);
void Adam(const AdamArgs& args, const Parallel& pool);
void Lamb(const LambArgs& args, float* sums, const Parallel& pool);

}  // namespace tenon::cpu::TENON_CPU_ISA
