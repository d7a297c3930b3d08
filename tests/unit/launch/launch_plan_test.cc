#include "core/launch/launch_plan.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "core/launch/attempt.h"
#include "core/launch/final_report.h"
#include "core/launch/log_follower.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::TempFolder;
using testing_support::WriteFile;
using Map = std::map<std::string, std::string>;

Variables From(Map map) {
  map.emplace("PATH", "/usr/bin:/bin");
  return [map](const char* name) -> std::optional<std::string> {
    const auto found = map.find(name);
    if (found == map.end()) return std::nullopt;
    return found->second;
  };
}

LaunchOptions Options(std::int64_t workers, std::int64_t local) {
  LaunchOptions options;
  options.worker_num = workers;
  options.local_worker_num = local;
  options.task = {"sh", "-c", "true"};
  return options;
}

std::string MessageOf(const LaunchOptions& options, const Map& variables = {}) {
  const Result<LaunchPlan> plan = MakeLaunchPlan(options, From(variables));
  return plan.ok() ? "no error" : plan.status().message();
}

bool Has(const std::vector<std::string>& environment, const std::string& variable) {
  return std::find(environment.begin(), environment.end(), variable) != environment.end();
}

TEST(LaunchPlan, HasTheOriginalsDefaults) {
  const LaunchOptions options;
  EXPECT_EQ(options.worker_num, 8);
  EXPECT_EQ(options.local_worker_num, 8);
  EXPECT_EQ(options.master_addr, "127.0.0.1");
  EXPECT_EQ(options.master_port, 8118);
  EXPECT_EQ(options.node_rank, -1);
  EXPECT_EQ(options.cluster_time_out, 600);
  EXPECT_EQ(options.tail_worker_log, "-1");
  EXPECT_TRUE(options.join);  // the original returns at once
}

TEST(LaunchPlan, NumbersWorkersByNode) {
  LaunchOptions options = Options(8, 4);
  options.node_rank = 1;
  options.master_addr = "10.9.8.7";
  const Result<LaunchPlan> plan = MakeLaunchPlan(options, From({}));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->workers.front().rank, 4U);
  EXPECT_EQ(plan->workers.back().rank, 7U);
  EXPECT_FALSE(plan->serves);
  EXPECT_FALSE(plan->asks_for_ranks);
  options.node_rank = 0;
  EXPECT_TRUE(MakeLaunchPlan(options, From({}))->serves) << "node 0 serves, also where its name does not resolve yet";
  options.node_rank = -1;
  const Result<LaunchPlan> pod = MakeLaunchPlan(options, From({{"JOB_COMPLETION_INDEX", "1"}}));
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->node, 1U);
  EXPECT_EQ(pod->node_from, "JOB_COMPLETION_INDEX");
  EXPECT_TRUE(MakeLaunchPlan(options, From({}))->asks_for_ranks);
}

TEST(LaunchPlan, RefusesWhatCannotBe) {
  EXPECT_EQ(MessageOf(Options(0, 1)), "worker_num must be greater than 0, but got 0.");
  EXPECT_EQ(
      MessageOf(Options(2, 4)),
      "Total worker number is 2, but got exceeded local worker number: 4. Give --local_worker_num=2 where all workers "
      "run on this node.");
  EXPECT_EQ(MessageOf(Options(100'000'000, 2)), "worker_num 100000000 is more than 1000000, the most ranks of a job.");
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit few{200, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string crowd = MessageOf(Options(1000, 1000));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(
      crowd,
      "local_worker_num 1000 needs more open files than the limit of 200 allows (ulimit -n): at most 136 workers.");
  LaunchOptions options = Options(4, 2);
  options.node_rank = 2;
  EXPECT_EQ(MessageOf(options), "--node_rank 2 with 2 local workers leads to rank 5, and the job has 4 workers.");
  options.node_rank = std::int64_t{1} << 32;
  EXPECT_EQ(MessageOf(options), "--node_rank 4294967296 is not below the number of workers, 4.");
  options = Options(4, 2);
  options.cluster_time_out = 20'000'000'000;
  EXPECT_EQ(MessageOf(options),
            "--cluster_time_out is 20000000000: give seconds, at most 100000000, or a negative number for no limit.");
  options = Options(4, 2);
  options.sim_rank_id = 1;
  EXPECT_EQ(MessageOf(options), "--sim_rank_id 1 needs --sim_level: without it nothing is simulated.");
  options = Options(4, 2);
  options.worker_log_name = "logs/w";
  EXPECT_EQ(MessageOf(options),
            "--worker_log_name 'logs/w' is the name of a file and holds a '/': the folder is --log_dir.");
  options = Options(4, 2);
  options.master_port = 0;
  EXPECT_NE(MessageOf(options).find("--master_port 0 picks a free port on one node"), std::string::npos);
  options = Options(2, 2);
  options.master_addr = "192.0.2.1";  // of no machine: RFC 5737
  EXPECT_NE(MessageOf(options).find("--master_addr '192.0.2.1' is not this machine, where all 2 workers"),
            std::string::npos);
  options = Options(1, 1);
  options.master_port = 70000;
  EXPECT_NE(MessageOf(options).find("--master_port 70000 is not a port"), std::string::npos);
  options = Options(1, 1);
  options.task = {"no-such-program"};
  EXPECT_NE(MessageOf(options).find("'no-such-program' is not a program"), std::string::npos);
  options.task = {"no_such_script.py"};
  EXPECT_NE(MessageOf(options).find("The script 'no_such_script.py' is not there"), std::string::npos);
  options.task = {};
  EXPECT_NE(MessageOf(options).find("The program to start is missing"), std::string::npos);
  options = Options(2, 2);
  options.tail_worker_log = "0,2";
  EXPECT_NE(MessageOf(options).find("'2' is not the local index of one of 2 workers"), std::string::npos);
  options = Options(1, 1);
  options.rank_table_file = "/nowhere/table.json";
  EXPECT_NE(MessageOf(options).find("'/nowhere/table.json' cannot be read"), std::string::npos);
  options.rank_table_file = "/tmp";
  EXPECT_EQ(MessageOf(options), "--rank_table_file '/tmp' is a folder.");
}

TEST(LaunchPlan, NamesLogs) {
  LaunchOptions options = Options(2, 2);
  options.log_dir = "/tmp/logs";
  EXPECT_EQ(MakeLaunchPlan(options, From({}))->workers[1].log, "/tmp/logs/worker_1.log");
  options.worker_log_name = "w_{ip}_t";
  EXPECT_EQ(MakeLaunchPlan(options, From({}))->workers[1].log, "/tmp/logs/w_127.0.0.1_t_1.log");
}

TEST(LaunchPlan, TellsWorkersWhoTheyAreInEveryDialect) {
  LaunchOptions options = Options(4, 2);
  options.node_rank = 1;
  options.rank_table_file = "/etc/hostname";
  const Result<LaunchPlan> plan = MakeLaunchPlan(options, From({}));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const std::vector<std::string> inherited{"HOME=/h", "SLURM_PROCID=1", "OMPI_COMM_WORLD_RANK=1",
                                           "RANK=9",  "PMI_RANK=2",     "TENON_MASTER_PORT=1"};
  const auto environment = WorkerEnvironment(*plan, plan->workers[1], {"job7", 8118, 3, 99}, inherited);
  for (const char* variable : {"HOME=/h",
                               "MS_ROLE=MS_WORKER",
                               "MS_WORKER_NUM=4",
                               "MS_SCHED_HOST=127.0.0.1",
                               "MS_SCHED_PORT=8118",
                               "MS_TOPO_TIMEOUT=600",
                               "MS_NODE_ID=3",
                               "RANK_SIZE=4",
                               "RANK_ID=3",
                               "DEVICE_ID=1",
                               "RANK_TABLE_FILE=/etc/hostname",
                               "RANK=3",
                               "WORLD_SIZE=4",
                               "LOCAL_RANK=1",
                               "LOCAL_WORLD_SIZE=2",
                               "GROUP_RANK=1",
                               "MASTER_ADDR=127.0.0.1",
                               "MASTER_PORT=8119",
                               "TENON_JOB_ID=job7",
                               "TENON_GENERATION=3",
                               "TENON_JOB_STARTED=99"})
    EXPECT_TRUE(Has(environment, variable)) << variable;
  for (const char* foreign :
       {"SLURM_PROCID=1", "OMPI_COMM_WORLD_RANK=1", "PMI_RANK=2", "RANK=9", "TENON_MASTER_PORT=1"})
    EXPECT_FALSE(Has(environment, foreign)) << foreign;
  // And they are understood.
  Map map;
  for (const std::string& variable : environment)
    map[variable.substr(0, variable.find('='))] = variable.substr(variable.find('=') + 1);
  const Result<Rank> rank = RankFromVariables(From(map));
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(Describe(*rank).find("rank 3 of 4 (local 1 of 2, node 1 '"), 0U) << Describe(*rank);
  EXPECT_EQ(rank->job, "job7");
  EXPECT_EQ(rank->generation, 3U);
}

TEST(LaunchPlan, DealsCoresOut) {
  using Lists = std::vector<std::vector<int>>;
  EXPECT_EQ(*BindCores("False", 2, {0, 1}), (Lists{{}, {}}));
  EXPECT_EQ(*BindCores("True", 2, {0, 1, 2, 3}), (Lists{{0, 1}, {2, 3}}));
  EXPECT_EQ(*BindCores("True", 3, {4, 5}), (Lists{{4}, {4}, {5}}));
  EXPECT_EQ(*BindCores(R"({"device0": ["0-1", "3"], "device1": ["2"]})", 2, {0, 1, 2, 3}), (Lists{{0, 1, 3}, {2}}));
  for (const char* bad : {"yes", R"({"device2": ["0"]})", R"({"gpu0": ["0"]})", R"({"device0": "0"})",
                          R"({"device0": [0]})", R"({"device0": ["3-1"]})", R"({"device0": ["9"]})", "[1]"})
    EXPECT_FALSE(BindCores(bad, 2, {0, 1, 2, 3}).ok()) << bad;
  EXPECT_EQ(BindNuma("True", 2, {0, 1})->size(), 2U);
}

TEST(LogFollower, ReadsTheLastLines) {
  TempFolder folder;
  WriteFile(folder / "log", "one\ntwo\nthree\n");
  EXPECT_EQ(LastLines(folder / "log", 2), (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(LastLines(folder / "log", 9).size(), 3U);
  EXPECT_TRUE(LastLines(folder / "absent", 2).empty());
}

WorkerState Ended(std::uint32_t rank, int status, std::int64_t at_ns, bool by_us) {
  WorkerState worker;
  worker.plan.rank = rank;
  worker.end = WorkerEnd{status, at_ns, by_us};
  return worker;
}

TEST(FinalReport, TakesTheExitCodeOfTheFirstFailure) {
  AttemptResult result;
  result.workers.push_back(Ended(0, 5 << 8, 20, false));
  result.workers.push_back(Ended(1, 3 << 8, 10, false));
  result.workers.push_back(Ended(2, 9, 5, true));  // by us
  EXPECT_EQ(FinalExitCode(result), 3);
  result.first_rank = 0;  // what the ranks say wins over the order of their ends
  EXPECT_EQ(FinalExitCode(result), 5);
  result.first_rank = 7;  // on another node
  EXPECT_EQ(FinalExitCode(result), 1);
  result.interrupted = true;
  result.signal = 2;
  EXPECT_EQ(FinalExitCode(result), 130);
  EXPECT_EQ(WorkerEnd({9, 0, false}).ExitCode(), 137);
  EXPECT_EQ(WorkerEnd({9, 0, false}).Describe(), "ended by SIGKILL (Killed)");
}

}  // namespace
}  // namespace tenon
