// Dropout and its gradient. Ratio and mode may be computed: they are read on the device.
#include <cstring>

#include "kernels/map.h"
#include "kernels/philox.h"

namespace tenon::npu {
namespace {

// Inputs `first` (ratio) and `first + 1` (training mode), as they lie on the device.
struct ModeReader {
  uint32_t first;
  uint32_t dtype;

  // 0 when nothing is dropped.
  double Ratio(const Operands& o) const {
    const bool training = o.has_in(first + 1) && *o.in<uint8_t>(first + 1) != 0;
    if (!training) return 0;
    if (!o.has_in(first)) return 0.5;
    const double ratio =
        dtype == TENON_DTYPE_F64
            ? *o.in<double>(first)
            : static_cast<double>(ForFloat(dtype, [&](auto type) { return Widen(*o.in<decltype(type)>(first)); }));
    if (!(ratio >= 0 && ratio < 1)) {
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Dropout ratio (", ratio, ") is outside [0, 1).");
    }
    return ratio;
  }
};

ModeReader ReaderOf(const Request& request, uint32_t first) {
  uint32_t dtype = TENON_DTYPE_F32;
  if (request.has_input(first)) {
    dtype = request.input(first).dtype();
    if (dtype != TENON_DTYPE_F64) request.RequireFloat(first);
  }
  return {first, dtype};
}

Work MakeDropout(const Request& request) {
  request.RequireFloat(0);
  const ModeReader mode = ReaderOf(request, 1);
  const int64_t count = request.input(0).elements();
  const bool seeded = request.attributes().Has("seed");
  const auto seed = static_cast<uint64_t>(request.attributes().Int("seed", 0));
  Work work;
  work.cost = {0, 8 * static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T* x = o.in<T>(0);
      T* y = o.out<T>(0);
      uint8_t* mask = o.has_out(1) ? o.out<uint8_t>(1) : nullptr;
      const double ratio = mode.Ratio(o);
      const uint64_t limit = DropLimit(ratio), key = seeded ? seed : o.rng_key();
      const auto scale = static_cast<float>(1.0 / (1.0 - ratio));
      if (ratio == 0) {
        std::memmove(y, x, static_cast<size_t>(count) * sizeof(T));
        if (mask != nullptr) std::memset(mask, 1, static_cast<size_t>(count));
        return;
      }
      o.Each((count + 3) / 4, kGrain / 16, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          const auto words = PhiloxBlock(key, o.rng_offset(), static_cast<uint64_t>(block));
          for (int64_t i = 4 * block; i < std::min(4 * block + 4, count); ++i) {
            const bool keep = words[static_cast<size_t>(i % 4)] >= limit;
            y[i] = Narrow<T>(keep ? Widen(x[i]) * scale : 0.0f);
            if (mask != nullptr) mask[i] = keep;
          }
        }
      });
    };
  });
  return work;
}

Work MakeDropoutGrad(const Request& request) {
  request.RequireFloat(0);
  const ModeReader mode = ReaderOf(request, 2);
  const int64_t count = request.input(0).elements();
  Work work;
  work.cost = {0, static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T* dy = o.in<T>(0);
      const uint8_t* mask = o.in<uint8_t>(1);
      T* dx = o.out<T>(0);
      const auto scale = static_cast<float>(1.0 / (1.0 - mode.Ratio(o)));
      for (int64_t i = 0; i < count; ++i) dx[i] = Narrow<T>(mask[i] != 0 ? Widen(dy[i]) * scale : 0.0f);
    };
  });
  return work;
}

}  // namespace

void AddDropout(EntryList& entries) {
  entries.push_back({"", "Dropout", "vector_dropout", MakeDropout, nullptr, TENON_TRAIT_RANDOM, 12});
  entries.push_back({"tenon", "DropoutGrad", "vector_dropout", MakeDropoutGrad});
}

}  // namespace tenon::npu
