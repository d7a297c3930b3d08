#include <cstdlib>
#include <string_view>

#include "reduce/reduce.h"
#include "tenon/abi/types.h"

namespace tenon::hccl {

namespace sse2 {
extern const Routines kRoutines;
}
namespace avx2 {
extern const Routines kRoutines;
}
namespace avx512 {
extern const Routines kRoutines;
}

namespace {

const Routines& Choose() {
  const char* wish = std::getenv("TENON_HCCL_ISA");
  const std::string_view limit = wish == nullptr ? std::string_view("avx512") : std::string_view(wish);
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("avx512dq") != 0;
  if (has_avx512 && limit == "avx512") return avx512::kRoutines;
  if (has_avx2 && limit != "sse2") return avx2::kRoutines;
  return sse2::kRoutines;
}

}  // namespace

const Routines& BestRoutines() {
  static const Routines& best = Choose();
  return best;
}

bool Reduces(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_F32:
    case TENON_DTYPE_F64:
    case TENON_DTYPE_F16:
    case TENON_DTYPE_BF16:
    case TENON_DTYPE_I8:
    case TENON_DTYPE_U8:
    case TENON_DTYPE_I16:
    case TENON_DTYPE_U16:
    case TENON_DTYPE_I32:
    case TENON_DTYPE_U32:
    case TENON_DTYPE_I64:
    case TENON_DTYPE_U64:
      return true;
    default:
      return false;
  }
}

}  // namespace tenon::hccl
