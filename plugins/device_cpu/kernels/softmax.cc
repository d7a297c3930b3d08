// Softmax and LogSoftmax along an axis, and their gradients.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

struct Rows {
  int64_t rows = 1, columns = 1, inner = 1;
};

// Softmax runs over one axis since opset 13; before that over all dims from axis on, which the gradients call flattened.
struct SoftmaxAxis {
  int64_t axis = -1;
  bool flattened = false;
};
SoftmaxAxis AxisOf(const sdk::Query& query) {
  const sdk::Attributes a = query.attributes();
  const bool old = query.domain().empty() && query.version() < 13;
  return {a.Int("axis", old ? 1 : -1), old || a.Int("flattened", 0) != 0};
}
Rows RowsOf(sdk::Dims dims, SoftmaxAxis softmax) {
  const int64_t rank = dims.size(), axis = softmax.axis < 0 ? softmax.axis + rank : softmax.axis;
  Rows out;
  for (int64_t i = 0; i < rank; ++i) {
    const bool reduced = i == axis || (i > axis && softmax.flattened);
    (reduced ? out.columns : i < axis ? out.rows : out.inner) *= dims[static_cast<uint32_t>(i)];
  }
  return out;
}

class SoftmaxBase : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = AxisOf(query);
    log_ = query.op_type().substr(0, 3) == "Log";
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    rows_ = RowsOf(args.output(0).dims(), axis_);
    SetThreads(args);
    return TENON_OK;
  }

 protected:
  SoftmaxAxis axis_;
  bool log_ = false;
  Rows rows_;
};

class SoftmaxKernel : public SoftmaxBase {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    routines().softmax({rows_.rows, rows_.columns, rows_.inner, call.in<float>(0), call.out<float>(0), log_},
                       pool.parallel());
    return pool.code();
  }
};

// (dY, Y) -> dX.
class SoftmaxGradKernel : public SoftmaxBase {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    routines().softmax_grad(
        {rows_.rows, rows_.columns, rows_.inner, call.in<float>(1), call.in<float>(0), call.out<float>(0), log_},
        pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddSoftmaxKernels(KernelList& kernels) {
  for (const std::string_view op_type : {"Softmax", "LogSoftmax"})
    kernels.push_back(Def<SoftmaxKernel>("", op_type, "softmax"));
  for (const std::string_view op_type : {"SoftmaxGrad", "LogSoftmaxGrad"})
    kernels.push_back(Def<SoftmaxGradKernel>("tenon", op_type, "softmax_grad"));
}

}  // namespace tenon::cpu
