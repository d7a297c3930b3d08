// LayerNormalization and its gradient.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// A tensor as rows of the dims from `axis` on.
struct Rows {
  int64_t rows = 1, columns = 1;
};
Rows RowsOf(sdk::Dims dims, int64_t axis) {
  Rows out;
  if (axis < 0) axis += dims.size();
  for (int64_t i = 0; i < dims.size(); ++i) (i < axis ? out.rows : out.columns) *= dims[static_cast<uint32_t>(i)];
  return out;
}

// (X, Scale, B) -> Y, Mean, InvStdDev.
class LayerNormKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = query.attributes().Int("axis", -1);
    args_.epsilon = static_cast<float>(query.attributes().Float("epsilon", 1e-5));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const Rows rows = RowsOf(args.input(0).dims(), axis_);
    args_.rows = rows.rows, args_.columns = rows.columns;
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormArgs a = args_;
    a.x = call.in<float>(0), a.scale = call.in<float>(1);
    a.bias = call.has_input(2) ? call.in<float>(2) : nullptr;
    a.y = call.out<float>(0);
    a.mean = call.has_output(1) ? call.out<float>(1) : nullptr;
    a.inv_std = call.has_output(2) ? call.out<float>(2) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().layer_norm(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  int64_t axis_ = -1;
  LayerNormArgs args_;
};

// (dY, X, Scale, Mean, InvStdDev) -> dX, dScale, dB.
class LayerNormGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = query.attributes().Int("axis", -1);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const Rows rows = RowsOf(args.input(1).dims(), axis_);
    args_.rows = rows.rows, args_.columns = rows.columns;
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(routines().layer_norm_grad_workspace(args_)));
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.scale = call.in<float>(2);
    a.mean = call.in<float>(3), a.inv_std = call.in<float>(4);
    a.dx = call.has_output(0) ? call.out<float>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : nullptr;
    a.d_bias = call.has_output(2) ? call.out<float>(2) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines().layer_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  int64_t axis_ = -1;
  LayerNormGradArgs args_;
};

}  // namespace

void AddLayerNormKernels(KernelList& kernels) {
  kernels.push_back(Def<LayerNormKernel>("", "LayerNormalization", "layer_norm"));
  kernels.push_back(Def<LayerNormGradKernel>("tenon", "LayerNormalizationGrad", "layer_norm_grad"));
}

}  // namespace tenon::cpu
