// Dropout with the random words of every device, and its gradient.
#include <cstring>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// Ratio and mode of a call, whose inputs `first` and `first + 1` they are. Absent: 0.5, and no training.
struct DropoutMode {
  double ratio = 0.5;
  bool active = false;
};
int32_t ReadMode(const sdk::Call& call, uint32_t first, DropoutMode& mode, sdk::Error& error) {
  if (call.has_input(first)) mode.ratio = static_cast<double>(*call.in<float>(first));
  if (!(mode.ratio >= 0 && mode.ratio < 1))
    return error.Fail(TENON_INVALID_ARGUMENT, "Dropout ratio (", mode.ratio, ") is outside [0, 1).");
  mode.active = call.has_input(first + 1) && *call.in<uint8_t>(first + 1) != 0 && mode.ratio > 0;
  return TENON_OK;
}

bool TakesFloats(const sdk::Query& query, uint32_t ratio, sdk::Reason& reason) {
  for (const uint32_t i : {0u, ratio}) {
    if (query.has_input(i) && query.input(i).dtype() != TENON_DTYPE_F32)
      return reason.No("Input ", i, " is ", sdk::DTypeName(query.input(i).dtype()), "; this kernel takes f32.");
  }
  return true;
}

// (data, ratio, training_mode) -> output, mask.
class DropoutKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.version() < 12) return reason.No("Before opset 12 Dropout is a copy, which this kernel does not do.");
    return TakesFloats(query, 1, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    seeded_ = query.attributes().Has("seed");
    seed_ = static_cast<uint64_t>(query.attributes().Int("seed", 0));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.input(0).elements();
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    DropoutMode mode;
    const int32_t code = ReadMode(call, 1, mode, error);
    if (code != TENON_OK) return code;
    uint8_t* kept = call.has_output(1) ? call.out<uint8_t>(1) : nullptr;
    const auto count = static_cast<size_t>(count_);
    if (!mode.active) {
      if (call.in<float>(0) != call.out<float>(0))
        std::memcpy(call.out<float>(0), call.in<float>(0), count * sizeof(float));
      if (kept != nullptr) std::memset(kept, 1, count);
      return TENON_OK;
    }
    KernelPool pool(host(), error, threads_);
    routines().dropout({count_, mode.ratio, seeded_ ? seed_ : call.rng_key(), call.rng_offset(), call.in<float>(0),
                        call.out<float>(0), kept},
                       pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  int64_t count_ = 0;
  bool seeded_ = false;
  uint64_t seed_ = 0;
};

// (dY, mask, ratio, training_mode) -> dX.
class DropoutGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return TakesFloats(query, 2, reason); }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    count_ = args.input(0).elements();
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    DropoutMode mode;
    const int32_t code = ReadMode(call, 2, mode, error);
    if (code != TENON_OK) return code;
    KernelPool pool(host(), error, threads_);
    const float scale = mode.active ? static_cast<float>(1.0 / (1.0 - mode.ratio)) : 1.0f;
    routines().dropout_grad({count_, scale, call.in<uint8_t>(1), call.in<float>(0), call.out<float>(0)},
                            pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  int64_t count_ = 0;
};

}  // namespace

void AddDropoutKernels(KernelList& kernels) {
  kernels.push_back(Def<DropoutKernel>("", "Dropout", "dropout"));
  kernels.push_back(Def<DropoutGradKernel>("tenon", "DropoutGrad", "dropout_grad"));
}

}  // namespace tenon::cpu
