// Tile, every axis seen as (repeat, extent), the repeat with stride 0; and its gradient, the sum over the repeats.
#include <algorithm>

#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

// A walk over `repeated` in its order that reads `once`: axes (repeat, extent), element size open.
StridedCopyArgs RepeatedWalk(sdk::Dims once, sdk::Dims repeated) {
  StridedCopyArgs walk{};
  walk.rank = static_cast<int>(2 * once.size());
  int64_t strides[StridedCopyArgs::kMaxRank];
  DenseStrides(once, strides);
  for (uint32_t axis = 0; axis < once.size(); ++axis) {
    walk.dims[2 * axis] = once[axis] == 0 ? 0 : repeated[axis] / once[axis];
    walk.dims[2 * axis + 1] = once[axis];
    walk.strides[2 * axis + 1] = strides[axis];
  }
  return walk;
}

class TileKernel : public ViewKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (2 * query.output(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 8.");
    return HasBytes(query.input(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims(), y = args.output(0).dims();
    copy_ = RepeatedWalk(x, y);
    copy_.element_bytes = BytesOf(args.input(0).dtype());
    Collapse(copy_);
    return TENON_OK;
  }
};

// (dY, repeats) -> dX. With dY as [k0][r0][k1][r1] of kept and repeated axes it is a sum over r0 and r1; where there are more
// of them, rows of dY are added to those of dX one after the other.
class TileGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (2 * query.output(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 8.");
    return IsOf<float>(query, 0, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims dy = args.input(0).dims(), dx = args.output(0).dims();
    elements_ = dx.Elements();
    walk_ = RepeatedWalk(dx, dy);
    Collapse(walk_);
    is_one_sum_ = ReadGroups();
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const float* dy = call.in<float>(0);
    float* const dx = call.out<float>(0);
    if (is_one_sum_) {
      ReduceArgs sum = sum_;
      sum.x = dy, sum.y = dx;
      KernelPool pool(host(), error, threads_);
      routines().f32.reduce(sum, pool.parallel());
      return pool.code();
    }
    std::fill_n(dx, elements_, 0.0f);
    Add(0, dy, dx);
    return TENON_OK;
  }

 private:
  // False: the axes of dY are not kept, repeated, kept, repeated, with any of them left out.
  bool ReadGroups() {
    sum_ = {};
    int64_t* const groups[] = {&sum_.k0, &sum_.r0, &sum_.k1, &sum_.r1};
    int group = 0;
    for (int d = 0; d < walk_.rank; ++d) {
      const int repeated = walk_.strides[d] == 0 ? 1 : 0;
      if ((group & 1) != repeated) ++group;
      if (group > 3 || walk_.dims[d] == 0) return false;
      *groups[group] *= walk_.dims[d];
    }
    return true;
  }
  // dY is read in order; dX is where its axes from d on begin.
  void Add(int d, const float*& dy, float* dx) const {
    if (d + 1 < walk_.rank) {
      for (int64_t i = 0; i < walk_.dims[d]; ++i) Add(d + 1, dy, dx + i * walk_.strides[d]);
      return;
    }
    const int64_t count = walk_.rank == 0 ? 1 : walk_.dims[d];
    if (walk_.rank == 0 || walk_.strides[d] != 0) {
      AddRun(dy, dx, count);
    } else {
      for (int64_t i = 0; i < count; ++i) *dx += dy[i];
    }
    dy += count;
  }

  StridedCopyArgs walk_;  // of dX, over the axes of dY; only its dims and strides are used
  ReduceArgs sum_;
  bool is_one_sum_ = false;
  int64_t elements_ = 0;
};

}  // namespace

void AddTileGradKernels(KernelList& kernels) {
  kernels.push_back(Def<TileGradKernel>("tenon", "TileGrad", "tile_grad"));
}
void AddTileKernels(KernelList& kernels) { kernels.push_back(Def<TileKernel>("", "Tile", "tile")); }

}  // namespace tenon::cpu
