// Gather of rows along the first axis, and its gradient: an embedding.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

bool TakesRows(const sdk::Query& query, sdk::Dims table, sdk::Reason& reason) {
  const int64_t axis = query.attributes().Int("axis", 0);
  if (axis != 0 && axis != -static_cast<int64_t>(table.size()))
    return reason.No("The axis is ", axis, "; this kernel gathers along the first one.");
  return query.input(0).dtype() == TENON_DTYPE_F32 ||
         reason.No("The data is ", sdk::DTypeName(query.input(0).dtype()), "; this kernel takes f32.");
}

int64_t WidthOf(sdk::Dims table) {
  int64_t width = 1;
  for (uint32_t axis = 1; axis < table.size(); ++axis) width *= table[axis];
  return width;
}

// Indices as counts from 0, checked against the rows of the table.
int32_t ReadIndices(sdk::Tensor from, int64_t rows, int64_t* to, sdk::Error& error) {
  const int64_t count = from.elements();
  const bool narrow = from.dtype() == TENON_DTYPE_I32;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t given = narrow ? from.data<const int32_t>()[i] : from.data<const int64_t>()[i];
    if (given < -rows || given >= rows)
      return error.Fail(TENON_INVALID_ARGUMENT, "Gather index ", given, " is outside [", -rows, ", ", rows,
                        "), the limits of axis 0.");
    to[i] = given < 0 ? given + rows : given;
  }
  return TENON_OK;
}

class GatherKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return TakesRows(query, query.input(0).dims(), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.rows = args.input(0).dim(0), args_.width = WidthOf(args.input(0).dims());
    args_.count = args.input(1).elements();
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(args_.count) * sizeof(int64_t));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GatherArgs a = args_;
    const int32_t code = ReadIndices(call.input(1), a.rows, call.workspace<int64_t>(), error);
    if (code != TENON_OK) return code;
    a.index = call.workspace<int64_t>(), a.table = call.in<float>(0), a.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().gather(a, pool.parallel());
    return pool.code();
  }

 private:
  GatherArgs args_;
};

// (dY, indices) -> d table.
class GatherGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return TakesRows(query, query.attributes().Ints("x_shape"), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.rows = args.output(0).dim(0), args_.width = WidthOf(args.output(0).dims());
    args_.count = args.input(1).elements();
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(args_.count) * sizeof(int64_t));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    GatherGradArgs a = args_;
    const int32_t code = ReadIndices(call.input(1), a.rows, call.workspace<int64_t>(), error);
    if (code != TENON_OK) return code;
    a.index = call.workspace<int64_t>(), a.dy = call.in<float>(0), a.d_table = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().gather_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  GatherGradArgs args_;
};

}  // namespace

void AddGatherKernels(KernelList& kernels) {
  kernels.push_back(Def<GatherKernel>("", "Gather", "gather"));
  kernels.push_back(Def<GatherGradKernel>("tenon", "GatherGrad", "gather_grad"));
}

}  // namespace tenon::cpu
