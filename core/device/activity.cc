#include "core/device/activity.h"

#include <array>
#include <atomic>

namespace tenon {

namespace {

std::uint64_t NextSerial() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

}  // namespace

ActivityLog::ActivityLog(std::int64_t limit_bytes) : serial_(NextSerial()), limit_bytes_(limit_bytes) {
  static constexpr std::array<const char*, kPlainActivities> kNames = {
      "step",         "evaluation",     "checkpoint",  "compile", "data wait", "copy to device",
      "copy to host", "copy on device", "device wait", "forward", "backward",  "update"};
  for (std::size_t i = 0; i < kPlainActivities; ++i)
    infos_.push_back({static_cast<ActivityKind>(i), kNames[i], "", "", 0});
}

std::uint32_t ActivityLog::Define(ActivityInfo info) {
  infos_.push_back(std::move(info));
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

bool ActivityLog::Grow() {
  constexpr auto kBytes = static_cast<std::int64_t>(kBlock * sizeof(Activity));
  if (static_cast<std::int64_t>(blocks_.size() + 1) * kBytes > limit_bytes_) return false;
  blocks_.push_back(std::make_unique<Activity[]>(kBlock));
  at_ = blocks_.back().get();
  end_ = at_ + kBlock;
  return true;
}

std::vector<Activity> ActivityLog::Activities() const {
  std::vector<Activity> all;
  all.reserve(blocks_.size() * kBlock);
  for (const auto& block : blocks_) {
    const Activity* end = block == blocks_.back() ? at_ : block.get() + kBlock;
    all.insert(all.end(), static_cast<const Activity*>(block.get()), end);
  }
  return all;
}

}  // namespace tenon
