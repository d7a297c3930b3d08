#include "core/data/resample_kernels.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon {

namespace {

std::uint8_t Rounded(std::int32_t sum, int shift) {
  return static_cast<std::uint8_t>(std::clamp((sum + (1 << shift >> 1)) >> shift, 0, 255));
}

void PlainRow(const std::uint8_t* pixels, const ResampleAxis& axis, std::uint8_t* out) {
  for (std::int64_t x = 0; x < axis.count(); ++x, out += 4) {
    const std::uint8_t* from = pixels + 4 * axis.start(x);
    const std::int16_t* weights = axis.weights(x);
    std::int32_t sums[4] = {};
    for (int k = 0; k < axis.taps(); ++k) {
      if (weights[k] == 0) continue;
      for (int c = 0; c < 4; ++c) sums[c] += weights[k] * from[4 * k + c];
    }
    for (int c = 0; c < 4; ++c) out[c] = Rounded(sums[c], axis.shift());
  }
}

void PlainColumn(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, int taps, int shift,
                 std::int64_t bytes, std::uint8_t* out) {
  for (std::int64_t x = 0; x < bytes; ++x) {
    std::int32_t sum = 0;
    for (int k = 0; k < taps; ++k) sum += weights[k] * rows[k * stride + x];
    out[x] = Rounded(sum, shift);
  }
}

void PlainPlanes(const std::uint8_t* pixels, std::int64_t count, const ColourScale& scale, bool mirrored,
                 float* const planes[3], int plane_count) {
  for (int c = 0; c < plane_count; ++c) {
    const float factor = scale.factor[c], offset = scale.offset[c];
    for (std::int64_t x = 0; x < count; ++x)
      planes[c][mirrored ? count - 1 - x : x] = static_cast<float>(pixels[4 * x + c]) * factor + offset;
  }
}

#if defined(__x86_64__)

#define TENON_AVX2 __attribute__((target("avx2")))

// Two source pixels at a time: their bytes become 16-bit pairs r0 r1 g0 g1 b0 b1 x0 x1, which are multiplied by w0 w1
// and added in one instruction.
TENON_AVX2 void Avx2Row(const std::uint8_t* pixels, const ResampleAxis& axis, std::uint8_t* out) {
  const __m128i pairs = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
  const __m128i half = _mm_set1_epi32(1 << axis.shift() >> 1);
  const __m128i shift = _mm_cvtsi32_si128(axis.shift());
  const int taps = axis.taps();
  for (std::int64_t x = 0; x < axis.count(); ++x, out += 4) {
    const std::uint8_t* from = pixels + 4 * axis.start(x);
    const std::int16_t* weights = axis.weights(x);
    __m128i sum = half;
    for (int k = 0; k < taps; k += 2) {
      std::int32_t both;
      std::memcpy(&both, weights + k, sizeof both);
      if (both == 0) break;
      const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 4 * k));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(two, pairs), _mm_set1_epi32(both)));
    }
    sum = _mm_sra_epi32(sum, shift);
    sum = _mm_packs_epi32(sum, sum);
    sum = _mm_packus_epi16(sum, sum);
    const std::int32_t pixel = _mm_cvtsi128_si32(sum);
    std::memcpy(out, &pixel, sizeof pixel);
  }
}

// 32 bytes at a time, two rows at a time, as above.
TENON_AVX2 void Avx2Column(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, int taps,
                           int shift, std::int64_t bytes, std::uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(1 << shift >> 1);
  const __m128i by = _mm_cvtsi32_si128(shift);
  const __m256i zero = _mm256_setzero_si256();
  std::int64_t x = 0;
  for (; x + 32 <= bytes; x += 32) {
    __m256i a = half, b = half, c = half, d = half;
    for (int k = 0; k < taps; k += 2) {
      std::int32_t both;
      std::memcpy(&both, weights + k, sizeof both);
      if (both == 0) break;
      const __m256i w = _mm256_set1_epi32(both);
      const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + k * stride + x));
      const __m256i lower = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + (k + 1) * stride + x));
      const __m256i low = _mm256_unpacklo_epi8(upper, lower), high = _mm256_unpackhi_epi8(upper, lower);
      a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
      b = _mm256_add_epi32(b, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
      c = _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
      d = _mm256_add_epi32(d, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
    }
    const __m256i ab = _mm256_packs_epi32(_mm256_sra_epi32(a, by), _mm256_sra_epi32(b, by));
    const __m256i cd = _mm256_packs_epi32(_mm256_sra_epi32(c, by), _mm256_sra_epi32(d, by));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), _mm256_packus_epi16(ab, cd));
  }
  if (x < bytes) PlainColumn(rows + x, stride, weights, taps, shift, bytes - x, out + x);
}

// Eight pixels at a time. A product and a sum, never one fused operation: the bits are those of the plain loop.
TENON_AVX2 void Avx2Planes(const std::uint8_t* pixels, std::int64_t count, const ColourScale& scale, bool mirrored,
                           float* const planes[3], int plane_count) {
  const __m256i byte = _mm256_set1_epi32(255);
  const __m256i backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  std::int64_t x = 0;
  for (; x + 8 <= count; x += 8) {
    __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixels + 4 * x));
    if (mirrored) eight = _mm256_permutevar8x32_epi32(eight, backwards);
    const std::int64_t at = mirrored ? count - 8 - x : x;
    for (int c = 0; c < plane_count; ++c) {
      const __m256 value = _mm256_cvtepi32_ps(_mm256_and_si256(eight, byte));
      const __m256 product = _mm256_mul_ps(value, _mm256_set1_ps(scale.factor[c]));
      _mm256_storeu_ps(planes[c] + at, _mm256_add_ps(product, _mm256_set1_ps(scale.offset[c])));
      eight = _mm256_srli_epi32(eight, 8);
    }
  }
  if (x == count) return;
  float* rest[3] = {};
  for (int c = 0; c < plane_count; ++c) rest[c] = mirrored ? planes[c] : planes[c] + x;
  PlainPlanes(pixels + 4 * x, count - x, scale, mirrored, rest, plane_count);
}

#endif

}  // namespace

const ResampleKernels& PlainResampleKernels() {
  static const ResampleKernels kernels{PlainRow, PlainColumn, PlainPlanes};
  return kernels;
}

const ResampleKernels& BestResampleKernels() {
#if defined(__x86_64__)
  static const ResampleKernels kernels =
      __builtin_cpu_supports("avx2") ? ResampleKernels{Avx2Row, Avx2Column, Avx2Planes} : PlainResampleKernels();
  return kernels;
#else
  return PlainResampleKernels();
#endif
}

}  // namespace tenon
