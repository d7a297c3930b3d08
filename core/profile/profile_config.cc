#include "core/profile/profile_config.h"

#include "core/config/fields.h"

namespace tenon {
namespace {

void CheckWindow(const ConfigNode& node, ProfileConfig& config, ConfigReader& reader) {
  if (!config.last_step || *config.last_step >= config.first_step) return;
  reader.Fail(node.Find("last_step")->place(), "'{}' ({}) comes before '{}' ({}).", reader.PathTo("last_step"),
              *config.last_step, reader.PathTo("first_step"), config.first_step);
}

}  // namespace

const ConfigTable& ConfigTableOf(const ProfileConfig*) {
  using T = ProfileConfig;
  static const ConfigTable table = Table<T>(
      "What `tenon train --profile FILE` records. Without that flag nothing is.",
      {
          Field("first_step", &T::first_step, AtLeast(0),
                "first step recorded, counted from 1 over the run; 0: from the start, compilation included"),
          Field("last_step", &T::last_step, AtLeast(1), "last step recorded; absent: all to the end of the run"),
          Field("limit_mb", &T::limit_mb, Between(1, 65536),
                "memory for records; what comes when it is full is counted as dropped"),
      },
      CheckWindow);
  return table;
}

}  // namespace tenon
