#include "plugins/device_cpu/compute/routines.h"

#include <cpuid.h>

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/compute/gemm_int8.h"
#include "plugins/device_cpu/compute/tile_permission.h"

namespace tenon::cpu {

namespace sse2 {
extern const Routines kRoutines;
extern const Int8Routines kInt8Routines;
}  // namespace sse2
namespace avx2 {
extern const Routines kRoutines;
extern const Int8Routines kInt8Routines;
}  // namespace avx2
namespace avx512 {
extern const Routines kRoutines;
extern const Int8Routines kInt8Routines;
}  // namespace avx512
namespace avx_vnni {
extern const Int8Routines kInt8Routines;
}
namespace avx512_vnni {
extern const Int8Routines kInt8Routines;
}

namespace avx512_bf16 {
extern const Bf16Routines kBf16Routines;
}
namespace avx512_amx {
extern const Bf16Products kTileProducts;
extern const TileMultiplier kTileMultiplier;
}  // namespace avx512_amx

namespace {

// x86-64-v3 and -v4, as the compiler flags of the two tables.
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool HasAvx512Bf16() {
  __builtin_cpu_init();
  return HasAvx512() && __builtin_cpu_supports("avx512bf16");
}

// The table of AVX-512, with what this processor multiplies as bf16.
const Routines* Avx512Routines() {
  static const Routines routines = [] {
    Routines all = avx512::kRoutines;
    if (const Bf16Routines* bf16 = FindBf16Routines()) {
      all.bf16.attention_workspace = bf16->attention_workspace;
      all.bf16.attention = bf16->attention;
      all.bf16.attention_grad_workspace = bf16->attention_grad_workspace;
      all.bf16.attention_grad = bf16->attention_grad;
      all.bf16.winograd_forward_workspace = bf16->winograd_forward_workspace;
      all.bf16.winograd_forward = bf16->winograd_forward;
      all.bf16.winograd_weights_workspace = bf16->winograd_weights_workspace;
      all.bf16.winograd_weights = bf16->winograd_weights;
    }
    return all;
  }();
  return &routines;
}

// The compiler's own test knows AVX-VNNI from version 13 on: leaf 7, subleaf 1, bit 4 of eax.
bool HasAvxVnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return HasAvx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}

}  // namespace

const Routines* FindRoutines(std::string_view isa) {
  __builtin_cpu_init();
  const bool any = isa.empty() || isa == "auto";
  if ((any || isa == "avx512") && HasAvx512()) return Avx512Routines();
  if ((any || isa == "avx2") && HasAvx2()) return &avx2::kRoutines;
  if (any || isa == "sse2") return &sse2::kRoutines;
  return nullptr;
}

bool MultipliesInTiles() {
  static const bool tiles = HasAvx512Bf16() && MayUseTiles() &&
                            GiveSameProducts(avx512_bf16::kBf16Routines.products, avx512_amx::kTileProducts) &&
                            MultipliesExactly(avx512_amx::kTileMultiplier);
  return tiles;
}

const TileMultiplier* FindTileMultiplier() { return MultipliesInTiles() ? &avx512_amx::kTileMultiplier : nullptr; }

const Bf16Routines* FindBf16Routines() {
  if (!HasAvx512Bf16()) return nullptr;
  static const Bf16Routines routines = [] {
    Bf16Routines all = avx512_bf16::kBf16Routines;
    if (MultipliesInTiles()) all.products = avx512_amx::kTileProducts;
    return all;
  }();
  return &routines;
}

const Int8Routines* FindInt8Routines(std::string_view isa) {
  const Routines* routines = FindRoutines(isa);
  if (routines == nullptr) return nullptr;
  if (routines->lanes == 16)
    return __builtin_cpu_supports("avx512vnni") ? &avx512_vnni::kInt8Routines : &avx512::kInt8Routines;
  if (routines->lanes == 8) return HasAvxVnni() ? &avx_vnni::kInt8Routines : &avx2::kInt8Routines;
  return &sse2::kInt8Routines;
}

}  // namespace tenon::cpu
