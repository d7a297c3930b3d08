#include "core/plugin/plugin_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/legacy_entries.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

PluginRegistry::PluginRegistry(Options options) : options_(std::move(options)) {}

PluginRegistry::~PluginRegistry() { Shutdown(); }

void PluginRegistry::Warn(std::string text) {
  if (std::find(warnings_.begin(), warnings_.end(), text) != warnings_.end()) return;
  TENON_LOG(kWarning, "plugin", "{}", text);
  warnings_.push_back(std::move(text));
}

void PluginRegistry::PrepareEnvironment() {
  // Libraries read these once, while they are loaded. Active waiting of an OpenMP runtime beside one busy process makes
  // small primitives hundreds of times slower.
  SetEnvDefault("OMP_WAIT_POLICY", "passive");
  const int threads = options_.host.pool == nullptr ? 1 : options_.host.pool->threads();
  SetEnvDefault("OMP_NUM_THREADS", std::to_string(threads));
}

Status PluginRegistry::Find(const PluginsConfig& config) {
  TENON_ASSIGN(config_, WithLegacyAdapter(config));
  TENON_TRY(StartAbiTraceFromEnv());
  PrepareEnvironment();
  TENON_ASSIGN(search_, SearchPlugins(config_, options_.search));
  CheckFiles();
  ResolveDuplicates();
  return CheckPins();
}

Status PluginRegistry::Load(const PluginsConfig& config) {
  TENON_TRY(Find(config));
  TENON_TRY(LoadEntries());
  WarnAboutFiles();
  return Status();
}

void PluginRegistry::CheckFiles() {
  for (const PluginFile& file : search_.files) {
    auto candidate = std::make_unique<Candidate>();
    candidate->check = PrecheckPlugin(file, config_.trust);
    candidate->problem = candidate->check.status;
    for (const std::string& alias : file.aliases) {
      TENON_LOG(kInfo, "plugin", "{} {} and {} are the same file; it is used once.",
                PluginCode(PluginMessage::kSameFile), file.path, alias);
    }
    candidates_.push_back(std::move(candidate));
  }
  for (std::size_t i = 0; i < search_.load_files.size(); ++i) {
    const int file = search_.load_files[i];
    if (file >= 0 && candidates_[static_cast<std::size_t>(file)]->load_entry < 0) {
      candidates_[static_cast<std::size_t>(file)]->load_entry = static_cast<int>(i);
    }
  }
}

void PluginRegistry::WarnAboutFiles() {
  for (const SearchedFolder& folder : search_.folders) {
    if (!folder.problem.empty() && folder.origin != PluginOrigin::kDefaultFolder) {
      Warn(fmt::format("{} {} names the folder {}, which cannot be read: {}.",
                       PluginCode(PluginMessage::kFolderUnreadable), PluginOriginName(folder.origin), folder.path,
                       folder.problem));
    }
  }
  if (candidates_.empty()) {
    TENON_LOG(kInfo, "plugin", "{} No plugin was found. Searched: {}.", PluginCode(PluginMessage::kNothingFound),
              search_.DescribeFolders());
  }
  for (const auto& candidate : candidates_) {
    for (const std::string& warning : candidate->check.warnings) Warn(warning);
    if (!candidate->problem.ok()) {
      if (PluginMessageOf(candidate->problem.message()) == PluginMessage::kNoNote && candidate->load_entry < 0) {
        TENON_LOG(kInfo, "plugin", "{}", candidate->problem.message());
      } else {
        Warn(candidate->problem.message());
      }
    } else if (!candidate->opened && !candidate->check.missing.empty()) {
      Warn(MissingLibraryError(candidate->check, candidate->check.missing.front()).message());
    }
  }
}

Status PluginRegistry::LoadEntries() {
  for (std::size_t i = 0; i < config_.load.size(); ++i) {
    Status status = LoadEntry(i);
    if (status.ok()) continue;
    const bool users_fault = status.code() == Code::kInvalidArgument;
    const bool ambiguous = PluginMessageOf(status.message()) == PluginMessage::kSameId;
    if (config_.load[i].required || users_fault || ambiguous) return EntryProblem(i, std::move(status));
    Warn(status.message());
  }
  return Status();
}

Status PluginRegistry::LoadEntry(std::size_t entry) {
  const PluginLoadEntry& wanted = config_.load[entry];
  const int file = search_.load_files[entry];
  if (file < 0) {
    return PluginError(
        PluginMessage::kNotFound, wanted.text(),
        "no file {0}.so or lib{0}.so in the folders searched: {1}. Write the path of the file, or add its folder to "
        "plugins.search.",
        wanted.name, search_.DescribeFolders());
  }
  Candidate* candidate = candidates_[static_cast<std::size_t>(file)].get();
  if (!candidate->skipped.empty()) {  // another file of the same id takes its place
    for (const auto& other : candidates_) {
      if (other->problem.ok() && other->skipped.empty() && other->check.note.id == candidate->check.note.id)
        candidate = other.get();
    }
  }
  return Create(candidate);
}

Status PluginRegistry::EntryProblem(std::size_t entry, Status status) const {
  const PluginLoadEntry& wanted = config_.load[entry];
  const int file = search_.load_files[entry];
  if (file >= 0)
    status = std::move(status).While(
        fmt::format("loading {}", candidates_[static_cast<std::size_t>(file)]->check.Describe()));
  status = std::move(status).While(fmt::format("loading plugin {} of {} listed in {}", entry + 1, config_.load.size(),
                                               config_.file.empty() ? "plugins.load" : config_.file));
  return std::move(status).At(wanted.place.ToString());
}

Status PluginRegistry::Open(Candidate* candidate) {
  TENON_TRY(candidate->problem);
  if (candidate->opened) return Status();
  candidate->opened = true;
  std::vector<std::string> changes;
  Result<const PluginLibrary*> library = PluginLibrary::Open(candidate->check, &changes);
  for (std::string& change : changes) Warn(std::move(change));
  if (!library.ok()) {
    candidate->problem = library.status();
    return candidate->problem;
  }
  const ConfigNode options =
      candidate->load_entry < 0 ? ConfigNode() : config_.load[static_cast<std::size_t>(candidate->load_entry)].options;
  HostContext context = options_.host;
  context.check = config_.check;
  candidate->plugin = std::make_unique<Plugin>(*library, context, options);
  return Status();
}

Status PluginRegistry::Create(Candidate* candidate) {
  if (shut_down_)
    return PluginError(PluginMessage::kShutDown, candidate->check.file_name(),
                       "is needed after the plugins were shut down.");
  TENON_TRY(Open(candidate));
  if (candidate->created()) return Status();
  Status status = candidate->plugin->Create();
  for (const std::string& change : candidate->plugin->changes()) Warn(change);
  if (status.ok()) {
    creation_order_.push_back(candidate);
    Result<std::vector<PluginDevice>> devices = candidate->plugin->ListDevices();
    if (devices.ok()) {
      candidate->devices = std::move(*devices);
    } else {
      // It may still be of use for operators; whoever needs its devices sees the reason.
      Warn(devices.status().message());
    }
    TENON_LOG(kInfo, "plugin", "loaded {} {} from {}", candidate->plugin->id(), candidate->plugin->version(),
              candidate->check.Describe());
    return status;
  }
  candidate->problem = status;
  return status;
}

void PluginRegistry::LoadAll() {
  for (const auto& candidate : candidates_) {
    if (!candidate->usable()) continue;
    const Status status = Create(candidate.get());
    if (!status.ok()) Warn(status.message());
  }
}

Status PluginRegistry::LoadRow(std::size_t row) {
  Candidate* candidate = candidates_[row].get();
  if (!candidate->skipped.empty()) return Status(Code::kAlreadyExists, candidate->skipped);
  return Create(candidate);
}

std::vector<PluginRegistry::Candidate*> PluginRegistry::Unopened(std::uint64_t kind, const std::string& hint) {
  std::vector<Candidate*> first;
  std::vector<Candidate*> rest;
  for (const auto& candidate : candidates_) {
    if (!candidate->usable() || candidate->created() || !candidate->check.note.Has(kind)) continue;
    const bool hinted = !hint.empty() && (candidate->check.note.id.find(hint) != std::string::npos ||
                                          candidate->check.file_name().find(hint) != std::string::npos);
    (hinted ? first : rest).push_back(candidate.get());
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// " Not loaded: ..." for every file that might have offered a kind and has a problem.
std::string PluginRegistry::FailedReasons(std::uint64_t kind) const {
  std::string text;
  const auto add = [&text](const std::string& reason) { text += fmt::format("\n - Not loaded: {}", reason); };
  for (std::size_t i = 0; i < config_.load.size(); ++i) {
    if (search_.load_files[i] < 0)
      add(fmt::format("{} {} is in none of these folders.", PluginCode(PluginMessage::kNotFound),
                      config_.load[i].name));
  }
  for (const auto& candidate : candidates_) {
    if (candidate->problem.ok()) continue;
    if (candidate->check.has_note && !candidate->check.note.Has(kind)) continue;
    if (PluginMessageOf(candidate->problem.message()) == PluginMessage::kNoNote && candidate->load_entry < 0) continue;
    add(candidate->problem.message());
  }
  return text;
}

Result<std::vector<Plugin*>> PluginRegistry::FindCollectives(const std::string& name) {
  const bool any = name.empty() || name == "auto";
  const auto matches = [&](const Plugin& plugin) {
    if (plugin.Interface<tenon_collective_vtable>() == nullptr) return false;
    const std::string& file = plugin.library().file_name();
    return any || plugin.id() == name || file == name || file == name + ".so" || file == "lib" + name + ".so";
  };
  const auto loaded = [&] {
    std::vector<Plugin*> chosen;
    for (Plugin* plugin : plugins()) {
      if (matches(*plugin)) chosen.push_back(plugin);
    }
    return chosen;
  };
  std::vector<Plugin*> chosen = loaded();
  if (chosen.empty()) {
    for (Candidate* candidate : Unopened(TENON_KIND_COLLECTIVE, any ? "" : name)) {
      Status status = Open(candidate);
      if (status.ok() && matches(*candidate->plugin)) status = Create(candidate);
      if (!status.ok()) Warn(status.message());
    }
    chosen = loaded();
  }
  if (!chosen.empty()) return chosen;
  std::vector<std::string> offered;
  for (const auto& candidate : candidates_) {
    if (candidate->usable() && candidate->check.note.Has(TENON_KIND_COLLECTIVE))
      offered.push_back(candidate->check.note.id);
  }
  return PluginError(
      PluginMessage::kNoCollective, "", "no plugin offers {}.{} Searched: {}.{}",
      any ? std::string("collectives") : fmt::format("the collectives '{}'", name),
      offered.empty() ? "" : fmt::format(" There are auto (the first that is there) and {}.", JoinAnd(offered)),
      search_.DescribeFolders(), FailedReasons(TENON_KIND_COLLECTIVE));
}

int PluginRegistry::Priority(std::string_view id) const {
  const auto found = config_.priority.find(std::string(id));
  return found == config_.priority.end() ? 0 : found->second;
}

std::vector<Plugin*> PluginRegistry::plugins() const {
  std::vector<Plugin*> all;
  for (const Candidate* candidate : creation_order_) all.push_back(candidate->plugin.get());
  std::stable_sort(all.begin(), all.end(),
                   [this](const Plugin* a, const Plugin* b) { return Priority(a->id()) > Priority(b->id()); });
  return all;
}

Plugin* PluginRegistry::FindPlugin(std::string_view id) const {
  for (const Candidate* candidate : creation_order_) {
    if (candidate->plugin->id() == id) return candidate->plugin.get();
  }
  return nullptr;
}

std::vector<const PluginDevice*> PluginRegistry::devices() const {
  std::vector<const PluginDevice*> all;
  for (const Candidate* candidate : creation_order_) {
    for (const PluginDevice& device : candidate->devices) all.push_back(&device);
  }
  return all;
}

std::vector<PluginReport> PluginRegistry::Reports() const {
  std::vector<PluginReport> reports;
  for (const auto& candidate : candidates_) {
    const PluginPrecheck& check = candidate->check;
    PluginReport report;
    report.path = check.path;
    report.build_id = check.build_id;
    if (check.has_note) {
      report.id = check.note.id;
      report.version = check.note.version;
      report.abi_built = fmt::format("{}.{}", check.note.abi_major, check.note.abi_minor);
      report.draft = check.note.draft != 0;
    }
    if (candidate->plugin != nullptr) {
      report.abi_effective = fmt::format("{}.{}", check.note.abi_major, candidate->plugin->abi_minor());
      report.ops = static_cast<std::int64_t>(candidate->plugin->Operators().size());
    }
    for (const PluginDevice& device : candidate->devices) report.devices.push_back(device.text());
    if (candidate->created()) {
      report.state = PluginState::kLoaded;
    } else if (!candidate->problem.ok()) {
      report.state = PluginState::kRefused;
      report.reason = candidate->problem.message();
      report.code = PluginCode(PluginMessageOf(report.reason));
    } else if (!candidate->opened && !check.missing.empty() && candidate->skipped.empty()) {
      report.state = PluginState::kRefused;
      report.reason = MissingLibraryError(check, check.missing.front()).message();
      report.code = PluginCode(PluginMessage::kMissingLibrary);
    } else {
      report.reason = candidate->skipped.empty() ? "Nothing in the run needs it." : candidate->skipped;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

void PluginRegistry::Shutdown() {
  if (shut_down_) return;
  shut_down_ = true;
  for (auto candidate = creation_order_.rbegin(); candidate != creation_order_.rend(); ++candidate)
    (*candidate)->plugin->Destroy();
  creation_order_.clear();
}

}  // namespace tenon
