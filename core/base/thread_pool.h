#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace tenon {

// A fixed number of threads that share loops. The thread that asks takes part, so `threads` = 1 has no worker: loops
// run in place and no lock is taken.
//
// How a range is cut depends only on its length, the grain and the number of threads, never on timing; which thread
// runs a part does. Results that depend on the cut alone are therefore the same in every run.
class ThreadPool {
 public:
  // `part` counts from 0 and is below threads(). Must not throw.
  using RangeFn = void (*)(void* user, std::int64_t begin, std::int64_t end, std::int32_t part);
  using TaskFn = void (*)(void* user);

  // `threads`: at least 1. `spin_us`: how long an idle worker looks for work before it sleeps in the kernel.
  explicit ThreadPool(int threads, int spin_us = 40);
  ~ThreadPool();  // runs what was submitted, then joins
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Number of parts a range is cut into: at most `limit` threads (0 = all), no part shorter than `grain`.
  int Parts(std::int64_t count, std::int64_t grain, int limit = 0) const;

  // Runs `fn` over [0, count), cut into Parts() contiguous parts, and returns when all are done. Any thread; from inside
  // a part, and while another thread's loop is running, all parts run in the calling thread.
  void ParallelFor(std::int64_t count, std::int64_t grain, RangeFn fn, void* user, int limit = 0) noexcept;

  // The same for a callable (begin, end, part) that lives on the caller's stack; no allocation.
  template <class F>
  void For(std::int64_t count, std::int64_t grain, F&& body, int limit = 0) noexcept {
    ParallelFor(
        count, grain,
        [](void* user, std::int64_t begin, std::int64_t end, std::int32_t part) {
          (*static_cast<std::remove_reference_t<F>*>(user))(begin, end, part);
        },
        const_cast<void*>(static_cast<const void*>(&body)), limit);
  }

  // Runs `fn` once on some worker. Without workers it runs before Submit returns. Any thread. False when the pool is
  // being destroyed or memory is short; then `fn` has not run and will not.
  bool Submit(TaskFn fn, void* user) noexcept;

 private:
  struct Task {
    TaskFn fn;
    void* user;
  };

  void Work();
  bool RunParts() noexcept;
  bool RunTask() noexcept;
  void RunPart(int part) noexcept;
  void Wake(bool all) noexcept;

  const int threads_;
  const int spin_us_;

  // The loop being run. Written by the owner of `busy_` before `ticket_` is published.
  RangeFn fn_ = nullptr;
  void* user_ = nullptr;
  std::int64_t count_ = 0;
  int parts_ = 0;

  alignas(64) std::atomic<std::uint64_t> ticket_{0};  // loop number << 32 | parts << 16 | next part
  alignas(64) std::atomic<int> done_{0};              // parts finished
  alignas(64) std::atomic<std::uint32_t> epoch_{0};   // changes whenever there is something to look for
  std::atomic<int> sleepers_{0};
  std::atomic<int> queued_{0};
  std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // guards tasks_
  std::deque<Task> tasks_;
  std::vector<std::thread> workers_;
};

}  // namespace tenon
