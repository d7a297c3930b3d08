// Convolutions of lines with many channels and steps of 1: what those of f32 and bf16 share.
#pragma once

#include <algorithm>
#include <utility>

#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

// x [n][c][in], weights [o][c][taps], y [n][o][out].
struct Lines {
  // Fewer channels or positions make short products.
  static constexpr int64_t kFewestChannels = 32, kFewestPositions = 64;
  // Positions at a time: what taps share of them stays in the second-level cache.
  static constexpr int64_t kBlock = 1024;

  int64_t n = 0, c = 0, o = 0, in = 0, out = 0, taps = 0, dilation = 1, pad = 0;

  int64_t Weights() const { return taps * o * c; }
  int64_t Inputs() const { return n * c * in; }
  int64_t Outputs() const { return n * o * out; }
  int64_t Shift(int64_t tap) const { return tap * dilation - pad; }
  // Outputs of [begin, end) for which a tap reads a position of the line.
  std::pair<int64_t, int64_t> OutputsOf(int64_t tap, int64_t begin, int64_t end) const {
    return {std::max(begin, -Shift(tap)), std::min({end, out, in - Shift(tap)})};
  }
};

// Conv or ConvRelu (x, w, b) -> y; ConvInputGrad (dy, w) -> dx; ConvWeightGrad (x, dy) -> dw, db; ConvReluGrad (x, w, y, dy) ->
// dx, dw, db.
enum class LinesOp { kForward, kForwardRelu, kData, kWeights, kReluGrad };

inline LinesOp LinesOpOf(std::string_view op_type) {
  if (op_type == "Conv") return LinesOp::kForward;
  if (op_type == "ConvRelu") return LinesOp::kForwardRelu;
  if (op_type == "ConvInputGrad") return LinesOp::kData;
  return op_type == "ConvWeightGrad" ? LinesOp::kWeights : LinesOp::kReluGrad;
}

template <class T>
class LinesKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const std::string p(PrefixOf(query));
    if (IsaOf(query) != "avx512")
      return reason.No("The instruction set is ", IsaOf(query), "; this kernel takes avx512.");
    const auto [x, w, y] = OperandsOf(query, LinesOpOf(query.op_type()));
    if (!SupportsConv(query.attributes(), p.c_str(), x, w, reason)) return false;
    if (x.rank() != 3) return reason.No("The rank is ", x.rank(), "; this kernel convolves lines.");
    if (!x.dims().Known() || !w.dims().Known() || !y.dims().Known()) return reason.No("A dim is not known.");
    if (query.attributes().Int(p + "group", 1) != 1) return reason.No("There are groups; this kernel takes one.");
    if (query.attributes().IntAt(p + "strides", 0, 1) != 1) return reason.No("The step is not 1.");
    if (w.dim(0) < Lines::kFewestChannels || w.dim(1) < Lines::kFewestChannels || y.dim(2) < Lines::kFewestPositions)
      return reason.No("There are ", w.dim(1), " and ", w.dim(0), " channels and ", y.dim(2),
                       " positions; this kernel takes ", Lines::kFewestChannels, " channels and ",
                       Lines::kFewestPositions, " positions at least.");
    return AllOf<T>(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const std::string p(PrefixOf(query));
    op_ = LinesOpOf(query.op_type());
    lines_.dilation = query.attributes().IntAt(p + "dilations", 0, 1);
    lines_.pad = query.attributes().IntAt(p + "pads", 0, 0);
    return TENON_OK;
  }

 protected:
  void PlanSizes(const sdk::PlanArgs& args) {
    const auto [x, w, y] = OperandsOf(args, op_);
    lines_.n = x.dim(0), lines_.c = x.dim(1), lines_.in = x.dim(2);
    lines_.o = w.dim(0), lines_.taps = w.dim(2), lines_.out = y.dim(2);
    SetThreads(args);
  }
  bool IsForward() const { return op_ == LinesOp::kForward || op_ == LinesOp::kForwardRelu; }

  // g = dy where y is not 0 or less.
  void Mask(const T* dy, const T* y, T* g, const KernelPool& pool) const {
    BinaryArgsOf<T> p;
    p.op = BinaryOp::kReluGrad, p.rank = 1, p.dims[0] = lines_.Outputs(), p.a_strides[0] = p.b_strides[0] = 1;
    p.a = dy, p.b = y, p.out = g;
    routines_of<T>().binary(p, pool.parallel());
  }
  void SumBias(const T* dy, T* db, const KernelPool& pool) const {
    routines_of<T>().reduce({ReduceOp::kSum, 1, lines_.n, lines_.o, lines_.out, dy, db}, pool.parallel());
  }

  LinesOp op_ = LinesOp::kForward;
  Lines lines_;

 private:
  static const char* PrefixOf(const sdk::Query& query) { return query.domain() == kDomain ? "c." : ""; }

  struct Operands {
    sdk::Value x, w, y;
  };
  template <class Node>
  static Operands OperandsOf(const Node& node, LinesOp op) {
    if (op == LinesOp::kData) return {node.output(0), node.input(1), node.input(0)};
    if (op == LinesOp::kWeights) return {node.input(0), node.output(0), node.input(1)};
    if (op == LinesOp::kReluGrad) return {node.input(0), node.input(1), node.input(3)};
    return {node.input(0), node.input(1), node.output(0)};
  }
};

}  // namespace tenon::cpu
