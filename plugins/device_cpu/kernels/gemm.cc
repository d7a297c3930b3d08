// Gemm, alone and fused with Relu or Gelu.
#include "plugins/device_cpu/kernels/gemm_plan.h"

namespace tenon::cpu {
namespace {

class Gemm : public ProductKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Supported(query, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    ReadSplit(query);
    following_ = FollowingOf(query);
    attributes_ = ReadGemm(query.attributes(), following_.any());
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims y = args.output(0).dims();
    args_ = PlanGemm<GemmArgs>(attributes_, args.input(0).dims(), args.input(1).dims(), y);
    args_.relu = following_.relu;
    bias_row_ = args.has_input(2) && attributes_.beta == 1.0f && IsRow(args.input(2).dims(), y[1]);
    // Any other C is written to Y first and the product added to it.
    args_.accumulate = args.has_input(2) && !bias_row_;
    if (args_.accumulate) {
      const sdk::Dims c = args.input(2).dims();
      const int64_t columns = c.size() > 0 ? c[c.size() - 1] : 1, rows = c.size() > 1 ? c[0] : 1;
      c_row_ = rows == 1 ? 0 : columns;
      c_col_ = columns == 1 ? 0 : 1;
    }
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(ProductWorkspace(args_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GemmArgs g = args_;
    g.a = call.in<float>(0);
    g.b = call.in<float>(1);
    following_.SetResults<float>(call, g);
    if (bias_row_) g.bias = call.in<float>(2);
    if (g.accumulate) {
      const float* c = call.in<float>(2);
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) g.c[i * g.c_row + j] = attributes_.beta * c[i * c_row_ + j * c_col_];
    }
    KernelPool pool(host(), error, threads_);
    Multiply(g, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  Following following_;
  bool bias_row_ = false;
  GemmAttributes attributes_{};
  GemmArgs args_;
  int64_t c_row_ = 0, c_col_ = 0;
};

// GemmReluGrad(a, b, y, dy) -> da, db, dc of y = relu(a' b' + c) with c one value per column.
class GemmReluGrad : public ProductKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Supported(query, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    ReadSplit(query);
    attributes_ = ReadGemm(query.attributes(), true);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims a = args.input(0).dims(), b = args.input(1).dims(), y = args.input(2).dims();
    rows_ = y[0], columns_ = y[1];
    SetThreads(args);
    da_ = PlanGradA<GemmArgs>(attributes_, a, b, y);
    db_ = PlanGradB<GemmArgs>(attributes_, a, b, y);
    g_floats_ = (rows_ * columns_ + 15) / 16 * 16;
    const int64_t products =
        std::max(args.has_output(0) ? ProductWorkspace(da_) : 0, args.has_output(1) ? ProductWorkspace(db_) : 0);
    result.Workspace(static_cast<uint64_t>(g_floats_) * sizeof(float) + static_cast<uint64_t>(products));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    float* g = call.workspace<float>();
    float* space = g + g_floats_;
    MaskArgs mask;
    mask.rows = rows_, mask.columns = columns_, mask.y = call.in<float>(2), mask.dy = call.in<float>(3), mask.g = g;
    mask.column_sums = call.has_output(2) ? call.out<float>(2) : nullptr;
    mask.sum_scale = attributes_.beta;
    routines().mask_gradient(mask, pool.parallel());
    if (call.has_output(0)) {
      GemmArgs p = da_;
      p.a = attributes_.ta ? call.in<float>(1) : g;
      p.b = attributes_.ta ? g : call.in<float>(1);
      p.c = call.out<float>(0);
      Multiply(p, space, pool.parallel());
    }
    if (call.has_output(1)) {
      GemmArgs p = db_;
      p.a = attributes_.tb ? g : call.in<float>(0);
      p.b = attributes_.tb ? call.in<float>(0) : g;
      p.c = call.out<float>(1);
      Multiply(p, space, pool.parallel());
    }
    return pool.code();
  }

 private:
  GemmAttributes attributes_{};
  int64_t rows_ = 0, columns_ = 0, g_floats_ = 0;
  GemmArgs da_, db_;
};

// The fused gradient wants C as one value per column.
bool RowBias(const sdk::Match& match, sdk::Reason& reason) {
  const sdk::Value c = match["c"], y = match["g"];
  if (c.absent()) return true;
  return IsRow(c.dims(), y.dim(1)) ||
         reason.No("C has shape ", c.dims(), "; the fused operator takes one value per column.");
}

constexpr tenon_gradient_source kSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_OUTPUT, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kGradInputs[] = {0, 1, 2};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, kGemmReluGrad, 1, kSources, kGradInputs),
                                kMixedGradient =
                                    sdk::PairedGradient(kDomain, kGemmReluMixedGrad, 1, kSources, kGradInputs);

}  // namespace

void AddGemmKernels(KernelList& kernels) {
  kernels.push_back(Def<Gemm>("", "Gemm", "gemm"));
  kernels.push_back(Def<Gemm>(kDomain, kGemmRelu, "gemm_relu"));
  kernels.push_back(Def<Gemm>(kDomain, kGemmGelu, "gemm_gelu"));
  kernels.push_back(Def<GemmReluGrad>(kDomain, kGemmReluGrad, "gemm_relu_grad"));
}
void AddSplitGemmKernels(KernelList& kernels) {
  kernels.push_back(Def<Gemm>("", "Gemm", "gemm_split", kMathHigh));
  kernels.push_back(Def<Gemm>(kDomain, kGemmRelu, "gemm_relu_split", kMathHigh));
  kernels.push_back(Def<Gemm>(kDomain, kGemmGelu, "gemm_gelu_split", kMathHigh));
  kernels.push_back(Def<GemmReluGrad>(kDomain, kGemmReluGrad, "gemm_relu_grad_split", kMathHigh));
}

void AddGemmFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("gemm_relu",
                                    "pattern(%a, %b, %c?) { %g = Gemm(%a, %b, %c) %r = Relu(%g) return %r }", kDomain,
                                    kGemmRelu, kDeviceKind)
                      .Priority(10)
                      .Gradient(&kGradient)
                      .Match<&RowBias>());
  fused.push_back(sdk::FusedBuilder("gemm_relu_mixed",
                                    "pattern(%a, %b, %c) { %v = Cast(%b) {to=16} %w = Cast(%c) {to=16} "
                                    "%g = Gemm(%a, %v, %w) %r = Relu(%g) return %r }",
                                    kDomain, kGemmReluMixed, kDeviceKind)
                      .Priority(20)
                      .Gradient(&kMixedGradient)
                      .Match<&RowBias>());
  // After autodiff, so that no pair of gradients is needed. The gradient of Gelu reads what Gelu read, if there is one.
  fused.push_back(sdk::FusedBuilder("gemm_gelu",
                                    "pattern(%a, %b, %c?) { %g = Gemm(%a, %b, %c) %y = Gelu(%g) return %y }", kDomain,
                                    kGemmGelu, kDeviceKind)
                      .Priority(10)
                      .AfterAutodiff());
  fused.push_back(sdk::FusedBuilder("gemm_gelu_training",
                                    "pattern(%a, %b, %c?) { %g = Gemm(%a, %b, %c) %y = Gelu(%g) return %y, %g }",
                                    kDomain, kGemmGelu, kDeviceKind)
                      .Priority(5)
                      .AfterAutodiff());
}

}  // namespace tenon::cpu
