#include "tests/support/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tenon::testing {

namespace {

std::vector<double> Doubles(const Tensor& tensor) {
  const Tensor wide = Cast(tensor, DType::kF64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

OpCall CallOf(const OpCase& row) {
  const int outputs = row.outputs > 0 ? row.outputs : std::max(1, static_cast<int>(row.expect.size()));
  return {row.domain, row.op, row.version, row.attrs, row.inputs, outputs, row.random};
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() &&
         (!a.defined() || a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0);
}

std::vector<Tensor> Converted(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    out.push_back(tensor.dtype() == DType::kF32 ? Cast(tensor, dtype) : tensor);
  }
  return out;
}

void CheckForward(const OpCase& row, const OpCall& call, double tolerance, const std::string& what) {
  const auto checked = CheckCall(call);
  ASSERT_TRUE(checked.ok()) << what << ": " << checked.status().ToString();
  std::vector<Tensor> kept;
  for (const Tensor& input : call.inputs) kept.push_back(input.Clone());
  for (const NamedRunner& runner : Runners()) {
    const auto outputs = runner.run(call);
    ASSERT_TRUE(outputs.ok()) << what << " on " << runner.name << ": " << outputs.status().ToString();
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      EXPECT_TRUE(SameBytes(kept[i], call.inputs[i])) << what << " on " << runner.name << " changed input " << i;
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const std::string where = fmt::format("{} output {} on {}", what, i, runner.name);
      EXPECT_EQ((*outputs)[i].dtype(), checked->outputs[i].dtype) << where;
      EXPECT_EQ((*outputs)[i].shape().ToString(), checked->outputs[i].shape.ToString()) << where;
      if (i < row.expect.size() && row.expect[i].defined()) ExpectNear((*outputs)[i], row.expect[i], tolerance, where);
    }
  }
}

// The listed values hold in the other floating dtypes too. The tolerance follows the number of fraction bits.
void CheckOtherFloats(const OpCase& row) {
  const struct {
    DType dtype;
    double tolerance;
  } forms[] = {{DType::kF64, row.tolerance}, {DType::kF16, 4e-3}, {DType::kBF16, 3e-2}};
  for (const auto& form : forms) {
    OpCase other = row;
    other.expect = Converted(row.expect, form.dtype);
    OpCall call = CallOf(row);
    call.inputs = Converted(row.inputs, form.dtype);
    const auto checked = CheckCall(call);
    if (!checked.ok()) continue;  // not a dtype of this operator
    for (std::size_t i = 0; i < other.expect.size(); ++i) {
      // Outputs with a dtype of their own (saved statistics) keep it.
      if (other.expect[i].defined()) other.expect[i] = Cast(row.expect[i], checked->outputs[i].dtype);
    }
    CheckForward(other, call, std::max(form.tolerance, row.tolerance),
                 fmt::format("{} in {}", row.op, NameOf(form.dtype)));
  }
}

void CheckInPlace(const OpCase& row, const OpCall& call) {
  const auto checked = CheckCall(call);
  const auto plain = RunReference(call);
  if (!checked.ok() || !plain.ok()) return;
  for (const auto& pair : checked->def->in_place()) {
    const auto in = static_cast<std::size_t>(pair.input), out = static_cast<std::size_t>(pair.output);
    if (in >= call.inputs.size() || out >= plain->size() || !call.inputs[in].defined()) continue;
    if (call.inputs[in].dtype() != (*plain)[out].dtype() || call.inputs[in].elements() != (*plain)[out].elements())
      continue;
    std::vector<Tensor> inputs = call.inputs;
    inputs[in] = inputs[in].Clone();
    std::vector<Tensor> outputs;
    for (const Tensor& output : *plain) outputs.emplace_back(output.dtype(), output.shape());
    auto shared = inputs[in].Reshaped((*plain)[out].shape());
    ASSERT_TRUE(shared.ok());
    outputs[out] = shared.value();
    const Status status = checked->def->reference()(ReferenceArgs{checked->attrs, inputs, outputs, call.random});
    ASSERT_TRUE(status.ok()) << row.op << ": " << status.ToString();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(SameBytes(outputs[i], (*plain)[i]))
          << row.op << " output " << i << " differs when output " << out << " lies over input " << in;
    }
  }
}

std::optional<std::int64_t> ExtentOf(void*, std::string_view name) { return std::stoll(std::string(name.substr(1))); }

// Replaces `extent` (every extent above 1 when 0) by a symbol and infers; the dims must evaluate to the concrete ones.
void CheckSymbols(const OpCase& row, const OpCall& call, std::int64_t extent, bool must_work) {
  const auto concrete = CheckCall(call);
  if (!concrete.ok()) return;
  std::vector<ValueType> types;
  std::vector<const Tensor*> constants;
  for (const Tensor& input : call.inputs) {
    const bool constant = input.defined() &&
                          (IsInteger(input.dtype()) || input.shape().rank() == 0 || row.op == "Resize") &&
                          !types.empty();
    ValueType type;
    if (input.defined()) type = {input.dtype(), input.shape()};
    for (int axis = 0; axis < type.shape.rank() && !constant; ++axis) {
      const std::int64_t dim = input.shape()[axis];
      if (extent == 0 ? dim > 1 : dim == extent) type.shape.set_dim(axis, Dim::Symbol(fmt::format("S{}", dim)));
    }
    types.push_back(type);
    constants.push_back(constant ? &input : nullptr);
  }
  const auto symbolic = concrete->def->InferOutputs(concrete->attrs, types, constants, concrete->outputs.size());
  if (!symbolic.ok()) {
    EXPECT_FALSE(must_work) << row.op << " with symbols: " << symbolic.status().ToString();
    return;
  }
  for (std::size_t i = 0; i < symbolic->size(); ++i) {
    const SymShape &a = (*symbolic)[i].shape, &b = concrete->outputs[i].shape;
    ASSERT_EQ(a.rank(), b.rank()) << row.op;
    for (int axis = 0; axis < a.rank(); ++axis) {
      if (a[axis] == Dim::Unknown()) continue;
      const auto value = Evaluate(a[axis], ExtentOf, nullptr);
      EXPECT_TRUE(value && *value == b[axis].value())
          << row.op << " output " << i << ": " << a.ToString() << " with symbols, " << b.ToString() << " without";
    }
  }
}

// sum over outputs of weight * output: the scalar whose derivative is compared.
double WeightedSum(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!weights[i].defined()) continue;
    const auto a = Doubles(outputs[i]), b = Doubles(weights[i]);
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  }
  return sum;
}

// The call in float64. Inputs that must stay float32 (scales of Resize) do when `row.gradient` lists the others.
OpCall InDoubles(const OpCase& row) {
  OpCall call = CallOf(row);
  call.inputs = Converted(row.inputs, DType::kF64);
  if (CheckCall(call).ok()) return call;
  call.inputs = row.inputs;
  for (const int i : row.gradient) {
    Tensor& input = call.inputs[static_cast<std::size_t>(i)];
    input = Cast(input, DType::kF64);
  }
  return call;
}

void CheckGradient(const OpCase& row) {
  if (row.gradient == std::vector<int>{-1}) return;
  OpCall call = InDoubles(row);
  auto checked = CheckCall(call);
  ASSERT_TRUE(checked.ok()) << row.op << " in float64: " << checked.status().ToString();
  if (!checked->def->differentiable()) return;
  const int listed = call.outputs;
  for (const int saved : checked->def->saved_outputs()) call.outputs = std::max(call.outputs, saved + 1);
  checked = CheckCall(call);
  ASSERT_TRUE(checked.ok()) << checked.status().ToString();
  std::vector<int> wanted = row.gradient;
  if (wanted.empty()) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.inputs[i].dtype() == DType::kF64) wanted.push_back(static_cast<int>(i));
    }
  }
  if (wanted.empty()) return;
  const auto plain = RunReference(call);
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();

  EagerGradBuilder builder;
  std::vector<Value> inputs, outputs, output_grads;
  std::vector<Tensor> weights(plain->size());
  std::vector<bool> needs(call.inputs.size(), false);
  for (const int i : wanted) needs[static_cast<std::size_t>(i)] = true;
  for (const Tensor& input : call.inputs) inputs.push_back(input.defined() ? builder.Constant(input) : Value{});
  for (std::size_t i = 0; i < plain->size(); ++i) {
    const Tensor& output = (*plain)[i];
    outputs.push_back(builder.Constant(output));
    const bool flows = IsFloating(output.dtype()) && static_cast<int>(i) < listed &&
                       (i == 0 || checked->def->type().find("Normalization") == std::string::npos);
    if (flows) weights[i] = Cast(Random(output.shape(), -1, 1, 77 + i), output.dtype());
    output_grads.push_back(flows ? builder.Constant(weights[i]) : Value{});
  }
  std::vector<Value> input_grads(call.inputs.size());
  GradArgs args{checked->attrs, inputs, outputs, output_grads, needs, input_grads};
  const Status status = checked->def->gradient()(builder, args);
  ASSERT_TRUE(status.ok()) << row.op << " gradient: " << status.ToString();
  ASSERT_TRUE(builder.status().ok()) << row.op << " gradient: " << builder.status().ToString();

  constexpr double kStep = 1e-5;
  for (const int index : wanted) {
    const auto i = static_cast<std::size_t>(index);
    const Tensor& input = call.inputs[i];
    ASSERT_TRUE(input_grads[i]) << row.op << " has no gradient for input " << i;
    const Tensor& gradient = builder.tensor(input_grads[i]);
    ASSERT_EQ(gradient.Describe(), input.Describe()) << row.op << " gradient of input " << i;
    for (std::int64_t k = 0; k < input.elements(); ++k) {
      OpCall moved = call;
      double sums[2];
      for (const int side : {0, 1}) {
        moved.inputs[i] = input.Clone();
        moved.inputs[i].data<double>()[k] += side == 0 ? kStep : -kStep;
        const auto at = RunReference(moved);
        ASSERT_TRUE(at.ok()) << at.status().ToString();
        sums[side] = WeightedSum(at.value(), weights);
      }
      const double numeric = (sums[0] - sums[1]) / (2 * kStep), analytic = gradient.data<double>()[k];
      EXPECT_NEAR(analytic, numeric, 2e-6 * (1 + std::abs(numeric)))
          << row.op << " gradient of input " << i << " at element " << k;
    }
  }
}

template <class T>
Tensor Filled(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(kDTypeOf<T>, shape);
  EXPECT_EQ(tensor.elements(), static_cast<std::int64_t>(values.size()))
      << "a table lists values for " << shape.ToString();
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = static_cast<T>(values[i]);
  return tensor;
}

}  // namespace

Tensor F32(const Shape& shape, const std::vector<double>& values) { return Filled<float>(shape, values); }
Tensor F64(const Shape& shape, const std::vector<double>& values) { return Filled<double>(shape, values); }
Tensor I64(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::Of<std::int64_t>(shape, std::span<const std::int64_t>(values));
}
Tensor Of(DType dtype, const Shape& shape, const std::vector<std::int64_t>& values) {
  return Cast(I64(shape, values), dtype);
}
Tensor I32(const Shape& shape, const std::vector<std::int64_t>& values) { return Of(DType::kI32, shape, values); }
Tensor Bool(const Shape& shape, const std::vector<std::int64_t>& values) { return Of(DType::kBool, shape, values); }

Tensor Ramp(const Shape& shape, double first, double step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(first + step * static_cast<double>(i));
  return F32(shape, values);
}

Tensor Random(const Shape& shape, double low, double high, std::uint64_t seed) {
  // A multiplicative sequence modulo a prime visits every residue once, so values never repeat.
  constexpr std::uint64_t kPrime = 1000003;
  std::uint64_t state = (seed * 7919 + 17) % (kPrime - 1) + 1;
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    state = state * 48271 % kPrime;
    values.push_back(low + (high - low) * static_cast<double>(state) / static_cast<double>(kPrime));
  }
  return F32(shape, values);
}

void ExpectNear(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.Describe(), expected.Describe()) << what;
  if (!IsFloating(expected.dtype())) {
    const Tensor a = Cast(got, DType::kI64), b = Cast(expected, DType::kI64);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      EXPECT_EQ(a.data<std::int64_t>()[i], b.data<std::int64_t>()[i]) << what << " at element " << i;
    }
    return;
  }
  const auto a = Doubles(got), b = Doubles(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      EXPECT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i])
          << what << " at element " << i << ": " << a[i] << ", expected " << b[i];
    } else {
      EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << " at element " << i;
    }
  }
}

void CheckCase(const OpCase& row) {
  const OpCall call = CallOf(row);
  CheckForward(row, call, row.tolerance, row.op);
  if (row.other_floats) CheckOtherFloats(row);
  CheckInPlace(row, call);
  const bool sized = !row.inputs.empty() && row.inputs[0].defined() && row.inputs[0].shape().rank() > 0;
  CheckSymbols(row, call, 0, false);
  if (sized && row.inputs[0].shape()[0] > 0) CheckSymbols(row, call, row.inputs[0].shape()[0], row.symbolic);
  CheckGradient(row);
}

void CheckFails(const OpCase& row, const std::string& message) {
  const auto result = RunReference(CallOf(row));
  ASSERT_FALSE(result.ok()) << row.op << " was expected to fail with: " << message;
  EXPECT_EQ(result.status().message(), message);
}

std::vector<Tensor> Outputs(const OpCase& row) {
  const auto result = RunReference(CallOf(row));
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? result.value() : std::vector<Tensor>(8);
}

}  // namespace tenon::testing
