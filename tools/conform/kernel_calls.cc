#include "tools/conform/kernel_calls.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/conform/derived_calls.h"
#include "tools/conform/kernel_tape.h"

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
    const auto op = session.ops().Find(View(kernel.def->domain), View(kernel.def->op_type),
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

const OpDef* ForwardOf(Session& session, const OpDef& backward) {
  const tenon_operator_def* first = nullptr;
  std::uint64_t count = 0, stride = 0;
  tenon_error error;
  const tenon_op_vtable& table = session.Need<tenon_op_vtable>();
  session.Ok(TENON_CALL(tenon.op, &table, list_operators, session.plugin(), &first, &count, &stride, &error), error,
             "list its operators");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* def = reinterpret_cast<const tenon_operator_def*>(reinterpret_cast<const char*>(first) + i * stride);
    if (def->paired == nullptr || View(def->paired->op_type) != backward.type() ||
        View(def->paired->domain) != backward.domain())
      continue;
    const auto forward = session.ops().Find(View(def->domain), View(def->op_type));
    if (forward.ok()) return *forward;
  }
  return nullptr;
}

namespace {

// Runs a call in the plain way; an error with the plugin's words when it is refused.
Result<std::vector<Tensor>> RunOn(Session& session, const KernelOf& kernel, const OpCall& call, tenon_stream* stream) {
  RunWay way;
  way.stream = stream;
  KernelRun run(session, kernel, call, way);
  std::string reason;
  if (run.Supports(&reason) == TENON_VERDICT_NO) return InvalidArgument("{}", reason);
  run.Create();
  run.Plan();
  run.PutOperands();
  const std::int32_t code = run.Execute(/*may_fail=*/true);
  if (code == TENON_OK) return run.Results();
  session.context().Require(!run.last_error().empty(), "{} is refused when it runs, without a text.", run.text());
  return Error(static_cast<Code>(code), "{}", run.last_error());
}

// On a stream of its own, which keeps the error of refused work.
Result<std::vector<Tensor>> TryRun(Session& session, const KernelOf& kernel, const OpCall& call) {
  tenon_stream* stream = session.NewStream();
  auto results = RunOn(session, kernel, call, stream);
  TENON_CALL(tenon.stream, &session.streams(), stream_destroy, stream);
  return results;
}

std::optional<OpCall> Widened(const OpCall& call, DType wide) {
  std::vector<Tensor> inputs = call.inputs;
  for (Tensor& input : inputs) {
    if (input.defined() && IsFloating(input.dtype())) input = Cast(input, wide);
  }
  auto made = MakeCall(*call.def, call.attrs, std::move(inputs), static_cast<int>(call.types.size()));
  if (!made.ok()) return std::nullopt;
  made->random = call.random;
  return std::move(made).value();
}

// Calls of an operator that only its plugin defines. A backward operator is called as its forward operator asks for it.
std::vector<OpCall> CallsOfOwn(Session& session, const OpDef& def, DType dtype) {
  const OpDef* forward = ForwardOf(session, def);
  if (forward == nullptr || !forward->differentiable()) return DerivedCalls(def, dtype);
  const std::vector<KernelOf> kernels = ListKernels(session);
  std::vector<OpCall> calls;
  for (const OpCall& call : DerivedCalls(*forward, dtype)) {
    const auto runs = [&](const KernelOf& kernel) {
      return kernel.op == forward && TryRun(session, kernel, call).ok();
    };
    if (std::none_of(kernels.begin(), kernels.end(), runs)) continue;
    KernelTape tape(session, kernels);
    tape.Differentiate(call, RandomTensor(call.types[0].dtype, call.types[0].shape.Concrete(), -1, 1, 77));
    for (const OpCall& made : tape.calls()) {
      if (made.def == &def) calls.push_back(made);
    }
  }
  return calls;
}

}  // namespace

Result<std::vector<Tensor>> Expected(Session& session, const KernelOf& kernel, const OpCall& call) {
  if (call.has_reference()) return RunReference(call);
  for (const DType wide : {DType::kF64, DType::kF32}) {
    const std::optional<OpCall> widened = Widened(call, wide);
    if (!widened) continue;
    for (const KernelOf& other : ListKernels(session)) {
      if (other.op != kernel.op) continue;
      auto results = TryRun(session, other, *widened);
      if (results.ok()) return results;
    }
  }
  return TryRun(session, kernel, call);
}

int ForEachCallOf(Session& session, const std::function<std::vector<OpCall>(const OpDef&)>& calls,
                  const std::function<void(const KernelOf&, const OpCall&)>& body) {
  int count = 0;
  for (const KernelOf& kernel : KernelsOf(session)) {
    if (kernel.op == nullptr) continue;
    for (const OpCall& call : calls(*kernel.op)) {
      if (KernelRun(session, kernel, call).Supports() == TENON_VERDICT_NO) continue;
      if (!call.has_reference() && !TryRun(session, kernel, call).ok()) continue;
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
          const bool known = def.reference() != nullptr;
          std::vector<OpCall> some = known ? SampleCalls(def, dtype, values) : CallsOfOwn(session, def, dtype);
          if (!known && values == Values::kSpecial) continue;  // nothing says what should come out
          for (OpCall& call : some) calls.push_back(std::move(call));
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
