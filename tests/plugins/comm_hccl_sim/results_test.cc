// comm_hccl_sim: what operations compute, on 1 to 4 ranks, on one node and on several.
#include <gtest/gtest.h>

#include "tests/plugins/comm_hccl_sim/workers.h"

namespace tenon::testing_support {
namespace {

// Every rank of the plan must end well; their outputs.
std::vector<std::string> AllWell(const WorkerPlan& plan) {
  Workers workers(plan);
  std::vector<std::string> texts;
  for (std::uint32_t rank = 0; rank < plan.size; ++rank) {
    const Workers::Result result = workers.Wait(rank);
    EXPECT_EQ(result.exit_code, 0) << plan.scenario << ", rank " << rank << ": " << result.text;
    texts.push_back(result.text);
  }
  return texts;
}

WorkerPlan Plan(const std::string& scenario, std::uint32_t size, std::vector<std::uint32_t> nodes = {}) {
  WorkerPlan plan;
  plan.scenario = scenario;
  plan.size = size;
  plan.nodes = std::move(nodes);
  return plan;
}

TEST(HcclResults, OneRank) { AllWell(Plan("results", 1)); }
TEST(HcclResults, TwoRanks) { AllWell(Plan("results", 2)); }
TEST(HcclResults, ThreeRanks) { AllWell(Plan("results", 3)); }
TEST(HcclResults, FourRanks) { AllWell(Plan("results", 4)); }
TEST(HcclResults, OneRankOnEachOfTwoNodes) { AllWell(Plan("results", 2, {0, 1})); }
TEST(HcclResults, TwoRanksOnEachOfTwoNodes) { AllWell(Plan("results", 4, {0, 0, 1, 1})); }
TEST(HcclResults, NodesOfDifferentSizes) { AllWell(Plan("results", 3, {0, 1, 0})); }

TEST(HcclResults, LoopsOfOlderProcessors) {
  for (const char* isa : {"sse2", "avx2"}) {
    WorkerPlan plan = Plan("results", 2);
    plan.environment["TENON_HCCL_ISA"] = isa;
    AllWell(plan);
  }
}

TEST(HcclMessages, InANode) {
  for (const std::uint32_t size : {2u, 3u, 4u}) AllWell(Plan("messages", size));
}
TEST(HcclMessages, BetweenNodes) { AllWell(Plan("messages", 4, {0, 1, 0, 1})); }

TEST(HcclParts, BesideAllRanks) { AllWell(Plan("parts", 4)); }
TEST(HcclParts, OverNodes) { AllWell(Plan("parts", 4, {0, 0, 1, 1})); }

TEST(HcclBlocks, ReadInPlace) {
  for (const std::uint32_t size : {1u, 2u, 4u}) AllWell(Plan("blocks", size));
}
TEST(HcclBlocks, OverNodes) { AllWell(Plan("blocks", 2, {0, 1})); }

TEST(HcclDeterminism, SameBitsEverywhere) {
  std::string first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const std::string& text : AllWell(Plan("determinism", 4))) {
      if (first.empty()) first = text;
      EXPECT_EQ(text, first);
    }
  }
  const std::vector<std::string> nodes = AllWell(Plan("determinism", 4, {0, 0, 1, 1}));
  for (const std::string& text : nodes) EXPECT_EQ(text, nodes[0]);
}

TEST(HcclHuge, PastCachesAndMemory) {
  AllWell(Plan("huge", 2));
  AllWell(Plan("huge", 2, {0, 1}));
}

TEST(HcclDevice, TensorsOfTheAccelerator) {
  if (std::getenv("TENON_NPU_PLUGIN") == nullptr) GTEST_SKIP() << "device_npu is not built";
  AllWell(Plan("device", 2));
  AllWell(Plan("device", 2, {0, 1}));
}

}  // namespace
}  // namespace tenon::testing_support
