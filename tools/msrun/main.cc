// All flags of `msrun`; the work is Launch of core/launch.
#include <CLI/CLI.hpp>
#include <vector>

#include "core/launch/launch.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

void AddFlags(CLI::App& app, LaunchOptions& options, std::string& join) {
  const CLI::IsMember literal({"True", "False"});
  app.add_option("--worker_num", options.worker_num, "Workers of the whole job.");
  app.add_option("--local_worker_num", options.local_worker_num, "Workers that this call starts.");
  app.add_option("--master_addr", options.master_addr, "Host or address of the scheduler.");
  app.add_option("--master_port", options.master_port, "Port of the scheduler; 0 picks a free one on one node.");
  app.add_option(
      "--node_rank", options.node_rank,
      "Number of this node: ranks are node_rank * local_worker_num + i; -1 for one node, or as the pod says.");
  app.add_option("--log_dir", options.log_dir, "Folder of the logs; by default the current one.");
  app.add_option("--worker_log_name", options.worker_log_name,
                 "Name of the logs, {ip} and {hostname} filled in, _<rank>.log added; by default worker_<rank>.log.");
  app.add_option("--join", join, "True waits for the workers and ends all when one fails; False returns at once.")
      ->check(literal);
  app.add_option("--cluster_time_out", options.cluster_time_out,
                 "Seconds for all workers to meet; negative for no limit.");
  app.add_option("--bind_core", options.bind_core,
                 R"(True deals the cores out; or JSON such as {"device0": ["0-3"]} by local index.)");
  app.add_option("--bind_numa", options.bind_numa, "The same with whole NUMA nodes.");
  app.add_option(
      "--sim_level", options.sim_level,
      "0 to 3: tell programs that can simulate (tenon refuses) to do so, without a scheduler; -1 runs the job.");
  app.add_option("--sim_rank_id", options.sim_rank_id, "The rank to simulate; -1 for all.");
  app.add_option("--rank_table_file", options.rank_table_file, "Rank table for the collective library.");
  app.add_option("--tail_worker_log", options.tail_worker_log,
                 "Local indices, with commas, whose logs are shown on the screen; -1 for all.");
  app.add_option("--max_restarts", options.max_restarts, "How often the whole job is started again after a failure.");
  app.add_option("--grace_time", options.grace_time, "Seconds from the polite signal to the hard one.");
}

// Where the program to start begins: after the launcher's own flags, each with its value.
int TaskIndex(int argc, const char* const* argv) {
  int i = 1;
  while (i < argc && argv[i][0] == '-') {
    const std::string word = argv[i];
    if (word == "--") return i + 1;
    const bool alone = word == "--help" || word == "-h" || word == "--json" || word == "--version" ||
                       word.find('=') != std::string::npos;
    i += alone ? 1 : 2;
  }
  return std::min(i, argc);
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const tenon::cli::Program program{"msrun", "Starts the processes of a job on this node and watches them.",
                                    TENON_VERSION_STRING};
  if (const auto code = tenon::cli::AnswerVersion(program, argc, argv)) return *code;
  CLI::App app;
  app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  tenon::LaunchOptions options;
  std::string join = "True";
  tenon::AddFlags(app, options, join);
  const int task = tenon::TaskIndex(argc, argv);
  options.task.assign(argv + task, argv + argc);
  std::vector<char*> own(argv, argv + task);
  own.push_back(nullptr);
  return tenon::cli::Run(program, app, task, own.data(), [&] {
    options.join = join == "True";
    const tenon::Result<int> code = tenon::Launch(options);
    return code.ok() ? *code : tenon::cli::Report(code.status());
  });
}
