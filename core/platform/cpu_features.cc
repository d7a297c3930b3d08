#include "core/platform/cpu_features.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon {

namespace {

#if defined(__x86_64__)
// __builtin_cpu_supports respects what the operating system saves on a context switch, but its list of names grows
// with the compiler; AMX is asked from the processor.
bool HasAmx(unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1U << 27)) == 0) return false;  // OSXSAVE
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = (1U << 17) | (1U << 18);
  if ((low & kTileState) != kTileState) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1U << bit)) != 0;
}

bool HasBits7(unsigned subleaf, unsigned b_bits, unsigned c_bits, unsigned a_bits) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, subleaf, &a, &b, &c, &d) == 0) return false;
  return (a & a_bits) == a_bits && (b & b_bits) == b_bits && (c & c_bits) == c_bits;
}

std::vector<CpuFeature> Detect() {
  __builtin_cpu_init();
  const bool avx = __builtin_cpu_supports("avx") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1U << 29)) != 0;
  return {
      {"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
      {"popcnt", __builtin_cpu_supports("popcnt") != 0},
      {"avx", avx},
      {"f16c", avx && f16c},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"bmi2", __builtin_cpu_supports("bmi2") != 0},
      {"avx512f", avx512},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512_vnni", avx512 && HasBits7(0, 0, 1U << 11, 0)},
      {"avx512_bf16", avx512 && HasBits7(1, 0, 0, 1U << 5)},
      {"avx_vnni", avx && HasBits7(1, 0, 0, 1U << 4)},
      {"amx_tile", HasAmx(24)},
      {"amx_bf16", HasAmx(22)},
      {"amx_int8", HasAmx(25)},
  };
}
#else
std::vector<CpuFeature> Detect() { return {}; }
#endif

}  // namespace

const std::vector<CpuFeature>& CpuFeatures() {
  static const auto* features = new std::vector<CpuFeature>(Detect());
  return *features;
}

bool HasCpuFeature(const char* name) {
  for (const CpuFeature& feature : CpuFeatures()) {
    if (std::strcmp(feature.name, name) == 0) return feature.present;
  }
  return false;
}

}  // namespace tenon
