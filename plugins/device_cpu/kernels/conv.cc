// Convolution, alone (Conv, ConvInputGrad, ConvWeightGrad) and fused with Relu and MaxPool, through the direct routine.
#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/conv_lines.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kConvRelu = "ConvRelu", kConvMaxPool = "ConvMaxPool", kConvReluMaxPool = "ConvReluMaxPool";
constexpr std::string_view kConvReluGrad = "ConvReluGrad", kConvMaxPoolGrad = "ConvMaxPoolGrad";
constexpr std::string_view kConvReluMaxPoolGrad = "ConvReluMaxPoolGrad";

// What an operator type of this file means.
struct Variant {
  bool fused, relu, pool;
};
Variant VariantOf(std::string_view op_type) {
  const auto has = [&](std::string_view word) { return op_type.find(word) != std::string_view::npos; };
  const bool relu = has("Relu"), pool = has("MaxPool");
  return {relu || pool, relu, pool};
}

// Estimates in nanoseconds, for the choice of layouts: moving an image element through a strided access against the
// multiplications, which are the same in all layouts.
double MoveCost(sdk::Value value) {
  if (value.absent() || !value.dims().Known()) return 0;
  return value.dim(1) == 1 ? 0 : 0.8 * static_cast<double>(value.elements());
}
double ConvCost(sdk::Value y, sdk::Value w) {
  if (!y.dims().Known() || !w.dims().Known() || w.dim(0) == 0) return 1000;
  return static_cast<double>(y.elements()) * static_cast<double>(w.elements() / w.dim(0)) / 40.0;
}

int64_t WeightsOfGroup(const ConvPoolShape& s) { return s.oc * s.c * s.kh * s.kw; }

// Convolution and Relu as two operators, the former through oneDNN: faster where the direct routine is weak, in the data
// gradient of strided convolutions and with few pixels for many weights (README.md, "Direct or library").
bool TwoAreFaster(const sdk::Query& query, sdk::Value w, sdk::Value y, sdk::Reason& reason) {
  if (!w.dims().Known() || !y.dims().Known() || w.dim(0) < 16 || w.dim(1) < 16) return false;
  int64_t pixels = y.dim(0);
  bool strided = false;
  for (uint32_t axis = 2; axis < y.rank(); ++axis) {
    pixels *= y.dim(axis);
    strided = strided || query.attributes().IntAt("c.strides", axis - 2, 1) > 1;
  }
  const std::string_view isa = IsaOf(query);
  if ((!strided && pixels >= 2048) || isa != "avx512" || !OneDnnIsReady(isa)) return false;
  reason.No("The convolution through oneDNN and Relu alone are faster for this shape.");
  return true;
}

// Images may be channel-last; lines may not.
bool MayBeNhwc(sdk::Value value) { return value.rank() == 4; }

class ConvForward : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const Variant v = VariantOf(query.op_type());
    return AllF32(query, reason) &&
           SupportsConv(query.attributes(), v.fused ? "c." : "", query.input(0), query.input(1), reason) &&
           !(v.relu && !v.pool && TwoAreFaster(query, query.input(1), query.output(0), reason)) &&
           (!v.pool || SupportsPool(query.attributes(), "p.", reason));
  }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const bool bias = query.input_count() > 2;
    const double cost = ConvCost(query.output(0), query.input(1));
    for (uint32_t x : {0u, uint32_t{kNhwc}})
      for (uint32_t y : {0u, uint32_t{kNhwc}}) {
        if ((x != 0 || y != 0) && !MayBeNhwc(query.input(0))) continue;
        const double moves = (x == 0 ? MoveCost(query.input(0)) : 0) + (y == 0 ? MoveCost(query.output(0)) : 0);
        const uint32_t inputs[] = {x, 0, 0}, outputs[] = {y, 0};
        emitter.Emit(cost + moves, inputs, bias ? 3 : 2, outputs, query.output_count());
      }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    variant_ = VariantOf(query.op_type());
    windows_ = ReadWindows(query.attributes(), variant_.fused ? "c." : "", variant_.pool ? "p." : nullptr,
                           query.input(0).rank());
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = {};
    args_.shape = ShapeOf(windows_, args.input(0).dims(), args.input(1).dims());
    args_.shape.relu = variant_.relu;
    args_.x_strides = ConvStridesOf(args.input(0));
    args_.y_strides = ConvStridesOf(args.output(0));
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines().conv_pool_forward_workspace(args_, threads_)));
    result.Algorithm(1, "direct");
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvPoolForwardArgs a = args_;
    a.x = call.in<float>(0);
    a.weights = call.in<float>(1);
    if (call.has_input(2)) a.bias = call.in<float>(2);
    a.y = call.out<float>(0);
    if (variant_.pool && call.has_output(1)) a.winners = call.out<uint8_t>(1);
    KernelPool pool(host(), error, threads_);
    const ConvPoolShape& s = a.shape;
    for (int64_t g = 0; g < windows_.group; ++g) {
      routines().conv_pool_forward(a, call.workspace<float>(), pool.parallel());
      a.x += s.c * a.x_strides.c;
      a.y += s.oc * a.y_strides.c;
      a.weights += WeightsOfGroup(s);
      if (a.bias != nullptr) a.bias += s.oc;
    }
    return pool.code();
  }

 private:
  Variant variant_{};
  ConvWindows windows_;
  ConvPoolForwardArgs args_;
};

// Where the operands of a gradient operator are; -1: it has none.
struct GradInputs {
  int x, w, y, winners, dy;
};

// Gradients of the fused operators: inputs x, w, [y,] [winners,] dy; outputs dx, dw, db, each of which may be absent.
class ConvFusedGrad : public CpuKernel {
 public:
  static GradInputs InputsOf(const Variant& v) {
    GradInputs in{0, 1, -1, -1, 2};
    if (v.relu) in.y = in.dy++;
    if (v.pool) in.winners = in.dy++;
    return in;
  }

  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const Variant v = VariantOf(query.op_type());
    const sdk::Value dy = query.input(static_cast<uint32_t>(InputsOf(v).dy));
    if (dy.dtype() != TENON_DTYPE_F32)
      return reason.No("The gradient is ", sdk::DTypeName(dy.dtype()), "; this kernel takes f32.");
    return SupportsConv(query.attributes(), "c.", query.input(0), query.input(1), reason) &&
           !(v.relu && !v.pool && TwoAreFaster(query, query.input(1), dy, reason)) &&
           (!v.pool || SupportsPool(query.attributes(), "p.", reason));
  }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const GradInputs in = InputsOf(VariantOf(query.op_type()));
    const sdk::Value dy_value = query.input(static_cast<uint32_t>(in.dy));
    const double cost = 2 * ConvCost(dy_value, query.input(1));
    const sdk::Value x_value = query.input(0);
    const double move_x = MoveCost(x_value), move_y = MoveCost(dy_value);
    for (uint32_t combination = 0; combination < 16; ++combination) {
      const uint32_t x = combination & 1, y = combination >> 1 & 1, dy = combination >> 2 & 1,
                     dx = combination >> 3 & 1;
      if (in.y < 0 && y != 0) continue;
      if (combination != 0 && !MayBeNhwc(x_value)) continue;
      if (!query.has_output(0) && dx != 0) continue;
      uint32_t inputs[5] = {x, 0, 0, 0, 0};
      if (in.y >= 0) inputs[in.y] = y;
      inputs[in.dy] = dy;
      const uint32_t outputs[3] = {dx, 0, 0};
      const double moves = (x == 0 ? move_x : 0) + (dx == 0 && query.has_output(0) ? move_x : 0) +
                           (dy == 0 || (y == 0 && in.y >= 0) ? move_y : 0);
      emitter.Emit(cost + moves, inputs, query.input_count(), outputs, query.output_count());
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    variant_ = VariantOf(query.op_type());
    in_ = InputsOf(variant_);
    windows_ = ReadWindows(query.attributes(), "c.", variant_.pool ? "p." : nullptr, query.input(0).rank());
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = {};
    args_.shape = ShapeOf(windows_, args.input(0).dims(), args.input(1).dims());
    args_.shape.relu = variant_.relu;
    args_.x_strides = ConvStridesOf(args.input(0));
    args_.dy_strides = ConvStridesOf(args.input(static_cast<uint32_t>(in_.dy)));
    if (in_.y >= 0) args_.y_strides = ConvStridesOf(args.input(static_cast<uint32_t>(in_.y)));
    if (args.has_output(0)) args_.dx_strides = ConvStridesOf(args.output(0));
    SetThreads(args);
    // Which outputs are wanted decides about the workspace; the addresses come with the call.
    ConvPoolBackwardArgs wanted = args_;
    float* const some = reinterpret_cast<float*>(alignof(float));
    wanted.dx = args.has_output(0) ? some : nullptr;
    wanted.dw = args.has_output(1) ? some : nullptr;
    wanted.db = args.has_output(2) ? some : nullptr;
    result.Workspace(static_cast<uint64_t>(routines().conv_pool_backward_workspace(wanted, threads_)));
    result.Algorithm(1, "direct");
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvPoolBackwardArgs a = args_;
    a.x = call.in<float>(0);
    a.weights = call.in<float>(1);
    if (in_.y >= 0) a.y = call.in<float>(static_cast<uint32_t>(in_.y));
    if (in_.winners >= 0) a.winners = call.in<uint8_t>(static_cast<uint32_t>(in_.winners));
    a.dy = call.in<float>(static_cast<uint32_t>(in_.dy));
    if (call.has_output(0)) a.dx = call.out<float>(0);
    if (call.has_output(1)) a.dw = call.out<float>(1);
    if (call.has_output(2)) a.db = call.out<float>(2);
    KernelPool pool(host(), error, threads_);
    routines().conv_pool_backward(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  Variant variant_{};
  GradInputs in_{};
  ConvWindows windows_;
  ConvPoolBackwardArgs args_;
};

// tenon.ConvInputGrad(dY, W) -> dX.
class ConvInputGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return AllF32(query, reason) && SupportsConv(query.attributes(), "", query.output(0), query.input(1), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const double cost = ConvCost(query.input(0), query.input(1));
    for (uint32_t dy : {0u, uint32_t{kNhwc}})
      for (uint32_t dx : {0u, uint32_t{kNhwc}}) {
        if ((dy != 0 || dx != 0) && !MayBeNhwc(query.input(0))) continue;
        emitter.Emit(cost + (dy == 0 ? MoveCost(query.input(0)) : 0) + (dx == 0 ? MoveCost(query.output(0)) : 0),
                     {dy, 0}, {dx});
      }
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    windows_ = ReadWindows(query.attributes(), "", nullptr, query.input(0).rank());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = {};
    args_.shape = ShapeOf(windows_, args.output(0).dims(), args.input(1).dims());
    args_.dx_strides = args_.x_strides = ConvStridesOf(args.output(0));
    args_.dy_strides = ConvStridesOf(args.input(0));
    SetThreads(args);
    ConvPoolBackwardArgs wanted = args_;
    wanted.dx = reinterpret_cast<float*>(alignof(float));
    result.Workspace(static_cast<uint64_t>(routines().conv_pool_backward_workspace(wanted, threads_)));
    result.Algorithm(1, "direct");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvPoolBackwardArgs a = args_;
    a.dy = call.in<float>(0);
    a.weights = call.in<float>(1);
    a.dx = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    const ConvPoolShape& s = a.shape;
    for (int64_t g = 0; g < windows_.group; ++g) {
      routines().conv_pool_backward(a, call.workspace<float>(), pool.parallel());
      a.dy += s.oc * a.dy_strides.c;
      a.dx += s.c * a.dx_strides.c;
      a.weights += WeightsOfGroup(s);
    }
    return pool.code();
  }

 private:
  ConvWindows windows_;
  ConvPoolBackwardArgs args_;
};

// tenon.ConvWeightGrad(X, dY) -> dW, dB.
class ConvWeightGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return AllF32(query, reason) && SupportsConv(query.attributes(), "", query.input(0), query.output(0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const double cost = ConvCost(query.input(1), query.output(0));
    const uint32_t outputs[] = {0, 0};
    for (uint32_t x : {0u, uint32_t{kNhwc}})
      for (uint32_t dy : {0u, uint32_t{kNhwc}}) {
        if ((x != 0 || dy != 0) && !MayBeNhwc(query.input(0))) continue;
        const uint32_t inputs[] = {x, dy};
        emitter.Emit(cost + (x == 0 ? MoveCost(query.input(0)) : 0) + (dy == 0 ? MoveCost(query.input(1)) : 0), inputs,
                     2, outputs, query.output_count());
      }
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    windows_ = ReadWindows(query.attributes(), "", nullptr, query.input(0).rank());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = {};
    args_.shape = ShapeOf(windows_, args.input(0).dims(), args.output(0).dims());
    args_.x_strides = ConvStridesOf(args.input(0));
    args_.dy_strides = ConvStridesOf(args.input(1));
    SetThreads(args);
    ConvPoolBackwardArgs wanted = args_;
    wanted.dw = reinterpret_cast<float*>(alignof(float));
    result.Workspace(static_cast<uint64_t>(routines().conv_pool_backward_workspace(wanted, threads_)));
    result.Algorithm(1, "direct");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvPoolBackwardArgs a = args_;
    a.x = call.in<float>(0);
    a.dy = call.in<float>(1);
    a.dw = call.out<float>(0);
    if (call.has_output(1)) a.db = call.out<float>(1);
    KernelPool pool(host(), error, threads_);
    const ConvPoolShape& s = a.shape;
    for (int64_t g = 0; g < windows_.group; ++g) {
      routines().conv_pool_backward(a, call.workspace<float>(), pool.parallel());
      a.x += s.c * a.x_strides.c;
      a.dy += s.oc * a.dy_strides.c;
      a.dw += WeightsOfGroup(s);
      if (a.db != nullptr) a.db += s.oc;
    }
    return pool.code();
  }

 private:
  ConvWindows windows_;
  ConvPoolBackwardArgs args_;
};

// ---- fused operators

constexpr tenon_gradient_source kReluPoolSources[] = {{TENON_SOURCE_INPUT, 0},
                                                      {TENON_SOURCE_INPUT, 1},
                                                      {TENON_SOURCE_OUTPUT, 0},
                                                      {TENON_SOURCE_SAVED, 0},
                                                      {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr tenon_gradient_source kReluSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr tenon_gradient_source kPoolSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_SAVED, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kGradInputs[] = {0, 1, 2};

constexpr tenon_paired_gradient kReluPoolGradient =
    sdk::PairedGradient(kDomain, kConvReluMaxPoolGrad, 1, kReluPoolSources, kGradInputs);
constexpr tenon_paired_gradient kReluGradient =
    sdk::PairedGradient(kDomain, kConvReluGrad, 1, kReluSources, kGradInputs);
constexpr tenon_paired_gradient kPoolGradient =
    sdk::PairedGradient(kDomain, kConvMaxPoolGrad, 1, kPoolSources, kGradInputs);

bool HasWideVectors(const sdk::Match& match) {
  const auto* plugin = static_cast<const CpuPlugin*>(match.plugin());
  return (plugin != nullptr ? &plugin->routines() : FindRoutines("auto"))->lanes == 16;
}
// Is the convolution of bf16, and does the processor multiply pairs of it? Then it is faster alone than widened with what
// follows.
bool MultipliesBf16(const sdk::Match& match) {
  return match["x"].dtype() == TENON_DTYPE_BF16 && HasBf16(static_cast<const CpuPlugin*>(match.plugin()));
}
// Its window, steps and channels; the kernel asks for more.
bool SuitsWinograd(const sdk::Match& match) {
  const sdk::Value w = match["w"];
  if (w.rank() != 4 || w.dim(2) != 3 || w.dim(3) != 3 || w.dim(0) % 16 != 0 || w.dim(1) % 16 != 0) return false;
  for (const char* const name : {"c.strides", "c.dilations"})
    for (const int64_t step : match.attributes().Ints(name))
      if (step != 1) return false;
  return true;
}
// The same for conv_lines_bf16.cc.
bool SuitsLines(const sdk::Match& match) {
  const sdk::Value w = match["w"];
  return w.rank() == 3 && w.dim(0) >= Lines::kFewestChannels && w.dim(1) >= Lines::kFewestChannels &&
         match.attributes().IntAt("c.strides", 0, 1) == 1;
}
// From how many input channels on the convolution alone is faster: measured once (README.md). Some kernels of bf16 have Relu.
bool IsFasterWithRelu(const sdk::Match& match, sdk::Reason& reason) {
  const bool alone = MultipliesBf16(match) && match["w"].dim(1) >= 3 && !SuitsWinograd(match) && !SuitsLines(match);
  return !alone || reason.No("A convolution of bf16 is faster without Relu.");
}
bool IsFasterWithPool(const sdk::Match& match, sdk::Reason& reason) {
  const int64_t channels = match["w"].dim(1);
  const bool bf16 = MultipliesBf16(match) && channels >= 16;
  const bool winograd = HasWideVectors(match) && SuitsWinograd(match) && channels >= 32;
  return (!bf16 && !winograd) || reason.No("With ", channels, " channels the convolution is faster without a pool.");
}

constexpr tenon_saved_def kWinners[] = {sdk::SavedValue("winners", TENON_DTYPE_U8, "p")};

}  // namespace

void AddConvKernels(KernelList& kernels) {
  kernels.push_back(Def<ConvForward>("", "Conv", "conv_direct"));
  kernels.push_back(Def<ConvInputGrad>("tenon", "ConvInputGrad", "conv_input_grad_direct"));
  kernels.push_back(Def<ConvWeightGrad>("tenon", "ConvWeightGrad", "conv_weight_grad_direct"));
  kernels.push_back(Def<ConvForward>(kDomain, kConvRelu, "conv_relu_direct"));
  kernels.push_back(Def<ConvForward>(kDomain, kConvMaxPool, "conv_max_pool_direct"));
  kernels.push_back(Def<ConvForward>(kDomain, kConvReluMaxPool, "conv_relu_max_pool_direct"));
  kernels.push_back(Def<ConvFusedGrad>(kDomain, kConvReluGrad, "conv_relu_grad_direct"));
  kernels.push_back(Def<ConvFusedGrad>(kDomain, kConvMaxPoolGrad, "conv_max_pool_grad_direct"));
  kernels.push_back(Def<ConvFusedGrad>(kDomain, kConvReluMaxPoolGrad, "conv_relu_max_pool_grad_direct"));
}

void AddConvFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("conv_relu_max_pool",
                                    "pattern(%x, %w, %b?) { %c = Conv(%x, %w, %b) {group=1} %r = Relu(%c) "
                                    "%p = MaxPool(%r) {ceil_mode=0} return %p }",
                                    kDomain, kConvReluMaxPool, kDeviceKind)
                      .Priority(30)
                      .Saved(kWinners)
                      .Gradient(&kReluPoolGradient)
                      .Match<&IsFasterWithPool>());
  // The same values in the other order; the gradient is zero where the maximum is not above 0 in both.
  fused.push_back(
      sdk::FusedBuilder("conv_max_pool_relu",
                        "pattern(%x, %w, %b?) { %c = Conv(%x, %w, %b) {group=1} %p = MaxPool(%c) {ceil_mode=0} "
                        "%r = Relu(%p) return %r }",
                        kDomain, kConvReluMaxPool, kDeviceKind)
          .Priority(30)
          .Saved(kWinners)
          .Gradient(&kReluPoolGradient)
          .Match<&IsFasterWithPool>());
  fused.push_back(
      sdk::FusedBuilder(
          "conv_max_pool",
          "pattern(%x, %w, %b?) { %c = Conv(%x, %w, %b) {group=1} %p = MaxPool(%c) {ceil_mode=0} return %p }", kDomain,
          kConvMaxPool, kDeviceKind)
          .Priority(20)
          .Saved(kWinners)
          .Gradient(&kPoolGradient)
          .Match<&IsFasterWithPool>());
  fused.push_back(sdk::FusedBuilder("conv_relu",
                                    "pattern(%x, %w, %b?) { %c = Conv(%x, %w, %b) {group=1} %r = Relu(%c) return %r }",
                                    kDomain, kConvRelu, kDeviceKind)
                      .Priority(10)
                      .Gradient(&kReluGradient)
                      .Match<&IsFasterWithRelu>());
}

}  // namespace tenon::cpu
