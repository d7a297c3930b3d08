#include "tests/support/expectation.h"

#include <algorithm>
#include <map>

namespace testing {
namespace {

std::vector<int64_t> IndexOf(int64_t place, const std::vector<int64_t>& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; place /= dims[axis]) index[axis] = place % dims[axis];
  return index;
}

// The element of a broadcast tensor at an index of the common shape.
double At(const Tensor& tensor, const std::vector<int64_t>& index) {
  int64_t place = 0;
  const size_t skipped = index.size() - tensor.dims.size();
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis)
    place = place * tensor.dims[axis] + (tensor.dims[axis] == 1 ? 0 : index[skipped + axis]);
  return tensor.values[static_cast<size_t>(place)];
}

std::vector<int64_t> CommonDims(const std::vector<const Tensor*>& tensors) {
  size_t rank = 0;
  for (const Tensor* tensor : tensors) rank = std::max(rank, tensor->dims.size());
  std::vector<int64_t> dims(rank, 1);
  for (const Tensor* tensor : tensors) {
    for (size_t k = 0; k < tensor->dims.size(); ++k) {
      if (tensor->dims[k] != 1) dims[rank - tensor->dims.size() + k] = tensor->dims[k];
    }
  }
  return dims;
}

}  // namespace

std::vector<Tensor> EachElement(const Call& call, uint32_t fixed_inputs, uint32_t dynamic_inputs, bool dynamic_outputs,
                                const std::function<Numbers(const Numbers& x)>& function) {
  const size_t members = dynamic_outputs ? (call.inputs.size() - fixed_inputs) / dynamic_inputs : 1;
  std::vector<Tensor> outputs(call.outputs.size());
  for (size_t member = 0; member < members; ++member) {
    std::vector<const Tensor*> operands;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const bool other = dynamic_outputs && i >= fixed_inputs && (i - fixed_inputs) % members != member;
      if (call.inputs[i].present && !other) operands.push_back(&call.inputs[i]);
    }
    const std::vector<int64_t> dims = CommonDims(operands);
    std::vector<Tensor*> results;
    for (size_t k = member; k < outputs.size(); k += members) {
      outputs[k] = MakeTensor(call.outputs[k].dtype, dims);
      results.push_back(&outputs[k]);
    }
    const int64_t count = results[0]->size();
    for (int64_t place = 0; place < count; ++place) {
      Numbers x;
      for (const Tensor* operand : operands) x.push_back(At(*operand, IndexOf(place, dims)));
      const Numbers y = function(x);
      for (size_t k = 0; k < results.size(); ++k) results[k]->values[static_cast<size_t>(place)] = y[k];
    }
  }
  return outputs;
}

std::vector<Tensor> EachGroup(const Call& call, const std::vector<int64_t>& axes, bool keepdims,
                              const std::function<double(const Numbers& group)>& function) {
  const Tensor& x = call.inputs[0];
  const auto rank = static_cast<int64_t>(x.dims.size());
  const auto reduced = [&](int64_t axis) {
    return axes.empty() ||
           std::count(axes.begin(), axes.end(), axis) + std::count(axes.begin(), axes.end(), axis - rank) > 0;
  };
  std::vector<int64_t> kept, shown;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!reduced(axis)) kept.push_back(x.dims[static_cast<size_t>(axis)]);
    if (!reduced(axis) || keepdims) shown.push_back(reduced(axis) ? 1 : x.dims[static_cast<size_t>(axis)]);
  }
  Tensor y = MakeTensor(call.outputs[0].dtype, shown);
  std::map<std::vector<int64_t>, Numbers> groups;
  for (int64_t place = 0; place < x.size(); ++place) {
    const std::vector<int64_t> index = IndexOf(place, x.dims);
    std::vector<int64_t> group;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (!reduced(axis)) group.push_back(index[static_cast<size_t>(axis)]);
    }
    groups[group].push_back(x.values[static_cast<size_t>(place)]);
  }
  for (int64_t place = 0; place < y.size(); ++place)
    y.values[static_cast<size_t>(place)] = function(groups[IndexOf(place, kept)]);
  return {y};
}

std::vector<Tensor> CopiesOf(const Call& call, const std::vector<size_t>& input_of_output) {
  std::vector<Tensor> outputs;
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    Tensor output = MakeTensor(call.outputs[k].dtype, call.outputs[k].dims);
    const size_t from = k < input_of_output.size() ? input_of_output[k] : call.inputs.size();
    const Tensor source = from < call.inputs.size() ? call.inputs[from] : Tensor();
    for (int64_t i = 0; i < output.size() && source.size() > 0; ++i)
      output.values[static_cast<size_t>(i)] = source.values[static_cast<size_t>(i % source.size())];
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace testing
