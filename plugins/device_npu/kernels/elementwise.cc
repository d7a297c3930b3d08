// Functions of one operand. Those that keep 0 work on tiled matrices too, whose padding then stays zero.
#include "kernels/map.h"

namespace tenon::npu {
namespace {

constexpr double kInverseSqrt2 = 0.70710678118654752440;
constexpr double kSqrt2OverPi = 0.79788456080286535588;

Work MakeGelu(const Request& request) {
  const std::string_view form = request.attributes().String("approximate", "none");
  if (form != "none" && form != "tanh") Refuse("approximate is '", form, "'");
  if (form == "none") {
    return Map(request, 2 * kTranscendental,
               [](float x) { return 0.5f * x * (1 + std::erf(x * static_cast<float>(kInverseSqrt2))); });
  }
  return Map(request, 2 * kTranscendental, [](float x) {
    const float inner = static_cast<float>(kSqrt2OverPi) * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1 + std::tanh(inner));
  });
}

Work MakeLeakyRelu(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 0.01);
  return Map(request, kSimple, [alpha](float x) { return x < 0 ? alpha * x : x; });
}

Work MakeElu(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 1);
  return Map(request, kTranscendental, [alpha](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Work MakeSwish(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 1);
  return Map(request, kTranscendental, [alpha](float x) { return x * Logistic(alpha * x); });
}

Work MakeHardSigmoid(const Request& request) {
  const float alpha = FloatAttribute(request, "alpha", 0.2), beta = FloatAttribute(request, "beta", 0.5);
  return Map(request, kSimple, [alpha, beta](float x) {
    const float line = alpha * x + beta;
    return line < 0 ? 0.0f : line > 1 ? 1.0f : line;
  });
}

Work MakeHardSwish(const Request& request) {
  return Map(request, kSimple, [](float x) { return x <= -3 ? 0.0f : x >= 3 ? x : x * (x + 3) / 6; });
}

// Bounds are attributes before opset 11 and inputs since, which are read on the device.
struct Bounds {
  uint32_t first;  // input of the lower bound; the upper one follows
  float low, high;

  Bounds(const Request& request, uint32_t first_input)
      : first(first_input),
        low(FloatAttribute(request, "min", -INFINITY)),
        high(FloatAttribute(request, "max", INFINITY)) {
    for (const uint32_t i : {first, first + 1})
      if (request.has_input(i)) request.RequireType(i, request.input(0).dtype());
  }
  template <class T>
  Bounds Read(const Operands& o) const {
    Bounds bounds = *this;
    if (o.has_in(first)) bounds.low = Widen(*o.in<T>(first));
    if (o.has_in(first + 1)) bounds.high = Widen(*o.in<T>(first + 1));
    return bounds;
  }
};

Work MakeClip(const Request& request) {
  request.RequireFloat(0);
  const Bounds bounds(request, 1);
  const int64_t count = request.input(0).elements();
  Work work;
  work.cost = {0, static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [bounds, count](const Operands& o) {
      const Bounds b = bounds.Read<T>(o);
      for (int64_t i = 0; i < count; ++i) {
        const float x = Widen(o.in<T>(0)[i]), raised = x < b.low ? b.low : x;
        o.out<T>(0)[i] = Narrow<T>(raised > b.high ? b.high : raised);
      }
    };
  });
  return work;
}

// Inputs: dY, X, bounds.
Work MakeClipGrad(const Request& request) {
  request.RequireFloat(0);
  request.RequireType(1, request.input(0).dtype());
  const Bounds bounds(request, 2);
  const int64_t count = request.input(0).elements();
  Work work;
  work.cost = {0, static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [bounds, count](const Operands& o) {
      const Bounds b = bounds.Read<T>(o);
      for (int64_t i = 0; i < count; ++i) {
        const float x = Widen(o.in<T>(1)[i]);
        o.out<T>(0)[i] = x < b.low || x > b.high ? Narrow<T>(0.0f) : o.in<T>(0)[i];
      }
    };
  });
  return work;
}

// Between the floating types, and to and from bool and the integers of 32 and 64 bits.
template <class From, class To, class Fn>
Work Convert(const Request& request, Fn fn) {
  const int64_t count = request.stored(0);
  Work work;
  work.cost = {0, static_cast<uint64_t>(count), request.bytes()};
  work.run = [count, fn](const Operands& o) {
    const From* x = o.in<From>(0);
    To* y = o.out<To>(0);
    o.Each(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = fn(x[i]);
    });
  };
  return work;
}
template <class From>
Work CastFrom(const Request& request, uint32_t to) {
  if (to == TENON_DTYPE_F32 || to == TENON_DTYPE_BF16 || to == TENON_DTYPE_F16) {
    return ForFloat(to, [&](auto type) {
      using To = decltype(type);
      return Convert<From, To>(request, [](From x) {
        if constexpr (std::is_integral_v<From>) {
          return Narrow<To>(static_cast<float>(x));
        } else {
          return Narrow<To>(Widen(x));
        }
      });
    });
  }
  if (to == TENON_DTYPE_BOOL) {
    return Convert<From, uint8_t>(request, [](From x) -> uint8_t {
      if constexpr (std::is_integral_v<From>) {
        return x != 0;
      } else {
        return Widen(x) != 0;
      }
    });
  }
  Refuse("the target type is ", sdk::DTypeName(to));
}
Work MakeCast(const Request& request) {
  const uint32_t from = request.input(0).dtype(), to = request.output(0).dtype();
  switch (from) {
    case TENON_DTYPE_BOOL:
    case TENON_DTYPE_U8:
      return CastFrom<uint8_t>(request, to);
    case TENON_DTYPE_I32:
      return CastFrom<int32_t>(request, to);
    case TENON_DTYPE_I64:
      return CastFrom<int64_t>(request, to);
    default:
      request.RequireFloat(0);
      return ForFloat(from, [&](auto type) { return CastFrom<decltype(type)>(request, to); });
  }
}

}  // namespace

void AddElementwise(EntryList& entries) {
  constexpr uint64_t kBlind = TENON_TRAIT_ELEMENTWISE | TENON_TRAIT_LAYOUT_BLIND, kPlain = TENON_TRAIT_ELEMENTWISE;
  const auto add = [&](std::string_view op, MakeFn make, uint64_t traits) {
    entries.push_back({"", op, "vector_map", make, nullptr, traits});
  };
  add(
      "Relu", [](const Request& r) { return Map(r, kSimple, [](float x) { return x < 0 ? 0.0f : x; }); }, kBlind);
  add(
      "Neg", [](const Request& r) { return Map(r, kSimple, [](float x) { return -x; }); }, kBlind);
  add(
      "Abs", [](const Request& r) { return Map(r, kSimple, [](float x) { return std::abs(x); }); }, kBlind);
  add(
      "Floor", [](const Request& r) { return Map(r, kSimple, [](float x) { return std::floor(x); }); }, kBlind);
  add(
      "Ceil", [](const Request& r) { return Map(r, kSimple, [](float x) { return std::ceil(x); }); }, kBlind);
  add(
      "Sqrt", [](const Request& r) { return Map(r, 4, [](float x) { return std::sqrt(x); }); }, kBlind);
  add(
      "Tanh", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::tanh(x); }); }, kBlind);
  add(
      "Erf", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::erf(x); }); }, kBlind);
  add(
      "Sin", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::sin(x); }); }, kBlind);
  add(
      "Sign",
      [](const Request& r) { return Map(r, kSimple, [](float x) { return x > 0   ? 1.0f
                                                                         : x < 0 ? -1.0f
                                                                                 : x; }); },
      kBlind);
  add(
      "Exp", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::exp(x); }); }, kPlain);
  add(
      "Log", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::log(x); }); }, kPlain);
  add(
      "Cos", [](const Request& r) { return Map(r, kTranscendental, [](float x) { return std::cos(x); }); }, kPlain);
  add(
      "Reciprocal", [](const Request& r) { return Map(r, 4, [](float x) { return 1 / x; }); }, kPlain);
  add(
      "Sigmoid", [](const Request& r) { return Map(r, kTranscendental, Logistic); }, kPlain);
  add(
      "Softplus",
      [](const Request& r) {
        return Map(r, 2 * kTranscendental,
                   [](float x) { return (x < 0 ? 0.0f : x) + std::log1p(std::exp(-std::abs(x))); });
      },
      kPlain);
  add("Gelu", MakeGelu, kBlind);
  add("LeakyRelu", MakeLeakyRelu, kBlind);
  add("Elu", MakeElu, kBlind);
  add("Swish", MakeSwish, kBlind);
  add("HardSwish", MakeHardSwish, kBlind);
  add("HardSigmoid", MakeHardSigmoid, kPlain);
  add("Clip", MakeClip, kPlain);
  entries.push_back({"tenon", "ClipGrad", "vector_zip", MakeClipGrad, nullptr, kPlain});
  entries.push_back({"", "Cast", "vector_cast", MakeCast, nullptr, kBlind});
}

}  // namespace tenon::npu
