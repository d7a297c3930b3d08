// comm_hccl_sim: two hosts, emulated by network namespaces. Skipped where none can be made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tenon/abi/status.h"
#include "tests/plugins/comm_hccl_sim/workers.h"

namespace tenon::testing_support {
namespace {

bool Shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Two namespaces with a link between them, named after this process.
class Hosts {
 public:
  Hosts() {
    const std::string id = std::to_string(getpid() % 100000);
    for (int i : {0, 1}) {
      names_[i] = "tenon_test_" + id + (i == 0 ? "a" : "b");
      devices_[i] = "th" + id + (i == 0 ? "a" : "b");
    }
    made_ = Shell("ip netns add " + names_[0]) && Shell("ip netns add " + names_[1]) &&
            Shell("ip link add " + devices_[0] + " netns " + names_[0] + " type veth peer name " + devices_[1] +
                  " netns " + names_[1]);
    for (int i : {0, 1}) {
      made_ = made_ &&
              Shell("ip -n " + names_[i] + " addr add 10.79.0." + std::to_string(i + 1) + "/24 dev " + devices_[i]) &&
              Shell("ip -n " + names_[i] + " link set " + devices_[i] + " up") &&
              Shell("ip -n " + names_[i] + " link set lo up");
    }
  }
  ~Hosts() {
    for (const std::string& name : names_) Shell("ip netns del " + name);
  }
  bool made() const { return made_; }
  void Cut() const { Shell("ip -n " + names_[1] + " link set " + devices_[1] + " down"); }
  std::vector<std::string> commands() const { return {"ip netns exec " + names_[0], "ip netns exec " + names_[1]}; }

 private:
  std::string names_[2], devices_[2];
  bool made_ = false;
};

WorkerPlan Plan(const Hosts& hosts, const std::string& scenario, const std::string& extra = "") {
  WorkerPlan plan;
  plan.scenario = scenario;
  plan.size = 4;
  plan.nodes = {0, 0, 1, 1};
  plan.before = hosts.commands();
  plan.extra = extra;
  return plan;
}

TEST(HcclHosts, ComputeTheSame) {
  const Hosts hosts;
  if (!hosts.made()) GTEST_SKIP() << "no network namespaces can be made here";
  for (const char* scenario : {"results", "messages"}) {
    Workers workers(Plan(hosts, scenario));
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const Workers::Result result = workers.Wait(rank);
      EXPECT_EQ(result.exit_code, 0) << result.text;
    }
  }
}

TEST(HcclHosts, FindTheirAddresses) {
  const Hosts hosts;
  if (!hosts.made()) GTEST_SKIP() << "no network namespaces can be made here";
  Workers workers(Plan(hosts, "join", "5000"));
  EXPECT_NE(workers.Wait(0).text.find("is reached by other nodes at 10.79.0.1 (first interface"), std::string::npos);
  EXPECT_NE(workers.Wait(3).text.find("is reached by other nodes at 10.79.0.2 (first interface"), std::string::npos);
  WorkerPlan loopback = Plan(hosts, "join", "5000");
  loopback.environment = {{"HCCL_SOCKET_IFNAME", "lo"}};
  Workers refused(loopback);
  const std::string text = refused.Wait(0).text;
  EXPECT_NE(text.find("loopback address"), std::string::npos) << text;
}

TEST(HcclHosts, ALinkThatIsCutEndsBothSides) {
  const Hosts hosts;
  if (!hosts.made()) GTEST_SKIP() << "no network namespaces can be made here";
  Workers workers(Plan(hosts, "loop", "100000 1000 1"));
  for (std::uint32_t rank = 0; rank < 4; ++rank) ASSERT_TRUE(workers.Printed(rank, "ready"));
  hosts.Cut();
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const std::string text = workers.Wait(rank).text;
    EXPECT_NE(text.find("ended " + std::to_string(TENON_DEADLINE_EXCEEDED)), std::string::npos) << text;
    EXPECT_NE(text.find("EI0002"), std::string::npos) << text;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
}

}  // namespace
}  // namespace tenon::testing_support
