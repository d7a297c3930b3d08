// The routines over one element type as a table. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/routines.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class T>
constexpr RoutinesOf<T> kRoutinesOf = {
    .winograd_forward_workspace = &WinogradForwardWorkspace<T>,
    .winograd_forward = &WinogradForward<T>,
    .winograd_weights_workspace = &WinogradWeightsWorkspace<T>,
    .winograd_weights = &WinogradWeights<T>,
    .depthwise_weights_workspace = &DepthwiseWeightsWorkspace<T>,
    .depthwise_weights = &DepthwiseWeights<T>,
    .batch_norm_stats = &BatchNormStats<T>,
    .batch_norm_apply = &BatchNormApply<T>,
    .batch_norm_grad = &BatchNormGrad<T>,
    .attention_workspace = &AttentionForwardWorkspace<T>,
    .attention = &AttentionForward<T>,
    .attention_grad_workspace = &AttentionGradWorkspace<T>,
    .attention_grad = &AttentionGrad<T>,
    .layer_norm = &LayerNorm<T>,
    .layer_norm_grad_workspace = &LayerNormGradWorkspace<T>,
    .layer_norm_grad = &LayerNormGrad<T>,
    .gelu = &Gelu<T>,
    .gelu_grad_workspace = &GeluGradWorkspace<T>,
    .gelu_grad = &GeluGrad<T>,
    .unary = &Unary<T>,
    .binary = &Binary<T>,
    .reduce = &Reduce<T>,
};

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
