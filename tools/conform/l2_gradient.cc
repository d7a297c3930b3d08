// L2: gradients that run on the plugin's kernels, against differences. Case 60.
#include <cmath>
#include <deque>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// Runs operators at once, on the plugin where it has a kernel, else on the reference.
class KernelTape final : public GradBuilder {
 public:
  KernelTape(Session& session, const std::vector<KernelOf>& kernels) : session_(session), kernels_(kernels) {}

  std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                           Attributes attrs, int outputs) override {
    std::vector<Tensor> tensors;
    for (const Value input : inputs) tensors.push_back(input ? tensor(input) : Tensor());
    const auto def = BuiltinOps().Find(domain, type);
    if (!def.ok()) session_.context().Fail(def.status().message());
    const auto call = MakeCall(**def, std::move(attrs), std::move(tensors), outputs);
    if (!call.ok()) session_.context().Fail(call.status().message());
    std::vector<Value> values;
    for (Tensor& result : Run(*call)) values.push_back(Constant(std::move(result)));
    return values;
  }
  Value Constant(Tensor tensor) override {
    tensors_.push_back(std::move(tensor));
    return Value{tensors_.size()};
  }
  ValueType type(Value value) const override {
    return value ? ValueType{tensor(value).dtype(), tensor(value).shape()} : ValueType{};
  }
  const Tensor& tensor(Value value) const { return tensors_[value.id - 1]; }
  int on_plugin() const { return on_plugin_; }

  std::vector<Tensor> Run(const OpCall& call) {
    for (const KernelOf& kernel : kernels_) {
      if (kernel.op != call.def) continue;
      KernelRun run(session_, kernel, call);
      if (run.Supports() == TENON_VERDICT_NO) continue;
      ++on_plugin_;
      return run.Run();
    }
    auto result = RunReference(call);
    if (!result.ok()) session_.context().Fail(result.status().message());
    return std::move(result).value();
  }

 private:
  Session& session_;
  const std::vector<KernelOf>& kernels_;
  std::deque<Tensor> tensors_;
  int on_plugin_ = 0;
};

double WeightedSum(const std::vector<Tensor>& outputs, const Tensor& weights) {
  const Tensor values = Cast(outputs[0], DType::kF64), factors = Cast(weights, DType::kF64);
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i) sum += values.data<double>()[i] * factors.data<double>()[i];
  return sum;
}

// Gradient of one input by the operator's rule, run on the plugin, against central differences of the reference in
// float64.
int CheckGradient(Session& s, const std::vector<KernelOf>& kernels, const OpCall& call) {
  KernelTape tape(s, kernels);
  int outputs = static_cast<int>(call.types.size());
  for (const int saved : call.def->saved_outputs()) outputs = std::max(outputs, saved + 1);
  const auto forward = MakeCall(*call.def, call.attrs, call.inputs, outputs);
  if (!forward.ok()) return 0;
  const std::vector<Tensor> results = tape.Run(*forward);
  const Tensor weights = RandomTensor(DType::kF32, results[0].shape(), -1, 1, 77);
  std::vector<Value> inputs, made, gradients(results.size()), wanted(call.inputs.size());
  std::vector<bool> needs;
  for (const Tensor& input : call.inputs) {
    inputs.push_back(input.defined() ? tape.Constant(input) : Value{});
    needs.push_back(input.defined() && input.dtype() == DType::kF32);
  }
  for (const Tensor& result : results) made.push_back(result.defined() ? tape.Constant(result) : Value{});
  gradients[0] = tape.Constant(weights);
  GradArgs args{call.attrs, inputs, made, gradients, needs, wanted};
  if (!call.def->gradient()(tape, args).ok()) return 0;
  constexpr double kStep = 1e-5;
  int checked = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!needs[i] || !wanted[i]) continue;
    const Tensor analytic = Cast(tape.tensor(wanted[i]), DType::kF64);
    s.context().Require(analytic.shape() == call.inputs[i].shape(), "{}: the gradient of input {} is {}, the input {}.",
                        call.text, i, analytic.Describe(), call.inputs[i].Describe());
    const std::int64_t stride = std::max<std::int64_t>(1, analytic.elements() / 12);
    for (std::int64_t k = 0; k < analytic.elements(); k += stride) {
      double sums[2] = {};
      for (const int side : {0, 1}) {
        std::vector<Tensor> moved;
        for (const Tensor& input : call.inputs)
          moved.push_back(input.defined() && IsFloating(input.dtype()) ? Cast(input, DType::kF64).Clone() : input);
        moved[i].data<double>()[k] += side == 0 ? kStep : -kStep;
        const auto at = MakeCall(*call.def, call.attrs, moved, static_cast<int>(call.types.size()));
        if (!at.ok()) return checked;  // not in float64
        const auto values = RunReference(*at);
        if (!values.ok()) return checked;
        sums[side] = WeightedSum(*values, weights);
      }
      const double numeric = (sums[0] - sums[1]) / (2 * kStep);
      const double got = analytic.data<double>()[k];
      s.context().Require(std::abs(got - numeric) <= 2e-3 * (1 + std::abs(numeric)),
                          "{}: the gradient of input {} at element {} is {:.6g} on the plugin; differences say {:.6g}.",
                          call.text, i, k, got, numeric);
    }
    ++checked;
  }
  return tape.on_plugin() > 0 ? checked : 0;
}

}  // namespace

void FiniteDifferences(Context& context) {
  Session s(context);
  const std::vector<KernelOf> kernels = KernelsOf(s);
  int inputs = 0;
  std::string last;
  ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf&, const OpCall& call) {
    if (!call.def->differentiable() || call.def->random() || call.text == last) return;
    if (call.types[0].dtype != DType::kF32) return;  // rounding is a step function
    if (call.types.size() > 1 && call.def->type().find("Normalization") != std::string::npos) return;
    last = call.text;
    inputs += CheckGradient(s, kernels, call);
  });
  if (inputs == 0) context.Skip("No kernel serves a differentiable operator that the kit has a call for.");
  context.Note(fmt::format("gradients of {} inputs", inputs));
}

}  // namespace tenon::conform
