#include "core/base/thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon {

namespace {

// Set while a thread runs a part of a loop: an inner loop then runs in place.
thread_local bool t_inside_loop = false;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

std::int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Looks at `ready` for `spin_us` microseconds. True as soon as it says so.
template <class Ready>
bool Spin(int spin_us, const Ready& ready) {
  const std::int64_t until = NowUs() + spin_us;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      Pause();
    }
  } while (NowUs() < until);
  return false;
}

constexpr int kMaxParts = 0xffff;

std::int64_t Cut(std::int64_t count, int part, int parts) {
  const std::int64_t each = count / parts;
  const std::int64_t rest = count % parts;
  return each * part + std::min<std::int64_t>(part, rest);
}

}  // namespace

ThreadPool::ThreadPool(int threads, int spin_us) : threads_(std::clamp(threads, 1, kMaxParts)), spin_us_(spin_us) {
  workers_.reserve(static_cast<std::size_t>(threads_ - 1));
  for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  Wake(/*all=*/true);
  for (std::thread& worker : workers_) worker.join();
}

int ThreadPool::Parts(std::int64_t count, std::int64_t grain, int limit) const {
  if (count <= 0) return 0;
  const std::int64_t most = limit > 0 ? std::min(limit, threads_) : threads_;
  const std::int64_t shortest = std::max<std::int64_t>(grain, 1);
  return static_cast<int>(std::clamp<std::int64_t>(count / shortest, 1, most));
}

void ThreadPool::RunPart(int part) noexcept {
  fn_(user_, Cut(count_, part, parts_), Cut(count_, part + 1, parts_), part);
}

void ThreadPool::ParallelFor(std::int64_t count, std::int64_t grain, RangeFn fn, void* user, int limit) noexcept {
  const int parts = Parts(count, grain, limit);
  if (parts == 0) return;
  if (parts == 1) return fn(user, 0, count, 0);
  if (t_inside_loop || busy_.exchange(true, std::memory_order_acquire)) {
    for (int part = 0; part < parts; ++part) fn(user, Cut(count, part, parts), Cut(count, part + 1, parts), part);
    return;
  }
  fn_ = fn;
  user_ = user;
  count_ = count;
  parts_ = parts;
  done_.store(0, std::memory_order_relaxed);
  const std::uint64_t loop = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  // Part 0 is the caller's, so that a lone caller never finds itself without work.
  ticket_.store(loop << 32 | static_cast<std::uint64_t>(parts) << 16 | 1U, std::memory_order_release);
  Wake(/*all=*/true);
  t_inside_loop = true;
  RunPart(0);
  done_.fetch_add(1, std::memory_order_acq_rel);
  RunParts();
  t_inside_loop = false;
  const auto finished = [this, parts] { return done_.load(std::memory_order_acquire) == parts; };
  if (!Spin(spin_us_ * 4, finished)) {
    for (int done = done_.load(std::memory_order_acquire); done != parts;
         done = done_.load(std::memory_order_acquire)) {
      done_.wait(done, std::memory_order_acquire);
    }
  }
  busy_.store(false, std::memory_order_release);
}

// Takes parts of the current loop until none is left. The fields of the loop are read only while a part of it is held,
// so they cannot change meanwhile.
bool ThreadPool::RunParts() noexcept {
  bool any = false;
  for (;;) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    const std::uint64_t next = ticket & 0xffff;
    const std::uint64_t parts = (ticket >> 16) & 0xffff;
    if (next >= parts) return any;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    any = true;
    RunPart(static_cast<int>(next));
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<int>(parts)) done_.notify_one();
  }
}

bool ThreadPool::RunTask() noexcept {
  if (queued_.load(std::memory_order_acquire) == 0) return false;
  Task task{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (tasks_.empty()) return false;
    task = tasks_.front();
    tasks_.pop_front();
    queued_.fetch_sub(1, std::memory_order_relaxed);
  }
  task.fn(task.user);
  return true;
}

void ThreadPool::Wake(bool all) noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  if (all) {
    epoch_.notify_all();
  } else {
    epoch_.notify_one();
  }
}

void ThreadPool::Work() {
  for (;;) {
    const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
    t_inside_loop = true;
    const bool looped = RunParts();
    t_inside_loop = false;
    if (looped || RunTask()) continue;
    if (stop_.load(std::memory_order_acquire)) return;
    const auto changed = [this, epoch] { return epoch_.load(std::memory_order_acquire) != epoch; };
    if (Spin(spin_us_, changed)) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.wait(epoch, std::memory_order_seq_cst);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool ThreadPool::Submit(TaskFn fn, void* user) noexcept {
  if (stop_.load(std::memory_order_acquire)) return false;
  if (workers_.empty()) {
    fn(user);
    return true;
  }
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back({fn, user});
    queued_.fetch_add(1, std::memory_order_release);
  } catch (...) {
    return false;
  }
  Wake(/*all=*/false);
  return true;
}

}  // namespace tenon
