// Sum, Mean, Max and Min of any number of tensors of one shape.
#include <cstring>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class VariadicKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    for (uint32_t i = 1; i < query.input_count(); ++i) {
      const sdk::Dims first = query.input(0).dims(), dims = query.input(i).dims();
      if (!(first == dims)) return reason.No("Shapes ", first, " and ", dims, " differ; this kernel takes equal ones.");
    }
    return AllF32(query, reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value y = query.output(0);
    const double cost = 0.3 * query.input_count() * (y.dims().Known() ? static_cast<double>(y.elements()) : 1000);
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && y.rank() != 4) continue;
      const std::vector<uint32_t> inputs(query.input_count(), layout);
      emitter.Emit(cost, inputs.data(), query.input_count(), &layout, 1);
    }
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const std::string_view op = query.op_type();
    op_ = op == "Max" ? BinaryOp::kMax : op == "Min" ? BinaryOp::kMin : BinaryOp::kAdd;
    mean_ = op == "Mean";
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.output(0).elements();
    inputs_ = args.input_count();
    SetThreads(args);
    result.Aliases(kInPlace, inputs_ > 1 ? 2 : 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    float* const y = call.out<float>(0);
    if (inputs_ == 1) std::memmove(y, call.in<float>(0), static_cast<size_t>(count_) * sizeof(float));
    for (uint32_t i = 1; i < inputs_; ++i) Apply(op_, i == 1 ? call.in<float>(0) : y, call.in<float>(i), 1, y, pool);
    const auto share = static_cast<float>(inputs_);
    if (mean_) Apply(BinaryOp::kDiv, y, &share, 0, y, pool);
    return pool.code();
  }

 private:
  // The result is begun with the first two.
  static constexpr tenon_alias_pair kInPlace[2] = {{0, 0, TENON_ALIAS_MAY, 0}, {1, 0, TENON_ALIAS_MAY, 0}};

  void Apply(BinaryOp op, const float* a, const float* b, int64_t b_stride, float* out, const KernelPool& pool) const {
    BinaryArgs p;
    p.op = op, p.rank = 1, p.dims[0] = count_, p.a_strides[0] = 1, p.b_strides[0] = b_stride;
    p.a = a, p.b = b, p.out = out;
    routines().f32.binary(p, pool.parallel());
  }

  BinaryOp op_ = BinaryOp::kAdd;
  bool mean_ = false;
  int64_t count_ = 0;
  uint32_t inputs_ = 0;
};

}  // namespace

void AddVariadicKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, Traits(TENON_TRAIT_ELEMENTWISE)};
  for (const std::string_view op_type : {"Sum", "Mean", "Max", "Min"})
    kernels.push_back(Def<VariadicKernel>("", op_type, "variadic", options));
}

}  // namespace tenon::cpu
