#include "plugins/device_cpu/compute/finite.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

// An exponent of all ones is an infinity or NaN.
bool AllFinite(const FiniteArgs& args) {
  constexpr uint32_t kExponent = 0x7f800000u;
  constexpr int64_t kBlock = 4096;  // looked at in one go, without a branch
  for (int64_t begin = 0; begin < args.count; begin += kBlock) {
    const int64_t end = Min(args.count, begin + kBlock);
    uint32_t found = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t bits = __builtin_bit_cast(uint32_t, args.x[i]);
      found |= static_cast<uint32_t>((bits & kExponent) == kExponent);
    }
    if (found != 0) return false;
  }
  return true;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
