// TopK: the best so far, in order where they are few and as a heap where they are many; most elements do not enter.
#include <algorithm>

#include "plugins/device_cpu/kernels/axis.h"

namespace tenon::cpu {
namespace {

struct Candidate {
  float value;
  int64_t index;
};

class TopKKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return IsOf<float>(query, 0, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = query.attributes().Int("axis", -1);
    largest_ = query.attributes().Int("largest", 1) != 0;
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    view_ = ViewFrom(args.input(0).dims(), axis_);
    count_ = ViewFrom(args.output(0).dims(), axis_).extent;
    result.Workspace(static_cast<uint64_t>(count_) * sizeof(Candidate));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    if (count_ == 0) return TENON_OK;
    Candidate* const best = call.workspace<Candidate>();
    float* const values = call.out<float>(0);
    int64_t* const indices = call.has_output(1) ? call.out<int64_t>(1) : nullptr;
    for (int64_t row = 0; row < view_.outer * view_.inner; ++row) {
      const int64_t o = row / view_.inner, i = row % view_.inner;
      const float* x = call.in<float>(0) + o * view_.extent * view_.inner + i;
      if (largest_)
        Choose(x, best, [](const Candidate& a, const Candidate& b) { return Greater(a, b); });
      else
        Choose(x, best, [](const Candidate& a, const Candidate& b) { return Less(a, b); });
      for (int64_t k = 0; k < count_; ++k) {
        const int64_t to = (o * count_ + k) * view_.inner + i;
        values[to] = best[k].value;
        if (indices != nullptr) indices[to] = best[k].index;
      }
    }
    return TENON_OK;
  }

 private:
  // Does a come before b? NaN is the greatest number, and of equals the lower index comes first.
  static bool Greater(const Candidate& a, const Candidate& b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan;
    return a.value > b.value || ((a_nan || a.value == b.value) && a.index < b.index);
  }
  static bool Less(const Candidate& a, const Candidate& b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return b_nan;
    return a.value < b.value || ((a_nan || a.value == b.value) && a.index < b.index);
  }

  // Leaves the first count_ of a row in order.
  template <class Before>
  void Choose(const float* x, Candidate* best, const Before& before) const {
    constexpr int64_t kFew = 32;
    if (count_ <= kFew)
      Insert(x, best, before);
    else
      Heap(x, best, before);
  }
  template <class Before>
  void Insert(const float* x, Candidate* best, const Before& before) const {
    for (int64_t k = 0; k < view_.extent; ++k) {
      const Candidate next{x[k * view_.inner], k};
      if (k >= count_ && !before(next, best[count_ - 1])) continue;
      int64_t at = std::min(k, count_ - 1);
      for (; at > 0 && before(next, best[at - 1]); --at) best[at] = best[at - 1];
      best[at] = next;
    }
  }
  template <class Before>
  void Heap(const float* x, Candidate* best, const Before& before) const {
    for (int64_t k = 0; k < count_; ++k) best[k] = {x[k * view_.inner], k};
    std::make_heap(best, best + count_, before);  // the worst on top
    for (int64_t k = count_; k < view_.extent; ++k) {
      const Candidate next{x[k * view_.inner], k};
      if (!before(next, best[0])) continue;
      std::pop_heap(best, best + count_, before);
      best[count_ - 1] = next;
      std::push_heap(best, best + count_, before);
    }
    std::sort_heap(best, best + count_, before);
  }

  int64_t axis_ = -1, count_ = 0;
  bool largest_ = true;
  AxisView view_;
};

}  // namespace

void AddTopKKernels(KernelList& kernels) { kernels.push_back(Def<TopKKernel>("", "TopK", "top_k")); }

}  // namespace tenon::cpu
