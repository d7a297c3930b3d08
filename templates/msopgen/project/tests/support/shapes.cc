#include "tests/support/shapes.h"

#include <algorithm>
#include <stdexcept>

// A symbol is a number above 0; `symbols` tells which size it stands for.
struct tenon_infer {
  const testing::AttributeList& attributes;
  const std::vector<testing::Tensor>& inputs;
  bool symbolic;
  std::vector<int64_t> symbols;
  std::vector<testing::InferredOutput> outputs;
  std::string failure;
  std::vector<std::vector<char>> contents;
};

namespace testing {
namespace {

namespace sdk = tenon::sdk;

const Tensor* InputOf(tenon_infer* infer, uint32_t index) {
  return index < infer->inputs.size() && infer->inputs[index].present ? &infer->inputs[index] : nullptr;
}
int32_t Fail(tenon_infer* infer, const std::string& text) {
  if (infer->failure.empty()) infer->failure = text;
  return TENON_INVALID_ARGUMENT;
}
bool IsKnown(tenon_dim dim) { return (dim.flags & TENON_DIM_KNOWN) != 0; }
int64_t SizeOf(const tenon_infer* infer, tenon_dim dim) {
  if (IsKnown(dim)) return dim.value;
  return dim.symbol == 0 || dim.symbol > infer->symbols.size() ? -1 : infer->symbols[dim.symbol - 1];
}
tenon_dim NewSymbol(tenon_infer* infer, int64_t size) {
  infer->symbols.push_back(size);
  return {0, static_cast<uint32_t>(infer->symbols.size()), TENON_DIM_SYMBOL};
}

uint32_t InputCount(tenon_infer* infer) { return static_cast<uint32_t>(infer->inputs.size()); }
uint32_t OutputCount(tenon_infer* infer) { return static_cast<uint32_t>(infer->outputs.size()); }
uint32_t InputDType(tenon_infer* infer, uint32_t index) {
  const Tensor* input = InputOf(infer, index);
  return input == nullptr ? 0 : input->dtype;
}
int32_t InputRank(tenon_infer* infer, uint32_t index) {
  const Tensor* input = InputOf(infer, index);
  return input == nullptr ? -2 : static_cast<int32_t>(input->dims.size());
}
int32_t InputDim(tenon_infer* infer, uint32_t index, uint32_t axis, tenon_dim* out) {
  const Tensor* input = InputOf(infer, index);
  if (input == nullptr || axis >= input->dims.size()) {
    Fail(infer, "The rule asks for an axis that is not there.");
    return TENON_OUT_OF_RANGE;
  }
  *out = infer->symbolic ? NewSymbol(infer, input->dims[axis]) : tenon_dim{input->dims[axis], 0, TENON_DIM_KNOWN};
  return TENON_OK;
}
int32_t ConstInput(tenon_infer* infer, uint32_t index, tenon_tensor* out) {
  const Tensor* input = InputOf(infer, index);
  if (input == nullptr || infer->symbolic) return TENON_NOT_FOUND;
  tenon_tensor view = TENON_INIT(tenon_tensor);
  infer->contents.push_back(input->Bytes());
  view.flags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_HOST_ACCESSIBLE;
  view.address = reinterpret_cast<uintptr_t>(infer->contents.back().data());
  view.dtype = input->dtype;
  view.rank = static_cast<uint32_t>(input->dims.size());
  view.dims = input->dims.data();
  *out = view;
  return TENON_OK;
}
int32_t Attribute(tenon_infer* infer, tenon_str name, const tenon_attribute** out) {
  *out = infer->attributes.Find(sdk::Text(name));
  return *out == nullptr ? TENON_NOT_FOUND : TENON_OK;
}

int32_t DimOp(tenon_infer* infer, uint32_t op, tenon_dim left, tenon_dim right, tenon_dim* out) {
  const int64_t a = SizeOf(infer, left), b = SizeOf(infer, right);
  int64_t result = 0;
  switch (op) {
    case TENON_DIM_ADD:
      result = a + b;
      break;
    case TENON_DIM_SUB:
      result = a - b;
      break;
    case TENON_DIM_MUL:
      result = a * b;
      break;
    case TENON_DIM_FLOOR_DIV:
    case TENON_DIM_CEIL_DIV:
    case TENON_DIM_MOD: {
      if (b == 0) return Fail(infer, "A size is divided by 0.");
      const int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      result = op == TENON_DIM_MOD ? a - floor * b : floor + (op == TENON_DIM_CEIL_DIV && floor * b != a ? 1 : 0);
      break;
    }
    case TENON_DIM_MIN:
      result = std::min(a, b);
      break;
    case TENON_DIM_MAX:
      result = std::max(a, b);
      break;
    case TENON_DIM_BROADCAST:
      if (a != b && a != 1 && b != 1)
        return Fail(infer, "Sizes " + std::to_string(a) + " and " + std::to_string(b) + " do not broadcast.");
      result = a == 1 ? b : a;
      break;
    default:
      return Fail(infer, "The rule uses an operation on sizes that is not known here.");
  }
  *out = IsKnown(left) && IsKnown(right) ? tenon_dim{result, 0, TENON_DIM_KNOWN} : NewSymbol(infer, result);
  return TENON_OK;
}
int32_t DimFresh(tenon_infer* infer, int64_t, tenon_dim, tenon_dim* out) {
  *out = NewSymbol(infer, -1);
  return TENON_OK;
}
int32_t RequireEqual(tenon_infer* infer, tenon_dim a, tenon_dim b, tenon_str message) {
  return SizeOf(infer, a) == SizeOf(infer, b) ? TENON_OK : Fail(infer, std::string(sdk::Text(message)));
}
int32_t RequireDivisible(tenon_infer* infer, tenon_dim a, int64_t divisor, tenon_str message) {
  return SizeOf(infer, a) % divisor == 0 ? TENON_OK : Fail(infer, std::string(sdk::Text(message)));
}
int32_t SetOutput(tenon_infer* infer, uint32_t index, uint32_t dtype, int32_t rank, const tenon_dim* dims) {
  if (index >= infer->outputs.size()) return TENON_OUT_OF_RANGE;
  InferredOutput& output = infer->outputs[index];
  output = {dtype, rank, {}};
  for (int32_t axis = 0; axis < rank; ++axis) output.dims.push_back(SizeOf(infer, dims[axis]));
  return TENON_OK;
}
void FailRule(tenon_infer* infer, int32_t, tenon_str message) { Fail(infer, std::string(sdk::Text(message))); }
tenon_str NodeName(tenon_infer*) { return sdk::Str("test"); }

}  // namespace

std::vector<InferredOutput> InferOutputs(const tenon_operator_def& definition, const AttributeList& attributes,
                                         const std::vector<Tensor>& inputs, uint32_t output_count, bool symbolic) {
  tenon_infer_api api = TENON_INIT(tenon_infer_api);
  api.input_count = &InputCount;
  api.output_count = &OutputCount;
  api.input_dtype = &InputDType;
  api.input_rank = &InputRank;
  api.input_dim = &InputDim;
  api.const_input = &ConstInput;
  api.attribute = &Attribute;
  api.dim_op = &DimOp;
  api.dim_fresh = &DimFresh;
  api.require_equal = &RequireEqual;
  api.require_divisible = &RequireDivisible;
  api.set_output = &SetOutput;
  api.fail = &FailRule;
  api.node_name = &NodeName;
  tenon_infer infer{attributes, inputs, symbolic, {}, std::vector<InferredOutput>(output_count), {}, {}};
  if (definition.infer == nullptr) throw std::runtime_error("the operator has no rule of its own");
  const int32_t code = definition.infer(&definition, &api, &infer);
  if (code != TENON_OK || !infer.failure.empty())
    throw std::runtime_error("the shape rule failed with code " + std::to_string(code) + ": " + infer.failure);
  for (const InferredOutput& output : infer.outputs) {
    if (output.rank == -2) throw std::runtime_error("the shape rule leaves out an output");
  }
  return infer.outputs;
}

std::vector<Tensor> MakeOutputs(const std::vector<InferredOutput>& inferred) {
  std::vector<Tensor> outputs;
  for (const InferredOutput& output : inferred) {
    for (const int64_t dim : output.dims) {
      if (dim < 0) throw std::runtime_error("the size of an output is not known before the call");
    }
    if (output.rank < 0) throw std::runtime_error("the rank of an output is not known before the call");
    outputs.push_back(MakeTensor(output.dtype, output.dims));
  }
  return outputs;
}

}  // namespace testing
