// L2: operators that the plugin defines. Cases 54 and 55.
#include <charconv>

#include "core/ops/plugin_operators.h"
#include "tools/conform/cases.h"
#include "tools/conform/derived_calls.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// The plugin's definitions as operators, read without an instance.
struct OwnOperators {
  OpRegistry registry{&BuiltinOps()};
  std::vector<const OpDef*> defs;
};

void ReadOperators(Context& context, const Library& library, OwnOperators* out) {
  const auto* table = library.Table<tenon_op_vtable>();
  if (table == nullptr || table->list_operators == nullptr) context.Skip("The plugin defines no operators.");
  const tenon_operator_def* first = nullptr;
  std::uint64_t count = 0, stride = 0;
  tenon_error error;
  const std::int32_t code = TENON_CALL(tenon.op, table, list_operators, nullptr, &first, &count, &stride, &error);
  context.Require(code == TENON_OK || code == TENON_FAILED_PRECONDITION,
                  "list_operators without an instance answers {}.", code);
  if (code != TENON_OK || count == 0) context.Skip("The plugin defines no operators that can be listed before create.");
  const Status added = AddPluginOperators(*table, nullptr, "the plugin", out->registry);
  context.Require(added.ok(), "{}", added.message());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* def = reinterpret_cast<const tenon_operator_def*>(reinterpret_cast<const char*>(first) + i * stride);
    const auto found = out->registry.Find(View(def->domain), View(def->op_type));
    context.Require(found.ok(), "{}", found.status().message());
    out->defs.push_back(*found);
  }
}

// Calls with the inputs of one shape; those that the rule refuses are left out. Of several shapes where it refuses all.
std::vector<OpCall> CallsOf(const OpDef& def) {
  std::vector<OpCall> calls;
  for (const Shape& shape : {Shape{4}, Shape{6, 4}, Shape{2, 6, 8}, Shape{2}}) {
    for (OpCall& call : SameShapeCall(def, DType::kF32, shape)) calls.push_back(std::move(call));
  }
  return calls.empty() ? DerivedCalls(def, DType::kF32) : calls;
}

std::optional<std::int64_t> ExtentOf(void*, std::string_view name) {
  std::int64_t value = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), value);
  return value;
}

// The rule with every extent above 1 replaced by a symbol must give the same dims once the symbols are known.
int CheckSymbols(Context& context, const OpCall& call) {
  std::vector<ValueType> types;
  std::vector<const Tensor*> constants(call.inputs.size(), nullptr);
  for (const Tensor& input : call.inputs) {
    ValueType type{input.dtype(), input.shape()};
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      const std::int64_t dim = input.shape()[axis];
      if (dim > 1) type.shape.set_dim(axis, Dim::Symbol(fmt::format("S{}", dim)));
    }
    types.push_back(type);
  }
  const auto symbolic = call.def->InferOutputs(call.attrs, types, constants, call.types.size());
  if (!symbolic.ok()) return 0;  // equal extents that are no longer known to be equal
  for (std::size_t i = 0; i < symbolic->size(); ++i) {
    const SymShape& shape = (*symbolic)[i].shape;
    const Shape concrete = call.types[i].shape.Concrete();
    context.Require((*symbolic)[i].dtype == call.types[i].dtype, "{}: output {} has another dtype with symbols.",
                    call.text, i);
    context.Require(shape.rank() == concrete.rank(), "{}: output {} is {} with symbols and {} without.", call.text, i,
                    shape.ToString(), concrete.ToString());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == Dim::Unknown()) continue;
      const auto value = Evaluate(shape[axis], ExtentOf, nullptr);
      context.Require(value && *value == concrete[axis], "{}: output {} is {} with symbols and {} without.", call.text,
                      i, shape.ToString(), concrete.ToString());
    }
  }
  return 1;
}

// Every element of an output of the inferred shape is written, and nothing around it.
int CheckExecuted(Session& s, const OpCall& call) {
  // Its inputs belong together in ways that only its forward operator knows.
  const auto own = s.ops().Find(call.def->domain(), call.def->type());
  if (own.ok() && ForwardOf(s, **own) != nullptr) return 0;
  int runs = 0;
  for (const KernelOf& kernel : KernelsOf(s)) {
    if (View(kernel.def->domain) != call.def->domain() || View(kernel.def->op_type) != call.def->type()) continue;
    RunWay zeros;
    zeros.poison = 0;
    KernelRun one(s, kernel, call), two(s, kernel, call, zeros);
    if (one.Supports() == TENON_VERDICT_NO) continue;
    if (const auto expected = Expected(s, kernel, call); !expected.ok()) {
      const Code code = expected.status().code();
      s.context().Require(
          code == Code::kInvalidArgument || code == Code::kOutOfRange,
          "{} fails with {}: {} A kernel runs what its supports takes; only values of inputs may be refused, "
          "with INVALID_ARGUMENT or OUT_OF_RANGE.",
          one.text(), CodeName(code), expected.status().message());
      continue;
    }
    const auto first = one.Run(), second = two.Run();
    for (std::size_t i = 0; i < first.size(); ++i)
      RequireNear(
          s.context(), second[i], first[i], 0,
          one.text() + ": the kernel does not write the whole output that its shape rule gives; " + std::to_string(i));
    ++runs;
  }
  return runs;
}

}  // namespace

void ShapeRules(Context& context) {
  const Library library(context);
  OwnOperators operators;
  ReadOperators(context, library, &operators);
  std::vector<OpCall> calls;
  int symbolic = 0, executed = 0;
  for (const OpDef* def : operators.defs) {
    for (OpCall& call : CallsOf(*def)) {
      symbolic += CheckSymbols(context, call);
      calls.push_back(std::move(call));
    }
  }
  if (calls.empty()) context.Skip("No operator of the plugin takes float32 inputs of the shapes that were tried.");
  if (library.Table<tenon_device_vtable>() != nullptr || !context.settings().device.empty()) {
    Session s(context);
    for (const OpCall& call : calls) executed += CheckExecuted(s, call);
  }
  context.Note(fmt::format("{} calls, {} with symbols, {} executed", calls.size(), symbolic, executed));
}

void ShapeRulesWithoutDevice(Context& context) {
  const Library library(context);
  OwnOperators operators;
  ReadOperators(context, library, &operators);
  int calls = 0;
  for (const OpDef* def : operators.defs) {
    for (const OpCall& call : CallsOf(*def)) {
      for (int round = 0; round < 3; ++round) {
        const auto again = MakeCall(*def, call.attrs, call.inputs, static_cast<int>(call.types.size()));
        context.Require(again.ok() && again->types[0].shape == call.types[0].shape,
                        "{}: the shape rule gives another answer at call {}.", call.text, round);
      }
      ++calls;
    }
  }
  if (calls == 0) context.Skip("No operator of the plugin takes float32 inputs of the shapes that were tried.");
}

}  // namespace tenon::conform
