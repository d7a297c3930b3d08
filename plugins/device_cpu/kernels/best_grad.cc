// Gradients of Max, Min, ReduceMax and ReduceMin: shared evenly among the operands, or the elements, that equal the result.
#include <algorithm>

#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

// Does x equal the best, where NaN equals NaN?
inline bool Wins(float x, float best) { return x == best || (x != x && best != best); }

// (dY, Y, X1, ..) -> dX1, .. in the shape of dY. A part is small enough to stay in the first-level cache.
class MaxGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims all = query.input(0).dims();
    for (uint32_t i = 2; i < query.input_count(); ++i) {
      const sdk::Dims x = query.input(i).dims();
      if (!(x == all) && !(x.Known() && x.Elements() == 1))
        return reason.No("Operand ", i - 2, " of shape ", x, " is repeated to ", all,
                         "; this kernel takes equal shapes and single elements.");
    }
    return AllF32(query, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    count_ = args.input(0).elements();
    steps_.clear();
    for (uint32_t i = 2; i < args.input_count(); ++i) steps_.push_back(args.input(i).elements() == count_ ? 1 : 0);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    const float *dy = call.in<float>(0), *y = call.in<float>(1);
    for (int64_t first = 0; first < count_; first += kPart) {
      const int64_t count = std::min(kPart, count_ - first);
      float ties[kPart] = {};
      for (uint32_t k = 0; k < steps_.size(); ++k)
        Mark(call.in<float>(k + 2), k, first, count, y + first,
             [&](int64_t i, bool wins) { ties[i] += wins ? 1.0f : 0.0f; });
      for (int64_t i = 0; i < count; ++i) ties[i] = dy[first + i] / ties[i];  // the share of each winner
      for (uint32_t k = 0; k < steps_.size(); ++k) {
        if (!call.has_output(k)) continue;
        float* const dx = call.out<float>(k) + first;
        Mark(call.in<float>(k + 2), k, first, count, y + first,
             [&](int64_t i, bool wins) { dx[i] = wins ? ties[i] : 0.0f; });
      }
    }
    return TENON_OK;
  }

 private:
  static constexpr int64_t kPart = 512;

  // Calls fn(i, wins) for a part of operand k.
  template <class Fn>
  void Mark(const float* x, uint32_t k, int64_t first, int64_t count, const float* y, const Fn& fn) const {
    if (steps_[k] == 0) {
      const float one = *x;
      for (int64_t i = 0; i < count; ++i) fn(i, Wins(one, y[i]));
    } else {
      for (int64_t i = 0; i < count; ++i) fn(i, Wins(x[first + i], y[i]));
    }
  }

  int64_t count_ = 0;
  std::vector<int64_t> steps_;
};

// (dY, X, Y) -> dX, where one block of neighbouring axes was reduced: X is [outer, extent, inner].
class ReduceMaxGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims x = query.input(1).dims(), y = query.input(2).dims();
    if (!x.Known() || !y.Known()) return reason.No("Shape ", x, " is not known yet.");
    Blocks blocks;
    if (!Read(x, y, blocks)) return reason.No("From ", x, " to ", y, " more than one block of axes is reduced.");
    return AllF32(query, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    Read(args.input(1).dims(), args.input(2).dims(), blocks_);
    result.Workspace(static_cast<uint64_t>(blocks_.inner) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    const auto [outer, extent, inner] = blocks_;
    const float *dy = call.in<float>(0), *x = call.in<float>(1), *y = call.in<float>(2);
    float *dx = call.out<float>(0), *ties = call.workspace<float>();
    for (int64_t o = 0; o < outer; ++o, dy += inner, y += inner, x += extent * inner, dx += extent * inner) {
      if (inner == 1) {
        Row(*dy, *y, x, dx, extent);
        continue;
      }
      std::fill_n(ties, inner, 0.0f);
      for (int64_t k = 0; k < extent; ++k)
        for (int64_t i = 0; i < inner; ++i) ties[i] += Wins(x[k * inner + i], y[i]) ? 1.0f : 0.0f;
      for (int64_t i = 0; i < inner; ++i) ties[i] = dy[i] / ties[i];
      for (int64_t k = 0; k < extent; ++k)
        for (int64_t i = 0; i < inner; ++i) dx[k * inner + i] = Wins(x[k * inner + i], y[i]) ? ties[i] : 0.0f;
    }
    return TENON_OK;
  }

 private:
  struct Blocks {
    int64_t outer = 1, extent = 1, inner = 1;
  };
  static bool Read(sdk::Dims x, sdk::Dims y, Blocks& blocks) {
    blocks = {};
    for (uint32_t axis = 0; axis < x.size(); ++axis) {
      const bool reduced = x[axis] != y[axis];
      if (reduced && blocks.inner != 1) return false;
      (reduced ? blocks.extent : blocks.extent == 1 ? blocks.outer : blocks.inner) *= x[axis];
    }
    return true;
  }
  static void Row(float dy, float y, const float* x, float* dx, int64_t count) {
    int32_t ties = 0;
    for (int64_t i = 0; i < count; ++i) ties += Wins(x[i], y) ? 1 : 0;
    const float share = dy / static_cast<float>(ties);
    for (int64_t i = 0; i < count; ++i) dx[i] = Wins(x[i], y) ? share : 0.0f;
  }

  Blocks blocks_;
};

}  // namespace

void AddBestGradKernels(KernelList& kernels) {
  kernels.push_back(Def<MaxGradKernel>("tenon", "MaxGrad", "max_grad"));
  kernels.push_back(Def<ReduceMaxGradKernel>("tenon", "ReduceMaxGrad", "reduce_max_grad"));
}

}  // namespace tenon::cpu
