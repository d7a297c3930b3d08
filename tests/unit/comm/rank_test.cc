#include "core/comm/rank.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon {
namespace {

using Map = std::map<std::string, std::string>;

Result<Rank> From(const Map& map) {
  return RankFromVariables([&map](const char* name) -> std::optional<std::string> {
    const auto found = map.find(name);
    if (found == map.end()) return std::nullopt;
    return found->second;
  });
}

std::string MessageOf(const Map& map) {
  const Result<Rank> rank = From(map);
  return rank.ok() ? "no error: " + Describe(*rank) : rank.status().message();
}

bool Holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Variables as `mpirun.openmpi -np 4` (4.1.4), `mpiexec.mpich -n 4` (4.0.2) and `srun -N2 -n4` (22.05) set them.
const Map kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},       {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                      {"OMPI_COMM_WORLD_NODE_RANK", "3"},  {"PMIX_NAMESPACE", "1234567"}};
const Map kMpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}};
const Map kSlurm = {{"SLURM_PROCID", "2"},    {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"},
                    {"SLURM_NODEID", "1"},    {"SLURM_NNODES", "2"}, {"SLURM_TASKS_PER_NODE", "2(x2)"},
                    {"SLURM_STEP_ID", "0"},   {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_NODELIST", "n[1-2]"},
                    {"SLURMD_NODENAME", "n2"}};
const Map kTorchrun = {
    {"RANK", "5"},       {"WORLD_SIZE", "8"},         {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
    {"GROUP_RANK", "1"}, {"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29500"}};
const Map kMsrun = {{"MS_ROLE", "MS_WORKER"},
                    {"RANK_ID", "3"},
                    {"RANK_SIZE", "4"},
                    {"DEVICE_ID", "1"},
                    {"LOCAL_WORLD_SIZE", "2"},
                    {"LOCAL_RANK", "1"},
                    {"RANK", "3"},
                    {"WORLD_SIZE", "4"},
                    {"MS_SCHED_HOST", "node-a"},
                    {"MS_SCHED_PORT", "8118"},
                    {"MASTER_ADDR", "node-a"},
                    {"MASTER_PORT", "8118"},
                    {"GROUP_RANK", "1"},
                    {"TENON_JOB_ID", "j1"},
                    {"TENON_GENERATION", "2"}};

Map With(Map map, const Map& more) {
  for (const auto& [name, value] : more) map[name] = value;
  return map;
}
Map Without(Map map, const std::string& name) {
  map.erase(name);
  return map;
}

TEST(Rank, IsOneProcessWithoutALauncher) {
  const Result<Rank> rank = From({{"HOME", "/root"}, {"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}});
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->size, 1U);
  EXPECT_EQ(rank->source, "");
  EXPECT_FALSE(rank->node_name.empty());
}

TEST(Rank, IsReadFromMsrun) {
  const Result<Rank> rank = From(kMsrun);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 3U);
  EXPECT_EQ(rank->size, 4U);
  EXPECT_EQ(rank->local_rank, 1U);
  EXPECT_EQ(rank->local_size, 2U);
  EXPECT_EQ(rank->node, 1U);
  EXPECT_EQ(rank->source, "msrun");
  EXPECT_EQ(rank->address, "node-a");
  EXPECT_EQ(rank->port, 8118);
  EXPECT_TRUE(rank->has_scheduler);
  EXPECT_EQ(rank->job, "j1");
  EXPECT_EQ(rank->generation, 2U);
}

TEST(Rank, IsReadFromWorkersStartedByHand) {
  const Result<Rank> rank = From({{"MS_ROLE", "MS_WORKER"},
                                  {"MS_WORKER_NUM", "2"},
                                  {"MS_NODE_ID", "1"},
                                  {"MS_SCHED_HOST", "127.0.0.1"},
                                  {"MS_SCHED_PORT", "8118"},
                                  {"DEVICE_ID", "1"}});
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 1U);
  EXPECT_EQ(rank->size, 2U);
  EXPECT_EQ(rank->local_size, 2U);
  EXPECT_TRUE(Holds(MessageOf(With(kMsrun, {{"MS_ROLE", "MS_PSERVER"}})), "Role name 'MS_PSERVER' is invalid"));
}

TEST(Rank, IsReadFromTorchrunsVariables) {
  const Result<Rank> rank = From(kTorchrun);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 5U);
  EXPECT_EQ(rank->size, 8U);
  EXPECT_EQ(rank->local_rank, 1U);
  EXPECT_EQ(rank->local_size, 4U);
  EXPECT_EQ(rank->node, 1U);
  EXPECT_EQ(rank->port, 29500);
  EXPECT_FALSE(rank->has_scheduler);
  // torchrun's own store has the port already.
  EXPECT_EQ(From(With(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->port, 29501);
  EXPECT_EQ(From(With(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}}))->generation, 1U);
}

TEST(Rank, IsReadFromOpenMpi) {
  const Result<Rank> rank = From(kOpenMpi);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 3U);
  EXPECT_EQ(rank->local_rank, 3U);
  EXPECT_EQ(rank->node, 0U);  // not OMPI_COMM_WORLD_NODE_RANK, which counts ranks
  EXPECT_EQ(rank->address, "127.0.0.1");
  EXPECT_GE(rank->port, 20000);
  EXPECT_NE(rank->port, From(With(kOpenMpi, {{"PMIX_NAMESPACE", "7654321"}}))->port);
  const std::string two_nodes =
      MessageOf(With(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}));
  EXPECT_TRUE(Holds(two_nodes, "set MASTER_ADDR to the host of rank 0")) << two_nodes;
}

TEST(Rank, IsReadFromMpich) {
  const Result<Rank> rank = From(kMpich);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 1U);
  EXPECT_EQ(rank->local_size, 4U);
  EXPECT_EQ(rank->source, "MPICH's mpiexec");
}

TEST(Rank, IsReadFromSrun) {
  const Result<Rank> rank = From(kSlurm);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 2U);
  EXPECT_EQ(rank->local_size, 2U);
  EXPECT_EQ(rank->node, 1U);
  EXPECT_EQ(rank->address, "n1");
  EXPECT_EQ(rank->node_name, "n2");
  EXPECT_EQ(rank->job, "7.0");
  EXPECT_NE(rank->port, From(With(kSlurm, {{"SLURM_STEP_ID", "1"}}))->port);
  // Inside sbatch, outside a step, the variables exist too.
  EXPECT_EQ(From(Without(kSlurm, "SLURM_STEP_ID"))->size, 1U);
}

TEST(Rank, IsReadFromPods) {
  const Map pod = {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};
  const Result<Rank> rank = From(pod);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->rank, 1U);
  EXPECT_EQ(rank->node, 1U);
  EXPECT_EQ(rank->local_size, 1U);
  const Map indexed = {{"JOB_COMPLETION_INDEX", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "train-0.train-svc"}};
  EXPECT_EQ(From(indexed)->rank, 2U);
  EXPECT_EQ(From(Without(indexed, "WORLD_SIZE"))->size, 1U);  // an indexed job of independent pods
  const Map pet = {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_MASTER_ADDR", "m"}, {"PET_MASTER_PORT", "29500"}};
  EXPECT_EQ(From(pet)->rank, 1U);
  EXPECT_TRUE(Holds(MessageOf(With(pet, {{"PET_NPROC_PER_NODE", "4"}})), "start them with msrun"));
  EXPECT_TRUE(Holds(MessageOf(With(pet, {{"PET_NNODES", "1:4"}})), "PET_NNODES=1:4 is a range"));
}

TEST(Rank, TakesTheStrongestSourceWhenAllAgree) {
  const Map both = With(kMpich, {{"SLURM_PROCID", "1"},
                                 {"SLURM_NTASKS", "4"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_JOB_ID", "3"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_TASKS_PER_NODE", "4"}});
  const Result<Rank> rank = From(both);
  ASSERT_TRUE(rank.ok()) << rank.status().ToString();
  EXPECT_EQ(rank->source, "srun");
}

TEST(Rank, RefusesLaunchersThatDisagree) {
  const std::string text = MessageOf(With(kTorchrun, kOpenMpi));
  EXPECT_TRUE(Holds(text, "torchrun says rank 5 of 8 (RANK)")) << text;
  EXPECT_TRUE(Holds(text, "OpenMPI's mpirun says rank 3 of 4 (OMPI_COMM_WORLD_RANK)")) << text;
  EXPECT_EQ(From(With(With(kTorchrun, kOpenMpi), {{"TENON_LAUNCHER", "openmpi"}}))->rank, 3U);
  EXPECT_TRUE(Holds(MessageOf({{"TENON_LAUNCHER", "pbs"}}), "TENON_LAUNCHER=pbs is not a launcher"));
  EXPECT_TRUE(Holds(MessageOf({{"TENON_LAUNCHER", "msrun"}}), "no variable of it is"));
}

TEST(Rank, BelievesTheInnerOfTwoLaunchers) {
  // mpirun inside an allocation: srun started one of its daemons per node.
  const Map daemon = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_NNODES", "2"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(From(With(kOpenMpi, daemon))->source, "OpenMPI's mpirun");
  // mpirun from a shell that is a step of one task.
  const Map shell = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(From(With(kMpich, shell))->size, 4U);
}

TEST(Rank, RefusesIncompleteAndUnreadableVariables) {
  EXPECT_EQ(MessageOf(Without(kTorchrun, "WORLD_SIZE")),
            "The variables of torchrun are incomplete: LOCAL_RANK is set, WORLD_SIZE is not.");
  EXPECT_EQ(MessageOf(With(kTorchrun, {{"RANK", "one"}})), "RANK=one is not a whole number from 0 to 1000000.");
  EXPECT_TRUE(Holds(MessageOf(With(kTorchrun, {{"RANK", "8"}})), "rank 8 of 8 ranks; it must be below 8"));
  EXPECT_TRUE(Holds(MessageOf(With(kTorchrun, {{"LOCAL_RANK", "4"}})), "local rank 4 of 4 local ranks"));
  EXPECT_EQ(MessageOf(With(kTorchrun, {{"MASTER_PORT", "70000"}})),
            "MASTER_PORT=70000 is not a whole number from 1 to 65535.");
  EXPECT_TRUE(Holds(MessageOf(Without(kTorchrun, "MASTER_ADDR")), "set MASTER_ADDR to the host of rank 0"));
}

TEST(Rank, RefusesToSimulate) {
  EXPECT_TRUE(Holds(MessageOf(With(kMsrun, {{"MS_SIMULATION_LEVEL", "1"}})),
                    "MS_SIMULATION_LEVEL=1 asks for a rank that is simulated, which this program does not do"));
}

TEST(Rank, ExpandsListsOfHosts) {
  const Result<std::vector<std::string>> hosts = ExpandHostList("n[1-3,07],gpu-a,r[08-10]x");
  ASSERT_TRUE(hosts.ok()) << hosts.status().ToString();
  EXPECT_EQ(*hosts, (std::vector<std::string>{"n1", "n2", "n3", "n07", "gpu-a", "r08x", "r09x", "r10x"}));
  for (const char* bad : {"n[1-", "n[2-1]", "n[a]", "", "a,,b", "n]1", "n[1][2]", "n[0-4294967295]"})
    EXPECT_FALSE(ExpandHostList(bad).ok()) << bad;
}

TEST(Rank, NamesTheIndexOfAPod) {
  const auto index = NodeIndexFromVariables([](const char* name) -> std::optional<std::string> {
    if (name == std::string_view("JOB_COMPLETION_INDEX")) return "3";
    return std::nullopt;
  });
  ASSERT_TRUE(index.ok() && index->has_value());
  EXPECT_EQ((*index)->index, 3U);
  EXPECT_EQ((*index)->variable, "JOB_COMPLETION_INDEX");
}

}  // namespace
}  // namespace tenon
