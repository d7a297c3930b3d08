// Reductions over ranks and copies, compiled once per instruction set. Elements are combined in the order of `sources`, so the
// same inputs give the same bits whoever computes them.
#pragma once

#include <cstdint>

namespace tenon::hccl {

// targets[*][i] = (sources[0][i] o sources[1][i] o ...) / divisor * factor for i < count. A target may be one of the sources,
// else they do not overlap.
struct Fold {
  uint32_t dtype = 0;      // tenon_dtype
  uint32_t reduction = 0;  // tenon_reduction; an average is a sum with a divisor
  uint32_t divisor = 1;
  double factor = 1;
  const char* const* sources = nullptr;
  uint32_t source_count = 0;
  char* const* targets = nullptr;
  uint32_t target_count = 0;
  uint64_t count = 0;
  uint32_t stream = 0;  // bit t: target t (below 32) is written past the caches
};

struct Routines {
  void (*fold)(const Fold& fold);
  // Ranges do not overlap. `stream`: write past the caches.
  void (*copy)(char* to, const char* from, uint64_t bytes, bool stream);
};

// For this processor; TENON_HCCL_ISA=sse2|avx2|avx512 asks for less than it has.
const Routines& BestRoutines();

// Is there a reduction of this dtype?
bool Reduces(uint32_t dtype);

}  // namespace tenon::hccl
