// Parts of operators that look at whole arrays.
#pragma once

#include "support/arrays.h"

namespace support {

// to = from, again from the start where from does not suffice. Absent arrays are left alone.
template <class T>
void Copy(const Array<T>& from, const Array<T>& to) {
  const int64_t size = from.size();
  for (int64_t i = 0, count = to.size(); i < count && size > 0; ++i) to[i] = from[i % size];
}

// The gradient of Copy: dfrom += dto.
template <class T>
void AddBack(const Array<T>& dto, const Array<T>& dfrom) {
  const int64_t size = dfrom.size();
  for (int64_t i = 0, count = dto.size(); i < count && size > 0; ++i) dfrom[i % size] += dto[i];
}

}  // namespace support
