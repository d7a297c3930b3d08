// Where: one of two operands by a condition, all three broadcast.
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class WhereKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.output(0).rank() > SelectArgs::kMaxRank)
      return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 8.");
    return HasBytes(query.output(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims out = args.output(0).dims();
    select_ = {};
    select_.element_bytes = BytesOf(args.output(0).dtype());
    for (uint32_t axis = 0; axis < out.size(); ++axis) {
      bool repeats[3];
      for (uint32_t k = 0; k < 3; ++k) repeats[k] = SizeAt(args.input(k).dims(), axis, out.size()) == 1;
      if (out[axis] == 1) continue;
      Add(out[axis], repeats);
    }
    if (select_.rank == 0) select_.dims[select_.rank++] = 1;
    for (auto& strides : select_.strides) {
      int64_t next = 1;
      for (int d = select_.rank; d-- > 0;) {
        strides[d] *= next;
        if (strides[d] != 0) next *= select_.dims[d];
      }
    }
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    SelectArgs p = select_;
    p.condition = call.in<uint8_t>(0);
    p.x = call.in<char>(1);
    p.y = call.in<char>(2);
    p.out = call.out<char>(0);
    SelectElements(p);
    return TENON_OK;
  }

 private:
  static int64_t SizeAt(sdk::Dims dims, uint32_t axis, uint32_t rank) {
    return axis + dims.size() < rank ? 1 : dims[axis + dims.size() - rank];
  }
  // Another dim, or more of the last one where all operands behave alike; strides are 0 or 1 here.
  void Add(int64_t size, const bool (&repeats)[3]) {
    const int last = select_.rank - 1;
    bool alike = last >= 0;
    for (int k = 0; k < 3; ++k) alike = alike && (select_.strides[k][last] == 0) == repeats[k];
    if (alike) {
      select_.dims[last] *= size;
      return;
    }
    for (int k = 0; k < 3; ++k) select_.strides[k][select_.rank] = repeats[k] ? 0 : 1;
    select_.dims[select_.rank++] = size;
  }

  SelectArgs select_;
};

}  // namespace

void AddWhereKernels(KernelList& kernels) { kernels.push_back(Def<WhereKernel>("", "Where", "where")); }

}  // namespace tenon::cpu
