// Transpose of f32 tensors: whole matrices at a time where the permutation exchanges two blocks of neighbouring axes.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

class TransposeKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Value x = query.input(0);
    if (x.dtype() != TENON_DTYPE_F32)
      return reason.No("The data is ", sdk::DTypeName(x.dtype()), "; this kernel takes f32.");
    uint32_t lead = 0, split = 0;
    return Blocks(query.attributes(), x.rank(), lead, split) ||
           reason.No("The permutation is not an exchange of two blocks of axes.");
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    Blocks(query.attributes(), query.input(0).rank(), lead_, split_);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    args_ = {};
    args_.batch = args_.rows = args_.columns = 1;
    for (uint32_t axis = 0; axis < x.size(); ++axis) {
      int64_t& group = axis < lead_ ? args_.batch : axis < split_ ? args_.rows : args_.columns;
      group *= x[axis];
    }
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    TransposeArgs t = args_;
    t.x = call.in<float>(0);
    t.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().transpose(t, pool.parallel());
    return pool.code();
  }

 private:
  // perm = 0 .. lead - 1, split .. rank - 1, lead .. split - 1; without perm the axes are reversed.
  static bool Blocks(const sdk::Attributes& attributes, uint32_t rank, uint32_t& lead, uint32_t& split) {
    const sdk::Dims perm = attributes.Ints("perm");
    const auto at = [&](uint32_t i) { return perm.size() == 0 ? static_cast<int64_t>(rank - 1 - i) : perm[i]; };
    lead = 0;
    while (lead < rank && at(lead) == lead) ++lead;
    split = lead < rank ? static_cast<uint32_t>(at(lead)) : rank;
    for (uint32_t i = lead; i < rank; ++i) {
      const uint32_t right = rank - split;
      const int64_t want = i - lead < right ? split + (i - lead) : lead + (i - lead - right);
      if (at(i) != want) return false;
    }
    return true;
  }

  uint32_t lead_ = 0, split_ = 0;
  TransposeArgs args_;
};

}  // namespace

void AddTransposeKernels(KernelList& kernels) { kernels.push_back(Def<TransposeKernel>("", "Transpose", "transpose")); }

}  // namespace tenon::cpu
