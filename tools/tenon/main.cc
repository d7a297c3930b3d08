// All options of `tenon`. Each command is a plain function declared in tools/tenon/<command>.h.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/cli.h"
#include "tools/tenon/ckpt.h"
#include "tools/tenon/config.h"
#include "tools/tenon/doctor.h"
#include "tools/tenon/doctor_barrier.h"
#include "tools/tenon/doctor_env.h"
#include "tools/tenon/doctor_net.h"
#include "tools/tenon/graph.h"
#include "tools/tenon/op.h"
#include "tools/tenon/op_build.h"
#include "tools/tenon/op_info.h"
#include "tools/tenon/plugin.h"
#include "tools/tenon/plugin_abi.h"
#include "tools/tenon/train.h"

namespace tenon {
namespace {

// What the chosen sub-command wants to run.
using Command = std::function<int()>;

// A flag that may be repeated and takes one value each time.
CLI::Option* AddRepeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                         const std::string& type, const std::string& sentence) {
  return app.add_option(name, values, sentence)->allow_extra_args(false)->type_name(type);
}

void AddSet(CLI::App& app, std::vector<std::string>& overrides) {
  AddRepeated(app, "--set", overrides, "KEY=VALUE", "Override a key, such as train.epochs=3; may be repeated.");
}

void AddTrain(CLI::App& app, Command& command) {
  CLI::App* train = app.add_subcommand("train", "Train a network as a run file says.");
  const auto options = std::make_shared<TrainOptions>();
  train->add_option("CONFIG", options->config, "The run file.")->required();
  AddSet(*train, options->overrides);
  AddRepeated(*train, "--plugin-dir", options->plugin_dirs, "DIR", "Look for plugins here first; may be repeated.");
  CLI::Option* resume =
      train->add_option("--resume", options->resume_from,
                        "Go on from a checkpoint; without a value from the newest of the output folder.");
  resume->expected(0, 1)->type_name("[CKPT]");
  train->add_flag("--lenient", options->lenient, "Take what fits of a checkpoint and say what did not.");
  auto seeds = std::make_shared<std::string>();
  CLI::Option* repeat =
      train->add_option("--repeat-seeds", *seeds, "Train once per seed, such as 1,2,3, and print mean and spread.");
  train->add_option("--output", options->output, "Folder of the run, in place of the file's `output`.");
  train->add_option("--profile", options->profile,
                    "Write where the time goes as a trace for Perfetto, and print a table of operators.");
  train->add_flag("--dry-run", options->dry_run, "Open data and plugins, plan, and train nothing.");
  train->callback([options, resume, seeds, repeat, &command] {
    options->resume = resume->count() > 0;
    if (repeat->count() > 0) options->repeat_seeds = *seeds;
    command = [options] { return RunTrain(*options); };
  });
}

void AddConfig(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("config", "Look at run files.");
  group->require_subcommand(1);

  CLI::App* show =
      group->add_subcommand("show", "Print a run file as it is understood: bases merged, defaults filled in.");
  const auto show_options = std::make_shared<ConfigShowOptions>();
  show->add_option("CONFIG", show_options->config, "The run file.")->required();
  AddSet(*show, show_options->overrides);
  show->add_flag("--plugins-only", show_options->plugins_only, "Accept a file without data and network.");
  show->add_flag("--json", show_options->json, "Print JSON.");
  show->callback([show_options, &command] { command = [show_options] { return RunConfigShow(*show_options); }; });

  CLI::App* schema =
      group->add_subcommand("schema", "Print all keys with types, bounds, defaults and meaning, as a JSON Schema.");
  const auto schema_options = std::make_shared<ConfigSchemaOptions>();
  schema->add_flag("--markdown", schema_options->markdown, "Print the reference page docs/reference/config.md.");
  schema->add_flag("--layers", schema_options->layers, "Print the reference page docs/reference/layers.md.");
  schema->callback(
      [schema_options, &command] { command = [schema_options] { return RunConfigSchema(*schema_options); }; });
}

void AddCkpt(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("ckpt", "Look at checkpoints, .ckpt and .safetensors.");
  group->require_subcommand(1);

  CLI::App* show =
      group->add_subcommand("show", "Print the tensors of a checkpoint with their types, shapes and ranges.");
  const auto show_options = std::make_shared<CkptShowOptions>();
  show->add_option("FILE", show_options->file, "The checkpoint.")->required();
  show->add_flag("--json", show_options->json, "Print JSON.");
  show->callback([show_options, &command] { command = [show_options] { return RunCkptShow(*show_options); }; });

  CLI::App* diff = group->add_subcommand("diff", "Compare two checkpoints by name; exit code 1 when they differ.");
  const auto diff_options = std::make_shared<CkptDiffOptions>();
  diff->add_option("A", diff_options->a, "A checkpoint.")->required();
  diff->add_option("B", diff_options->b, "Another one.")->required();
  diff->add_option("--rtol", diff_options->rtol, "Tolerance relative to the value in B.")
      ->check(CLI::NonNegativeNumber);
  diff->add_option("--atol", diff_options->atol, "Absolute tolerance; with both 0 the bytes must be equal.")
      ->check(CLI::NonNegativeNumber);
  diff->add_flag("--json", diff_options->json, "Print JSON.");
  diff->callback([diff_options, &command] { command = [diff_options] { return RunCkptDiff(*diff_options); }; });
}

void AddGraph(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("graph", "Look at graphs in text form, as save_graphs writes them.");
  group->require_subcommand(1);

  CLI::App* show = group->add_subcommand("show", "Check a graph and print it.");
  const auto show_options = std::make_shared<GraphShowOptions>();
  show->add_option("FILE", show_options->file, "The graph.")->required();
  show->add_flag("--dot", show_options->dot, "Print Graphviz.");
  show->add_flag("--json", show_options->json, "Print counts as JSON.");
  show->callback([show_options, &command] { command = [show_options] { return RunGraphShow(*show_options); }; });

  CLI::App* diff = group->add_subcommand("diff", "Compare two graphs node by node; exit code 1 when they differ.");
  const auto diff_options = std::make_shared<GraphDiffOptions>();
  diff->add_option("A", diff_options->a, "A graph.")->required();
  diff->add_option("B", diff_options->b, "Another one.")->required();
  diff->add_flag("--json", diff_options->json, "Print JSON.");
  diff->callback([diff_options, &command] { command = [diff_options] { return RunGraphDiff(*diff_options); }; });
}

void AddOp(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("op", "Look at operators.");
  group->require_subcommand(1);
  CLI::App* list = group->add_subcommand("list", "Print every operator with its reference, gradient and kernels.");
  const auto options = std::make_shared<OpListOptions>();
  list->add_option("CONFIG", options->config, "A run file whose plugins are looked at too.");
  AddRepeated(*list, "--plugin-dir", options->plugin_dirs, "DIR", "Look for plugins here first; may be repeated.");
  list->add_flag("--json", options->json, "Print JSON.");
  list->callback([options, &command] { command = [options] { return RunOpList(*options); }; });

  CLI::App* info =
      group->add_subcommand("info", "Print the signature of operators: inputs, outputs, attributes, dtypes.");
  const auto info_options = std::make_shared<OpInfoOptions>();
  info->add_option("NAME", info_options->names, "The operator, tenon::NAME for one of ours; may be repeated.")
      ->required();
  info->add_flag("--json", info_options->json, "Print JSON.");
  info->callback([info_options, &command] { command = [info_options] { return RunOpInfo(*info_options); }; });

  CLI::App* build = group->add_subcommand("build", "Compile one file of C++ that defines operators as a plugin.");
  const auto build_options = std::make_shared<OpBuildOptions>();
  build->add_option("FILE", build_options->source, "The file, with TENON_SDK_PLUGIN or TENON_PLUGIN_NOTE in it.")
      ->required();
  build->add_option("-o,--output", build_options->output, "The plugin; by default the file's name with .so.");
  build->add_option("--compiler", build_options->compiler, "The compiler; by default $CXX, or c++.");
  build->add_flag("--verbose", build_options->verbose, "Print the call of the compiler.");
  build->callback([build_options, &command] { command = [build_options] { return RunOpBuild(*build_options); }; });
}

void AddPlugin(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("plugin", "Look at plugins.");
  group->require_subcommand(1);

  CLI::App* list = group->add_subcommand("list", "Open every plugin that is found and print a row for each.");
  const auto list_options = std::make_shared<PluginListOptions>();
  list->add_option("CONFIG", list_options->config, "A run file whose plugins are listed too.");
  AddRepeated(*list, "--plugin-dir", list_options->plugin_dirs, "DIR", "Look for plugins here first; may be repeated.");
  list->add_flag("--json", list_options->json, "Print JSON.");
  list->callback([list_options, &command] { command = [list_options] { return RunPluginList(*list_options); }; });

  CLI::App* info = group->add_subcommand("info", "Print all that a plugin says about itself.");
  const auto info_options = std::make_shared<PluginInfoOptions>();
  info->add_option("FILE", info_options->files, "The plugin file; may be repeated.")->required();
  info->add_flag("--json", info_options->json, "Print JSON.");
  info->callback([info_options, &command] { command = [info_options] { return RunPluginInfo(*info_options); }; });

  CLI::App* check = group->add_subcommand("check", "Load plugins as a run would; exit code 3 when one would not load.");
  const auto check_options = std::make_shared<PluginCheckOptions>();
  check->add_option("FILE", check_options->files, "The plugin file; may be repeated.")->required();
  check->add_flag("--json", check_options->json, "Print JSON.");
  const auto host_abi = std::make_shared<std::string>();
  CLI::Option* host =
      check->add_option("--host-abi", *host_abi, "Say what a host of this plugin ABI would do instead, such as 1.0.");
  host->type_name("VERSION");
  check->callback([check_options, host_abi, host, &command] {
    const bool other = host->count() > 0;
    command = [check_options, host_abi, other] {
      if (!other) return RunPluginCheck(*check_options);
      return RunPluginHostAbi({check_options->files, *host_abi, check_options->json});
    };
  });

  CLI::App* diff =
      group->add_subcommand("abi-diff", "Compare what two builds of a plugin offer; exit code 1 when that differs.");
  const auto diff_options = std::make_shared<PluginAbiDiffOptions>();
  diff->add_option("A", diff_options->a, "A plugin file.")->required();
  diff->add_option("B", diff_options->b, "Another one.")->required();
  diff->add_flag("--json", diff_options->json, "Print JSON.");
  diff->callback([diff_options, &command] { command = [diff_options] { return RunPluginAbiDiff(*diff_options); }; });
}

void AddDoctor(CLI::App& app, Command& command) {
  CLI::App* group = app.add_subcommand("doctor", "Find out what is wrong.");
  group->require_subcommand(1);
  CLI::App* plugins =
      group->add_subcommand("plugins", "Open each plugin in a process of its own and say how to mend it.");
  const auto options = std::make_shared<DoctorPluginsOptions>();
  plugins->add_option("CONFIG", options->config, "A run file whose plugins are looked at too.");
  AddRepeated(*plugins, "--plugin-dir", options->plugin_dirs, "DIR", "Look for plugins here first; may be repeated.");
  plugins->add_flag("--json", options->json, "Print JSON.");
  plugins->callback([options, &command] { command = [options] { return RunDoctorPlugins(*options); }; });

  CLI::App* barrier = group->add_subcommand("barrier", "Meet the other ranks of a launcher and pass one barrier.");
  const auto barrier_options = std::make_shared<DoctorBarrierOptions>();
  barrier->add_option("--timeout", barrier_options->timeout, "Seconds to wait for the others at the barrier.")
      ->check(CLI::PositiveNumber);
  barrier->callback(
      [barrier_options, &command] { command = [barrier_options] { return RunDoctorBarrier(*barrier_options); }; });

  CLI::App* net =
      group->add_subcommand("net", "Say what is wrong between the ranks of a launcher, or on the way to one.");
  const auto net_options = std::make_shared<DoctorNetOptions>();
  net->add_option("--address", net_options->address, "Look at the rendezvous of this host from outside.");
  net->add_option("--port", net_options->port, "Its port.")->check(CLI::Range(1, 65535));
  net->add_option("--comm", net_options->comm, "The collective plugin, as in `parallel.comm`.");
  AddRepeated(*net, "--plugin-dir", net_options->plugin_dirs, "DIR", "Look for plugins here first; may be repeated.");
  net->add_option("--timeout", net_options->timeout, "Seconds for each step.")->check(CLI::PositiveNumber);
  net->callback([net_options, &command] { command = [net_options] { return RunDoctorNet(*net_options); }; });

  CLI::App* env = group->add_subcommand("env", "Look for mixed installations, wrong libraries and missing tools.");
  const auto env_options = std::make_shared<DoctorEnvOptions>();
  env->add_flag("--json", env_options->json, "Print JSON.");
  env->callback([env_options, &command] { command = [env_options] { return RunDoctorEnv(*env_options); }; });
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const tenon::cli::Program program{"tenon", "Trains and runs neural networks through plugins.", TENON_VERSION_STRING};
  if (const auto code = tenon::cli::AnswerVersion(program, argc, argv)) return *code;
  CLI::App app;
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  tenon::Command command;
  tenon::AddTrain(app, command);
  tenon::AddConfig(app, command);
  tenon::AddCkpt(app, command);
  tenon::AddGraph(app, command);
  tenon::AddOp(app, command);
  tenon::AddPlugin(app, command);
  tenon::AddDoctor(app, command);
  return tenon::cli::Run(program, app, argc, argv, command);
}
