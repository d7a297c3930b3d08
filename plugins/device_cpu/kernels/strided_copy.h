// Copies between a dense tensor and a strided view of another one: slices, repetitions, and their way back. Bound by
// memory, hence one form for all instruction sets.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// StridedCopy: y[i0][i1].. = x[i0 * strides[0] + i1 * strides[1] + ..], y dense row-major; strides may be 0 (repeated) or
// negative. StridedStore is the way back: y[i0 * strides[0] + ..] = x[i0][i1].., x dense. Strides count elements. No
// overlap of x and y.
struct StridedCopyArgs {
  static constexpr int kMaxRank = 16;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  int64_t element_bytes = 4;  // 1, 2, 4 or 8
  const void* x = nullptr;
  void* y = nullptr;
};

// Drops dims of 1 and merges neighbours that one stride walks; the same elements in the same order.
inline void Collapse(StridedCopyArgs& a) {
  int rank = 0;
  for (int d = 0; d < a.rank; ++d) {
    if (a.dims[d] == 1) continue;
    if (rank > 0 && a.strides[rank - 1] == a.strides[d] * a.dims[d]) {
      a.dims[rank - 1] *= a.dims[d];
    } else {
      a.dims[rank++] = a.dims[d];
    }
    a.strides[rank - 1] = a.strides[d];
  }
  a.rank = rank;
}

// out = condition ? x : y over dims, out dense row-major; strides as in BinaryArgs, those of the last dim are 0 or 1.
struct SelectArgs {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[3][kMaxRank] = {};  // condition, x, y
  int64_t element_bytes = 4;          // 1, 2, 4 or 8
  const uint8_t* condition = nullptr;
  const void* x = nullptr;
  const void* y = nullptr;
  void* out = nullptr;
};

// Calls fn with a value of the unsigned type of that many bytes.
template <class Fn>
auto OfBytes(int64_t bytes, Fn fn) {
  if (bytes == 1) return fn(uint8_t{});
  if (bytes == 2) return fn(uint16_t{});
  if (bytes == 4) return fn(uint32_t{});
  return fn(uint64_t{});
}

void StridedCopy(const StridedCopyArgs& args);
void StridedStore(const StridedCopyArgs& args);
void SelectElements(const SelectArgs& args);
void AddRun(const float* x, float* y, int64_t count);  // y[i] += x[i]

}  // namespace tenon::cpu
