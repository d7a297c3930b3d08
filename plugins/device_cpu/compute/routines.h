// The routines of one instruction set as a table, and the choice of the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/device_cpu/compute/attention.h"
#include "plugins/device_cpu/compute/batch_norm.h"
#include "plugins/device_cpu/compute/bf16.h"
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

namespace tenon::cpu {

// Every entry is a pure function of its arguments: it allocates nothing, keeps nothing, and gives the same bits for any
// number of threads. `workspace` has at least the bytes that the matching *_workspace entry tells, aligned to 64.

// Routines whose tensors are of T, float or Bf16. They compute in float; parameters and statistics are float.
template <class T>
struct RoutinesOf {
  int64_t (*winograd_forward_workspace)(const WinogradForwardArgsOf<T>&, int64_t threads);
  void (*winograd_forward)(const WinogradForwardArgsOf<T>&, float* workspace, const Parallel&);
  int64_t (*winograd_weights_workspace)(const WinogradWeightsArgsOf<T>&, int64_t threads);
  void (*winograd_weights)(const WinogradWeightsArgsOf<T>&, float* workspace, const Parallel&);

  int64_t (*depthwise_weights_workspace)(const DepthwiseWeightsArgsOf<T>&, int64_t threads);
  void (*depthwise_weights)(const DepthwiseWeightsArgsOf<T>&, float* workspace, const Parallel&);

  void (*batch_norm_stats)(const BatchNormStatsArgsOf<T>&, const Parallel&);
  void (*batch_norm_apply)(const BatchNormApplyArgsOf<T>&, const Parallel&);
  void (*batch_norm_grad)(const BatchNormGradArgsOf<T>&, const Parallel&);

  int64_t (*attention_workspace)(const AttentionArgsOf<T>&, int64_t threads);
  void (*attention)(const AttentionForwardArgsOf<T>&, float* workspace, const Parallel&);
  int64_t (*attention_grad_workspace)(const AttentionArgsOf<T>&, int64_t threads);
  void (*attention_grad)(const AttentionGradArgsOf<T>&, float* workspace, const Parallel&);

  void (*layer_norm)(const LayerNormArgsOf<T>&, const Parallel&);
  int64_t (*layer_norm_grad_workspace)(const LayerNormGradArgsOf<T>&);
  void (*layer_norm_grad)(const LayerNormGradArgsOf<T>&, float* workspace, const Parallel&);

  void (*gelu)(const GeluArgsOf<T>&, const Parallel&);
  int64_t (*gelu_grad_workspace)(const GeluGradArgsOf<T>&);
  void (*gelu_grad)(const GeluGradArgsOf<T>&, float* workspace, const Parallel&);

  void (*unary)(const UnaryArgsOf<T>&, const Parallel&);
  void (*binary)(const BinaryArgsOf<T>&, const Parallel&);
  void (*reduce)(const ReduceArgsOf<T>&, const Parallel&);
};

struct Routines {
  const char* isa;  // "sse2", "avx2", "avx512"
  int lanes;        // floats in a vector
  RoutinesOf<float> f32;
  RoutinesOf<Bf16> bf16;
  template <class T>
  const RoutinesOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return bf16;
  }

  int64_t (*gemm_workspace)(const GemmArgs&, int64_t threads);
  void (*gemm)(const GemmArgs&, float* workspace, const Parallel&);

  int64_t (*conv_pool_forward_workspace)(const ConvPoolForwardArgs&, int64_t threads);
  void (*conv_pool_forward)(const ConvPoolForwardArgs&, float* workspace, const Parallel&);
  int64_t (*conv_pool_backward_workspace)(const ConvPoolBackwardArgs&, int64_t threads);
  void (*conv_pool_backward)(const ConvPoolBackwardArgs&, float* workspace, const Parallel&);

  void (*max_pool)(const MaxPoolArgs&, const Parallel&);
  void (*max_pool_grad)(const MaxPoolGradArgs&, const Parallel&);
  void (*average_pool)(const AveragePoolArgs&, const Parallel&);
  void (*average_pool_grad)(const AveragePoolArgs&, const Parallel&);

  void (*softmax)(const SoftmaxArgs&, const Parallel&);
  void (*softmax_grad)(const SoftmaxGradArgs&, const Parallel&);
  void (*cross_entropy)(const CrossEntropyArgs&, const Parallel&);
  void (*cross_entropy_grad)(const CrossEntropyGradArgs&, const Parallel&);

  void (*group_norm)(const GroupNormArgs&, float* workspace, const Parallel&);
  void (*group_norm_grad)(const GroupNormGradArgs&, float* workspace, const Parallel&);
  void (*rms_norm)(const RmsNormArgs&, const Parallel&);
  int64_t (*rms_norm_grad_workspace)(const RmsNormGradArgs&);
  void (*rms_norm_grad)(const RmsNormGradArgs&, float* workspace, const Parallel&);
  int64_t (*p_relu_grad_workspace)(const PReluGradArgs&);
  void (*p_relu_grad)(const PReluGradArgs&, float* workspace, const Parallel&);

  void (*gather)(const GatherArgs&, const Parallel&);
  void (*gather_grad)(const GatherGradArgs&, const Parallel&);
  void (*copy_rows)(const CopyRowsArgs&, const Parallel&);
  void (*dropout)(const DropoutArgs&, const Parallel&);
  void (*dropout_grad)(const DropoutGradArgs&, const Parallel&);

  void (*mask_gradient)(const MaskArgs&, const Parallel&);
  bool (*all_finite)(const FiniteArgs&);
  void (*convert)(const ConvertArgs&, const Parallel&);
  void (*power)(const BinaryArgs&, const Parallel&);
  void (*power_grad)(const PowerGradArgs&, const Parallel&);
  void (*element_loss)(const ElementLossArgs&, const Parallel&);
  void (*element_loss_grad)(const ElementLossGradArgs&, const Parallel&);
  void (*transpose)(const TransposeArgs&, const Parallel&);

  double (*sum_of_squares)(const SquaresArgs&, const Parallel&);
  void (*blend)(const BlendArgs&, const Parallel&);
  void (*sgd)(const SgdArgs&, const Parallel&);
  void (*adam)(const AdamArgs&, const Parallel&);
  void (*lamb)(const LambArgs&, float* sums, const Parallel&);
};

// The table for this processor. `isa`: "" or "auto" for the best one; a name for that one. Null if the name is unknown or
// the processor lacks it.
const Routines* FindRoutines(std::string_view isa);

}  // namespace tenon::cpu
