// Gradients of the functions of one operand: dY and the operand or result that the operator's definition names. All give 0
// where dY is 0, so that tiled matrices keep their padding.
#include "kernels/map.h"

namespace tenon::npu {
namespace {

constexpr float kInverseSqrt2 = 0.70710678118654752440f;
constexpr float kSqrt2OverPi = 0.79788456080286535588f;
constexpr float kInverseSqrt2Pi = 0.39894228040143267794f;
constexpr float kTwoOverSqrtPi = 1.12837916709551257390f;

Work MakeGeluGrad(const Request& request) {
  const std::string_view form = request.attributes().String("approximate", "none");
  if (form != "none" && form != "tanh") Refuse("approximate is '", form, "'");
  if (form == "none") {
    return Zip(request, 3 * kTranscendental, [](float dy, float x) {
      const float phi = kInverseSqrt2Pi * std::exp(-x * x / 2);
      return dy * ((1 + std::erf(x * kInverseSqrt2)) / 2 + x * phi);
    });
  }
  return Zip(request, 2 * kTranscendental, [](float dy, float x) {
    const float u = kSqrt2OverPi * (x + 0.044715f * x * x * x), t = std::tanh(u);
    // 1 - t^2 = (1 - t)(1 + t) in a form that keeps its digits where |t| is close to 1.
    const float e = std::exp(-2 * std::abs(u)), rest = 4 * e / ((1 + e) * (1 + e));
    const float half = u < 0 ? e / (1 + e) : (1 + t) / 2;
    return dy * (half + x / 2 * rest * kSqrt2OverPi * (1 + 3 * 0.044715f * x * x));
  });
}

Work MakeLeakyReluGrad(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 0.01);
  return Zip(request, kSimple, [alpha](float dy, float x) { return x < 0 ? alpha * dy : dy; });
}

Work MakeEluGrad(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 1);
  return Zip(request, kTranscendental, [alpha](float dy, float x) { return x > 0 ? dy : dy * alpha * std::exp(x); });
}

Work MakeSwishGrad(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 1);
  return Zip(request, kTranscendental, [alpha](float dy, float x) {
    const float z = alpha * x;
    return dy * Logistic(z) * (1 + z * Logistic(-z));
  });
}

Work MakeHardSigmoidGrad(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 0.2), beta = FloatAttribute(request, "beta", 0.5);
  return Zip(request, kSimple, [alpha, beta](float dy, float x) {
    const float line = alpha * x + beta;
    return line <= 0 || line >= 1 ? 0.0f : dy * alpha;
  });
}

}  // namespace

void AddElementwiseGradients(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn make) {
    entries.push_back({"tenon", op, "vector_zip", make, nullptr, TENON_TRAIT_ELEMENTWISE | TENON_TRAIT_LAYOUT_BLIND});
  };
  add("ReluGrad",
      [](const Request& r) { return Zip(r, kSimple, [](float dy, float y) { return y <= 0 ? 0.0f : dy; }); });
  add("SigmoidGrad",
      [](const Request& r) { return Zip(r, kSimple, [](float dy, float y) { return dy * y * (1 - y); }); });
  add("TanhGrad", [](const Request& r) { return Zip(r, kSimple, [](float dy, float y) { return dy * (1 - y * y); }); });
  add("AbsGrad", [](const Request& r) {
    return Zip(r, kSimple, [](float dy, float x) { return x > 0 ? dy : x < 0 ? -dy : x * dy; });
  });
  add("ErfGrad", [](const Request& r) {
    return Zip(r, kTranscendental, [](float dy, float x) { return dy * kTwoOverSqrtPi * std::exp(-x * x); });
  });
  add("SoftplusGrad",
      [](const Request& r) { return Zip(r, kTranscendental, [](float dy, float x) { return dy * Logistic(x); }); });
  add("HardSwishGrad", [](const Request& r) {
    return Zip(r, kSimple, [](float dy, float x) { return x <= -3 ? 0.0f : x >= 3 ? dy : dy * (x / 3 + 0.5f); });
  });
  add("GeluGrad", MakeGeluGrad);
  add("LeakyReluGrad", MakeLeakyReluGrad);
  add("EluGrad", MakeEluGrad);
  add("SwishGrad", MakeSwishGrad);
  add("HardSigmoidGrad", MakeHardSigmoidGrad);
}

}  // namespace tenon::npu
