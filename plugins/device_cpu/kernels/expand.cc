// Expand: an operand repeated to a larger shape.
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class ExpandKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.output(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 16.");
    return HasBytes(query.input(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims(), y = args.output(0).dims();
    copy_ = {};
    copy_.element_bytes = BytesOf(args.input(0).dtype());
    copy_.rank = static_cast<int>(y.size());
    int64_t next = 1;
    for (uint32_t axis = y.size(); axis-- > 0;) {
      const int64_t size = axis + x.size() < y.size() ? 1 : x[axis + x.size() - y.size()];
      copy_.dims[axis] = y[axis];
      copy_.strides[axis] = size == 1 ? 0 : next;
      next *= size;
    }
    Collapse(copy_);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    StridedCopyArgs p = copy_;
    p.x = call.in<char>(0);
    p.y = call.out<char>(0);
    StridedCopy(p);
    return TENON_OK;
  }

 private:
  StridedCopyArgs copy_;
};

}  // namespace

void AddExpandKernels(KernelList& kernels) { kernels.push_back(Def<ExpandKernel>("", "Expand", "expand")); }

}  // namespace tenon::cpu
