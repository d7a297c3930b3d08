// ArgMax and ArgMin.
#include <algorithm>

#include "plugins/device_cpu/kernels/axis.h"

namespace tenon::cpu {
namespace {

// Does `value`, which comes later, take the place of `kept`? NaN beats every number; of equals the first stays, or the last.
template <bool kLast>
bool Wins(float value, float kept) {
  if (kLast) return value >= kept || value != value;
  return value > kept || (value != value && kept == kept);
}

class ArgBestKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes attributes = query.attributes();
    axis_ = attributes.Int("axis", 0);
    last_ = attributes.Int("select_last_index", 0) != 0;
    sign_ = query.op_type() == "ArgMin" ? -1.0f : 1.0f;
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    view_ = ViewFrom(args.input(0).dims(), axis_);
    result.Workspace(static_cast<uint64_t>(view_.inner) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    if (last_)
      Find<true>(call);
    else
      Find<false>(call);
    return TENON_OK;
  }

 private:
  template <bool kLast>
  void Find(const sdk::Call& call) const {
    const AxisView v = view_;
    const float* x = call.in<float>(0);
    int64_t* out = call.out<int64_t>(0);
    float* const best = call.workspace<float>();
    for (int64_t o = 0; o < v.outer; ++o, x += v.extent * v.inner, out += v.inner) {
      if (v.inner == 1) {
        *out = OfRow<kLast>(x);
        continue;
      }
      for (int64_t i = 0; i < v.inner; ++i) best[i] = sign_ * x[i], out[i] = 0;
      for (int64_t k = 1; k < v.extent; ++k) {
        for (int64_t i = 0; i < v.inner; ++i) {
          const float value = sign_ * x[k * v.inner + i];
          const bool wins = Wins<kLast>(value, best[i]);
          best[i] = wins ? value : best[i];
          out[i] = wins ? k : out[i];
        }
      }
    }
  }
  // Blocks without a winner, most of them, are passed over by their greatest value alone.
  template <bool kLast>
  int64_t OfRow(const float* x) const {
    constexpr int64_t kBlock = 64;
    float best = sign_ * x[0];
    int64_t at = 0, k = 1;
    for (; k + kBlock <= view_.extent; k += kBlock) {
      int any = 0;
      for (int64_t j = 0; j < kBlock; ++j) any |= static_cast<int>(Wins<kLast>(sign_ * x[k + j], best));
      if (any == 0) continue;
      for (int64_t j = k; j < k + kBlock; ++j)
        if (Wins<kLast>(sign_ * x[j], best)) best = sign_ * x[j], at = j;
    }
    for (; k < view_.extent; ++k)
      if (Wins<kLast>(sign_ * x[k], best)) best = sign_ * x[k], at = k;
    return at;
  }

  int64_t axis_ = 0;
  bool last_ = false;
  float sign_ = 1;
  AxisView view_;
};

}  // namespace

void AddArgBestKernels(KernelList& kernels) {
  kernels.push_back(Def<ArgBestKernel>("", "ArgMax", "arg_max"));
  kernels.push_back(Def<ArgBestKernel>("", "ArgMin", "arg_min"));
}

}  // namespace tenon::cpu
