#include "tests/support/gradient.h"

#include "tests/support/shapes.h"

// A value is its place in `values`, counted from 1.
struct tenon_grad {
  const testing::Library& library;
  const testing::AttributeList& attributes;
  size_t inputs, outputs;
  std::vector<bool> needed;
  std::vector<testing::Tensor> values;  // inputs, outputs, gradients of outputs, then what the builder adds
  std::vector<uint64_t> result;
  std::string failure, needs_tenon;
};

namespace testing {
namespace {

namespace sdk = tenon::sdk;

uint64_t ValueAt(const tenon_grad* grad, size_t place) { return grad->values[place].present ? place + 1 : 0; }
uint32_t InputCount(tenon_grad* grad) { return static_cast<uint32_t>(grad->inputs); }
uint32_t OutputCount(tenon_grad* grad) { return static_cast<uint32_t>(grad->outputs); }
uint64_t Input(tenon_grad* grad, uint32_t i) { return i < grad->inputs ? ValueAt(grad, i) : 0; }
uint64_t Output(tenon_grad* grad, uint32_t i) { return i < grad->outputs ? ValueAt(grad, grad->inputs + i) : 0; }
uint64_t OutputGrad(tenon_grad* grad, uint32_t i) {
  return i < grad->outputs ? ValueAt(grad, grad->inputs + grad->outputs + i) : 0;
}
uint32_t NeedsGrad(tenon_grad* grad, uint32_t i) { return i < grad->inputs && grad->needed[i] ? 1 : 0; }
int32_t Attribute(tenon_grad* grad, tenon_str name, const tenon_attribute** out) {
  *out = grad->attributes.Find(sdk::Text(name));
  return *out == nullptr ? TENON_NOT_FOUND : TENON_OK;
}
uint32_t ValueDType(tenon_grad* grad, uint64_t value) { return value == 0 ? 0 : grad->values[value - 1].dtype; }
int32_t ValueRank(tenon_grad* grad, uint64_t value) {
  return value == 0 ? -2 : static_cast<int32_t>(grad->values[value - 1].dims.size());
}
int32_t ValueDim(tenon_grad* grad, uint64_t value, uint32_t axis, tenon_dim* out) {
  if (value == 0 || axis >= grad->values[value - 1].dims.size()) return TENON_OUT_OF_RANGE;
  *out = {grad->values[value - 1].dims[axis], 0, TENON_DIM_KNOWN};
  return TENON_OK;
}

int32_t Op(tenon_grad* grad, tenon_str domain, tenon_str type, uint32_t, const tenon_attribute* attributes,
           uint32_t attribute_count, uint32_t attribute_stride, const uint64_t* inputs, uint32_t input_count,
           uint64_t* outputs, uint32_t output_count) {
  const std::string own_domain(sdk::Text(domain)), own_type(sdk::Text(type));
  try {
    const tenon_operator_def* definition = grad->library.Operator(own_domain, own_type);
    if (definition == nullptr) {
      grad->needs_tenon = own_domain + "." + own_type;
      return TENON_NOT_FOUND;
    }
    std::vector<tenon_attribute> given;
    for (uint32_t i = 0; i < attribute_count; ++i) given.push_back(sdk::AtStride(attributes, attribute_stride, i));
    const AttributeList list(*definition, given);
    std::vector<Tensor> operands;
    for (uint32_t i = 0; i < input_count; ++i)
      operands.push_back(inputs[i] == 0 ? Tensor() : grad->values[inputs[i] - 1]);
    std::vector<Tensor> results = MakeOutputs(InferOutputs(*definition, list, operands, output_count, false));
    grad->library.Run(own_domain, own_type, list, operands, results);
    for (uint32_t i = 0; i < output_count; ++i) {
      grad->values.push_back(std::move(results[i]));
      outputs[i] = grad->values.size();
    }
    return TENON_OK;
  } catch (const std::exception& error) {
    grad->failure = own_type + ": " + error.what();
    return TENON_INVALID_ARGUMENT;
  }
}

int32_t Constant(tenon_grad* grad, const tenon_tensor* content, uint64_t* out) {
  Tensor tensor = MakeTensor(content->dtype, {content->dims, content->dims + content->rank});
  const char* first = sdk::Tensor(*content).data<const char>();
  tensor.SetBytes({first, first + sdk::DTypeBytes(tensor.dtype, tensor.size())});
  grad->values.push_back(std::move(tensor));
  *out = grad->values.size();
  return TENON_OK;
}
int32_t SetInputGrad(tenon_grad* grad, uint32_t index, uint64_t value) {
  if (index >= grad->inputs) return TENON_OUT_OF_RANGE;
  grad->result[index] = value;
  return TENON_OK;
}
void FailBuilder(tenon_grad* grad, int32_t, tenon_str message) {
  if (grad->failure.empty()) grad->failure = sdk::Text(message);
}
tenon_str NodeName(tenon_grad*) { return sdk::Str("test"); }

}  // namespace

std::vector<Tensor> RunGradient(const Library& library, const tenon_operator_def& definition,
                                const AttributeList& attributes, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const std::vector<Tensor>& output_gradients,
                                const std::vector<bool>& needed) {
  tenon_gradient_api api = TENON_INIT(tenon_gradient_api);
  api.input_count = &InputCount;
  api.output_count = &OutputCount;
  api.input = &Input;
  api.output = &Output;
  api.output_grad = &OutputGrad;
  api.needs_grad = &NeedsGrad;
  api.attribute = &Attribute;
  api.value_dtype = &ValueDType;
  api.value_rank = &ValueRank;
  api.value_dim = &ValueDim;
  api.op = &Op;
  api.constant = &Constant;
  api.set_input_grad = &SetInputGrad;
  api.fail = &FailBuilder;
  api.node_name = &NodeName;
  tenon_grad grad{library, attributes, inputs.size(), outputs.size(), needed, inputs, {}, {}, {}};
  grad.values.insert(grad.values.end(), outputs.begin(), outputs.end());
  grad.values.insert(grad.values.end(), output_gradients.begin(), output_gradients.end());
  grad.result.assign(inputs.size(), 0);
  const int32_t code = definition.build_gradient(&definition, &api, &grad);
  if (!grad.needs_tenon.empty()) throw NeedsTenon("the gradient is built of " + grad.needs_tenon);
  if (code != TENON_OK) throw std::runtime_error("the gradient failed: " + grad.failure);
  std::vector<Tensor> gradients;
  for (const uint64_t value : grad.result) gradients.push_back(value == 0 ? Tensor() : grad.values[value - 1]);
  return gradients;
}

}  // namespace testing
