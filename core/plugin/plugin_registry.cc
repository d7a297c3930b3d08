#include "core/plugin/plugin_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/log.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/legacy_entries.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

// "npu:1" -> {"npu", 1}; false for a malformed index.
// No index: whichever device of the kind suits this process.
bool SplitDevice(const std::string& text, std::string* kind, std::optional<std::uint32_t>* index) {
  const std::size_t colon = text.find(':');
  *kind = text.substr(0, colon);
  if (colon == std::string::npos) return !kind->empty();
  *index = ParseNumber<std::uint32_t>(std::string_view(text).substr(colon + 1));
  return !kind->empty() && index->has_value();
}

bool Contains(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

}  // namespace

PluginRegistry::PluginRegistry(Options options) : options_(std::move(options)) {}

PluginRegistry::~PluginRegistry() { Shutdown(); }

void PluginRegistry::Warn(std::string text) {
  if (Contains(warnings_, text)) return;
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

// All of them, also after the first match: two plugins that offer the same kind must not be told apart by luck. One
// whose kernels are all for other kinds is not created.
void PluginRegistry::OpenDevicePlugins(const std::string& kind) {
  for (Candidate* candidate : Unopened(TENON_KIND_DEVICE, kind)) {
    Status status = Open(candidate);
    if (status.ok()) {
      const std::vector<std::string> kinds = candidate->plugin->KernelDeviceKinds();
      if (!kinds.empty() && !Contains(kinds, kind)) continue;
      status = Create(candidate);
    }
    if (!status.ok()) Warn(status.message());
  }
}

Result<const PluginDevice*> PluginRegistry::FindDevice(const std::string& text, std::uint32_t local_rank) {
  std::string kind;
  std::optional<std::uint32_t> index;
  if (!SplitDevice(text, &kind, &index))
    return InvalidArgument("The device '{}' is not a kind or kind:index, such as cpu or npu:1.", text);
  const auto offered = [this, &kind] {
    return std::any_of(creation_order_.begin(), creation_order_.end(), [&kind](const Candidate* candidate) {
      return std::any_of(candidate->devices.begin(), candidate->devices.end(),
                         [&kind](const PluginDevice& device) { return device.kind == kind; });
    });
  };
  if (!offered()) OpenDevicePlugins(kind);
  if (!offered()) return NoDevice(kind);
  return ChooseDevice(kind, index, local_rank);
}

Result<const PluginDevice*> PluginRegistry::ChooseDevice(const std::string& kind, std::optional<std::uint32_t> index,
                                                         std::uint32_t local_rank) const {
  const Candidate* best = nullptr;
  const Candidate* tie = nullptr;
  for (const Candidate* candidate : creation_order_) {
    const bool offers = std::any_of(candidate->devices.begin(), candidate->devices.end(),
                                    [&kind](const PluginDevice& device) { return device.kind == kind; });
    if (!offers) continue;
    const int priority = Priority(candidate->plugin->id());
    if (best == nullptr || priority > Priority(best->plugin->id())) {
      best = candidate;
      tie = nullptr;
    } else if (priority == Priority(best->plugin->id())) {
      tie = candidate;
    }
  }
  if (tie != nullptr) {
    return PluginError(PluginMessage::kSameDeviceKind, "",
                       "two plugins offer the device kind '{}': {} ({}) and {} ({}). Write plugins: {{priority: {{{}: "
                       "1}}}}, or load only one.",
                       kind, best->plugin->id(), best->check.path, tie->plugin->id(), tie->check.path,
                       best->plugin->id());
  }
  std::vector<const PluginDevice*> devices;
  for (const PluginDevice& device : best->devices) {
    if (device.kind == kind) devices.push_back(&device);
  }
  // One device is for all processes of the node, of several each has its own.
  const std::uint32_t wanted = index.value_or(devices.size() == 1 ? 0 : local_rank);
  for (const PluginDevice* device : devices) {
    if (device->kind_index == wanted) return device;
  }
  if (index)
    return PluginError(PluginMessage::kDeviceIndex, "",
                       "there is no device {}:{}; {} offers {} of kind '{}', counted from 0.", kind, wanted,
                       best->plugin->id(), devices.size(), kind);
  return PluginError(PluginMessage::kDeviceIndex, "",
                     "this process is number {} of its node, counted from 0, and {} offers {} devices of kind '{}': "
                     "start at most {} on a node, or name the device that they share, such as {}:0.",
                     local_rank, best->plugin->id(), devices.size(), kind, devices.size(), kind);
}

Status PluginRegistry::NoDevice(const std::string& kind) const {
  std::vector<std::string> known;
  const auto know = [&known](const std::string& name) {
    if (!name.empty() && !Contains(known, name)) known.push_back(name);
  };
  for (const auto& candidate : candidates_) {
    for (const PluginDevice& device : candidate->devices) know(device.kind);
    // Device plugins that were opened but not created, because their kernels are for other kinds.
    const bool is_device =
        candidate->plugin != nullptr && candidate->plugin->Interface<tenon_device_vtable>() != nullptr;
    if (!is_device || candidate->created()) continue;
    for (const std::string& name : candidate->plugin->KernelDeviceKinds()) know(name);
  }
  for (const Candidate* candidate : creation_order_) {
    if (!Contains(candidate->plugin->KernelDeviceKinds(), kind)) continue;
    Result<std::vector<PluginDevice>> devices = candidate->plugin->ListDevices();
    return PluginError(PluginMessage::kNoDevices, "",
                       "device kind '{}' is known ({} is loaded) but reports 0 devices{}", kind,
                       candidate->plugin->id(), devices.ok() ? "." : ": " + devices.status().message());
  }
  if (Contains(known, kind)) {
    return PluginError(PluginMessage::kNoDevices, "", "device kind '{}' is known, but no plugin for it started.{}",
                       kind, FailedReasons(TENON_KIND_DEVICE));
  }
  const std::string nearest = NearestName(kind, known);
  std::string text = fmt::format("no plugin offers the device kind '{}'", kind);
  if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  text += known.empty() ? "; no device kind is known."
                        : fmt::format("{} Known kinds: {}.", nearest.empty() ? "." : "", JoinAnd(known));
  return PluginError(PluginMessage::kUnknownDeviceKind, "", "{} Searched: {}.{}", text, search_.DescribeFolders(),
                     FailedReasons(TENON_KIND_DEVICE));
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
  return PluginError(PluginMessage::kNoCollective, "", "no plugin offers {}. Searched: {}.{}",
                     any ? std::string("collectives") : fmt::format("the collectives '{}'", name),
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
