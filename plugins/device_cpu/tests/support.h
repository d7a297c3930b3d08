// What the tests of the routines share: random numbers, every table that runs here, a pool of real threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "plugins/device_cpu/compute/routines.h"

namespace tenon::cpu {

namespace wide {
extern const Routines kRoutines;
}
namespace avx512 {
extern const Routines kRoutines;
}

// All tables that this processor can run, the 16-lane logic included, and that of AVX-512 also without instructions for bf16.
inline std::vector<const Routines*> AllRoutines() {
  std::vector<const Routines*> all;
  for (const char* isa : {"sse2", "avx2", "avx512"})
    if (const Routines* r = FindRoutines(isa)) all.push_back(r);
  if (FindRoutines("avx512") != nullptr) all.push_back(&avx512::kRoutines);
  if (FindRoutines("avx2") != nullptr) all.push_back(&wide::kRoutines);
  return all;
}

// Exactly `count` elements on the heap, so that AddressSanitizer sees every step beyond them.
template <class T = float>
class Array {
 public:
  explicit Array(int64_t count, T value = T{}) : data_(new T[static_cast<size_t>(count)]), count_(count) {
    for (int64_t i = 0; i < count; ++i) data_[static_cast<size_t>(i)] = value;
  }
  T* get() { return data_.get(); }
  const T* get() const { return data_.get(); }
  T& operator[](int64_t i) { return data_[static_cast<size_t>(i)]; }
  const T& operator[](int64_t i) const { return data_[static_cast<size_t>(i)]; }
  int64_t size() const { return count_; }

 private:
  std::unique_ptr<T[]> data_;
  int64_t count_;
};

inline Array<float> Random(int64_t count, unsigned seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  Array<float> out(count);
  for (int64_t i = 0; i < count; ++i) out[i] = uniform(generator);
  return out;
}

// Rounded to nearest even, one number at a time.
inline Array<Bf16> Rounded(const Array<float>& x) {
  Array<Bf16> out(x.size());
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(x[i]);
    out[i].bits =
        static_cast<uint16_t>(std::isnan(x[i]) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  return out;
}
inline Array<float> Widened(const Array<Bf16>& x) {
  Array<float> out(x.size());
  for (int64_t i = 0; i < x.size(); ++i) out[i] = std::bit_cast<float>(uint32_t{x[i].bits} << 16);
  return out;
}

// Numbers of T, float or bf16, and what they stand for.
template <class T>
Array<T> As(const Array<float>& x) {
  if constexpr (std::is_same_v<T, float>) {
    Array<float> copy(x.size());
    for (int64_t i = 0; i < x.size(); ++i) copy[i] = x[i];
    return copy;
  } else {
    return Rounded(x);
  }
}
inline Array<float> Floats(const Array<float>& x) { return As<float>(x); }
inline Array<float> Floats(const Array<Bf16>& x) { return Widened(x); }

// 64-byte aligned bytes for a workspace.
class Workspace {
 public:
  explicit Workspace(int64_t bytes)
      : data_(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(bytes / 64 * 64 + 64)))) {}
  ~Workspace() { std::free(data_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  float* get() { return data_; }

 private:
  float* data_;
};

// A pool that starts its threads anew for each call: slow and simple.
inline Parallel Threads(int64_t count) {
  Parallel pool;
  pool.threads = count;
  if (count > 1) {
    pool.run = [](void*, int64_t n, Parallel::Body body, void* user) {
      std::vector<std::thread> threads;
      for (int64_t i = 0; i < n; ++i) threads.emplace_back([=] { body(user, i); });
      for (std::thread& t : threads) t.join();
    };
  }
  return pool;
}

}  // namespace tenon::cpu
