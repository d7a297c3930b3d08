// L2: what kernels compute. Cases 49 to 53.
#include <cstring>
#include <set>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

void Compare(Session& s, const KernelRun& run, const OpCall& call, const std::vector<Tensor>& results,
             const std::vector<Tensor>& expected, const char* when) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Sums over 16-bit inputs carry their rounding into outputs of any dtype.
    double tolerance = ToleranceOf(call.types[i].dtype);
    for (const Tensor& input : call.inputs) {
      if (input.defined() && IsFloating(input.dtype())) tolerance = std::max(tolerance, ToleranceOf(input.dtype()));
    }
    RequireNear(s.context(), results[i], expected[i], tolerance, fmt::format("{} output {}{}", run.text(), i, when));
  }
}

// The floating inputs with their elements in the opposite order: other values that the operator takes as well.
OpCall TurnedAround(const OpCall& call) {
  OpCall turned = call;
  for (Tensor& input : turned.inputs) {
    if (!input.defined() || !IsFloating(input.dtype())) continue;
    Tensor copy(input.dtype(), input.shape());
    const auto width = static_cast<std::size_t>(SizeOf(input.dtype()));
    const auto count = static_cast<std::size_t>(input.elements());
    const auto* from = static_cast<const char*>(input.raw());
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char*>(copy.raw()) + (count - 1 - i) * width, from + i * width, width);
    input = std::move(copy);
  }
  return turned;
}

// Runs the call in every layout on offer and compares with the reference; then again with the same instance and the same
// addresses, where a kernel that keeps what it read the first time is found out.
void CheckCall(Session& s, const KernelOf& kernel, const OpCall& call, const RunWay& plain_way = {}) {
  const auto expected = Expected(s, kernel, call);
  if (!expected.ok()) return;  // the operator refuses these values
  const OpCall turned = TurnedAround(call);
  const auto expected_again = Expected(s, kernel, turned);
  KernelRun asked(s, kernel, call);
  for (const Signature& signature : asked.Signatures()) {
    RunWay way = plain_way;
    way.signature = signature;
    KernelRun run(s, kernel, call, way);
    Compare(s, run, call, run.Run(), *expected, "");
    if (!expected_again.ok()) continue;
    Compare(s, run, turned, run.RunAgain(turned.inputs), *expected_again, " of a second call with other values");
  }
}

// The same beside pages that cannot be touched; returns how many calls.
int CheckFences(Session& s, const KernelOf& kernel, const OpCall& call) {
  for (const Fence fence : {Fence::kBehind, Fence::kBefore}) {
    RunWay way;
    way.fence = fence;
    CheckCall(s, kernel, call, way);
  }
  return 1;
}

void NeedSome(Context& context, int calls, const char* what) {
  if (calls == 0) context.Skip(fmt::format("The plugin has no kernel for {} that the kit has a call for.", what));
}

}  // namespace

void Numerics(Context& context) {
  Session s(context);
  std::set<std::string> covered, all;
  int own = 0;
  for (const KernelOf& kernel : KernelsOf(s)) all.insert(kernel.name());
  const int calls = ForEachCall(s, TriedTypes(), Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    covered.insert(kernel.name());
    own += call.has_reference() ? 0 : 1;
    CheckCall(s, kernel, call);
  });
  NeedSome(context, calls, "an operator");
  std::string others;
  for (const std::string& name : all) {
    if (covered.count(name) == 0 && others.size() < 200) others += (others.empty() ? "; not: " : ", ") + name;
  }
  const std::string itself =
      own == 0 ? ""
               : fmt::format(" ({} of operators that the plugin defines: with its own kernels in a wider dtype)", own);
  context.Note(fmt::format("{} calls of {} of {} kernels agree with the reference{}{}", calls, covered.size(),
                           all.size(), itself, others));
}

void Views(Context& context) {
  Session s(context);
  int strided = 0, fenced = 0;
  if (s.wraps_host_memory()) {
    ForEachCall(s, TriedTypes(), Values::kOrdinary,
                [&](const KernelOf& kernel, const OpCall& call) { fenced += CheckFences(s, kernel, call); });
  }
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    RunWay offset;
    offset.byte_offset = true;
    CheckCall(s, kernel, call, offset);
    RunWay gaps;
    gaps.strided_inputs = true;
    KernelRun asked(s, kernel, call, gaps);
    const bool declared = kernel.def->stride_pattern != TENON_STRIDES_CONTIGUOUS;
    if (!declared || asked.Supports() != TENON_VERDICT_YES) return;
    // Layout signatures are for dense operands.
    const auto expected = Expected(s, kernel, call);
    if (!expected.ok()) return;
    const auto results = asked.Run();
    for (std::size_t i = 0; i < results.size(); ++i)
      RequireNear(context, results[i], (*expected)[i], ToleranceOf(call.types[i].dtype),
                  fmt::format("{} with strided inputs, output {}", asked.text(), i));
    ++strided;
  });
  NeedSome(context, calls, "an operator of the core");
  context.Note(fmt::format("{} calls with offsets, {} with strides, {} beside pages that cannot be touched", calls,
                           strided, fenced));
}

namespace {

// Of an operator that only its plugin knows, same shapes are called for when it says that it is elementwise.
std::vector<OpCall> OfOneShape(const OpDef& def, DType dtype, const Shape& shape) {
  if (def.reference() == nullptr && !def.elementwise()) return {};
  return SameShapeCall(def, dtype, shape);
}

}  // namespace

void EmptyAndScalar(Context& context) {
  Session s(context);
  const std::vector<Shape> scalars = {Shape{}}, empties = {Shape{0}, Shape{0, 3}, Shape{3, 0}};
  const auto calls_of = [](const std::vector<Shape>& shapes) {
    return [&shapes](const OpDef& def) {
      std::vector<OpCall> calls;
      for (const Shape& shape : shapes) {
        for (OpCall& call : OfOneShape(def, DType::kF32, shape)) calls.push_back(std::move(call));
      }
      return calls;
    };
  };
  int calls = ForEachCallOf(s, calls_of(scalars),
                            [&](const KernelOf& kernel, const OpCall& call) { CheckCall(s, kernel, call); });
  // Without the trait the host skips the call.
  calls += ForEachCallOf(s, calls_of(empties), [&](const KernelOf& kernel, const OpCall& call) {
    if ((kernel.def->traits & TENON_TRAIT_EMPTY_SAFE) != 0) CheckCall(s, kernel, call);
  });
  NeedSome(context, calls, "elementwise operators");
}

void OddSizes(Context& context) {
  Session s(context);
  const bool fences = s.wraps_host_memory();
  const auto check = [&](const KernelOf& kernel, const OpCall& call) {
    CheckCall(s, kernel, call);
    if (fences) CheckFences(s, kernel, call);
  };
  int calls = ForEachCallOf(
      s,
      [](const OpDef& def) {
        std::vector<OpCall> made;
        for (const std::int64_t size :
             {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 129, 255, 257, 511, 1023, 1025, 4099}) {
          if (def.reference() == nullptr && size > 129)
            break;  // held against a run of the plugin, which takes its time
          for (const Shape& shape : {Shape{size}, Shape{3, size}}) {
            for (OpCall& call : OfOneShape(def, DType::kF32, shape)) made.push_back(std::move(call));
          }
        }
        return made;
      },
      check);
  calls += ForEachCallOf(
      s,
      [](const OpDef& def) {
        std::vector<OpCall> made;
        if (def.type() != "MatMul" && def.type() != "Gemm") return made;
        for (const auto& [m, k, n] : std::initializer_list<std::array<std::int64_t, 3>>{
                 {1, 1, 1}, {1, 7, 5}, {3, 1, 9}, {17, 15, 1}, {31, 33, 63}, {65, 16, 17}, {5, 129, 7}, {48, 48, 48}}) {
          auto call = MakeCall(
              def, {},
              {RandomTensor(DType::kF32, Shape{m, k}, -1, 1, 1), RandomTensor(DType::kF32, Shape{k, n}, -1, 1, 2)}, 1);
          if (call.ok()) made.push_back(std::move(call).value());
        }
        return made;
      },
      check);
  if (context.settings().long_runs) {
    calls += ForEachCallOf(
        s,
        [](const OpDef& def) {
          return def.type() == "Relu" ? SameShapeCall(def, DType::kF32, Shape{(std::int64_t{1} << 31) + 9})
                                      : std::vector<OpCall>();
        },
        [&](const KernelOf& kernel, const OpCall& call) { CheckCall(s, kernel, call); });
  }
  NeedSome(context, calls, "elementwise operators");
  context.Note(fmt::format("{} calls{}", calls,
                           context.settings().long_runs ? "" : "; more than 2^31 elements only with --long"));
}

void SpecialValues(Context& context) {
  Session s(context);
  const int calls = ForEachCall(s, {DType::kF32, DType::kBF16, DType::kF16}, Values::kSpecial,
                                [&](const KernelOf& kernel, const OpCall& call) {
                                  // Which of several NaN wins, and sums that mix infinities, are nobody's promise;
                                  // what each element alone becomes is.
                                  // Nor is the gradient at such a place.
                                  const std::string& type = call.def->type();
                                  const bool gradient = type.size() > 4 && type.substr(type.size() - 4) == "Grad";
                                  const bool plain = call.def->elementwise() || call.inputs.size() == 1;
                                  if (plain && !gradient) CheckCall(s, kernel, call);
                                });
  NeedSome(context, calls, "elementwise operators");
}

}  // namespace tenon::conform
