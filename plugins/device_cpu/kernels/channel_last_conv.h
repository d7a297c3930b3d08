// Kernels of convolutions over channel-last images, whose algorithms are of one form: Conv, the fused operators of the same operands,
// and their gradients. The weights of `mixed` ones stay f32 beside bf16. Algorithm has
//   T, kId, kName                                  of the numbers of images; what a plan tells
//   Supports(query, form, x, w, y, reason)         of the convolution of which the node is a part
//   SetShape(windows, x, w)                        of a plan
//   Forward, Data, Weights(routines, operands, workspace, pool) and how many bytes they need: ForwardBytes(routines, threads), ...
#pragma once

#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

inline constexpr std::string_view kConvMixed = "ConvMixed", kConvReluMixed = "ConvReluMixed",
                                  kConvMixedGrad = "ConvMixedGrad", kConvReluMixedGrad = "ConvReluMixedGrad";

// The fused operators of mixed precision, and those of conv.cc.
struct ConvForm {
  bool fused, relu, mixed;
  const char* prefix() const { return fused ? "c." : ""; }
};
inline ConvForm ConvFormOf(std::string_view op_type) {
  const bool relu = op_type.substr(0, 8) == "ConvRelu";
  const bool mixed = op_type.find("Mixed") != std::string_view::npos;
  return {relu || mixed, relu, mixed};
}

// Where the operands of a gradient are; -1: it has none. Results: dx, dw, db.
struct ConvGradRoles {
  int x, w, y, dy;
  int dx, dw, db;
};
inline ConvGradRoles ConvGradRolesOf(std::string_view op_type) {
  if (op_type == "ConvInputGrad") return {-1, 1, -1, 0, 0, -1, -1};
  if (op_type == "ConvWeightGrad") return {0, -1, -1, 1, -1, 0, 1};
  if (op_type == kConvMixedGrad) return {0, 1, -1, 2, 0, 1, 2};
  return {0, 1, 2, 3, 0, 1, 2};  // of Relu
}

// What an algorithm reads and writes. Weights and their gradient are f32 where the wide pointer is set; dy counts as zero where
// `mask` is not above zero.
template <class T>
struct ConvOperands {
  const T *x = nullptr, *weights = nullptr, *bias = nullptr, *dy = nullptr, *mask = nullptr;
  const float* wide_weights = nullptr;
  T *y = nullptr, *dx = nullptr, *dw = nullptr, *db = nullptr;
  float* wide_dw = nullptr;
  bool relu = false;

  void SetWeights(const sdk::Call& call, int input, bool mixed) {
    if (mixed)
      wide_weights = call.in<float>(static_cast<uint32_t>(input));
    else
      weights = call.in<T>(static_cast<uint32_t>(input));
  }
};

// What all of them ask for: images of T without groups, of known shape.
template <class T>
bool SupportsImages(const sdk::Query& query, const ConvForm& form, sdk::Value x, sdk::Value w, sdk::Value y,
                    sdk::Reason& reason) {
  for (uint32_t i = 0; i < query.input_count(); ++i)
    if (form.mixed && i == 1 ? !IsOf<float>(query, i, reason) : !IsOf<T>(query, i, reason)) return false;
  if (!SupportsConv(query.attributes(), form.prefix(), x, w, reason)) return false;
  if (x.rank() != 4) return reason.No("The rank is ", x.rank(), "; this kernel convolves images.");
  if (!x.dims().Known() || !w.dims().Known() || !y.dims().Known()) return reason.No("A dim is not known.");
  const std::string prefix = form.prefix();
  return query.attributes().Int(prefix + "group", 1) == 1 || reason.No("There are groups; this kernel takes one.");
}

// Conv(x, w, b), and fused ones of the same operands.
template <class Algorithm>
class ChannelLastConv : public CpuKernel {
  using T = typename Algorithm::T;

 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return Algorithm::Supports(query, ConvFormOf(query.op_type()), query.input(0), query.input(1), query.output(0),
                               reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const uint32_t inputs[] = {kNhwc, 0, 0}, outputs[] = {kNhwc};
    emitter.Emit(Algorithm::Cost(query.output(0), query.input(1)), inputs, query.input_count(), outputs, 1);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    form_ = ConvFormOf(query.op_type());
    windows_ = ReadWindows(query.attributes(), form_.prefix(), nullptr, 4);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    algorithm_.SetShape(windows_, args.input(0).dims(), args.input(1).dims());
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(algorithm_.ForwardBytes(routines(), threads_)));
    result.Algorithm(Algorithm::kId, Algorithm::kName);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvOperands<T> operands;
    operands.x = call.in<T>(0);
    operands.SetWeights(call, 1, form_.mixed);
    if (call.has_input(2)) operands.bias = call.in<T>(2);
    operands.y = call.out<T>(0);
    operands.relu = form_.relu;
    KernelPool pool(host(), error, threads_);
    algorithm_.Forward(routines(), operands, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  ConvForm form_{};
  ConvWindows windows_;
  Algorithm algorithm_;
};

// ConvInputGrad(dy, w) -> dx, ConvWeightGrad(x, dy) -> dw, db, those of fused ones (x, w, dy) or with Relu
// (x, w, y, dy) -> dx, dw, db.
template <class Algorithm>
class ChannelLastConvGrad : public CpuKernel {
  using T = typename Algorithm::T;

 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const ConvGradRoles r = ConvGradRolesOf(query.op_type());
    const auto operand = [&](int input, int output) {
      return input >= 0 ? query.input(static_cast<uint32_t>(input)) : query.output(static_cast<uint32_t>(output));
    };
    return Algorithm::Supports(query, ConvFormOf(query.op_type()), operand(r.x, r.dx), operand(r.w, r.dw),
                               operand(r.dy, 0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const ConvGradRoles r = ConvGradRolesOf(query.op_type());
    uint32_t inputs[4] = {}, outputs[3] = {};
    for (const int image : {r.x, r.y, r.dy})
      if (image >= 0) inputs[image] = kNhwc;
    if (r.dx >= 0 && query.has_output(static_cast<uint32_t>(r.dx))) outputs[r.dx] = kNhwc;
    const sdk::Value w = r.w >= 0 ? query.input(static_cast<uint32_t>(r.w)) : query.output(static_cast<uint32_t>(r.dw));
    emitter.Emit(Algorithm::Cost(query.input(static_cast<uint32_t>(r.dy)), w), inputs, query.input_count(), outputs,
                 query.output_count());
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    form_ = ConvFormOf(query.op_type());
    roles_ = ConvGradRolesOf(query.op_type());
    windows_ = ReadWindows(query.attributes(), form_.prefix(), nullptr, 4);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Value x = roles_.x >= 0 ? args.input(static_cast<uint32_t>(roles_.x)) : args.output(0);
    const sdk::Value w = roles_.w >= 0 ? args.input(static_cast<uint32_t>(roles_.w)) : args.output(0);
    algorithm_.SetShape(windows_, x.dims(), w.dims());
    SetThreads(args);
    int64_t bytes = 0;
    if (Wants(args, roles_.dx)) bytes = algorithm_.DataBytes(routines(), threads_);
    if (Wants(args, roles_.dw) || Wants(args, roles_.db)) {
      // Weights that nobody asked for are thrown away.
      const int64_t spare = Wants(args, roles_.dw) ? 0 : w.elements() * static_cast<int64_t>(sizeof(T));
      bytes = std::max(bytes, algorithm_.WeightsBytes(routines(), threads_) + spare);
    }
    result.Workspace(static_cast<uint64_t>(bytes));
    result.Algorithm(Algorithm::kId, Algorithm::kName);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    ConvOperands<T> operands;
    operands.dy = call.in<T>(static_cast<uint32_t>(roles_.dy));
    if (roles_.y >= 0) operands.mask = call.in<T>(static_cast<uint32_t>(roles_.y));
    KernelPool pool(host(), error, threads_);
    if (Wants(call, roles_.dx)) {
      operands.SetWeights(call, roles_.w, form_.mixed);
      operands.dx = call.out<T>(static_cast<uint32_t>(roles_.dx));
      algorithm_.Data(routines(), operands, call.workspace<float>(), pool.parallel());
    }
    if (Wants(call, roles_.dw) || Wants(call, roles_.db)) {
      operands.x = call.in<T>(static_cast<uint32_t>(roles_.x));
      if (!Wants(call, roles_.dw))
        operands.dw = reinterpret_cast<T*>(call.workspace<char>() + algorithm_.WeightsBytes(routines(), threads_));
      else if (form_.mixed)
        operands.wide_dw = call.out<float>(static_cast<uint32_t>(roles_.dw));
      else
        operands.dw = call.out<T>(static_cast<uint32_t>(roles_.dw));
      if (Wants(call, roles_.db)) operands.db = call.out<T>(static_cast<uint32_t>(roles_.db));
      algorithm_.Weights(routines(), operands, call.workspace<float>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  template <class Operands>
  static bool Wants(const Operands& operands, int output) {
    return output >= 0 && operands.has_output(static_cast<uint32_t>(output));
  }

  ConvForm form_{};
  ConvGradRoles roles_{};
  ConvWindows windows_;
  Algorithm algorithm_;
};

}  // namespace tenon::cpu
