#include "tools/conform/kernel_calls.h"

#include <cmath>

namespace tenon::conform {

std::vector<KernelOf> ListKernels(Session& session) {
  const tenon_op_vtable* table = session.Table<tenon_op_vtable>();
  if (table == nullptr) return {};
  const tenon_kernel_def* first = nullptr;
  std::uint64_t count = 0, stride = 0;
  tenon_error error;
  session.Ok(TENON_CALL(tenon.op, table, list_kernels, session.plugin(), &first, &count, &stride, &error), error,
             "list its kernels");
  std::vector<KernelOf> kernels;
  for (std::uint64_t i = 0; i < count; ++i) {
    KernelOf kernel;
    kernel.def = reinterpret_cast<const tenon_kernel_def*>(reinterpret_cast<const char*>(first) + i * stride);
    if (View(kernel.def->device_kind) != session.kind()) continue;
    const auto op = BuiltinOps().Find(View(kernel.def->domain), View(kernel.def->op_type),
                                      static_cast<int>(kernel.def->max_version));
    if (op.ok()) kernel.op = *op;
    kernels.push_back(kernel);
  }
  return kernels;
}

std::vector<KernelOf> KernelsOf(Session& session) {
  session.Need<tenon_op_vtable>();
  std::vector<KernelOf> kernels = ListKernels(session);
  if (kernels.empty())
    session.context().Skip(fmt::format("The plugin lists no kernels for device kind '{}'.", session.kind()));
  return kernels;
}

int ForEachCallOf(Session& session, const std::function<std::vector<OpCall>(const OpDef&)>& calls,
                  const std::function<void(const KernelOf&, const OpCall&)>& body) {
  int count = 0;
  for (const KernelOf& kernel : KernelsOf(session)) {
    if (kernel.op == nullptr) continue;
    for (const OpCall& call : calls(*kernel.op)) {
      if (KernelRun(session, kernel, call).Supports() == TENON_VERDICT_NO) continue;
      body(kernel, call);
      ++count;
    }
  }
  return count;
}

int ForEachCall(Session& session, const std::vector<DType>& dtypes, Values values,
                const std::function<void(const KernelOf&, const OpCall&)>& body) {
  return ForEachCallOf(
      session,
      [&](const OpDef& def) {
        std::vector<OpCall> calls;
        for (const DType dtype : dtypes) {
          for (OpCall& call : SampleCalls(def, dtype, values)) calls.push_back(std::move(call));
        }
        return calls;
      },
      body);
}

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-9;
    case DType::kF16:
      return 4e-3;
    case DType::kBF16:
      return 3e-2;
    default:
      return 2e-5;
  }
}

std::vector<DType> TriedTypes() {
  return {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32,
          DType::kI64, DType::kU8,  DType::kI8,   DType::kBool};
}

void RequireNear(Context& context, const Tensor& got, const Tensor& expected, double tolerance,
                 const std::string& what) {
  context.Require(got.defined() == expected.defined(), "{}: an output is there that should not be.", what);
  if (!expected.defined()) return;
  const Tensor a = Cast(got, DType::kF64), b = Cast(expected, DType::kF64);
  const bool exact = !IsFloating(expected.dtype());
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    const bool special = std::isnan(y) || std::isinf(y);
    const bool same = std::isnan(y)   ? std::isnan(x)
                      : std::isinf(y) ? x == y
                      : exact         ? x == y
                                      : std::abs(x - y) <= tolerance * (1 + std::abs(y));
    if (!same)
      context.Require(false, "{}: element {} is {:.9g}, the reference says {:.9g} (tolerance {:g}{}).", what, i, x, y,
                      exact || special ? 0.0 : tolerance, exact || special ? "" : " relative and absolute");
  }
  context.Require(true, "{}", what);
}

}  // namespace tenon::conform
