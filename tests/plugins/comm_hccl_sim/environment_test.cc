// comm_hccl_sim: the variables and rank tables of HCCL, through a communicator as users meet them.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <map>
#include <thread>

#include "tenon/abi/status.h"
#include "tests/plugins/comm_hccl_sim/workers.h"

namespace tenon::testing_support {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kTwoServers =
    R"({"version":"1.0","server_count":"2","server_list":[
        {"server_id":"10.0.0.1","host_ip":"127.0.0.1","device":[{"device_id":"0","device_ip":"192.168.100.101","rank_id":"0"}]},
        {"server_id":"10.0.0.2","host_ip":"127.0.0.1","device":[{"device_id":"0","device_ip":"192.168.100.102","rank_id":"1"}]}],
      "status":"completed"})";
constexpr const char* kOneServer =
    R"({"version":"1.2","server_count":"1","server_list":[{"server_id":"s","device":[
        {"device_id":"0","super_device_id":"0","rank_id":"0"},{"device_id":"1","super_device_id":"1","rank_id":"1"}]}],
      "super_pod_list":[{"super_pod_id":"p","server_list":[{"server_id":"s"}]}],"status":"completed"})";

std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// What rank 0 of two says when both join with these variables.
std::string JoinWith(Variables variables, const std::string& extra = "3000") {
  WorkerPlan plan;
  plan.scenario = "join";
  plan.extra = extra;
  plan.environment = std::move(variables);
  plan.environment["TENON_TEST_NO_NODE"] = "1";
  Workers workers(plan);
  const std::string text = workers.Wait(0).text;
  workers.Wait(1);
  return text;
}

void Expect(const std::string& text, int code, const std::vector<std::string>& parts) {
  EXPECT_EQ(text.find("joined " + std::to_string(code) + " "), 0u) << text;
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

class Table {
 public:
  explicit Table(const std::string& text) { WriteFile(path(), text); }
  std::string path() const { return folder_ / "table.json"; }
  Variables variables() const { return {{"RANK_TABLE_FILE", path()}}; }

 private:
  TempFolder folder_;
};

TEST(HcclEnvironment, RefusesWhatIsOutOfRange) {
  const struct {
    const char *name, *value, *range;
  } cases[] = {
      {"HCCL_CONNECT_TIMEOUT", "119", "from 120 to 7200"},  {"HCCL_CONNECT_TIMEOUT", "7201", "from 120 to 7200"},
      {"HCCL_CONNECT_TIMEOUT", "120s", "from 120 to 7200"}, {"HCCL_EXEC_TIMEOUT", "17341", "from 0 to 17340"},
      {"HCCL_EXEC_TIMEOUT", "-1", "from 0 to 17340"},       {"HCCL_SIM_TIMEOUT_SCALE", "0", "above 0"},
      {"HCCL_SIM_TIMEOUT_SCALE", "fast", "above 0"},        {"TENON_HCCL_PRIORITY", "high", "normal or realtime"},
      {"TENON_HCCL_ISA", "neon", "sse2, avx2 or avx512"}};
  for (const auto& one : cases) {
    Expect(JoinWith({{one.name, one.value}}), TENON_INVALID_ARGUMENT,
           {"EI0001", one.name, std::string("'") + one.value + "'", one.range, "Possible causes"});
  }
}

bool MayRunBeforeOthers() {
  bool may = false;
  std::thread([&may] {
    sched_param lowest{};
    lowest.sched_priority = sched_get_priority_min(SCHED_RR);
    may = pthread_setschedparam(pthread_self(), SCHED_RR, &lowest) == 0;
  }).join();
  return may;
}

TEST(HcclEnvironment, RealtimeThreadsComputeTheSameOrSayWhatTheyNeed) {
  WorkerPlan plan;
  plan.scenario = "results";
  plan.nodes = {0, 1};
  plan.environment = {{"TENON_HCCL_PRIORITY", "realtime"}};
  if (MayRunBeforeOthers()) {
    Workers allowed(plan);
    EXPECT_EQ(allowed.Wait(0).exit_code, 0) << allowed.Wait(0).text;
    plan.before = {"setpriv --bounding-set=-sys_nice", "setpriv --bounding-set=-sys_nice"};
  }
  plan.scenario = "join";
  plan.extra = "5000";
  Workers refused(plan);
  Expect(refused.Wait(0).text, TENON_FAILED_PRECONDITION, {"EI0001", "TENON_HCCL_PRIORITY", "CAP_SYS_NICE"});
}

TEST(HcclEnvironment, ConnectTimeoutHoldsScaled) {
  WorkerPlan plan;
  plan.scenario = "join";
  plan.extra = "0";
  plan.left_out = {1};
  plan.environment = {{"HCCL_CONNECT_TIMEOUT", "200"}, {"HCCL_SIM_TIMEOUT_SCALE", "0.005"}};
  Workers workers(plan);
  const std::string text = workers.Wait(0).text;
  Expect(text, TENON_DEADLINE_EXCEEDED, {"EI0006", "Rank 1 of 2", "within 1 s"});
}

TEST(HcclEnvironment, ExecTimeoutIsAMultipleOf68) {
  WorkerPlan plan;
  plan.scenario = "loop";
  plan.extra = "1000 0 1";
  plan.environment = {{"HCCL_EXEC_TIMEOUT", "100"}, {"HCCL_SIM_TIMEOUT_SCALE", "0.01"}};
  Workers workers(plan);
  ASSERT_TRUE(workers.Printed(0, "ready"));
  workers.Signal(1, SIGSTOP);
  const std::string text = workers.Wait(0).text;
  const std::string told = "EI0002: An operation did not end within ";
  const std::size_t at = text.find(told);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NEAR(std::stod(text.substr(at + told.size())), 0.68, 0.05) << text;  // the wait, a part of the operation
}

TEST(HcclRankTable, MakesNodesOfServers) {
  Expect(JoinWith(Table(kTwoServers).variables()), TENON_OK,
         {"2 ranks on 2 nodes (1 + 1)", "host_ip of the rank table"});
  Expect(JoinWith(Table(kOneServer).variables()), TENON_OK, {"2 ranks of one node"});
}

TEST(HcclRankTable, SaysWhatIsWrong) {
  const struct {
    std::string table;
    std::vector<std::string> parts;
  } cases[] = {
      {"{", {"it is not JSON"}},
      {"[]", {"it is no object"}},
      {With(kTwoServers, R"("version":"1.0")", R"("version":"3.1")"), {"version '3.1'"}},
      {With(kTwoServers, R"("server_count":"2")", R"("server_count":"3")"), {"'server_count' is '3'", "2 entries"}},
      {With(kTwoServers, R"("server_count":"2")", R"("server_count":2)"),
       {"'server_count' in the table is 2", "in quotes"}},
      {With(kTwoServers, R"("rank_id":"1")", R"("rank_id":"2")"), {"rank_id '2'", "a rank is missing"}},
      {With(kTwoServers, R"("rank_id":"1")", R"("rank_id":"0")"), {"rank_id '0' stands twice"}},
      {With(kTwoServers, R"("server_id":"10.0.0.2")", R"("server_id":"10.0.0.1")"),
       {"server_id '10.0.0.1' stands twice"}},
      {With(kTwoServers, R"("device_id":"0")", R"("device_id":"x")"), {"'device_id'", "'x'", "must be a number"}},
      {With(kTwoServers, R"("device_id":"0",)", ""), {"'device_id' is missing"}},
      {With(kOneServer, R"("device_id":"1")", R"("device_id":"0")"), {"device_id '0' stands twice in server 's'"}},
      {With(kOneServer, R"("super_device_id":"1",)", ""), {"'super_device_id' is missing"}},
      {With(kOneServer, R"([{"server_id":"s"}])", R"([{"server_id":"t"}])"), {"names server 't'"}},
      {With(kTwoServers, R"("status":"completed")", R"("state":"completed")"), {"'status' is missing"}}};
  for (const auto& one : cases) {
    std::vector<std::string> parts = one.parts;
    parts.insert(parts.end(), {"EI0004", "The table: "});
    Expect(JoinWith(Table(one.table).variables()), TENON_INVALID_ARGUMENT, parts);
  }
}

TEST(HcclRankTable, FewerRanksThanTheRunHas) {
  const std::string one =
      R"({"version":"1.0","server_count":"1","server_list":[{"server_id":"s","device":[{"device_id":"0","rank_id":"0"}]}],"status":"completed"})";
  Expect(JoinWith(Table(one).variables()), TENON_INVALID_ARGUMENT, {"EI0004", "has 1 ranks", "has 2"});
}

TEST(HcclRankTable, WaitsUntilItIsComplete) {
  const Table table(With(kOneServer, R"("status":"completed")", R"("status":"initializing")"));
  Variables variables = table.variables();
  WorkerPlan plan;
  plan.scenario = "join";
  plan.extra = "10000";
  plan.environment = variables;
  Workers workers(plan);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  WriteFile(table.path() + ".new", kOneServer);
  std::filesystem::rename(table.path() + ".new", table.path());
  Expect(workers.Wait(0).text, TENON_OK, {});
  variables["HCCL_SIM_TIMEOUT_SCALE"] = "0.005";
  WriteFile(table.path(), With(kOneServer, R"("status":"completed")", R"("status":"initializing")"));
  Expect(JoinWith(variables), TENON_DEADLINE_EXCEEDED, {"EI0004", "status 'initializing'", "0.6 s"});
}

TEST(HcclAddress, AnInterfaceThatIsNotThereListsThoseThatAre) {
  WorkerPlan plan;
  plan.scenario = "join";
  plan.extra = "3000";
  plan.nodes = {0, 1};
  plan.environment = {{"HCCL_SOCKET_IFNAME", "ib9"}};
  Workers workers(plan);
  Expect(workers.Wait(0).text, TENON_INVALID_ARGUMENT, {"EI0001", "'ib9'", "lo (127.0.0.1)"});
}

TEST(HcclAddress, MustBeNumeric) {
  WorkerPlan plan;
  plan.scenario = "join";
  plan.extra = "3000";
  plan.nodes = {0, 1};
  plan.environment = {{"HCCL_IF_IP", "node-a"}};
  Workers workers(plan);
  Expect(workers.Wait(0).text, TENON_INVALID_ARGUMENT, {"EI0001", "'node-a'", "numeric"});
}

}  // namespace
}  // namespace tenon::testing_support
