#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "core/plugin/host_handles.h"

namespace tenon::testing_support {

// A key-value store for ranks that are threads.
class MemoryStore final : public KeyValueStore {
 public:
  Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto there = [&] { return values_.find(key) != values_.end(); };
    if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), there))
      return Error(timeout_ns == 0 ? Code::kNotFound : Code::kDeadlineExceeded, "There is no key '{}'.", key);
    return values_.find(key)->second;
  }
  Status Put(std::string_view key, std::string_view value) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_[std::string(key)] = std::string(value);
    changed_.notify_all();
    return {};
  }
  Status Delete(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.erase(std::string(key)) > 0 ? Status() : Error(Code::kNotFound, "There is no key '{}'.", key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace tenon::testing_support
