// Matrix products of bf16 operands: MatMul, Gemm, Gemm fused with Relu, and its gradient, or Gelu.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/gemm_plan.h"

namespace tenon::cpu {
namespace {

class Bf16Kernel : public CpuKernel {
 protected:
  static const Bf16Routines& bf16() { return *FindBf16Routines(); }
  // Are all operands bf16? With `mixed` input 1 and, in the forward direction, input 2 are f32.
  static bool Supported(const sdk::Query& query, sdk::Reason& reason, bool mixed = false, uint32_t wide_end = 3) {
    if (!HasBf16(static_cast<const CpuPlugin*>(query.plugin()), reason)) return false;
    for (uint32_t i = 0; i < query.input_count(); ++i) {
      if (mixed && i >= 1 && i < wide_end ? !IsOf<float>(query, i, reason) : !IsOf<Bf16>(query, i, reason))
        return false;
    }
    return true;
  }
};

class MatMulBf16 : public Bf16Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsBatches(query, reason) && Supported(query, reason);
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = PlanMatMul<GemmBf16Args>(args.input(0).dims(), args.input(1).dims(), batches_);
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(bf16().products.gemm_workspace(args_, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    for (int64_t i = 0; i < batches_; ++i) {
      GemmBf16Args g = args_;
      g.a = call.in<uint16_t>(0) + i * g.m * g.k;
      g.b = call.in<uint16_t>(1) + i * g.k * g.n;
      g.c = call.out<uint16_t>(0) + i * g.m * g.n;
      bf16().products.gemm(g, call.workspace<float>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  GemmBf16Args args_;
  int64_t batches_ = 1;
};

class GemmBf16 : public Bf16Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const bool mixed = query.op_type() == kGemmReluMixed;
    const GemmAttributes attributes = ReadGemm(query.attributes(), FollowingOf(query).any());
    if (mixed && attributes.ta) return reason.No("transA is set.");
    if (query.has_input(2)) {
      if (attributes.beta != 1.0f) return reason.No("beta is not 1.");
      if (!IsRow(query.input(2).dims(), query.output(0).dim(1)))
        return reason.No("C has shape ", query.input(2).dims(), "; this kernel takes one value per column.");
    }
    return Supported(query, reason, mixed);
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    mixed_ = query.op_type() == kGemmReluMixed;
    following_ = FollowingOf(query);
    attributes_ = ReadGemm(query.attributes(), following_.any());
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = PlanGemm<GemmBf16Args>(attributes_, args.input(0).dims(), args.input(1).dims(), args.output(0).dims());
    args_.relu = following_.relu;
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(bf16().products.gemm_workspace(args_, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GemmBf16Args g = args_;
    g.a = call.in<uint16_t>(0);
    if (mixed_) {
      g.wide_b = call.in<float>(1);
      if (call.has_input(2)) g.wide_bias = call.in<float>(2);
    } else {
      g.b = call.in<uint16_t>(1);
      if (call.has_input(2)) g.bias = call.in<uint16_t>(2);
    }
    following_.SetResults<uint16_t>(call, g);
    KernelPool pool(host(), error, threads_);
    bf16().products.gemm(g, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  bool mixed_ = false;
  Following following_;
  GemmAttributes attributes_{};
  GemmBf16Args args_;
};

// (a, b, y, dy) -> da, db, dc of y = relu(a' b' + c) with c one value per column; mixed, b, db and dc are f32.
class GemmReluGradBf16 : public Bf16Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const bool mixed = query.op_type() == kGemmReluMixedGrad;
    if (mixed && ReadGemm(query.attributes(), true).ta) return reason.No("transA is set.");
    return Supported(query, reason, mixed, 2);
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    mixed_ = query.op_type() == kGemmReluMixedGrad;
    attributes_ = ReadGemm(query.attributes(), true);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims a = args.input(0).dims(), b = args.input(1).dims(), y = args.input(2).dims();
    rows_ = y[0], columns_ = y[1];
    SetThreads(args);
    da_ = PlanGradA<GemmBf16Args>(attributes_, a, b, y);
    db_ = PlanGradB<GemmBf16Args>(attributes_, a, b, y);
    g_bytes_ = (rows_ * columns_ * 2 + 63) / 64 * 64;
    sums_bytes_ = mixed_ ? (columns_ * 2 + 63) / 64 * 64 : 0;
    const int64_t products = std::max(args.has_output(0) ? bf16().products.gemm_workspace(da_, threads_) : 0,
                                      args.has_output(1) ? bf16().products.gemm_workspace(db_, threads_) : 0);
    result.Workspace(static_cast<uint64_t>(g_bytes_ + sums_bytes_ + products));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    uint16_t* g = call.workspace<uint16_t>();
    uint16_t* sums = reinterpret_cast<uint16_t*>(call.workspace<char>() + g_bytes_);
    float* space = reinterpret_cast<float*>(call.workspace<char>() + g_bytes_ + sums_bytes_);
    MaskBf16Args mask;
    mask.rows = rows_, mask.columns = columns_, mask.y = call.in<uint16_t>(2), mask.dy = call.in<uint16_t>(3);
    mask.g = g;
    if (call.has_output(2)) mask.column_sums = mixed_ ? sums : call.out<uint16_t>(2);
    mask.scale = attributes_.beta;
    bf16().mask_gradient(mask, pool.parallel());
    if (mixed_ && call.has_output(2))
      routines().convert({columns_, NumberFormat::kBF16, NumberFormat::kF32, sums, call.out<float>(2)},
                         pool.parallel());
    if (call.has_output(0)) {
      GemmBf16Args p = da_;
      if (mixed_) {
        p.a = g, p.wide_b = call.in<float>(1);
      } else {
        p.a = attributes_.ta ? call.in<uint16_t>(1) : g;
        p.b = attributes_.ta ? g : call.in<uint16_t>(1);
      }
      p.c = call.out<uint16_t>(0);
      bf16().products.gemm(p, space, pool.parallel());
    }
    if (call.has_output(1)) {
      GemmBf16Args p = db_;
      p.a = attributes_.tb ? g : call.in<uint16_t>(0);
      p.b = attributes_.tb ? call.in<uint16_t>(0) : g;
      if (mixed_)
        p.wide_c = call.out<float>(1);
      else
        p.c = call.out<uint16_t>(1);
      bf16().products.gemm(p, space, pool.parallel());
    }
    return pool.code();
  }

 private:
  bool mixed_ = false;
  GemmAttributes attributes_{};
  int64_t rows_ = 0, columns_ = 0, g_bytes_ = 0, sums_bytes_ = 0;
  GemmBf16Args da_, db_;
};

}  // namespace

void AddBf16ProductKernels(KernelList& kernels) {
  kernels.push_back(Def<MatMulBf16>("", "MatMul", "mat_mul_bf16"));
  kernels.push_back(Def<GemmBf16>("", "Gemm", "gemm_bf16"));
  kernels.push_back(Def<GemmBf16>(kDomain, kGemmRelu, "gemm_relu_bf16"));
  kernels.push_back(Def<GemmBf16>(kDomain, kGemmReluMixed, "gemm_relu_mixed_bf16"));
  kernels.push_back(Def<GemmBf16>(kDomain, kGemmGelu, "gemm_gelu_bf16"));
  kernels.push_back(Def<GemmReluGradBf16>(kDomain, kGemmReluGrad, "gemm_relu_grad_bf16"));
  kernels.push_back(Def<GemmReluGradBf16>(kDomain, kGemmReluMixedGrad, "gemm_relu_mixed_grad_bf16"));
}

}  // namespace tenon::cpu
