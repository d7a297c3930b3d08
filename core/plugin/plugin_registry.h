#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/plugin/plugin.h"
#include "core/plugin/plugin_config.h"
#include "core/plugin/plugin_precheck.h"
#include "core/plugin/plugin_report.h"
#include "core/plugin/plugin_search.h"

namespace tenon {

// The plugins of one run: finds them, opens what `plugins.load` names and what the run needs, and shuts them down in
// reverse order. Main thread only, except Plugin's own calls. Libraries stay mapped after Shutdown.
//
//   PluginRegistry registry({{&pool}, {flags.plugin_dirs}});
//   TENON_TRY(registry.Load(config.plugins));
//   TENON_ASSIGN(const PluginDevice* device, registry.FindDevice("npu:1"));
//   ...
//   registry.Shutdown();
class PluginRegistry {
 public:
  struct Options {
    HostContext host;
    PluginSearchOptions search;
  };

  explicit PluginRegistry(Options options);
  ~PluginRegistry();  // shuts down
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;

  // Searches and checks the files found, opening none; starts TENON_ABI_TRACE when that is set. Load does this itself;
  // tools call it alone. Call once.
  Status Find(const PluginsConfig& config);

  // Searches, checks all files found without opening them, then opens and creates the entries of `load`. Sets the
  // environment that libraries read while they are loaded, unless the user did (OMP_WAIT_POLICY, OMP_NUM_THREADS).
  // A file that cannot be used is a warning; an error only with `required: true`, a bad option, or two files with one
  // id where `load` names one of them. Call once.
  Status Load(const PluginsConfig& config);

  // The device written as kind or kind:index; without an index the one of number `local_rank` (of this process among those
  // of its node) where the plugin offers several. Looks among what is loaded, then opens further device plugins that were
  // found. TN-PLG-053, 061, 062, 066; the text repeats why plugins that might have offered it are absent.
  Result<const PluginDevice*> FindDevice(const std::string& text, std::uint32_t local_rank = 0);

  // Created plugins that offer collectives, by priority; opens those found when none is loaded. `name` is a plugin id, a
  // file name, or "auto" for all. TN-PLG-065 when there is none.
  Result<std::vector<Plugin*>> FindCollectives(const std::string& name);

  // Opens and creates everything that was found and is sound; failures only show in Reports(). For tools.
  void LoadAll();
  // Opens and creates one file by its row in Reports(). The error is in the row as well.
  Status LoadRow(std::size_t row);
  // True when the row passed every check that needs no opening, and no other file takes its place.
  bool IsSound(std::size_t row) const { return candidates_[row]->usable(); }

  // Created plugins: higher `plugins.priority` first, then in the order of creation.
  std::vector<Plugin*> plugins() const;
  // Those that offer an interface, in the same order.
  template <class T>
  std::vector<Plugin*> PluginsWith() const {
    std::vector<Plugin*> chosen;
    for (Plugin* plugin : plugins()) {
      if (plugin->Interface<T>() != nullptr) chosen.push_back(plugin);
    }
    return chosen;
  }
  Plugin* FindPlugin(std::string_view id) const;  // null when not created
  // Devices of all created plugins.
  std::vector<const PluginDevice*> devices() const;
  // `plugins.priority` of an id; 0 when not given.
  int Priority(std::string_view id) const;

  // A row per file that was found, in the order of the search.
  std::vector<PluginReport> Reports() const;
  // Every warning so far, also logged. And where was searched.
  const std::vector<std::string>& warnings() const { return warnings_; }
  const PluginSearchResult& searched() const { return search_; }

  // Destroys the instances in reverse order of creation. What came from plugins must be gone before. Twice is fine.
  void Shutdown();

 private:
  struct Candidate {
    PluginPrecheck check;
    std::unique_ptr<Plugin> plugin;     // once opened
    std::vector<PluginDevice> devices;  // once created
    Status problem;                     // why it is not loaded, when something is wrong
    std::string skipped;                // why it is not loaded, when nothing is wrong
    int load_entry = -1;                // its entry in config_.load
    bool opened = false;                // was tried
    bool created() const { return plugin != nullptr && plugin->created(); }
    bool usable() const { return problem.ok() && skipped.empty(); }
  };

  void PrepareEnvironment();
  void CheckFiles();
  void ResolveDuplicates();
  void ResolveSameId(const std::string& id, const std::vector<Candidate*>& claims);
  Status CheckPins();
  void WarnAboutFiles();
  Status LoadEntries();
  Status LoadEntry(std::size_t entry);
  Status EntryProblem(std::size_t entry, Status status) const;
  // Opens (and creates) unless done; the result is also kept in the candidate.
  Status Open(Candidate* candidate);
  Status Create(Candidate* candidate);
  // Candidates with a kind bit that are usable; those whose file or id contains `hint` first.
  std::vector<Candidate*> Unopened(std::uint64_t kind, const std::string& hint);
  void OpenDevicePlugins(const std::string& kind);
  Status NoDevice(const std::string& kind) const;
  std::string FailedReasons(std::uint64_t kind) const;
  Result<const PluginDevice*> ChooseDevice(const std::string& kind, std::optional<std::uint32_t> index,
                                           std::uint32_t local_rank) const;
  void Warn(std::string text);

  const Options options_;
  PluginsConfig config_;
  PluginSearchResult search_;
  std::vector<std::unique_ptr<Candidate>> candidates_;  // parallel to search_.files
  std::vector<Candidate*> creation_order_;
  std::vector<std::string> warnings_;
  bool shut_down_ = false;
};

}  // namespace tenon
