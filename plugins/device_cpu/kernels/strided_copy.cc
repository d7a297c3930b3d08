#include "plugins/device_cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu {
namespace {

template <class T>
void CopyRun(const T* x, int64_t stride, T* y, int64_t count) {
  if (stride == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(y, count, *x);
  } else if (stride == -1) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[-i];
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
  }
}

// Elements that are copied on from y at a time: they stay in the nearest cache.
constexpr int64_t kMostRepeated = 4096;

// Fills the `elements` of y that belong to dims from `d` on. A repeated block is read once and copied on from y.
template <class T>
void CopyFrom(const StridedCopyArgs& a, int d, const T* x, T* y, int64_t elements) {
  if (d + 1 >= a.rank) return CopyRun(x, a.rank == 0 ? 0 : a.strides[d], y, elements);
  const int64_t count = a.dims[d], block = elements / count, stride = a.strides[d];
  if (stride != 0 && d + 2 == a.rank && a.strides[d + 1] == 1) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(y + i * block, x + i * stride, static_cast<size_t>(block) * sizeof(T));
    return;
  }
  if (stride != 0) {
    for (int64_t i = 0; i < count; ++i) CopyFrom(a, d + 1, x + i * stride, y + i * block, block);
    return;
  }
  CopyFrom(a, d + 1, x, y, block);
  const int64_t most = std::max<int64_t>(kMostRepeated / block, 1);
  for (int64_t done = 1; done < count;) {
    const int64_t more = std::min({done, count - done, most});
    std::memcpy(y + done * block, y, static_cast<size_t>(more * block) * sizeof(T));
    done += more;
  }
}

template <class T>
void CopyAll(const StridedCopyArgs& a) {
  int64_t elements = 1;
  for (int d = 0; d < a.rank; ++d) elements *= a.dims[d];
  if (elements > 0) CopyFrom(a, 0, static_cast<const T*>(a.x), static_cast<T*>(a.y), elements);
}

template <class T>
void StoreFrom(const StridedCopyArgs& a, int d, const T*& x, T* y) {
  if (d < a.rank - 1) {
    for (int64_t i = 0; i < a.dims[d]; ++i) StoreFrom(a, d + 1, x, y + i * a.strides[d]);
    return;
  }
  const int64_t count = a.rank == 0 ? 1 : a.dims[d], stride = a.rank == 0 ? 1 : a.strides[d];
  if (stride == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * stride] = x[i];
  }
  x += count;
}

template <class T, bool kX, bool kY>
void SelectRun(const uint8_t* c, const T* x, const T* y, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const T yes = x[kX ? i : 0], no = y[kY ? i : 0];
    out[i] = c[i] != 0 ? yes : no;
  }
}

template <class T>
void SelectRow(const SelectArgs& a, const uint8_t* c, const T* x, const T* y, T* out, int64_t count) {
  const int last = a.rank - 1;
  if (a.strides[0][last] == 0) {
    const bool yes = *c != 0;
    return CopyRun(yes ? x : y, a.strides[yes ? 1 : 2][last], out, count);
  }
  const bool whole_x = a.strides[1][last] != 0, whole_y = a.strides[2][last] != 0;
  if (whole_x && whole_y) return SelectRun<T, true, true>(c, x, y, out, count);
  if (whole_x) return SelectRun<T, true, false>(c, x, y, out, count);
  if (whole_y) return SelectRun<T, false, true>(c, x, y, out, count);
  SelectRun<T, false, false>(c, x, y, out, count);
}

template <class T>
void SelectFrom(const SelectArgs& a, int d, const uint8_t* c, const T* x, const T* y, T*& out) {
  if (d + 1 == a.rank) {
    SelectRow(a, c, x, y, out, a.dims[d]);
    out += a.dims[d];
    return;
  }
  for (int64_t i = 0; i < a.dims[d]; ++i)
    SelectFrom(a, d + 1, c + i * a.strides[0][d], x + i * a.strides[1][d], y + i * a.strides[2][d], out);
}

template <class T>
void SelectAll(const SelectArgs& a) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.dims[d] == 0) return;
  }
  T* out = static_cast<T*>(a.out);
  SelectFrom(a, 0, a.condition, static_cast<const T*>(a.x), static_cast<const T*>(a.y), out);
}

}  // namespace

void StridedCopy(const StridedCopyArgs& args) {
  OfBytes(args.element_bytes, [&](auto element) { CopyAll<decltype(element)>(args); });
}

void StridedStore(const StridedCopyArgs& args) {
  OfBytes(args.element_bytes, [&](auto element) {
    using T = decltype(element);
    const T* x = static_cast<const T*>(args.x);
    StoreFrom<T>(args, 0, x, static_cast<T*>(args.y));
  });
}

void AddRun(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void SelectElements(const SelectArgs& args) {
  OfBytes(args.element_bytes, [&](auto element) { SelectAll<decltype(element)>(args); });
}

}  // namespace tenon::cpu
