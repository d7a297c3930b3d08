// Softmax and LogSoftmax over the last axes, and their gradients.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

struct Rows {
  int64_t rows = 0, columns = 0;
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
// False: something lies between the axis and the end.
bool RowsOf(sdk::Dims dims, SoftmaxAxis softmax, Rows& out) {
  const int64_t rank = dims.size(), axis = softmax.axis < 0 ? softmax.axis + rank : softmax.axis;
  out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<uint32_t>(i)];
    if (i < axis)
      out.rows *= size;
    else if (i == axis || softmax.flattened)
      out.columns *= size;
    else if (size != 1)
      return false;
  }
  return true;
}

class SoftmaxBase : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    Rows rows;
    if (!RowsOf(query.output(0).dims(), AxisOf(query), rows))
      return reason.No("The axis is not the last one of ", query.output(0).dims(), ".");
    return AllF32(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = AxisOf(query);
    log_ = query.op_type().substr(0, 3) == "Log";
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    RowsOf(args.output(0).dims(), axis_, rows_);
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
    routines().softmax({rows_.rows, rows_.columns, call.in<float>(0), call.out<float>(0), log_}, pool.parallel());
    return pool.code();
  }
};

// (dY, Y) -> dX.
class SoftmaxGradKernel : public SoftmaxBase {
 public:
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    routines().softmax_grad({rows_.rows, rows_.columns, call.in<float>(1), call.in<float>(0), call.out<float>(0), log_},
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
