// L2: gradients that run on the plugin's kernels, against differences. Case 60.
#include <cmath>
#include <optional>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"
#include "tools/conform/kernel_tape.h"

namespace tenon::conform {
namespace {

double WeightedSum(const std::vector<Tensor>& outputs, const Tensor& weights) {
  const Tensor values = Cast(outputs[0], DType::kF64), factors = Cast(weights, DType::kF64);
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i) sum += values.data<double>()[i] * factors.data<double>()[i];
  return sum;
}

// How differences are taken: in float64 of the reference, or of the plugin's own kernels where there is none.
struct Differences {
  DType dtype = DType::kF64;
  double step = 1e-5;
  double tolerance = 2e-3;
};

Differences DifferencesOf(Session& s, const KernelOf& kernel, const OpCall& call) {
  if (call.has_reference()) return {};
  const auto results = Expected(s, kernel, call);
  if (results.ok() && !results->empty() && (*results)[0].dtype() == DType::kF64) return {};
  return {DType::kF32, 1e-3, 2e-2};
}

// The weighted sum of the outputs with element k of input i moved; empty when the values or the dtype are refused.
std::optional<double> SumMoved(Session& s, const KernelOf& kernel, const OpCall& call, const Tensor& weights,
                               DType dtype, std::size_t i, std::int64_t k, double step) {
  std::vector<Tensor> moved;
  for (const Tensor& input : call.inputs)
    moved.push_back(input.defined() && IsFloating(input.dtype()) ? Cast(input, DType::kF64).Clone() : input);
  moved[i].data<double>()[k] += step;
  for (Tensor& input : moved) {
    if (input.defined() && input.dtype() == DType::kF64) input = Cast(input, dtype);
  }
  const auto at = MakeCall(*call.def, call.attrs, moved, static_cast<int>(call.types.size()));
  if (!at.ok()) return std::nullopt;
  const auto values = Expected(s, kernel, *at);
  if (!values.ok()) return std::nullopt;
  return WeightedSum(*values, weights);
}

// Gradient of one input by the operator's rule, run on the plugin, against central differences.
int CheckGradient(Session& s, const std::vector<KernelOf>& kernels, const KernelOf& kernel, const OpCall& call) {
  KernelTape tape(s, kernels);
  const Tensor weights = RandomTensor(DType::kF32, call.types[0].shape.Concrete(), -1, 1, 77);
  const auto wanted = tape.Differentiate(call, weights);
  if (!wanted) return 0;
  const Differences how = DifferencesOf(s, kernel, call);
  int checked = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!(*wanted)[i]) continue;
    const Tensor analytic = Cast(tape.tensor((*wanted)[i]), DType::kF64);
    s.context().Require(analytic.shape() == call.inputs[i].shape(), "{}: the gradient of input {} is {}, the input {}.",
                        call.text, i, analytic.Describe(), call.inputs[i].Describe());
    const std::int64_t stride = std::max<std::int64_t>(1, analytic.elements() / 12);
    for (std::int64_t k = 0; k < analytic.elements(); k += stride) {
      const auto sum = [&](double step) { return SumMoved(s, kernel, call, weights, how.dtype, i, k, step); };
      const auto above = sum(how.step), below = sum(-how.step);
      if (!above || !below) return checked;
      const double numeric = (*above - *below) / (2 * how.step);
      if (!call.has_reference()) {
        // Where it is not finite, or the slopes of both sides differ, the gradient is a matter of taste.
        const auto here = sum(0);
        const double bend = here ? *above + *below - 2 * *here : std::nan("");
        if (!(std::abs(bend) <= how.tolerance * how.step * (1 + std::abs(numeric)))) continue;
      }
      const double got = analytic.data<double>()[k];
      s.context().Require(std::abs(got - numeric) <= how.tolerance * (1 + std::abs(numeric)),
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
  ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    if (!call.def->differentiable() || call.def->random() || call.text == last) return;
    if (call.types[0].dtype != DType::kF32) return;  // rounding is a step function
    if (call.types.size() > 1 && call.def->type().find("Normalization") != std::string::npos) return;
    last = call.text;
    inputs += CheckGradient(s, kernels, kernel, call);
  });
  if (inputs == 0) context.Skip("No kernel serves a differentiable operator that the kit has a call for.");
  context.Note(fmt::format("gradients of {} inputs", inputs));
}

}  // namespace tenon::conform
