// Convolutions of 3x3 windows with steps of 1 by Winograd's algorithm, alone and with Relu, and their gradients. The weights
// of `mixed` ones stay f32 beside bf16.
#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// Below so many tiles of 2x2 outputs the transform of the weights costs more than the products that it saves (README.md).
constexpr int64_t kFewestTiles = 96;

constexpr std::string_view kConvMixed = "ConvMixed", kConvReluMixed = "ConvReluMixed", kMixedGrad = "ConvMixedGrad",
                           kReluMixedGrad = "ConvReluMixedGrad";

// The fused operators of this file, and those of conv.cc that it computes too.
struct Form {
  bool fused, relu, mixed;
  const char* prefix() const { return fused ? "c." : ""; }
};
Form FormOf(std::string_view op_type) {
  const bool relu = op_type.substr(0, 8) == "ConvRelu";
  const bool mixed = op_type.find("Mixed") != std::string_view::npos;
  return {relu || mixed, relu, mixed};
}

template <class T>
bool SupportsTypes(const sdk::Query& query, bool mixed, sdk::Reason& reason) {
  for (uint32_t i = 0; i < query.input_count(); ++i)
    if (mixed && i == 1 ? !IsOf<float>(query, i, reason) : !IsOf<T>(query, i, reason)) return false;
  return true;
}

// `x` and `w` describe the convolution of which the node is a part, `y` its output.
template <class T>
bool SupportsWinograd(const sdk::Query& query, sdk::Value x, sdk::Value w, sdk::Value y, sdk::Reason& reason) {
  const Form form = FormOf(query.op_type());
  const std::string prefix = form.prefix();
  if (!SupportsTypes<T>(query, form.mixed, reason)) return false;
  if (!SupportsConv(query.attributes(), prefix.c_str(), x, w, reason)) return false;
  if (x.rank() != 4) return reason.No("The rank is ", x.rank(), "; this kernel convolves images.");
  if (!x.dims().Known() || !w.dims().Known() || !y.dims().Known()) return reason.No("A dim is not known.");
  const sdk::Attributes a = query.attributes();
  if (w.dim(2) != 3 || w.dim(3) != 3) return reason.No("The window is not 3x3.");
  for (const char* const name : {"strides", "dilations"})
    for (const int64_t step : a.Ints(prefix + name))
      if (step != 1) return reason.No(std::string_view(name), " has a ", step, "; this kernel takes 1.");
  if (a.Int(prefix + "group", 1) != 1) return reason.No("There are groups; this kernel takes one.");
  for (const int64_t pad : a.Ints(prefix + "pads"))
    if (pad > 2) return reason.No("A pad is ", pad, "; this kernel takes at most 2.");
  if (w.dim(0) % 16 != 0 || w.dim(1) % 16 != 0)
    return reason.No("There are ", w.dim(1), " and ", w.dim(0), " channels; this kernel takes multiples of 16.");
  const int64_t tiles = y.dim(0) * ((y.dim(2) + 1) / 2) * ((y.dim(3) + 1) / 2);
  return tiles >= kFewestTiles ||
         reason.No("There are ", tiles, " tiles of 2x2 outputs; this kernel pays from ", kFewestTiles, " on.");
}

WinogradShape WinogradShapeOf(const ConvWindows& windows, sdk::Dims x, sdk::Dims w) {
  const ConvPoolShape& s = windows.shape;
  return {x[0], x[1], x[2], x[3], w[0], s.pad_top, s.pad_left, s.pad_bottom, s.pad_right};
}

// The convolution that computes the gradient of the data of `s`.
WinogradShape Turned(const WinogradShape& s) {
  return {s.n, s.oc, s.OutH(), s.OutW(), s.c, 2 - s.pad_top, 2 - s.pad_left, 2 - s.pad_bottom, 2 - s.pad_right};
}

double CostOf(sdk::Value y, sdk::Value w) {
  return static_cast<double>(y.elements()) * static_cast<double>(w.dim(1)) / 20.0 + 4000;
}

template <class T>
void SetWeights(WinogradForwardArgsOf<T>& a, const sdk::Call& call, int input, bool mixed) {
  if (mixed)
    a.wide_weights = call.in<float>(static_cast<uint32_t>(input));
  else
    a.weights = call.in<T>(static_cast<uint32_t>(input));
}

// Conv(x, w, b), and fused ones of the same operands.
template <class T>
class WinogradConv : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsWinograd<T>(query, query.input(0), query.input(1), query.output(0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const uint32_t inputs[] = {kNhwc, 0, 0}, outputs[] = {kNhwc};
    emitter.Emit(CostOf(query.output(0), query.input(1)), inputs, query.input_count(), outputs, 1);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const Form form = FormOf(query.op_type());
    args_.relu = form.relu;
    mixed_ = form.mixed;
    windows_ = ReadWindows(query.attributes(), form.prefix(), nullptr, 4);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.shape = WinogradShapeOf(windows_, args.input(0).dims(), args.input(1).dims());
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines_of<T>().winograd_forward_workspace(args_, threads_)));
    result.Algorithm(3, "winograd");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    WinogradForwardArgsOf<T> a = args_;
    a.x = call.in<T>(0);
    SetWeights(a, call, 1, mixed_);
    if (call.has_input(2)) a.bias = call.in<T>(2);
    a.y = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().winograd_forward(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  bool mixed_ = false;
  ConvWindows windows_;
  WinogradForwardArgsOf<T> args_;
};

// Where the operands of a gradient are; -1: it has none. Results: dx, dw, db.
struct GradRoles {
  int x, w, y, dy;
  int dx, dw, db;
};
GradRoles RolesOf(std::string_view op_type) {
  if (op_type == "ConvInputGrad") return {-1, 1, -1, 0, 0, -1, -1};
  if (op_type == "ConvWeightGrad") return {0, -1, -1, 1, -1, 0, 1};
  if (op_type == kMixedGrad) return {0, 1, -1, 2, 0, 1, 2};
  return {0, 1, 2, 3, 0, 1, 2};  // of Relu
}

// ConvInputGrad(dy, w) -> dx, ConvWeightGrad(x, dy) -> dw, db, those of fused ones (x, w, dy) or with Relu
// (x, w, y, dy) -> dx, dw, db.
template <class T>
class WinogradGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const GradRoles r = RolesOf(query.op_type());
    const auto operand = [&](int input, int output) {
      return input >= 0 ? query.input(static_cast<uint32_t>(input)) : query.output(static_cast<uint32_t>(output));
    };
    return SupportsWinograd<T>(query, operand(r.x, r.dx), operand(r.w, r.dw), operand(r.dy, 0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const GradRoles r = RolesOf(query.op_type());
    uint32_t inputs[4] = {}, outputs[3] = {};
    for (const int image : {r.x, r.y, r.dy})
      if (image >= 0) inputs[image] = kNhwc;
    if (r.dx >= 0 && query.has_output(static_cast<uint32_t>(r.dx))) outputs[r.dx] = kNhwc;
    const sdk::Value w = r.w >= 0 ? query.input(static_cast<uint32_t>(r.w)) : query.output(static_cast<uint32_t>(r.dw));
    emitter.Emit(CostOf(query.input(static_cast<uint32_t>(r.dy)), w), inputs, query.input_count(), outputs,
                 query.output_count());
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const Form form = FormOf(query.op_type());
    mixed_ = form.mixed;
    roles_ = RolesOf(query.op_type());
    windows_ = ReadWindows(query.attributes(), form.prefix(), nullptr, 4);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Value x = roles_.x >= 0 ? args.input(static_cast<uint32_t>(roles_.x)) : args.output(0);
    const sdk::Value w = roles_.w >= 0 ? args.input(static_cast<uint32_t>(roles_.w)) : args.output(0);
    weights_.shape = WinogradShapeOf(windows_, x.dims(), w.dims());
    data_.shape = Turned(weights_.shape);
    data_.turned = true;
    SetThreads(args);
    int64_t bytes = 0;
    if (Wants(args, roles_.dx)) bytes = routines_of<T>().winograd_forward_workspace(data_, threads_);
    if (Wants(args, roles_.dw) || Wants(args, roles_.db))
      bytes = std::max(bytes, routines_of<T>().winograd_weights_workspace(weights_, threads_) + SpareBytes(args));
    result.Workspace(static_cast<uint64_t>(bytes));
    result.Algorithm(3, "winograd");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const T* const dy = call.in<T>(static_cast<uint32_t>(roles_.dy));
    const T* const mask = roles_.y >= 0 ? call.in<T>(static_cast<uint32_t>(roles_.y)) : nullptr;
    KernelPool pool(host(), error, threads_);
    if (Wants(call, roles_.dx)) {
      WinogradForwardArgsOf<T> a = data_;
      a.x = dy, a.mask = mask;
      SetWeights(a, call, roles_.w, mixed_);
      a.y = call.out<T>(static_cast<uint32_t>(roles_.dx));
      routines_of<T>().winograd_forward(a, call.workspace<float>(), pool.parallel());
    }
    if (Wants(call, roles_.dw) || Wants(call, roles_.db)) {
      WinogradWeightsArgsOf<T> a = weights_;
      a.x = call.in<T>(static_cast<uint32_t>(roles_.x));
      a.dy = dy, a.mask = mask;
      // Weights that nobody asked for are thrown away.
      const int64_t bytes = routines_of<T>().winograd_weights_workspace(a, threads_);
      if (!Wants(call, roles_.dw))
        a.dw = reinterpret_cast<T*>(call.workspace<char>() + bytes);
      else if (mixed_)
        a.wide_dw = call.out<float>(static_cast<uint32_t>(roles_.dw));
      else
        a.dw = call.out<T>(static_cast<uint32_t>(roles_.dw));
      if (Wants(call, roles_.db)) a.db = call.out<T>(static_cast<uint32_t>(roles_.db));
      routines_of<T>().winograd_weights(a, call.workspace<float>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  template <class Operands>
  static bool Wants(const Operands& operands, int output) {
    return output >= 0 && operands.has_output(static_cast<uint32_t>(output));
  }
  // For the gradient of the weights where only that of the bias is wanted.
  int64_t SpareBytes(const sdk::PlanArgs& args) const {
    const WinogradShape& s = weights_.shape;
    return Wants(args, roles_.dw) ? 0 : 9 * s.c * s.oc * static_cast<int64_t>(sizeof(float));
  }

  bool mixed_ = false;
  GradRoles roles_{};
  ConvWindows windows_;
  WinogradForwardArgsOf<T> data_;
  WinogradWeightsArgsOf<T> weights_;
};

constexpr tenon_gradient_source kSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr tenon_gradient_source kReluSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kGradInputs[] = {0, 1, 2};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, kMixedGrad, 1, kSources, kGradInputs),
                                kReluGradient =
                                    sdk::PairedGradient(kDomain, kReluMixedGrad, 1, kReluSources, kGradInputs);

}  // namespace

void AddWinogradKernels(KernelList& kernels) {
  AddOfBoth<WinogradConv>(kernels, "", "Conv", "conv_winograd_bf16");
  AddOfBoth<WinogradConv>(kernels, kDomain, "ConvRelu", "conv_relu_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, "tenon", "ConvInputGrad", "conv_input_grad_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, "tenon", "ConvWeightGrad", "conv_weight_grad_winograd_bf16");
  AddOfBoth<WinogradGrad>(kernels, kDomain, "ConvReluGrad", "conv_relu_grad_winograd_bf16");
  kernels.push_back(Def<WinogradConv<Bf16>>(kDomain, kConvMixed, "conv_mixed_winograd_bf16"));
  kernels.push_back(Def<WinogradConv<Bf16>>(kDomain, kConvReluMixed, "conv_relu_mixed_winograd_bf16"));
  kernels.push_back(Def<WinogradGrad<Bf16>>(kDomain, kMixedGrad, "conv_mixed_grad_winograd_bf16"));
  kernels.push_back(Def<WinogradGrad<Bf16>>(kDomain, kReluMixedGrad, "conv_relu_mixed_grad_winograd_bf16"));
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
