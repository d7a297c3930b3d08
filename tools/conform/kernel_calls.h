// Which kernels of the plugin are tried with which calls, and how results are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/conform/kernel_run.h"

namespace tenon::conform {

// Kernels for the session's device kind.
std::vector<KernelOf> ListKernels(Session& session);
// The same; skips the case when there are none.
std::vector<KernelOf> KernelsOf(Session& session);

// Calls `body` for every kernel of the plugin and every call in one of the dtypes that it supports; returns how many.
// Kernels of operators that neither the core nor the plugin defines are left out, and calls of operators without a
// reference that a kernel refuses when it runs.
int ForEachCall(Session& session, const std::vector<DType>& dtypes, Values values,
                const std::function<void(const KernelOf&, const OpCall&)>& body);
// The same for the calls that `calls` makes.
int ForEachCallOf(Session& session, const std::function<std::vector<OpCall>(const OpDef&)>& calls,
                  const std::function<void(const KernelOf&, const OpCall&)>& body);

// What a call must give: the reference, or where the operator has none the plugin's own kernels in the plain way, in the widest
// dtype that they take. An error when the values are refused.
Result<std::vector<Tensor>> Expected(Session& session, const KernelOf& kernel, const OpCall& call);

// The operator of the plugin whose gradient is `backward`; null when there is none.
const OpDef* ForwardOf(Session& session, const OpDef& backward);

// Compares with the reference; fails the case with the first element that differs.
void RequireNear(Context& context, const Tensor& got, const Tensor& expected, double tolerance,
                 const std::string& what);
// Relative and absolute tolerance of results in this dtype.
double ToleranceOf(DType dtype);

// dtypes that the kernel is tried with, floating ones first.
std::vector<DType> TriedTypes();

}  // namespace tenon::conform
