// Operator definitions: schema, shape rule, gradient.
//
//   int32_t InferScale(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
//     return tenon::sdk::RunInfer(api, infer, [](tenon::sdk::Infer& node) { node.SameAsInput(0, 0); });
//   }
//   constexpr tenon_param_def kInputs[] = {tenon::sdk::Param("X")};
//   constexpr tenon_operator_def kOperators[] = {
//       tenon::sdk::OperatorBuilder("com.vendor", "Scale", 1).Inputs(kInputs).Outputs(kOutputs).Infer(&InferScale)};
#pragma once

#include "tenon/abi/op.h"
#include "tenon/sdk/attributes.h"
#include "tenon/sdk/kernel.h"

namespace tenon::sdk {

constexpr int32_t kMaxRank = 16;

// ---- shape inference ----

constexpr tenon_dim Known(int64_t value) { return {value, 0, TENON_DIM_KNOWN}; }
constexpr bool IsKnown(tenon_dim dim) { return (dim.flags & TENON_DIM_KNOWN) != 0; }

// One node under inference. Every member throws Failure when the host objects.
class Infer {
 public:
  Infer(const tenon_infer_api* api, tenon_infer* node) : api_(api), node_(node) {}

  uint32_t input_count() const { return api_->input_count(node_); }
  uint32_t output_count() const { return api_->output_count(node_); }
  bool has_input(uint32_t index) const { return api_->input_rank(node_, index) != -2; }
  uint32_t InputDType(uint32_t index) const { return api_->input_dtype(node_, index); }
  // -1: not known.
  int32_t InputRank(uint32_t index) const { return api_->input_rank(node_, index); }
  // Negative axes count from the end.
  tenon_dim InputDim(uint32_t index, int32_t axis) const {
    if (axis < 0) axis += InputRank(index);
    tenon_dim dim = {};
    Check(api_->input_dim(node_, index, static_cast<uint32_t>(axis), &dim));
    return dim;
  }
  // True when the content of an input is known already.
  bool ConstInput(uint32_t index, tenon_tensor& out) const {
    out = TENON_INIT(tenon_tensor);
    return api_->const_input(node_, index, &out) == TENON_OK;
  }
  const tenon_attribute* Attribute(std::string_view name) const {
    const tenon_attribute* found = nullptr;
    return api_->attribute(node_, Str(name), &found) == TENON_OK ? found : nullptr;
  }
  int64_t Int(std::string_view name, int64_t fallback) const {
    const tenon_attribute* found = Attribute(name);
    return found == nullptr ? fallback : found->i64;
  }
  double Float(std::string_view name, double fallback) const {
    const tenon_attribute* found = Attribute(name);
    if (found == nullptr) return fallback;
    return found->kind == TENON_ATTRIBUTE_INT ? static_cast<double>(found->i64) : found->f64;
  }
  Dims Ints(std::string_view name) const {
    const tenon_attribute* found = Attribute(name);
    return found == nullptr ? Dims() : Dims(found->ints, static_cast<uint32_t>(found->count));
  }

  tenon_dim Compute(uint32_t op, tenon_dim a, tenon_dim b) const {
    tenon_dim result = {};
    Check(api_->dim_op(node_, op, a, b, &result));
    return result;
  }
  tenon_dim Add(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_ADD, a, b); }
  tenon_dim Sub(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_SUB, a, b); }
  tenon_dim Mul(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_MUL, a, b); }
  tenon_dim FloorDiv(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_FLOOR_DIV, a, b); }
  tenon_dim CeilDiv(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_CEIL_DIV, a, b); }
  tenon_dim Mod(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_MOD, a, b); }
  tenon_dim Min(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_MIN, a, b); }
  tenon_dim Max(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_MAX, a, b); }
  tenon_dim Broadcast(tenon_dim a, tenon_dim b) const { return Compute(TENON_DIM_BROADCAST, a, b); }
  tenon_dim Fresh(int64_t lower, tenon_dim upper) const {
    tenon_dim result = {};
    Check(api_->dim_fresh(node_, lower, upper, &result));
    return result;
  }
  void RequireEqual(tenon_dim a, tenon_dim b, std::string_view message) const {
    Check(api_->require_equal(node_, a, b, Str(message)));
  }
  void RequireDivisible(tenon_dim a, int64_t divisor, std::string_view message) const {
    Check(api_->require_divisible(node_, a, divisor, Str(message)));
  }

  void SetOutput(uint32_t index, uint32_t dtype, std::initializer_list<tenon_dim> dims) const {
    SetOutput(index, dtype, static_cast<int32_t>(dims.size()), dims.begin());
  }
  // rank -1: not known.
  void SetOutput(uint32_t index, uint32_t dtype, int32_t rank, const tenon_dim* dims) const {
    Check(api_->set_output(node_, index, dtype, rank, dims));
  }
  void SameAsInput(uint32_t output, uint32_t input) const {
    const int32_t rank = InputRank(input);
    tenon_dim dims[kMaxRank] = {};
    if (rank > kMaxRank) Fail(TENON_INVALID_ARGUMENT, "Rank ", rank, " is above ", kMaxRank, ".");
    for (int32_t axis = 0; axis < rank; ++axis) dims[axis] = InputDim(input, axis);
    SetOutput(output, InputDType(input), rank, dims);
  }

  // Ends inference with a message.
  template <typename... Parts>
  [[noreturn]] void Fail(int32_t code, const Parts&... parts) const {
    throw Failure(code, parts...);
  }

  const tenon_infer_api* api() const { return api_; }
  tenon_infer* raw() const { return node_; }

 private:
  // The host has recorded its own message already: an empty text keeps it.
  static void Check(int32_t code) {
    if (code != TENON_OK) throw Failure(code);
  }
  const tenon_infer_api* api_;
  tenon_infer* node_;
};

namespace detail {
// Runs a rule and hands its failure to the table's fail slot.
template <typename Api, typename Handle, typename Body>
int32_t RunRule(const Api* api, Handle* handle, Body&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (const Failure& failure) {
    const std::string_view text(failure.what());
    if (!text.empty()) api->fail(handle, failure.code(), Str(text));
    return failure.code();
  } catch (const std::exception& exception) {
    api->fail(handle, TENON_INTERNAL, Str(std::string_view(exception.what())));
  } catch (...) {
    api->fail(handle, TENON_INTERNAL, Str("Unexpected exception of unknown type in the plugin."));
  }
  return TENON_INTERNAL;
}
}  // namespace detail

// body(Infer&); for the body of a tenon_infer_fn.
template <typename Body>
int32_t RunInfer(const tenon_infer_api* api, tenon_infer* handle, Body&& body) noexcept {
  return detail::RunRule(api, handle, [&] {
    Infer node(api, handle);
    body(node);
  });
}

// ---- gradient builder ----

// Value of the gradient graph; 0 means none.
using GradValue = uint64_t;

// One gradient under construction. Every member throws Failure when the host objects.
class Gradient {
 public:
  Gradient(const tenon_gradient_api* api, tenon_grad* grad) : api_(api), grad_(grad) {}

  uint32_t input_count() const { return api_->input_count(grad_); }
  uint32_t output_count() const { return api_->output_count(grad_); }
  GradValue Input(uint32_t index) const { return api_->input(grad_, index); }
  GradValue Output(uint32_t index) const { return api_->output(grad_, index); }
  GradValue OutputGrad(uint32_t index) const { return api_->output_grad(grad_, index); }
  bool Needs(uint32_t input) const { return api_->needs_grad(grad_, input) != 0; }
  const tenon_attribute* Attribute(std::string_view name) const {
    const tenon_attribute* found = nullptr;
    return api_->attribute(grad_, Str(name), &found) == TENON_OK ? found : nullptr;
  }
  int64_t Int(std::string_view name, int64_t fallback) const {
    const tenon_attribute* found = Attribute(name);
    return found == nullptr ? fallback : found->i64;
  }
  double Float(std::string_view name, double fallback) const {
    const tenon_attribute* found = Attribute(name);
    return found == nullptr ? fallback : found->f64;
  }
  uint32_t DType(GradValue value) const { return api_->value_dtype(grad_, value); }
  int32_t Rank(GradValue value) const { return api_->value_rank(grad_, value); }
  tenon_dim Dim(GradValue value, uint32_t axis) const {
    tenon_dim dim = {};
    Check(api_->value_dim(grad_, value, axis, &dim));
    return dim;
  }

  // A node with one output.
  GradValue Op(std::string_view domain, std::string_view op_type, std::initializer_list<GradValue> inputs) const {
    return Op(domain, op_type, inputs, AttributeList<1>());
  }
  template <uint32_t kCapacity>
  GradValue Op(std::string_view domain, std::string_view op_type, std::initializer_list<GradValue> inputs,
               const AttributeList<kCapacity>& attributes) const {
    GradValue result = 0;
    Ops(domain, op_type, inputs, attributes, &result, 1);
    return result;
  }
  // A node with several outputs.
  template <uint32_t kCapacity>
  void Ops(std::string_view domain, std::string_view op_type, std::initializer_list<GradValue> inputs,
           const AttributeList<kCapacity>& attributes, GradValue* outputs, uint32_t output_count) const {
    Check(api_->op(grad_, Str(domain), Str(op_type), 0, attributes.data(), attributes.size(), sizeof(tenon_attribute),
                   inputs.begin(), static_cast<uint32_t>(inputs.size()), outputs, output_count));
  }
  // A constant of rank 0.
  GradValue Scalar(float value) const {
    tenon_tensor content = TENON_INIT(tenon_tensor);
    content.flags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_HOST_ACCESSIBLE;
    content.address = reinterpret_cast<uintptr_t>(&value);
    content.dtype = TENON_DTYPE_F32;
    return Constant(content);
  }
  GradValue Constant(const tenon_tensor& content) const {
    GradValue result = 0;
    Check(api_->constant(grad_, &content, &result));
    return result;
  }
  void SetInputGrad(uint32_t index, GradValue value) const { Check(api_->set_input_grad(grad_, index, value)); }
  template <typename... Parts>
  [[noreturn]] void Fail(int32_t code, const Parts&... parts) const {
    throw Failure(code, parts...);
  }

 private:
  static void Check(int32_t code) {
    if (code != TENON_OK) throw Failure(code);
  }
  const tenon_gradient_api* api_;
  tenon_grad* grad_;
};

// body(Gradient&); for the body of a tenon_build_gradient_fn.
template <typename Body>
int32_t RunGradient(const tenon_gradient_api* api, tenon_grad* handle, Body&& body) noexcept {
  return detail::RunRule(api, handle, [&] {
    Gradient gradient(api, handle);
    body(gradient);
  });
}

// ---- tables ----

constexpr tenon_param_def Param(std::string_view name, uint32_t flags = 0, Table<uint32_t> dtypes = {},
                                uint32_t type_group = 0, std::string_view doc = {}) {
  tenon_param_def def = TENON_INIT(tenon_param_def);
  def.flags = flags;
  def.name = Str(name);
  def.dtypes = dtypes.first;
  def.dtype_count = static_cast<uint32_t>(dtypes.count);
  def.type_group = type_group;
  def.doc = Str(doc);  // last member
  return def;
}

constexpr tenon_attribute_def AttributeDef(std::string_view name, uint32_t kind, uint32_t flags = 0,
                                           const tenon_attribute* default_value = nullptr, std::string_view doc = {}) {
  tenon_attribute_def def = TENON_INIT(tenon_attribute_def);
  def.flags = flags;
  def.kind = kind;
  def.name = Str(name);
  def.default_value = default_value;
  def.doc = Str(doc);  // last member
  return def;
}
constexpr tenon_attribute IntDefault(int64_t value) {
  tenon_attribute attribute = TENON_INIT(tenon_attribute);
  attribute.kind = TENON_ATTRIBUTE_INT;
  attribute.i64 = value;
  return attribute;
}
constexpr tenon_attribute FloatDefault(double value) {
  tenon_attribute attribute = TENON_INIT(tenon_attribute);
  attribute.kind = TENON_ATTRIBUTE_FLOAT;
  attribute.f64 = value;
  return attribute;
}

constexpr tenon_gradient_source FromInput(uint32_t index) { return {TENON_SOURCE_INPUT, index}; }
constexpr tenon_gradient_source FromOutput(uint32_t index) { return {TENON_SOURCE_OUTPUT, index}; }
constexpr tenon_gradient_source FromSaved(uint32_t index) { return {TENON_SOURCE_SAVED, index}; }
constexpr tenon_gradient_source FromOutputGrad(uint32_t index) { return {TENON_SOURCE_OUTPUT_GRAD, index}; }

// Backward operator of a forward one; grad_inputs[k] is the forward input whose gradient output k is.
constexpr tenon_paired_gradient PairedGradient(std::string_view domain, std::string_view op_type, uint32_t version,
                                               Table<tenon_gradient_source> sources, Table<uint32_t> grad_inputs) {
  tenon_paired_gradient def = TENON_INIT(tenon_paired_gradient);
  def.version = version;
  def.domain = Str(domain);
  def.op_type = Str(op_type);
  def.sources = sources.first;
  def.source_count = static_cast<uint32_t>(sources.count);
  def.grad_inputs = grad_inputs.first;
  def.grad_input_count = static_cast<uint32_t>(grad_inputs.count);
  return def;
}

// tenon_operator_def, part by part. All tables and texts must be static.
class OperatorBuilder {
 public:
  constexpr OperatorBuilder(std::string_view domain, std::string_view op_type, uint32_t since_version) {
    def_.domain = Str(domain);
    def_.op_type = Str(op_type);
    def_.since_version = since_version;
    def_.traits = TENON_TRAIT_PURE;
    def_.input_stride = sizeof(tenon_param_def);
    def_.output_stride = sizeof(tenon_param_def);
    def_.attribute_stride = sizeof(tenon_attribute_def);
  }
  constexpr OperatorBuilder& Inputs(Table<tenon_param_def> table) {
    def_.inputs = table.first;
    def_.input_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr OperatorBuilder& Outputs(Table<tenon_param_def> table) {
    def_.outputs = table.first;
    def_.output_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  // Sorted by name.
  constexpr OperatorBuilder& Attributes(Table<tenon_attribute_def> table) {
    def_.attributes = table.first;
    def_.attribute_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr OperatorBuilder& Aliases(Table<tenon_alias_pair> table) {
    def_.aliases = table.first;
    def_.alias_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr OperatorBuilder& Scalars(Table<tenon_str> table) {
    def_.scalars = table.first;
    def_.scalar_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr OperatorBuilder& Traits(uint64_t traits) {
    def_.traits = traits;
    return *this;
  }
  constexpr OperatorBuilder& Infer(tenon_infer_fn rule) {
    def_.infer = rule;
    return *this;
  }
  constexpr OperatorBuilder& ShapeFamily(uint32_t family) {
    def_.shape_family = family;
    return *this;
  }
  constexpr OperatorBuilder& NoGradient() {
    def_.gradient_form = TENON_GRADIENT_NONE;
    return *this;
  }
  constexpr OperatorBuilder& Paired(const tenon_paired_gradient* paired) {
    def_.gradient_form = TENON_GRADIENT_PAIRED;
    def_.paired = paired;
    return *this;
  }
  constexpr OperatorBuilder& BuildGradient(tenon_build_gradient_fn builder) {
    def_.gradient_form = TENON_GRADIENT_BUILDER;
    def_.build_gradient = builder;
    return *this;
  }
  constexpr OperatorBuilder& Doc(std::string_view text) {
    def_.doc = Str(text);  // last member
    return *this;
  }
  constexpr operator tenon_operator_def() const { return def_; }  // NOLINT: implicit on purpose

 private:
  tenon_operator_def def_ = TENON_INIT(tenon_operator_def);
};

}  // namespace tenon::sdk
