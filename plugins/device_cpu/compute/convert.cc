#include "plugins/device_cpu/compute/convert.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBlock = 512;  // floats between two formats that are both short

TENON_INLINE uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
TENON_INLINE float FloatOf(uint32_t x) { return __builtin_bit_cast(float, x); }

// Between floats and bf16, either way.
template <class From, class To>
TENON_INLINE void Copy(const From* x, To* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, Load(x + i));
  if (i < n) StorePartial(y + i, LoadPartial(x + i, n - i), n - i);
}

// IEEE binary16 by arithmetic on bits, for processors without an instruction.
TENON_INLINE float WidenHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 31) return FloatOf(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return FloatOf(sign | ((exponent + 112u) << 23) | (fraction << 13));
  return FloatOf(sign | BitsOf(static_cast<float>(fraction) * 0x1p-24f));
}

TENON_INLINE uint16_t NarrowHalf(float x) {
  const uint32_t bits = BitsOf(x), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
  // Subnormal: adding 0.5 puts the last bit of the half at the last bit of the float.
  if (magnitude < 0x38800000u) return static_cast<uint16_t>(sign | (BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u));
  return static_cast<uint16_t>(sign | ((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13));
}

TENON_INLINE void WidenF16(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < n; ++i) y[i] = WidenHalf(x[i]);
}

TENON_INLINE void NarrowF16(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  for (; i < n; ++i) y[i] = NarrowHalf(x[i]);
}

void Widen(NumberFormat from, const void* x, float* y, int64_t n) {
  if (from == NumberFormat::kBF16)
    Copy(static_cast<const Bf16*>(x), y, n);
  else if (from == NumberFormat::kF16)
    WidenF16(static_cast<const uint16_t*>(x), y, n);
  else
    __builtin_memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
}

void Narrow(NumberFormat to, const float* x, void* y, int64_t n) {
  if (to == NumberFormat::kBF16)
    Copy(x, static_cast<Bf16*>(y), n);
  else if (to == NumberFormat::kF16)
    NarrowF16(x, static_cast<uint16_t*>(y), n);
  else
    __builtin_memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
}

TENON_INLINE int64_t SizeOf(NumberFormat format) { return format == NumberFormat::kF32 ? 4 : 2; }

void ConvertRange(const ConvertArgs& args, Range range) {
  const char* x = static_cast<const char*>(args.x) + range.begin * SizeOf(args.from);
  char* y = static_cast<char*>(args.y) + range.begin * SizeOf(args.to);
  const int64_t count = range.end - range.begin;
  if (args.to == NumberFormat::kF32) return Widen(args.from, x, reinterpret_cast<float*>(y), count);
  if (args.from == NumberFormat::kF32) return Narrow(args.to, reinterpret_cast<const float*>(x), y, count);
  float wide[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = Min(kBlock, count - i);
    Widen(args.from, x + i * 2, wide, n);
    Narrow(args.to, wide, y + i * 2, n);
  }
}

}  // namespace

void Convert(const ConvertArgs& args, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(args.count, 64), static_cast<double>(args.count) * 0.1);
  ForEach(pool, pieces, [&](int64_t i) { ConvertRange(args, Piece(args.count, pieces, i, 64)); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
