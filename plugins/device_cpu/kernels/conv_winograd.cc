// Convolutions of 3x3 windows with steps of 1 by Winograd's algorithm, alone and with Relu, and their gradients. With
// `math: high` tiles of float32 are 4x4 outputs, which take 36 products in place of 64 and lose more digits.
#include "plugins/device_cpu/kernels/channel_last_conv.h"

namespace tenon::cpu {
namespace {

template <class Number, int kEdge = 2>
class Winograd {
 public:
  using T = Number;
  static constexpr uint32_t kId = kEdge == 2 ? 3 : 5;
  static constexpr std::string_view kName = kEdge == 2 ? "winograd" : "winograd_4x4";

  static bool Supports(const sdk::Query& query, const ConvForm& form, sdk::Value x, sdk::Value w, sdk::Value y,
                       sdk::Reason& reason) {
    if (kEdge > 2 && !PermitsMathHigh(query, reason)) return false;
    if (!SupportsImages<T>(query, form, x, w, y, reason)) return false;
    const sdk::Attributes a = query.attributes();
    const std::string prefix = form.prefix();
    if (w.dim(2) != 3 || w.dim(3) != 3) return reason.No("The window is not 3x3.");
    for (const char* const name : {"strides", "dilations"})
      for (const int64_t step : a.Ints(prefix + name))
        if (step != 1) return reason.No(std::string_view(name), " has a ", step, "; this kernel takes 1.");
    for (const int64_t pad : a.Ints(prefix + "pads"))
      if (pad > 2) return reason.No("A pad is ", pad, "; this kernel takes at most 2.");
    if (w.dim(0) % 16 != 0 || w.dim(1) % 16 != 0)
      return reason.No("There are ", w.dim(1), " and ", w.dim(0), " channels; this kernel takes multiples of 16.");
    const int64_t tiles = y.dim(0) * TilesAlong(y.dim(2)) * TilesAlong(y.dim(3));
    return tiles >= kFewestTiles || reason.No("There are ", tiles, " tiles of ", kEdge, "x", kEdge,
                                              " outputs; this kernel pays from ", kFewestTiles, " on.");
  }
  static double Cost(sdk::Value y, sdk::Value w) {
    return static_cast<double>(y.elements()) * static_cast<double>(w.dim(1)) / 20.0 + 4000;
  }

  void SetShape(const ConvWindows& windows, sdk::Dims x, sdk::Dims w) {
    const ConvPoolShape& s = windows.shape;
    forward_.shape = weights_.shape = {x[0], x[1], x[2], x[3], w[0], s.pad_top, s.pad_left, s.pad_bottom, s.pad_right};
    data_.shape = Turned(forward_.shape);
    data_.turned = true;
    forward_.edge = data_.edge = weights_.edge = kEdge;
    forward_.unit = data_.unit = weights_.unit = UnitFor<T>();
  }

  int64_t ForwardBytes(const Routines& r, int64_t threads) const {
    return r.of<T>().winograd_forward_workspace(forward_, threads);
  }
  int64_t DataBytes(const Routines& r, int64_t threads) const {
    return r.of<T>().winograd_forward_workspace(data_, threads);
  }
  int64_t WeightsBytes(const Routines& r, int64_t threads) const {
    return r.of<T>().winograd_weights_workspace(weights_, threads);
  }

  void Forward(const Routines& r, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    WinogradForwardArgsOf<T> a = forward_;
    a.x = o.x, a.weights = o.weights, a.wide_weights = o.wide_weights, a.bias = o.bias, a.y = o.y, a.relu = o.relu;
    r.of<T>().winograd_forward(a, workspace, pool);
  }
  void Data(const Routines& r, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    WinogradForwardArgsOf<T> a = data_;
    a.x = o.dy, a.mask = o.mask, a.weights = o.weights, a.wide_weights = o.wide_weights, a.y = o.dx;
    r.of<T>().winograd_forward(a, workspace, pool);
  }
  void Weights(const Routines& r, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    WinogradWeightsArgsOf<T> a = weights_;
    a.x = o.x, a.dy = o.dy, a.mask = o.mask, a.dw = o.dw, a.wide_dw = o.wide_dw, a.db = o.db;
    r.of<T>().winograd_weights(a, workspace, pool);
  }

 private:
  // Below so many tiles the transform of the weights costs more than the products that it saves (README.md).
  static constexpr int64_t kFewestTiles = kEdge == 2 ? 4 : 8;

  static int64_t TilesAlong(int64_t outputs) { return (outputs + kEdge - 1) / kEdge; }
  // The convolution that computes the gradient of the data of `s`.
  static WinogradShape Turned(const WinogradShape& s) {
    return {s.n, s.oc, s.OutH(), s.OutW(), s.c, 2 - s.pad_top, 2 - s.pad_left, 2 - s.pad_bottom, 2 - s.pad_right};
  }

  WinogradForwardArgsOf<T> forward_, data_;
  WinogradWeightsArgsOf<T> weights_;
};

template <class T>
using WinogradConv = ChannelLastConv<Winograd<T>>;
template <class T>
using WinogradGrad = ChannelLastConvGrad<Winograd<T>>;

constexpr tenon_gradient_source kSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr tenon_gradient_source kReluSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kGradInputs[] = {0, 1, 2};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, kConvMixedGrad, 1, kSources, kGradInputs),
                                kReluGradient =
                                    sdk::PairedGradient(kDomain, kConvReluMixedGrad, 1, kReluSources, kGradInputs);

}  // namespace

void AddWinogradKernels(KernelList& kernels) {
  AddOfBoth<WinogradConv>(kernels, "", "Conv", "conv_winograd_bf16");
  AddOfBoth<WinogradConv>(kernels, kDomain, "ConvRelu", "conv_relu_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, "tenon", "ConvInputGrad", "conv_input_grad_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, "tenon", "ConvWeightGrad", "conv_weight_grad_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, kDomain, "ConvReluGrad", "conv_relu_grad_winograd_bf16");
  kernels.push_back(Def<WinogradConv<Bf16>>(kDomain, kConvMixed, "conv_mixed_winograd_bf16"));
  kernels.push_back(Def<WinogradConv<Bf16>>(kDomain, kConvReluMixed, "conv_relu_mixed_winograd_bf16"));
  kernels.push_back(Def<WinogradGrad<Bf16>>(kDomain, kConvMixedGrad, "conv_mixed_grad_winograd_bf16"));
  kernels.push_back(Def<WinogradGrad<Bf16>>(kDomain, kConvReluMixedGrad, "conv_relu_mixed_grad_winograd_bf16"));
}

void AddWideWinogradKernels(KernelList& kernels) {
  using Conv = ChannelLastConv<Winograd<float, 4>>;
  using Grad = ChannelLastConvGrad<Winograd<float, 4>>;
  kernels.push_back(Def<Conv>("", "Conv", "conv_winograd_4x4", kMathHigh));
  kernels.push_back(Def<Conv>(kDomain, "ConvRelu", "conv_relu_winograd_4x4", kMathHigh));
  kernels.push_back(Def<Grad>("tenon", "ConvInputGrad", "conv_input_grad_winograd_4x4", kMathHigh));
  kernels.push_back(Def<Grad>("tenon", "ConvWeightGrad", "conv_weight_grad_winograd_4x4", kMathHigh));
  kernels.push_back(Def<Grad>(kDomain, "ConvReluGrad", "conv_relu_grad_winograd_4x4", kMathHigh));
}

// The weights of mixed precision are read where they are: a Cast would write them and read them again, and so would that of
// their gradient.
void AddMixedConvFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("conv_relu_mixed",
                                    "pattern(%x, %w, %b?) { %v = Cast(%w) {to=16} %c = Conv(%x, %v, %b) {group=1} "
                                    "%r = Relu(%c) return %r }",
                                    kDomain, kConvReluMixed, kDeviceKind)
                      .Priority(15)
                      .Gradient(&kReluGradient));
  fused.push_back(
      sdk::FusedBuilder("conv_mixed",
                        "pattern(%x, %w, %b?) { %v = Cast(%w) {to=16} %c = Conv(%x, %v, %b) {group=1} return %c }",
                        kDomain, kConvMixed, kDeviceKind)
          .Priority(5)
          .Gradient(&kGradient));
}

}  // namespace tenon::cpu
