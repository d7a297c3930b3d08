// Gather and its gradient along one axis of a tensor seen as [outer, extent, inner].
#include <cstring>

#include "kernels/map.h"

namespace tenon::npu {
namespace {

struct Plan {
  int64_t outer = 1, extent = 0, inner = 1, count = 0;
  bool wide = false;  // indices of i64

  // Index number k, counted from the front.
  int64_t At(const Operands& o, int64_t k) const {
    const int64_t given = wide ? o.in<int64_t>(1)[k] : o.in<int32_t>(1)[k];
    if (given < -extent || given >= extent) {
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Index ", given, " is outside [", -extent, ", ", extent, ").");
    }
    return given < 0 ? given + extent : given;
  }
};

Plan PlanOf(const Request& request, sdk::Dims x) {
  const uint32_t dtype = request.input(1).dtype();
  if (dtype != TENON_DTYPE_I64) request.RequireType(1, TENON_DTYPE_I32);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t given = request.attributes().Int("axis", 0), axis = given < 0 ? given + rank : given;
  Plan plan;
  plan.wide = dtype == TENON_DTYPE_I64;
  plan.count = request.input(1).elements();
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = x[static_cast<uint32_t>(i)];
    if (i == axis) {
      plan.extent = size;
    } else {
      (i < axis ? plan.outer : plan.inner) *= size;
    }
  }
  return plan;
}

Work MakeGather(const Request& request) {
  const Plan p = PlanOf(request, request.input(0).dims());
  const uint32_t bits = sdk::DTypeBits(request.input(0).dtype());
  if (bits % 8 != 0) Refuse("elements are ", sdk::DTypeName(request.input(0).dtype()));
  const auto slice = static_cast<size_t>(p.inner) * bits / 8;
  Work work;
  work.cost = {0, 0, 2 * slice * static_cast<uint64_t>(p.outer * p.count)};
  work.run = [p, slice](const Operands& o) {
    std::byte* to = o.out<std::byte>(0);
    for (int64_t outer = 0; outer < p.outer; ++outer) {
      for (int64_t k = 0; k < p.count; ++k) {
        std::memcpy(to, o.in<std::byte>(0) + static_cast<size_t>(outer * p.extent + p.At(o, k)) * slice, slice);
        to += slice;
      }
    }
  };
  return work;
}

// Sums in f32, in the order of the indices.
Work MakeGatherGrad(const Request& request) {
  request.RequireFloat(0);
  const Plan p = PlanOf(request, request.output(0).dims());
  const int64_t elements = request.output(0).elements();
  Work work;
  work.workspace = static_cast<uint64_t>(elements) * sizeof(float);
  work.cost = {0, static_cast<uint64_t>(request.input(0).elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [p, elements](const Operands& o) {
      float* sums = o.workspace<float>();
      std::memset(sums, 0, static_cast<size_t>(elements) * sizeof(float));
      const T* dy = o.in<T>(0);
      for (int64_t outer = 0; outer < p.outer; ++outer) {
        for (int64_t k = 0; k < p.count; ++k) {
          float* to = sums + (outer * p.extent + p.At(o, k)) * p.inner;
          for (int64_t i = 0; i < p.inner; ++i) to[i] += Widen(dy[i]);
          dy += p.inner;
        }
      }
      for (int64_t i = 0; i < elements; ++i) o.out<T>(0)[i] = Narrow<T>(sums[i]);
    };
  });
  return work;
}

}  // namespace

void AddGather(EntryList& entries) {
  entries.push_back({"", "Gather", "gather", MakeGather});
  entries.push_back({"tenon", "GatherGrad", "scatter_add", MakeGatherGrad});
}

}  // namespace tenon::npu
