#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/ops/attribute.h"
#include "core/ops/grad_builder.h"
#include "core/ops/infer_context.h"
#include "core/tensor/tensor.h"

namespace tenon {

// Set of dtypes an argument accepts.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes) bits_ |= std::uint64_t{1} << static_cast<std::uint32_t>(dtype);
  }
  constexpr bool Has(DType dtype) const { return ((bits_ >> static_cast<std::uint32_t>(dtype)) & 1u) != 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    TypeSet out;
    out.bits_ = bits_ | other.bits_;
    return out;
  }
  std::string ToString() const;  // "float16, bfloat16, float32, float64"

 private:
  std::uint64_t bits_ = 0;
};

inline constexpr TypeSet kFloatingTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
inline constexpr TypeSet kIntegerTypes = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                          DType::kU8, DType::kU16, DType::kU32, DType::kU64};
inline constexpr TypeSet kNumericTypes = kFloatingTypes | kIntegerTypes;
inline constexpr TypeSet kBoolType = {DType::kBool};
inline constexpr TypeSet kAllTypes = kNumericTypes | kBoolType;
inline constexpr TypeSet kIndexTypes = {DType::kI32, DType::kI64};

enum class Arity { kRequired, kOptional, kVariadic };  // variadic: the last argument, any count

struct ArgDef {
  std::string name;
  TypeSet types;
  Arity arity = Arity::kRequired;
  // Arguments with the same non-empty group must have one dtype ("T" in ONNX).
  std::string group = "T";
};

// What an int or a list of ints stands for.
enum class AttrMeaning { kPlain, kFlag, kDType, kShape };

struct AttrDef {
  std::string name;
  AttrType type = AttrType::kInt;
  std::optional<AttrValue> fallback;  // absent: no default
  bool required = false;
  AttrMeaning meaning = AttrMeaning::kPlain;
};

// Counter-based random position of one call: the same key and offset give the same numbers on every device.
struct RandomState {
  std::uint64_t key = 0;     // from (seed, node)
  std::uint64_t offset = 0;  // from the step
};

// Arguments of a reference kernel: dense row-major host tensors. Outputs are allocated with the inferred shapes; an
// undefined output is not wanted. An output may share memory with an input only where the definition says InPlace.
struct ReferenceArgs {
  const Attributes& attrs;
  std::span<const Tensor> inputs;  // undefined: absent
  std::span<Tensor> outputs;
  RandomState random;
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].defined(); }
};

// What an operator does in a run of mixed precision.
enum class LowPrecision {
  kFollows,      // computes in what its operands were computed in
  kGains,        // a product: much faster when its operands are short, and summed in float32 all the same
  kMovesOnly,    // only moves elements: exact in any precision
  kLosesDigits,  // has a wide range, or many terms in a sum
  kNormalizes,   // loses digits, and stays in float32 also where everything else is short
  kNever,        // always float32: losses, and quantised operators, whose scales stay as they were chosen
};

// The shapes of a node's operands.
struct FlopArgs {
  const Attributes& attrs;
  std::span<const SymShape*const> inputs, outputs;  // null: absent
  const SymShape* input(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  const SymShape* output(std::size_t i) const { return i < outputs.size() ? outputs[i] : nullptr; }
};

// Functions, not function pointers: operators that come from plugins are adapted with closures.
using InferFn = std::function<Status(InferContext&)>;
using ReferenceFn = std::function<Status(const ReferenceArgs&)>;
using FlopsFn = std::function<Dim(const FlopArgs&)>;
using GradientFn = std::function<Status(GradBuilder&, GradArgs&)>;

// Everything an operator means: signature, shape and type rule, gradient, plain reference kernel. Built with the chained
// setters by DefineOp_<file stem> in core/ops/builtin/<file>.cc; read-only afterwards, any thread.
class OpDef {
 public:
  // ---- building
  OpDef& Since(int version) {
    since_ = version;
    return *this;
  }
  OpDef& Input(std::string name, TypeSet types, std::string group = "T");
  OpDef& OptionalInput(std::string name, TypeSet types, std::string group = "T");
  OpDef& VariadicInput(std::string name, TypeSet types, std::string group = "T");
  OpDef& Output(std::string name);
  OpDef& OptionalOutput(std::string name);
  OpDef& VariadicOutput(std::string name);
  // Optional output i is produced whenever the node's gradient is wanted (mask of Dropout, Indices of MaxPool ...).
  OpDef& SavedForGradient(int output) {
    saved_.push_back(output);
    return *this;
  }
  OpDef& Attr(std::string name, AttrValue fallback);  // type and default from the value
  OpDef& Attr(std::string name, const char* fallback) {
    return Attr(std::move(name), AttrValue(std::string(fallback)));
  }
  OpDef& Attr(std::string name, double fallback) { return Attr(std::move(name), AttrValue(fallback)); }
  OpDef& Attr(std::string name, int fallback) { return Attr(std::move(name), AttrValue(std::int64_t{fallback})); }
  OpDef& OptionalAttr(std::string name, AttrType type);  // no default
  OpDef& RequiredAttr(std::string name, AttrType type);
  OpDef& AddAttr(AttrDef def) {
    attrs_.push_back(std::move(def));
    return *this;
  }
  OpDef& From(std::string library) {
    origin_ = std::move(library);
    return *this;
  }
  OpDef& Infer(InferFn fn) {
    infer_ = std::move(fn);
    return *this;
  }
  OpDef& Reference(ReferenceFn fn) {
    reference_ = std::move(fn);
    return *this;
  }
  OpDef& Gradient(GradientFn fn) {
    gradient_ = std::move(fn);
    return *this;
  }
  OpDef& NoGradient() {
    no_gradient_ = true;
    return *this;
  }  // outputs do not depend differentiably on inputs
  OpDef& Elementwise() {
    elementwise_ = true;
    return *this;
  }  // output i depends on inputs at i only (after broadcast)
  OpDef& Random() {
    random_ = true;
    return *this;
  }
  // The values of the outputs follow from the shapes and dtypes of the inputs alone; the reference does not read them.
  OpDef& FromShapes() {
    from_shapes_ = true;
    return *this;
  }
  OpDef& InLowPrecision(LowPrecision effect) {
    low_precision_ = effect;
    return *this;
  }
  // Floating-point operations of one run; without it, one for each element of the largest operand. See core/ops/flops.h.
  OpDef& Flops(FlopsFn fn) {
    flops_ = std::move(fn);
    return *this;
  }
  // Output may be written over input (same element count and dtype). `must`: the output is the input's storage.
  OpDef& InPlace(int output, int input, bool must = false) {
    in_place_.push_back({output, input, must});
    return *this;
  }
  // Variadic updates: the outputs are the storages of the inputs `input_offset + k` (k-th output).
  OpDef& UpdatesInputs(int first_input) {
    updates_first_input_ = first_input;
    return *this;
  }
  // Output 0 has the values of input 0 in the same order (Reshape, Flatten, Identity, Squeeze ...): a view suffices.
  OpDef& ViewOfInput() {
    view_ = true;
    return *this;
  }

  // ---- reading
  struct InPlacePair {
    int output;
    int input;
    bool must;
  };
  const std::string& domain() const { return domain_; }
  const std::string& type() const { return type_; }
  std::string FullName() const { return domain_.empty() ? type_ : domain_ + "." + type_; }
  // "com.vendor.Scale of libvendor.so", for messages about what a plugin left out.
  std::string NameAndOrigin() const { return origin_.empty() ? FullName() : FullName() + " of " + origin_; }
  int since() const { return since_; }
  const std::vector<ArgDef>& inputs() const { return inputs_; }
  const std::vector<ArgDef>& outputs() const { return outputs_; }
  const std::vector<AttrDef>& attrs() const { return attrs_; }
  const AttrDef* FindAttr(std::string_view name) const;  // null when there is none
  const std::string& origin() const { return origin_; }  // file of the plugin that defines it; empty: built in
  const std::vector<int>& saved_outputs() const { return saved_; }
  const std::vector<InPlacePair>& in_place() const { return in_place_; }
  int updates_first_input() const { return updates_first_input_; }  // -1: none
  bool is_view() const { return view_; }
  bool elementwise() const { return elementwise_; }
  bool random() const { return random_; }
  bool from_shapes() const { return from_shapes_; }
  LowPrecision low_precision() const { return low_precision_; }
  Dim Flops(const FlopArgs& args) const;
  bool differentiable() const { return gradient_ != nullptr; }
  bool no_gradient() const { return no_gradient_; }
  const GradientFn& gradient() const { return gradient_; }
  const ReferenceFn& reference() const { return reference_; }

  // Checks attributes against the schema (unknown name, wrong type, missing) and fills defaults.
  Status Complete(Attributes& attrs) const;
  // Checks argument counts and dtypes, then runs the rule. `constants[i]` is null where input i is not known.
  Result<std::vector<ValueType>> InferOutputs(const Attributes& attrs, std::span<const ValueType> inputs,
                                              std::span<const Tensor* const> constants, std::size_t outputs) const;

 private:
  friend class OpRegistry;
  Status CheckInputs(std::span<const ValueType> inputs) const;

  std::string domain_, type_, origin_;
  int since_ = 1;
  std::vector<ArgDef> inputs_, outputs_;
  std::vector<AttrDef> attrs_;
  std::vector<int> saved_;
  std::vector<InPlacePair> in_place_;
  int updates_first_input_ = -1;
  InferFn infer_;
  ReferenceFn reference_;
  GradientFn gradient_;
  bool no_gradient_ = false, elementwise_ = false, random_ = false, view_ = false, from_shapes_ = false;
  FlopsFn flops_;
  LowPrecision low_precision_ = LowPrecision::kFollows;
};

// The newest opset of ONNX whose changes the definitions follow.
inline constexpr int kNewestOpset = 24;

// All operators by (domain, type), each with its versions. Filled once, then read by any thread.
class OpRegistry {
 public:
  // Names that are not defined here are looked up in `parent`, which must outlive this registry: a run adds the
  // operators of its plugins to the built-in ones.
  explicit OpRegistry(const OpRegistry* parent = nullptr) : parent_(parent) {}
  OpDef& Define(std::string type) { return Define("", std::move(type)); }
  OpDef& DefineTenon(std::string type) { return Define("tenon", std::move(type)); }
  OpDef& Define(std::string domain, std::string type);

  // The definition with the highest `since` that is not above `version`; version 0 = the newest. An unknown name is an
  // error with the nearest known one; so is a version that is newer than the domain: kNewestOpset for ONNX, else the
  // highest `since` of its operators.
  Result<const OpDef*> Find(std::string_view domain, std::string_view type, int version = 0) const;
  std::vector<const OpDef*> All() const;  // the parent's too
  int NewestVersion(std::string_view domain) const;
  Status Verify() const;  // duplicates of one (domain, type, since), definitions without rule or reference

 private:
  const OpRegistry* parent_;
  std::map<std::string, std::vector<std::unique_ptr<OpDef>>, std::less<>> ops_;  // key "domain.type"
};

// The built-in operators; made at the first call, verified, immutable.
const OpRegistry& BuiltinOps();

}  // namespace tenon
