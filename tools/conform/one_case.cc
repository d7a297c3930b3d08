// The child's side of a case.
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/plugin/plugin_library.h"
#include "core/plugin/plugin_precheck.h"
#include "tools/conform/cases.h"
#include "tools/conform/perf.h"
#include "tools/conform/runner.h"
#include "tools/conform/session.h"

namespace tenon::conform {
namespace {

// Everything an ordinary host does before a run: note, versions, tables, create.
void Load(Context& context) {
  PluginFile file;
  file.path = context.plugin();
  const PluginPrecheck check = PrecheckPlugin(file, TrustPolicy::kOff);
  if (!check.status.ok()) context.Fail(check.status.message());
  std::vector<std::string> changes;
  const auto library = PluginLibrary::Open(check, &changes);
  if (!library.ok()) context.Fail(library.status().message());
  Instance instance(context);
  context.Require(instance.plugin() != nullptr, "create gave no instance.");
}

constexpr Case kMeasure = {-1, "L2", "perf", "c.17", "Measures.", Measure};
constexpr Case kLoad = {0, "L0", "load", "e.3", "An ordinary host opens the plugin.", Load};

}  // namespace

int RunOneCase(int argc, char** argv) {
  if (argc < 9) return 2;
  const std::string what = argv[2];
  CaseSettings settings;
  settings.self = argv[0];
  settings.result_fd = std::atoi(argv[3]);
  UseBoard(std::atoi(argv[4]));
  settings.plugin = argv[5];
  settings.record = argv[6];
  settings.device = argv[7];
  settings.long_runs = std::strcmp(argv[8], "1") == 0;
  for (int i = 9; i < argc; ++i) settings.options.emplace_back(argv[i]);
  const Case* which = what == "load" ? &kLoad : what == "-1" ? &kMeasure : FindCase(what);
  if (which == nullptr) return 2;
  Context context(*which, settings);
  StartRecord(&context, settings.record);
  which->run(context);
  context.Finish();
}

}  // namespace tenon::conform
