// Convolutions of bf16 with many channels that Winograd's algorithm does not take, by instructions for bf16: with steps, dilations, or
// other windows than 3x3.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/channel_last_conv.h"

namespace tenon::cpu {
namespace {

// Fewer channels leave much of a tile empty, or make taps so short that finding them is most of the work.
constexpr int64_t kFewestChannels = 16;

// Measured once (README.md, "Direct or library"), over the sum of the three directions. Where windows overlap, the library leaves
// out taps beyond the border; where there are few pixels for many weights, its conversion of the weights costs more than that.
bool LibraryIsFaster(const sdk::Query& query, const ConvForm& form, sdk::Value w, sdk::Value y) {
  if (w.dim(0) < 32 || w.dim(1) < 32) return true;
  for (const int64_t stride : query.attributes().Ints(std::string(form.prefix()) + "strides"))
    if (stride > 1) return false;
  return w.dim(2) * w.dim(3) > 1 && y.elements() / w.dim(0) >= 1024;
}

const uint16_t* Bits(const Bf16* p) { return reinterpret_cast<const uint16_t*>(p); }
uint16_t* Bits(Bf16* p) { return reinterpret_cast<uint16_t*>(p); }

class PixelRows {
 public:
  using T = Bf16;
  static constexpr uint32_t kId = 4;
  static constexpr std::string_view kName = "rows of pixels";

  static bool Supports(const sdk::Query& query, const ConvForm& form, sdk::Value x, sdk::Value w, sdk::Value y,
                       sdk::Reason& reason) {
    const std::string_view isa = IsaOf(query);
    if (FindBf16Routines() == nullptr || isa != "avx512")
      return reason.No("The instruction set is ", isa, ", or the processor has no instructions for bf16.");
    if (!SupportsImages<T>(query, form, x, w, y, reason)) return false;
    const int64_t in = w.dim(1), out = w.dim(0);
    if (in < kFewestChannels || out < kFewestChannels || in % 2 != 0 || out % 2 != 0)
      return reason.No("There are ", in, " and ", out, " channels; this kernel takes even numbers from ",
                       kFewestChannels, " on.");
    if (x.elements() == 0 || y.elements() == 0) return reason.No("There is no pixel.");
    if (LibraryIsFaster(query, form, w, y) && OneDnnIsReady(isa))
      return reason.No("oneDNN is faster for ", in, " to ", out, " channels and windows of ", w.dim(2), "x", w.dim(3),
                       ".");
    return !MultipliesInTiles() || !OneDnnIsReady(isa) || reason.No("oneDNN multiplies bf16 on the tile unit.");
  }
  static double Cost(sdk::Value y, sdk::Value w) {
    return static_cast<double>(y.elements()) * static_cast<double>(w.elements()) / static_cast<double>(w.dim(0)) /
               200.0 +
           4000;
  }

  void SetShape(const ConvWindows& windows, sdk::Dims x, sdk::Dims w) {
    forward_.shape = data_.shape = weights_.shape = ShapeOf(windows, x, w);
  }

  int64_t ForwardBytes(const Routines&, int64_t threads) const {
    return bf16().conv_forward_workspace(forward_, threads);
  }
  int64_t DataBytes(const Routines&, int64_t threads) const { return bf16().conv_data_workspace(data_, threads); }
  int64_t WeightsBytes(const Routines&, int64_t threads) const {
    return bf16().conv_weights_workspace(weights_, threads);
  }

  void Forward(const Routines&, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    ConvBf16ForwardArgs a = forward_;
    a.x = Bits(o.x), a.weights = Bits(o.weights), a.wide_weights = o.wide_weights, a.bias = Bits(o.bias);
    a.y = Bits(o.y), a.relu = o.relu;
    bf16().conv_forward(a, workspace, pool);
  }
  void Data(const Routines&, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    ConvBf16DataArgs a = data_;
    a.dy = Bits(o.dy), a.weights = Bits(o.weights), a.wide_weights = o.wide_weights, a.dx = Bits(o.dx);
    bf16().conv_data(a, workspace, pool);
  }
  void Weights(const Routines&, const ConvOperands<T>& o, float* workspace, const Parallel& pool) const {
    ConvBf16WeightsArgs a = weights_;
    a.x = Bits(o.x), a.dy = Bits(o.dy), a.dw = Bits(o.dw), a.wide_dw = o.wide_dw, a.db = Bits(o.db);
    bf16().conv_weights(a, workspace, pool);
  }

 private:
  static const Bf16Routines& bf16() { return *FindBf16Routines(); }

  ConvBf16ForwardArgs forward_;
  ConvBf16DataArgs data_;
  ConvBf16WeightsArgs weights_;
};

}  // namespace

void AddBf16ConvKernels(KernelList& kernels) {
  kernels.push_back(Def<ChannelLastConv<PixelRows>>("", "Conv", "conv_bf16"));
  kernels.push_back(Def<ChannelLastConvGrad<PixelRows>>("tenon", "ConvInputGrad", "conv_input_grad_bf16"));
  kernels.push_back(Def<ChannelLastConvGrad<PixelRows>>("tenon", "ConvWeightGrad", "conv_weight_grad_bf16"));
  kernels.push_back(Def<ChannelLastConv<PixelRows>>(kDomain, kConvMixed, "conv_mixed_bf16"));
  kernels.push_back(Def<ChannelLastConvGrad<PixelRows>>(kDomain, kConvMixedGrad, "conv_mixed_grad_bf16"));
}

}  // namespace tenon::cpu
