// Tile: every axis seen as (repeat, extent), the repeat with stride 0.
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class TileKernel : public ViewKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (2 * query.output(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 8.");
    return HasBytes(query.input(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims(), y = args.output(0).dims();
    copy_ = {};
    copy_.element_bytes = BytesOf(args.input(0).dtype());
    copy_.rank = static_cast<int>(2 * x.size());
    int64_t strides[StridedCopyArgs::kMaxRank];
    DenseStrides(x, strides);
    for (uint32_t axis = 0; axis < x.size(); ++axis) {
      copy_.dims[2 * axis] = x[axis] == 0 ? 0 : y[axis] / x[axis];
      copy_.dims[2 * axis + 1] = x[axis];
      copy_.strides[2 * axis + 1] = strides[axis];
    }
    Collapse(copy_);
    return TENON_OK;
  }
};

}  // namespace

void AddTileKernels(KernelList& kernels) { kernels.push_back(Def<TileKernel>("", "Tile", "tile")); }

}  // namespace tenon::cpu
