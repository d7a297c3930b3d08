// The table of the routines compiled for one instruction set.
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/routines_of.h"

namespace tenon::cpu::TENON_CPU_ISA {

#define TENON_CPU_TEXT_(x) #x
#define TENON_CPU_TEXT(x) TENON_CPU_TEXT_(x)

extern const Routines kRoutines;
const Routines kRoutines = {
    .isa = TENON_CPU_TEXT(TENON_CPU_ISA),
    .lanes = TENON_CPU_LANES,
    .f32 = kRoutinesOf<float>,
    .bf16 = kRoutinesOf<Bf16>,
    .gemm_workspace = &GemmWorkspace,
    .gemm = &Gemm,
    .conv_pool_forward_workspace = &ConvPoolForwardWorkspace,
    .conv_pool_forward = &ConvPoolForward,
    .conv_pool_backward_workspace = &ConvPoolBackwardWorkspace,
    .conv_pool_backward = &ConvPoolBackward,
    .max_pool = &MaxPool,
    .max_pool_grad = &MaxPoolGrad,
    .average_pool = &AveragePool,
    .average_pool_grad = &AveragePoolGrad,
    .softmax = &Softmax,
    .softmax_grad = &SoftmaxGrad,
    .cross_entropy = &CrossEntropy,
    .cross_entropy_grad = &CrossEntropyGrad,
    .group_norm = &GroupNorm,
    .group_norm_grad = &GroupNormGrad,
    .rms_norm = &RmsNorm,
    .rms_norm_grad_workspace = &RmsNormGradWorkspace,
    .rms_norm_grad = &RmsNormGrad,
    .p_relu_grad_workspace = &PReluGradWorkspace,
    .p_relu_grad = &PReluGrad,
    .gather = &Gather,
    .gather_grad = &GatherGrad,
    .copy_rows = &CopyRows,
    .dropout = &Dropout,
    .dropout_grad = &DropoutGrad,
    .mask_gradient = &MaskGradient,
    .all_finite = &AllFinite,
    .convert = &Convert,
    .power = &Power,
    .power_grad = &PowerGrad,
    .element_loss = &ElementLosses,
    .element_loss_grad = &ElementLossGrad,
    .transpose = &TransposeMatrices,
    .sum_of_squares = &SumOfSquares,
    .blend = &Blend,
    .sgd = &Sgd,
    .adam = &Adam,
    .lamb = &Lamb,
};

}  // namespace tenon::cpu::TENON_CPU_ISA
