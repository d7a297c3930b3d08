#include "core/train/run_profile.h"

#include <filesystem>

#include "core/base/log.h"
#include "core/platform/atomic_file.h"
#include "core/profile/chrome_trace.h"
#include "core/profile/operator_table.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

void Warn(RunSummary& summary, std::string text) {
  TENON_LOG(kWarning, "profile", "{}", text);
  summary.warnings.push_back(std::move(text));
}

// What is missing in the trace, and why.
void TellLosses(const profile::Timeline& timeline, const RunConfig& config, RunSummary& summary) {
  if (timeline.dropped > 0)
    Warn(summary, fmt::format("{} records of the profile were dropped: {} MB of records were full. "
                              "'profile.limit_mb' gives more room, 'profile.first_step' and 'last_step' record fewer.",
                              timeline.dropped, config.profile.limit_mb));
  if (timeline.unclocked > 0)
    Warn(summary, fmt::format("{} records of the profile have times that do not fit the run and are left out.",
                              timeline.unclocked));
  if (timeline.malformed > 0)
    Warn(summary,
         fmt::format("{} buffers of the profile came back broken or not at all and are left out.", timeline.malformed));
}

}  // namespace

bool RunProfile::InFolderOfRun() const {
  const fs::path file = fs::absolute(path_).lexically_normal();
  const fs::path folder = fs::absolute(config_.output.resolved).lexically_normal();
  const fs::path inside = file.lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

Status RunProfile::Check(bool folder_open) const {
  if (path_.empty() || (InFolderOfRun() && !folder_open)) return {};
  std::error_code ignored;
  TENON_INVALID_IF(fs::is_directory(path_, ignored), "--profile names a file to write, but '{}' is a folder.", path_);
  const auto file = AtomicFile::Create(path_);
  if (file.ok()) return {};
  return Status(Code::kInvalidArgument, file.status().message()).While("opening the file of --profile");
}

void RunProfile::Start(exec::Runtime& runtime) {
  started_ = true;
  if (!path_.empty() && config_.profile.first_step == 0) Record(runtime);
}

void RunProfile::Record(exec::Runtime& runtime) {
  session_ = std::make_unique<profile::Session>(runtime, config_.profile.limit_mb << 20);
  recording_ = true;
}

void RunProfile::BeginStep(exec::Runtime& runtime, std::int64_t step) {
  if (path_.empty()) return;
  const ProfileConfig& window = config_.profile;
  const bool wanted = step >= window.first_step && (!window.last_step || step <= *window.last_step);
  if (wanted && session_ == nullptr) Record(runtime);
  if (!recording_) return;
  session_->Calibrate();
  session_->log().set_step(step);
}

void RunProfile::EndStep(std::int64_t step) {
  if (!recording_) return;
  session_->log().set_step(0);
  if (config_.profile.last_step && step >= *config_.profile.last_step) End();
}

void RunProfile::End() {
  session_->Stop();
  recording_ = false;
}

std::vector<std::string> RunProfile::Finish(RunSummary& summary) {
  if (path_.empty() || !started_) return {};
  if (session_ == nullptr) {
    Warn(summary, "Nothing was profiled: no step of 'profile.first_step' and 'profile.last_step' was run.");
    return {};
  }
  End();
  const profile::Timeline timeline = session_->MakeTimeline();
  for (const std::string& warning : session_->warnings()) Warn(summary, warning);
  TellLosses(timeline, config_, summary);
  const Status written =
      profile::WriteChromeTrace(timeline, {config_.name, TENON_VERSION_STRING, config_.device}, path_);
  session_.reset();
  std::vector<std::string> lines = profile::Print(profile::MakeOperatorTable(timeline));
  if (!written.ok()) {
    Warn(summary, fmt::format("The profile was not written: {}", written.ToString()));
    return lines;
  }
  summary.profile = {path_, static_cast<std::int64_t>(timeline.events.size()), timeline.dropped};
  lines.push_back(fmt::format("profile: {} events in {} ({} dropped); Perfetto and chrome://tracing open it",
                              timeline.events.size(), path_, timeline.dropped));
  return lines;
}

}  // namespace tenon
