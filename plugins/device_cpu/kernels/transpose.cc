// Transpose: whole matrices of elements of 16 bits or f32 at a time where the permutation exchanges two blocks of neighbouring axes; any other one,
// and DepthToSpace and SpaceToDepth, element by element through strides.
#include <vector>

#include "plugins/device_cpu/kernels/short_transpose.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

class TransposeKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Value x = query.input(0);
    if (x.dtype() != TENON_DTYPE_F32 && BytesOf(x.dtype()) != 2)
      return reason.No("The data is ", sdk::DTypeName(x.dtype()), "; this kernel takes f32 and elements of 16 bits.");
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
    shorts_ = BytesOf(args.input(0).dtype()) == 2;
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
    if (shorts_) {
      TransposeShorts(t.batch, t.rows, t.columns, call.in<uint16_t>(0), call.out<uint16_t>(0));
      return TENON_OK;
    }
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
  bool shorts_ = false;
  TransposeArgs args_;
};

// Any permutation of any dtype.
class PermuteKernel : public ViewKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.input(0).rank() > StridedCopyArgs::kMaxRank)
      return reason.No("The rank is ", query.input(0).rank(), "; this kernel takes up to 16.");
    return HasBytes(query.input(0), reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const auto perm = query.attributes().Ints("perm");
    perm_.assign(perm.begin(), perm.end());
    if (perm.size() == 0) {
      for (uint32_t axis = query.input(0).rank(); axis-- > 0;) perm_.push_back(axis);
    }
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    PlanView(args.input(0).dtype(), {x.begin(), x.end()}, perm_);
    return TENON_OK;
  }

 private:
  std::vector<int64_t> perm_;
};

// Blocks of positions moved between channels and axes of an image: a permutation of the image seen with its blocks apart.
class BlocksKernel : public ViewKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return HasBytes(query.input(0), reason); }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    block_ = query.attributes().Int("blocksize", 1);
    to_space_ = query.op_type() == "DepthToSpace";
    channels_first_ = query.attributes().String("mode", "DCR") == "CRD";
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    const int64_t b = block_, n = x[0], h = x[2], w = x[3];
    const uint32_t dtype = args.input(0).dtype();
    if (!to_space_)
      PlanView(dtype, {n, x[1], h / b, b, w / b, b}, {0, 3, 5, 1, 2, 4});
    else if (channels_first_)
      PlanView(dtype, {n, x[1] / (b * b), b, b, h, w}, {0, 1, 4, 2, 5, 3});
    else
      PlanView(dtype, {n, b, b, x[1] / (b * b), h, w}, {0, 3, 4, 1, 5, 2});
    return TENON_OK;
  }

 private:
  int64_t block_ = 1;
  bool to_space_ = false, channels_first_ = false;
};

}  // namespace

void AddTransposeKernels(KernelList& kernels) { kernels.push_back(Def<TransposeKernel>("", "Transpose", "transpose")); }
void AddPermuteKernels(KernelList& kernels) {
  kernels.push_back(Def<PermuteKernel>("", "Transpose", "permute"));
  for (const std::string_view op_type : {"DepthToSpace", "SpaceToDepth"})
    kernels.push_back(Def<BlocksKernel>("", op_type, "space_blocks"));
}

}  // namespace tenon::cpu
