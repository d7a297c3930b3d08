#include "core/train/initializer.h"

#include <cmath>
#include <new>
#include <numbers>

#include "core/base/fnv.h"
#include "core/data/counter_rng.h"

namespace tenon {
namespace {

double Unit(const CounterRng& rng, std::uint64_t counter) {  // (0, 1]
  return (static_cast<double>(rng.Bits(counter) >> 11) + 1.0) * 0x1p-53;
}

}  // namespace

Tensor InitialValue(const Initializer& init, const Shape& shape, std::uint64_t seed, std::string_view name) {
  Tensor tensor(DType::kF32, shape);
  const CounterRng rng(seed, Fnv(name));
  float* values = tensor.data<float>();
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto counter = static_cast<std::uint64_t>(i);
    double value = init.value;
    if (init.kind == Initializer::Kind::kUniform) {
      value = (2.0 * Unit(rng, counter) - 1.0) * init.value;
    } else if (init.kind == Initializer::Kind::kNormal) {
      const double radius = std::sqrt(-2.0 * std::log(Unit(rng, 2 * counter)));
      value = radius * std::cos(2.0 * std::numbers::pi * Unit(rng, 2 * counter + 1)) * init.value;
    }
    values[i] = static_cast<float>(value);
  }
  return tensor;
}

Result<Tensor> MakeInitial(const InitialTensor& initial, std::uint64_t seed, const std::string& name) {
  try {
    return InitialValue(initial.init, initial.shape, seed, name);
  } catch (const std::bad_alloc&) {
    return Error(Code::kResourceExhausted, "There is no memory for parameter '{}' float32{} ({:.1f} GB).", name,
                 initial.shape, static_cast<double>(initial.shape.elements()) * 4e-9);
  }
}

}  // namespace tenon
