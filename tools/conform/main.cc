// All options of `tenon-conform`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "core/base/status.h"
#include "core/platform/process.h"
#include "tools/cli/cli.h"
#include "tools/conform/kit.h"
#include "tools/conform/runner.h"

int main(int argc, char** argv) {
  namespace conform = tenon::conform;
  if (argc > 1 && std::strcmp(argv[1], conform::kOneCase) == 0) return conform::RunOneCase(argc, argv);
  const tenon::cli::Program program{"tenon-conform", "Checks that a plugin keeps the contract of the plugin ABI.",
                                    TENON_VERSION_STRING};
  if (const auto code = tenon::cli::AnswerVersion(program, argc, argv)) return *code;
  CLI::App app;
  app.option_defaults()->always_capture_default();
  conform::KitOptions options;
  app.add_option("PLUGIN", options.plugin, "The plugin file.");
  app.add_option("--only", options.only,
                 "Run this case or level, such as L1.43_destroy_pending or L1; may be repeated.")
      ->allow_extra_args(false)
      ->type_name("CASE");
  app.add_option("--repro", options.repro, "Run one case and print the calls that it made.")->type_name("CASE");
  app.add_option("--device", options.devices,
                 "Run cases of kernels (L2) on the device of this plugin where PLUGIN has none; may be repeated.")
      ->allow_extra_args(false)
      ->type_name("OTHER");
  app.add_option("--exceptions", options.exceptions,
                 "Declared exceptions; by default <plugin file without .so>.conformance.yaml beside it.")
      ->type_name("FILE");
  app.add_option("--option", options.plugin_options, "An option of the plugin, as under `options:`; may be repeated.")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--junit", options.junit, "Write the results as JUnit XML.")->type_name("FILE");
  app.add_option("--perf", options.perf, "Compare speed with another plugin instead of running cases.")
      ->type_name("OTHER");
  app.add_flag("--json", options.json, "Print JSON.");
  app.add_flag("--list", options.list, "Print all cases and run none.");
  app.add_flag("--markdown", options.markdown, "With --list: print the reference page docs/reference/conformance.md.");
  app.add_flag("--long", options.long_runs, "Run also what takes hours or many gigabytes.");
  const std::function<int()> command = [&options] { return conform::RunKit(options); };
  return tenon::cli::Run(program, app, argc, argv, command);
}
