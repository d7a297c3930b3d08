// The tests, or one rank of a test.
#include <gtest/gtest.h>

#include "tests/plugins/comm_hccl_sim/workers.h"

int main(int argc, char** argv) {
  if (argc == 8 && std::string(argv[1]) == "worker")
    return tenon::testing_support::RunWorker(tenon::testing_support::ParseWorker(argv));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
