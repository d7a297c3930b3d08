// Which of several files of one plugin id is used: duplicates, and what plugins.pin says about them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/log.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_registry.h"

namespace tenon {

void PluginRegistry::ResolveDuplicates() {
  std::map<std::string, std::vector<Candidate*>> by_id;
  for (const auto& candidate : candidates_) {
    if (candidate->problem.ok()) by_id[candidate->check.note.id].push_back(candidate.get());
  }
  for (const auto& entry : by_id) {
    if (entry.second.size() > 1 || config_.pin.count(entry.first) > 0) ResolveSameId(entry.first, entry.second);
  }
}

void PluginRegistry::ResolveSameId(const std::string& id, const std::vector<Candidate*>& claims) {
  const auto choose = [&claims](Candidate* chosen, const std::string& why) {
    for (Candidate* claim : claims) {
      if (claim == chosen) continue;
      claim->skipped = fmt::format("{} is used instead: {}.", chosen->check.path, why);
      if (chosen->load_entry < 0) chosen->load_entry = claim->load_entry;
    }
  };
  const auto pin = config_.pin.find(id);
  if (pin != config_.pin.end()) {
    const Result<FileIdentity> identity = IdentityOf(pin->second);
    for (Candidate* claim : claims) {
      if (identity.ok() && claim->check.identity == *identity) return choose(claim, "plugins.pin names it");
    }
    for (Candidate* claim : claims) claim->skipped = fmt::format("plugins.pin names {} for {}.", pin->second, id);
    return;
  }
  Candidate* first = claims.front();
  const bool same_build =
      !first->check.build_id.empty() && std::all_of(claims.begin(), claims.end(), [first](const Candidate* claim) {
        return claim->check.build_id == first->check.build_id;
      });
  if (same_build) {
    TENON_LOG(kInfo, "plugin", "{} {} and {} are the same build of {}; the first is used.",
              PluginCode(PluginMessage::kSameFile), first->check.path, claims[1]->check.path, id);
    return choose(first, "it is the same build");
  }
  // A file named by its path in `load` is a choice; two of them are not.
  const auto named = [](const Candidate* claim) { return claim->check.origin == PluginOrigin::kLoadPath; };
  if (std::count_if(claims.begin(), claims.end(), named) == 1) {
    return choose(*std::find_if(claims.begin(), claims.end(), named), "plugins.load names its path");
  }
  std::string list;
  for (const Candidate* claim : claims) {
    list +=
        fmt::format("{}{} ({}, build {})", list.empty() ? "" : " and ", claim->check.path, claim->check.note.version,
                    claim->check.build_id.empty() ? "id unknown" : claim->check.build_id.substr(0, 12));
  }
  const Status problem = PluginError(
      PluginMessage::kSameId, "", "{} plugins claim id {}: {}. Remove one, or write plugins: {{pin: {{{}: {}}}}}.",
      claims.size() == 2 ? "two" : std::to_string(claims.size()), id, list, id, first->check.path);
  for (Candidate* claim : claims) claim->problem = problem;
}

Status PluginRegistry::CheckPins() {
  for (const auto& pin : config_.pin) {
    const auto file = std::find_if(candidates_.begin(), candidates_.end(), [&pin](const auto& candidate) {
      return candidate->check.path == pin.second ||
             (candidate->check.identity.inode != 0 && IdentityOf(pin.second).ok() &&
              candidate->check.identity == *IdentityOf(pin.second));
    });
    if (file == candidates_.end() || !(*file)->check.has_note) {
      const std::string reason = file == candidates_.end() ? "it was not found" : (*file)->problem.message();
      return PluginError(PluginMessage::kPinUnknown, "", "plugins.pin names {} for {}, which cannot be used: {}",
                         pin.second, pin.first, reason);
    }
    if ((*file)->check.note.id != pin.first) {
      return PluginError(PluginMessage::kPinOtherId, "", "plugins.pin names {} for {}, but its plugin id is {}.",
                         pin.second, pin.first, (*file)->check.note.id);
    }
  }
  return Status();
}

}  // namespace tenon
