// LayerNormalization and its gradient, alone and fused with the sum before or behind.
#include <string>

#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// LayerNormalization of bf16 or f16 with parameters in f32: what mixed precision makes with two Casts.
constexpr std::string_view kMixed = "LayerNormMixed", kMixedGrad = "LayerNormMixedGrad";
constexpr std::string_view kAddLayerNorm = "AddLayerNormalization", kLayerNormGradAdd = "LayerNormalizationGradAdd";

// What the kernels share: Args are those of a routine. The attributes of a fused operator begin with `kPrefix` of the derived
// class, and `kShaped` is the input whose rows are meant.
template <class Derived, class Args>
class RowsKernel : public CpuKernel {
 public:
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const std::string prefix(Derived::kPrefix);
    axis_ = query.attributes().Int(prefix + "axis", -1);
    args_.epsilon = static_cast<float>(query.attributes().Float(prefix + "epsilon", 1e-5));
    return TENON_OK;
  }

 protected:
  void PlanRows(const sdk::PlanArgs& args) {
    const AxisView view = ViewFrom(args.input(Derived::kShaped).dims(), axis_);
    args_.rows = view.outer, args_.columns = view.extent * view.inner;
    SetThreads(args);
  }

  int64_t axis_ = -1;
  Args args_;
};

// (X, Scale, B) -> Y, Mean, InvStdDev.
class LayerNormKernel : public RowsKernel<LayerNormKernel, LayerNormArgs> {
 public:
  static constexpr std::string_view kPrefix = "";
  static constexpr uint32_t kShaped = 0;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args);
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
    routines().f32.layer_norm(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
};

// (dY, X, Scale, Mean, InvStdDev) -> dX, dScale, dB.
class LayerNormGradKernel : public RowsKernel<LayerNormGradKernel, LayerNormGradArgs> {
 public:
  static constexpr std::string_view kPrefix = "";
  static constexpr uint32_t kShaped = 1;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args);
    result.Workspace(static_cast<uint64_t>(routines().f32.layer_norm_grad_workspace(args_)));
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
    routines().f32.layer_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
};

// (A, B, Scale, Bias) -> A + B, and its LayerNormalization: Y, Mean, InvStdDev.
class AddLayerNormKernel : public RowsKernel<AddLayerNormKernel, LayerNormArgs> {
 public:
  static constexpr std::string_view kPrefix = "y.";
  static constexpr uint32_t kShaped = 0;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims a = query.input(0).dims(), b = query.input(1).dims();
    if (!(a == b)) return reason.No("Shapes ", a, " and ", b, " differ; this kernel adds equal ones.");
    return AllF32(query, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args);
    result.Aliases(kInPlace, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormArgs a = args_;
    a.x = call.in<float>(0), a.addend = call.in<float>(1), a.scale = call.in<float>(2);
    a.bias = call.has_input(3) ? call.in<float>(3) : nullptr;
    a.sum = call.out<float>(0), a.y = call.out<float>(1);
    a.mean = call.out<float>(2), a.inv_std = call.out<float>(3);
    KernelPool pool(host(), error, threads_);
    routines().f32.layer_norm(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {1, 0, TENON_ALIAS_MAY, 0}};
};

// (dY, X, Scale, Mean, InvStdDev, G) -> dX + G, dScale, dB.
class LayerNormGradAddKernel : public RowsKernel<LayerNormGradAddKernel, LayerNormGradArgs> {
 public:
  static constexpr std::string_view kPrefix = "d.";
  static constexpr uint32_t kShaped = 1;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims x = query.input(1).dims(), g = query.input(5).dims();
    if (!(x == g)) return reason.No("Shapes ", x, " and ", g, " differ; this kernel adds equal ones.");
    return AllF32(query, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanRows(args);
    result.Workspace(static_cast<uint64_t>(routines().f32.layer_norm_grad_workspace(args_)));
    result.Aliases(kInPlace, 2);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormGradArgs a = args_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.scale = call.in<float>(2);
    a.mean = call.in<float>(3), a.inv_std = call.in<float>(4), a.addend = call.in<float>(5);
    a.dx = call.out<float>(0), a.d_scale = call.out<float>(1), a.d_bias = call.out<float>(2);
    KernelPool pool(host(), error, threads_);
    routines().f32.layer_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {5, 0, TENON_ALIAS_MAY, 0}};
};

// X and what has its shape is of T, parameters are f32.
template <class T>
bool TakesMixed(const sdk::Query& query, uint32_t last, sdk::Reason& reason) {
  return IsOf<T>(query, 0, reason) && IsOf<float>(query, 1, reason) &&
         (last == 2 ? IsOf<float>(query, 2, reason) : IsOf<float>(query, 2, reason) && IsOf<T>(query, 3, reason));
}

// (X, Scale, B) -> Y.
template <class T>
class LayerNormMixedKernel : public RowsKernel<LayerNormMixedKernel<T>, LayerNormArgsOf<T>> {
 public:
  static constexpr std::string_view kPrefix = "n.";
  static constexpr uint32_t kShaped = 0;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return TakesMixed<T>(query, 2, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    this->PlanRows(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormArgsOf<T> a = this->args_;
    a.x = call.in<T>(0), a.scale = call.in<float>(1), a.y = call.out<T>(0);
    a.bias = call.has_input(2) ? call.in<float>(2) : nullptr;
    KernelPool pool(this->host(), error, this->threads_);
    this->template routines_of<T>().layer_norm(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
};

// (X, Scale, B, dY) -> dX, dScale, dB; the statistics are computed again.
template <class T>
class LayerNormMixedGradKernel : public RowsKernel<LayerNormMixedGradKernel<T>, LayerNormGradArgsOf<T>> {
 public:
  static constexpr std::string_view kPrefix = "n.";
  static constexpr uint32_t kShaped = 0;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return TakesMixed<T>(query, 3, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    this->PlanRows(args);
    result.Workspace(static_cast<uint64_t>(this->template routines_of<T>().layer_norm_grad_workspace(this->args_)));
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    LayerNormGradArgsOf<T> a = this->args_;
    a.x = call.in<T>(0), a.scale = call.in<float>(1), a.dy = call.in<T>(3);
    a.dx = call.has_output(0) ? call.out<T>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : nullptr;
    a.d_bias = call.has_output(2) ? call.out<float>(2) : nullptr;
    KernelPool pool(this->host(), error, this->threads_);
    this->template routines_of<T>().layer_norm_grad(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {3, 0, TENON_ALIAS_MAY, 0};
};

constexpr tenon_gradient_source kMixedSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1}, {TENON_SOURCE_INPUT, 2}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kMixedGradInputs[] = {0, 1, 2};
constexpr tenon_paired_gradient kMixedGradient =
    sdk::PairedGradient(kDomain, kMixedGrad, 1, kMixedSources, kMixedGradInputs);

}  // namespace

void AddLayerNormKernels(KernelList& kernels) {
  AddOfBoth<LayerNormMixedKernel>(kernels, kDomain, kMixed, "layer_norm_mixed_bf16");
  AddOfBoth<LayerNormMixedGradKernel>(kernels, kDomain, kMixedGrad, "layer_norm_mixed_grad_bf16");
  kernels.push_back(Def<LayerNormKernel>("", "LayerNormalization", "layer_norm"));
  kernels.push_back(Def<LayerNormGradKernel>("tenon", "LayerNormalizationGrad", "layer_norm_grad"));
  kernels.push_back(Def<AddLayerNormKernel>(kDomain, kAddLayerNorm, "add_layer_norm"));
  kernels.push_back(Def<LayerNormGradAddKernel>(kDomain, kLayerNormGradAdd, "layer_norm_grad_add"));
}

void AddLayerNormFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("layer_norm_mixed",
                                    "pattern(%x, %w, %b?) { %f = Cast(%x) {to=1} %n = LayerNormalization(%f, %w, %b) "
                                    "%c = Cast(%n) return %c }",
                                    kDomain, kMixed, kDeviceKind)
                      .Gradient(&kMixedGradient)
                      .Match<&KeepsShortFormat>());
  // After autodiff, so that no pair of gradients is needed: the sum of a residual network is read once.
  fused.push_back(sdk::FusedBuilder("add_layer_norm",
                                    "pattern(%a, %b, %w, %c?) { %s = Add(%a, %b) %y, %m, %i = "
                                    "LayerNormalization(%s, %w, %c) return %s, %y, %m, %i }",
                                    kDomain, kAddLayerNorm, kDeviceKind)
                      .AfterAutodiff());
  fused.push_back(sdk::FusedBuilder("layer_norm_grad_add",
                                    "pattern(%dy, %x, %w, %m, %i, %g) { %d, %s, %b = "
                                    "tenon::LayerNormalizationGrad(%dy, %x, %w, %m, %i) %r = Add(%d, %g) return %r, "
                                    "%s, %b }",
                                    kDomain, kLayerNormGradAdd, kDeviceKind)
                      .AfterAutodiff());
}

}  // namespace tenon::cpu
