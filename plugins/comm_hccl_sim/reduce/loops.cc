// The loops of reduce.h, in namespace TENON_HCCL_ISA.
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/float16.h"
#include "reduce/reduce.h"
#include "tenon/abi/collective.h"

namespace tenon::hccl::TENON_HCCL_ISA {
namespace {

constexpr uint64_t kBlock = 1024;  // elements that are combined at a time: they stay in the first cache

// ---- stores ----

#if defined(__AVX512F__)
constexpr uint64_t kVector = 64;
void StreamVector(char* to, const char* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
#elif defined(__AVX2__)
constexpr uint64_t kVector = 32;
void StreamVector(char* to, const char* from) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
#else
constexpr uint64_t kVector = 16;
void StreamVector(char* to, const char* from) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
#endif

void Put(char* to, const char* from, uint64_t bytes, bool stream) {
  if (!stream || bytes < 2 * kVector) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  const uint64_t head = (kVector - reinterpret_cast<uintptr_t>(to) % kVector) % kVector;
  if (head > 0) std::memcpy(to, from, head);
  uint64_t i = head;
  for (; i + kVector <= bytes; i += kVector) StreamVector(to + i, from + i);
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
}

// ---- values as they are combined ----

template <typename T>
struct WideOf {
  using Type = T;
};
template <>
struct WideOf<Half> {
  using Type = float;
};
template <>
struct WideOf<Brain> {
  using Type = float;
};

void Widen(const Brain* from, uint64_t count, float* to) {
#pragma omp simd
  for (uint64_t i = 0; i < count; ++i) to[i] = from[i].ToFloat();
}
void Narrow(const float* from, uint64_t count, Brain* to) {
#pragma omp simd
  for (uint64_t i = 0; i < count; ++i) to[i] = Brain::From(from[i]);
}
void Widen(const Half* from, uint64_t count, float* to) {
  uint64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < count; ++i) to[i] = from[i].ToFloat();
}
void Narrow(const float* from, uint64_t count, Half* to) {
  uint64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) to[i] = Half::From(from[i]);
}

// Where the values can be read wide: in place, or in `room`.
template <typename T>
const typename WideOf<T>::Type* View(const char* from, uint64_t count, typename WideOf<T>::Type* room) {
  const T* typed = reinterpret_cast<const T*>(from);
  if constexpr (std::is_same_v<T, typename WideOf<T>::Type>) {
    return typed;
  } else {
    Widen(typed, count, room);
    return room;
  }
}

// ---- combining ----

// Integers wrap around; no promotion may overflow on the way.
template <typename V>
using Modular = std::conditional_t<(sizeof(V) < 4), uint32_t, std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>>;

struct Sum {
  template <typename V>
  static V Of(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<Modular<V>>(a) + static_cast<Modular<V>>(b));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <typename V>
  static V Of(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<Modular<V>>(a) * static_cast<Modular<V>>(b));
    } else {
      return a * b;
    }
  }
};
// NaN of any rank stays.
struct Smallest {
  template <typename V>
  static V Of(V a, V b) {
    return (a < b || a != a) ? a : b;
  }
};
struct Largest {
  template <typename V>
  static V Of(V a, V b) {
    return (a > b || a != a) ? a : b;
  }
};

template <typename Op, typename V>
void Combine(const V* a, const V* b, uint64_t count, V* to) {
#pragma omp simd
  for (uint64_t i = 0; i < count; ++i) to[i] = Op::template Of<V>(a[i], b[i]);
}

template <typename V>
void Finish(const Fold& fold, V* values, uint64_t count) {
  if (fold.divisor > 1) {
    const V divisor = static_cast<V>(fold.divisor);
    for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<V>(values[i] / divisor);
  }
  if (fold.factor == 1) return;
  if constexpr (std::is_floating_point_v<V>) {
    const V factor = static_cast<V>(fold.factor);
    for (uint64_t i = 0; i < count; ++i) values[i] *= factor;
  } else {
    for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<V>(static_cast<double>(values[i]) * fold.factor);
  }
}

template <typename T, typename Op>
void FoldBlock(const Fold& fold, uint64_t at, uint64_t count) {
  using V = typename WideOf<T>::Type;
  alignas(64) V sum[kBlock];
  alignas(64) V room[kBlock];
  const uint64_t byte = at * sizeof(T);
  const V* result = View<T>(fold.sources[0] + byte, count, room);
  for (uint32_t source = 1; source < fold.source_count; ++source) {
    if (source == 1 && !std::is_same_v<T, V>) std::memcpy(sum, result, count * sizeof(V));
    const V* left = source == 1 && std::is_same_v<T, V> ? result : sum;
    Combine<Op>(left, View<T>(fold.sources[source] + byte, count, room), count, sum);
    result = sum;
  }
  if (fold.divisor > 1 || fold.factor != 1) {
    if (result != sum) std::memcpy(sum, result, count * sizeof(V));
    Finish(fold, sum, count);
    result = sum;
  }
  const char* bytes = reinterpret_cast<const char*>(result);
  if constexpr (!std::is_same_v<T, V>) {
    T* narrow = reinterpret_cast<T*>(sum);  // each element is read before its place is written
    alignas(64) T values[kBlock];
    Narrow(result, count, values);
    std::memcpy(narrow, values, count * sizeof(T));
    bytes = reinterpret_cast<const char*>(narrow);
  }
  for (uint32_t target = 0; target < fold.target_count; ++target) {
    char* to = fold.targets[target] + byte;
    if (to != bytes) Put(to, bytes, count * sizeof(T), target < 32 && (fold.stream >> target & 1u) != 0);
  }
}

// Two values, one target: without a block in between.
template <typename T, typename Op>
bool FoldPair(const Fold& fold) {
  if constexpr (!std::is_same_v<T, typename WideOf<T>::Type>) {
    return false;
  } else {
    if (fold.source_count != 2 || fold.target_count != 1 || fold.divisor > 1 || fold.factor != 1 || fold.stream != 0)
      return false;
    Combine<Op>(reinterpret_cast<const T*>(fold.sources[0]), reinterpret_cast<const T*>(fold.sources[1]), fold.count,
                reinterpret_cast<T*>(fold.targets[0]));
    return true;
  }
}

template <typename T, typename Op>
void FoldWith(const Fold& fold) {
  if (FoldPair<T, Op>(fold)) return;
  for (uint64_t at = 0; at < fold.count; at += kBlock) FoldBlock<T, Op>(fold, at, std::min(kBlock, fold.count - at));
}

template <typename T>
void FoldAs(const Fold& fold) {
  switch (fold.reduction) {
    case TENON_REDUCE_PROD:
      return FoldWith<T, Product>(fold);
    case TENON_REDUCE_MIN:
      return FoldWith<T, Smallest>(fold);
    case TENON_REDUCE_MAX:
      return FoldWith<T, Largest>(fold);
    default:
      return FoldWith<T, Sum>(fold);
  }
}

void FoldAny(const Fold& fold) {
  switch (fold.dtype) {
    case TENON_DTYPE_F64:
      FoldAs<double>(fold);
      break;
    case TENON_DTYPE_F16:
      FoldAs<Half>(fold);
      break;
    case TENON_DTYPE_BF16:
      FoldAs<Brain>(fold);
      break;
    case TENON_DTYPE_I8:
      FoldAs<int8_t>(fold);
      break;
    case TENON_DTYPE_U8:
      FoldAs<uint8_t>(fold);
      break;
    case TENON_DTYPE_I16:
      FoldAs<int16_t>(fold);
      break;
    case TENON_DTYPE_U16:
      FoldAs<uint16_t>(fold);
      break;
    case TENON_DTYPE_I32:
      FoldAs<int32_t>(fold);
      break;
    case TENON_DTYPE_U32:
      FoldAs<uint32_t>(fold);
      break;
    case TENON_DTYPE_I64:
      FoldAs<int64_t>(fold);
      break;
    case TENON_DTYPE_U64:
      FoldAs<uint64_t>(fold);
      break;
    default:
      FoldAs<float>(fold);
  }
  if (fold.stream != 0) _mm_sfence();
}

void Copy(char* to, const char* from, uint64_t bytes, bool stream) {
  Put(to, from, bytes, stream);
  if (stream) _mm_sfence();
}

}  // namespace

extern const Routines kRoutines;
const Routines kRoutines = {&FoldAny, &Copy};

}  // namespace tenon::hccl::TENON_HCCL_ISA
