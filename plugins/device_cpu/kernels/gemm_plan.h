// Where the operands of matrix products lie, for any element type: Args is GemmArgs or GemmBf16Args.
#pragma once

#include <string>
#include <string_view>

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

// Base of kernels that multiply f32 matrices: exactly, or of bf16 products where the kernel is one of `math: high`.
class ProductKernel : public CpuKernel {
 protected:
  static bool Supported(const sdk::Query& query, sdk::Reason& reason) {
    if (!IsSplit(query)) return AllF32(query, reason);
    if (!PermitsMathHigh(query, reason)) return false;
    const auto* plugin = static_cast<const CpuPlugin*>(query.plugin());
    if (!HasBf16(plugin, reason)) return false;
    if (!MultipliesInTiles() && plugin != nullptr && !plugin->always_splits())
      return reason.No(
          "Three products of bf16 take longer here than one of float32 (split_products: always makes them).");
    return AllF32(query, reason);
  }
  void ReadSplit(const sdk::Query& query) { split_ = IsSplit(query); }

  int64_t ProductWorkspace(const GemmArgs& g) const {
    return split_ ? FindBf16Routines()->products.split_workspace(g, threads_) : routines().gemm_workspace(g, threads_);
  }
  void Multiply(const GemmArgs& g, float* workspace, const Parallel& pool) const {
    (split_ ? FindBf16Routines()->products.split_gemm : routines().gemm)(g, workspace, pool);
  }

 private:
  static bool IsSplit(const sdk::Query& query) { return (query.def().traits & TENON_TRAIT_MATH_HIGH) != 0; }
  bool split_ = false;
};

inline constexpr std::string_view kGemmRelu = "GemmRelu", kGemmReluGrad = "GemmReluGrad", kGemmGelu = "GemmGelu";
// Of bf16 samples with weights and bias in f32: GemmRelu and the Casts that mixed precision puts before the parameters.
inline constexpr std::string_view kGemmReluMixed = "GemmReluMixed", kGemmReluMixedGrad = "GemmReluMixedGrad";

struct GemmAttributes {
  bool ta, tb;
  float alpha, beta;
};
// Of Gemm, or of a fused operator whose Gemm is "g" in the pattern.
inline GemmAttributes ReadGemm(const sdk::Attributes& a, bool fused) {
  const std::string p(fused ? "g." : "");
  return {a.Int(p + "transA", 0) != 0, a.Int(p + "transB", 0) != 0, static_cast<float>(a.Float(p + "alpha", 1)),
          static_cast<float>(a.Float(p + "beta", 1))};
}

// What follows a Gemm in a fused operator, as the routines take it: Gelu goes to output 0, and what it reads to output 1 where
// somebody else wants it.
struct Following {
  bool relu = false, gelu = false, gelu_tanh = false;
  explicit Following(std::string_view op_type = {}, bool tanh = false)
      : relu(op_type == kGemmRelu || op_type == kGemmReluMixed), gelu(op_type == kGemmGelu), gelu_tanh(tanh) {}
  bool any() const { return relu || gelu; }

  template <class T, class Args>
  void SetResults(const sdk::Call& call, Args& g) const {
    g.c = call.out<T>(gelu && call.has_output(1) ? 1 : 0);
    if (gelu) g.gelu = call.out<T>(0), g.gelu_tanh = gelu_tanh;
  }
};
inline Following FollowingOf(const sdk::Query& query) {
  return Following(query.op_type(), query.attributes().String("y.approximate", "none") == "tanh");
}

// C of Gemm as one value per column?
inline bool IsRow(sdk::Dims c, int64_t columns) {
  return (c.size() == 1 && c[0] == columns) || (c.size() == 2 && c[0] == 1 && c[1] == columns);
}

// y = alpha a' b', where ' transposes as the attributes say.
template <class Args>
Args PlanGemm(const GemmAttributes& attributes, sdk::Dims a, sdk::Dims b, sdk::Dims y) {
  Args p;
  p.m = y[0], p.n = y[1], p.k = attributes.ta ? a[0] : a[1];
  p.a_row = attributes.ta ? 1 : a[1], p.a_col = attributes.ta ? a[1] : 1;
  p.b_row = attributes.tb ? 1 : b[1], p.b_col = attributes.tb ? b[1] : 1;
  p.c_row = y[1];
  p.alpha = attributes.alpha;
  return p;
}

// Of a, with g the gradient of y: da' = g b'^T, written transposed when a was: da = b' g^T.
template <class Args>
Args PlanGradA(const GemmAttributes& attributes, sdk::Dims a, sdk::Dims b, sdk::Dims y) {
  Args p;
  p.alpha = attributes.alpha;
  p.c_row = a[1];
  p.k = y[1];
  if (!attributes.ta) {
    p.m = y[0], p.n = a[1];
    p.a_row = y[1], p.a_col = 1;
    p.b_row = attributes.tb ? b[1] : 1, p.b_col = attributes.tb ? 1 : b[1];
  } else {
    p.m = a[0], p.n = y[0];
    p.a_row = attributes.tb ? 1 : b[1], p.a_col = attributes.tb ? b[1] : 1;
    p.b_row = 1, p.b_col = y[1];
  }
  return p;
}

// Of b: db' = a'^T g, or db = g^T a'.
template <class Args>
Args PlanGradB(const GemmAttributes& attributes, sdk::Dims a, sdk::Dims b, sdk::Dims y) {
  Args p;
  p.alpha = attributes.alpha;
  p.c_row = b[1];
  p.k = y[0];
  if (!attributes.tb) {
    p.m = attributes.ta ? a[0] : a[1], p.n = y[1];
    p.a_row = attributes.ta ? a[1] : 1, p.a_col = attributes.ta ? 1 : a[1];
    p.b_row = y[1], p.b_col = 1;
  } else {
    p.m = y[1], p.n = attributes.ta ? a[0] : a[1];
    p.a_row = 1, p.a_col = y[1];
    p.b_row = attributes.ta ? 1 : a[1], p.b_col = attributes.ta ? a[1] : 1;
  }
  return p;
}

// May MatMul be done as `batches` products of equal matrices, or as one?
inline bool SupportsBatches(sdk::Dims a, sdk::Dims b, sdk::Reason& reason) {
  if (a.size() < 2 || b.size() < 2) return reason.No("An operand is a vector; this kernel takes matrices.");
  if (b.size() == 2) return true;
  bool same = a.size() == b.size();
  for (uint32_t axis = 0; same && axis + 2 < a.size(); ++axis) same = a[axis] == b[axis] && a[axis] >= 0;
  return same || reason.No("Batches ", a, " and ", b, " differ.");
}
inline bool SupportsBatches(const sdk::Query& query, sdk::Reason& reason) {
  return SupportsBatches(query.input(0).dims(), query.input(1).dims(), reason);
}

// The product of one batch; a matrix on the right serves all rows of all batches at once.
template <class Args>
Args PlanMatMul(sdk::Dims a, sdk::Dims b, int64_t& batches) {
  Args p;
  p.m = a[a.size() - 2], p.k = a[a.size() - 1], p.n = b[b.size() - 1];
  p.a_row = p.k, p.b_row = p.n, p.c_row = p.n;
  batches = 1;
  for (uint32_t axis = 0; axis + 2 < a.size(); ++axis) batches *= a[axis];
  if (b.size() == 2) {
    p.m *= batches;
    batches = 1;
  }
  return p;
}

}  // namespace tenon::cpu
