#include "plugins/device_cpu/compute/gather.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/random_words.h"

namespace tenon::cpu::TENON_CPU_ISA {

void Dropout(const DropoutArgs& a, const Parallel& pool) {
  const uint64_t limit = DropLimit(a.ratio);
  const float scale = static_cast<float>(1.0 / (1.0 - a.ratio));
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, kWordsAtOnce), 1.0 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t p) {
    const Range part = Piece(a.count, pieces, p, kWordsAtOnce);
    alignas(64) uint32_t words[kWordsAtOnce];
    for (int64_t i = part.begin; i < part.end; i += kWordsAtOnce) {
      RandomWords(a.key, a.offset, static_cast<uint64_t>(i), words);
      const int64_t count = Min(kWordsAtOnce, part.end - i);
      for (int64_t j = 0; j < count; ++j) {
        const bool keep = words[j] >= limit;
        a.y[i + j] = keep ? a.x[i + j] * scale : 0.0f;
        if (a.kept != nullptr) a.kept[i + j] = keep ? 1 : 0;
      }
    }
  });
}

void DropoutGrad(const DropoutGradArgs& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), 0.3 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t p) {
    const Range part = Piece(a.count, pieces, p, 64);
    int64_t i = part.begin;
    for (; i + kLanes <= part.end; i += kLanes)
      Store(a.dx + i, KeepWhere(LoadBytes(a.kept + i) != 0, Load(a.dy + i) * Set(a.scale)));
    for (; i < part.end; ++i) a.dx[i] = a.kept[i] != 0 ? a.dy[i] * a.scale : 0.0f;
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
