// Expand: an operand repeated to a larger shape.
#include <algorithm>

#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class ExpandKernel : public ViewKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.output(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 16.");
    return HasBytes(query.input(0), reason);
  }
  // A value per channel may be spread over channel-last images: the gradient of a global pool.
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Dims x = query.input(0).dims(), y = query.output(0).dims();
    const double cost = y.Known() ? static_cast<double>(y.Elements()) : 1000;
    emitter.Emit(cost, {0, 0}, {0});
    if (x.size() == 4 && y.size() == 4 && x[2] == 1 && x[3] == 1) emitter.Emit(0.8 * cost, {0, 0}, {kNhwc});
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
    if (args.output(0).layout() == kNhwc) {  // axes in the order of memory
      std::rotate(copy_.dims + 1, copy_.dims + 2, copy_.dims + 4);
      std::rotate(copy_.strides + 1, copy_.strides + 2, copy_.strides + 4);
    }
    Collapse(copy_);
    return TENON_OK;
  }
};

}  // namespace

void AddExpandKernels(KernelList& kernels) { kernels.push_back(Def<ExpandKernel>("", "Expand", "expand")); }

}  // namespace tenon::cpu
