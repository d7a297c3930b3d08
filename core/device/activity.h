#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/platform/process.h"

namespace tenon {

// What the host spends time on while a run is profiled. Filled by whoever does the work (copies here, nodes in core/exec,
// the rest in core/train), read by core/profile. There is a log only while a run is profiled.
enum class ActivityKind : std::uint8_t {
  kStep,
  kEvaluation,
  kCheckpoint,
  kCompile,
  kDataWait,  // for the next batch
  kCopyToDevice,
  kCopyToHost,
  kCopyOnDevice,
  kDeviceWait,   // for the end of what was enqueued
  kForwardPass,  // around nodes; found when a profile is put together, not logged
  kBackwardPass,
  kUpdatePass,
  // Nodes, by what they are part of. Each has an ActivityInfo of its own; the kinds above have one each.
  kForward,
  kBackward,
  kUpdate,
  kEvaluate,
};
inline constexpr std::size_t kPlainActivities = static_cast<std::size_t>(ActivityKind::kForward);
inline bool IsNode(ActivityKind kind) { return kind >= ActivityKind::kForward; }

// What all activities of one name share.
struct ActivityInfo {
  ActivityKind kind = ActivityKind::kStep;
  std::string name;        // of the node, or what is done
  std::string op;          // nodes: operator with its domain
  std::string kernel;      // nodes: "device_cpu.so/conv_direct", "reference", "reorder"
  std::int64_t bytes = 0;  // nodes: of all operands
};

struct Activity {
  std::uint32_t info = 0;
  std::uint32_t reserved = 0;
  std::int64_t step = 0;                  // from 1; 0: none
  std::int64_t bytes = 0;                 // copies
  std::uint64_t correlation = 0;          // of the call into a plugin that it made; 0: none
  std::int64_t start_ns = 0, end_ns = 0;  // MonotonicRawNs
};

// One thread. Memory is bounded: what does not fit is counted.
class ActivityLog {
 public:
  explicit ActivityLog(std::int64_t limit_bytes);
  // Differs from that of every other log of the process; never 0.
  std::uint64_t serial() const { return serial_; }

  // The number of a node's info.
  std::uint32_t Define(ActivityInfo info);
  const ActivityInfo& info(std::uint32_t id) const { return infos_[id]; }
  std::uint32_t info_count() const { return static_cast<std::uint32_t>(infos_.size()); }
  static std::uint32_t IdOf(ActivityKind plain) { return static_cast<std::uint32_t>(plain); }

  // Ids are consecutive, from 1.
  std::uint64_t NextCorrelation() { return ++correlation_; }
  // Of what is added from now on.
  void set_step(std::int64_t step) { step_ = step; }

  void Add(std::uint32_t info, std::uint64_t correlation, std::int64_t start_ns, std::int64_t end_ns,
           std::int64_t bytes = 0) {
    if (at_ == end_ && !Grow()) [[unlikely]] {
      ++dropped_;
      return;
    }
    *at_++ = {info, 0, step_, bytes, correlation, start_ns, end_ns};
  }

  // In the order in which they ended.
  std::vector<Activity> Activities() const;
  std::int64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kBlock = 1024;
  bool Grow();

  const std::uint64_t serial_;
  std::int64_t limit_bytes_;
  std::vector<ActivityInfo> infos_;
  std::vector<std::unique_ptr<Activity[]>> blocks_;
  Activity* at_ = nullptr;
  Activity* end_ = nullptr;
  std::uint64_t correlation_ = 0;
  std::int64_t step_ = 0, dropped_ = 0;
};

// The time from here to the end of the block as one activity; nothing without a log.
class ActivityScope {
 public:
  ActivityScope(ActivityLog* log, ActivityKind plain, std::uint64_t correlation = 0, std::int64_t bytes = 0)
      : ActivityScope(log, ActivityLog::IdOf(plain), correlation, bytes) {}
  ActivityScope(ActivityLog* log, std::uint32_t info, std::uint64_t correlation, std::int64_t bytes = 0)
      : log_(log), info_(info), correlation_(correlation), bytes_(bytes) {
    if (log_ != nullptr) start_ns_ = MonotonicRawNs();
  }
  ~ActivityScope() {
    if (log_ != nullptr) log_->Add(info_, correlation_, start_ns_, MonotonicRawNs(), bytes_);
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  ActivityLog* log_;
  std::uint32_t info_;
  std::uint64_t correlation_;
  std::int64_t bytes_;
  std::int64_t start_ns_ = 0;
};

}  // namespace tenon
