// Matrix products of bf16 operands: MatMul, Gemm, Gemm fused with Relu and its gradient.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/gemm_plan.h"

namespace tenon::cpu {
namespace {

class Bf16Kernel : public CpuKernel {
 protected:
  static const Bf16Routines& bf16() { return *FindBf16Routines(); }
  static bool Supported(const sdk::Query& query, sdk::Reason& reason) {
    const auto* plugin = static_cast<const CpuPlugin*>(query.plugin());
    if (FindBf16Routines() == nullptr || (plugin != nullptr && plugin->routines().lanes != 16))
      return reason.No("This processor, or the option isa, has no instructions for bf16.");
    for (uint32_t i = 0; i < query.input_count(); ++i) {
      if (query.has_input(i) && query.input(i).dtype() != TENON_DTYPE_BF16)
        return reason.No("Input ", i, " is ", sdk::DTypeName(query.input(i).dtype()), "; this kernel takes bf16.");
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
    result.Workspace(static_cast<uint64_t>(bf16().gemm_workspace(args_, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    for (int64_t i = 0; i < batches_; ++i) {
      GemmBf16Args g = args_;
      g.a = call.in<uint16_t>(0) + i * g.m * g.k;
      g.b = call.in<uint16_t>(1) + i * g.k * g.n;
      g.c = call.out<uint16_t>(0) + i * g.m * g.n;
      bf16().gemm(g, call.workspace<float>(), pool.parallel());
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
    const bool fused = query.op_type() == kGemmRelu;
    if (query.has_input(2)) {
      if (ReadGemm(query.attributes(), fused).beta != 1.0f) return reason.No("beta is not 1.");
      if (!IsRow(query.input(2).dims(), query.output(0).dim(1)))
        return reason.No("C has shape ", query.input(2).dims(), "; this kernel takes one value per column.");
    }
    return Supported(query, reason);
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    relu_ = query.op_type() == kGemmRelu;
    attributes_ = ReadGemm(query.attributes(), relu_);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_ = PlanGemm<GemmBf16Args>(attributes_, args.input(0).dims(), args.input(1).dims(), args.output(0).dims());
    args_.relu = relu_;
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(bf16().gemm_workspace(args_, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GemmBf16Args g = args_;
    g.a = call.in<uint16_t>(0);
    g.b = call.in<uint16_t>(1);
    g.c = call.out<uint16_t>(0);
    if (call.has_input(2)) g.bias = call.in<uint16_t>(2);
    KernelPool pool(host(), error, threads_);
    bf16().gemm(g, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  bool relu_ = false;
  GemmAttributes attributes_{};
  GemmBf16Args args_;
};

// GemmReluGrad(a, b, y, dy) -> da, db, dc of y = relu(a' b' + c) with c one value per column.
class GemmReluGradBf16 : public Bf16Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Supported(query, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
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
    const int64_t products = std::max(args.has_output(0) ? bf16().gemm_workspace(da_, threads_) : 0,
                                      args.has_output(1) ? bf16().gemm_workspace(db_, threads_) : 0);
    result.Workspace(static_cast<uint64_t>(g_bytes_ + products));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    uint16_t* g = call.workspace<uint16_t>();
    float* space = reinterpret_cast<float*>(call.workspace<char>() + g_bytes_);
    MaskBf16Args mask;
    mask.rows = rows_, mask.columns = columns_, mask.y = call.in<uint16_t>(2), mask.dy = call.in<uint16_t>(3);
    mask.g = g;
    mask.column_sums = call.has_output(2) ? call.out<uint16_t>(2) : nullptr;
    mask.scale = attributes_.beta;
    bf16().mask_gradient(mask, pool.parallel());
    if (call.has_output(0)) {
      GemmBf16Args p = da_;
      p.a = attributes_.ta ? call.in<uint16_t>(1) : g;
      p.b = attributes_.ta ? g : call.in<uint16_t>(1);
      p.c = call.out<uint16_t>(0);
      bf16().gemm(p, space, pool.parallel());
    }
    if (call.has_output(1)) {
      GemmBf16Args p = db_;
      p.a = attributes_.tb ? g : call.in<uint16_t>(0);
      p.b = attributes_.tb ? call.in<uint16_t>(0) : g;
      p.c = call.out<uint16_t>(1);
      bf16().gemm(p, space, pool.parallel());
    }
    return pool.code();
  }

 private:
  GemmAttributes attributes_{};
  int64_t rows_ = 0, columns_ = 0, g_bytes_ = 0;
  GemmBf16Args da_, db_;
};

}  // namespace

void AddBf16ProductKernels(KernelList& kernels) {
  kernels.push_back(Def<MatMulBf16>("", "MatMul", "mat_mul_bf16"));
  kernels.push_back(Def<GemmBf16>("", "Gemm", "gemm_bf16"));
  kernels.push_back(Def<GemmBf16>(kDomain, kGemmRelu, "gemm_relu_bf16"));
  kernels.push_back(Def<GemmReluGradBf16>(kDomain, kGemmReluGrad, "gemm_relu_grad_bf16"));
}

}  // namespace tenon::cpu
