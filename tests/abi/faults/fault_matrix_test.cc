// What a host makes of a plugin whose tables are not as they should be (fault_shim.cc): each fault in a process of its own,
// which opens the plugin and its device, and computes. Whatever the fault: the process never crashes or hangs; it
// works, with the right result, or says what is wrong and names the plugin.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "core/api/tenon.h"
#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/stream.h"

namespace tenon::api {
namespace {

constexpr int kTimeoutMs = 20000;

// What a program says: "works", or the text of its error.
std::string Use(const std::string& fault) {
  setenv("TENON_ABI_FAULT", fault.c_str(), 1);
  try {
    RuntimeOptions options;
    options.plugins = {TENON_FAULT_SHIM};
    options.device = "null";
    const Runtime runtime(options);
    const Tensor y = ops::Relu(Tensor::Of<float>(runtime, {5}, {-1, 2, -3, 4, 0}));
    return y.Values<float>() == std::vector<float>{0, 2, 0, 4, 0} ? "works" : "a wrong result";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Use() in a child; how it ended when it did not come back.
std::string Try(const std::string& fault) {
  int pipes[2];
  if (pipe(pipes) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    const std::string said = Use(fault);
    const ssize_t written = write(pipes[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(pipes[1]);
  std::string said;
  pollfd ready{pipes[0], POLLIN, 0};
  char part[4096];
  while (true) {
    if (poll(&ready, 1, kTimeoutMs) <= 0) {
      kill(child, SIGKILL);
      said = "CRASH: hangs";
      break;
    }
    const ssize_t got = read(pipes[0], part, sizeof(part));
    if (got <= 0) break;
    said.append(part, static_cast<std::size_t>(got));
  }
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && said != "CRASH: hangs") return "CRASH: signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return "CRASH: exit code " + std::to_string(WEXITSTATUS(status));
  return said;
}

struct Outcome {
  int works = 0;
  int refused = 0;
};

// One fault; counts what became of it.
void Check(const std::string& fault, Outcome& outcome) {
  const std::string said = Try(fault);
  if (said == "works") {
    ++outcome.works;
    return;
  }
  ++outcome.refused;
  EXPECT_EQ(said.find("CRASH"), std::string::npos) << fault << ": " << said;
  EXPECT_NE(said, "a wrong result") << fault;
  EXPECT_GT(said.size(), 20U) << fault << ": " << said;
  EXPECT_TRUE(said.find("fault_shim") != std::string::npos || said.find("device_null") != std::string::npos)
      << fault << " is not blamed on the plugin: " << said;
}

class FaultMatrix : public testing::Test {
 protected:
  void SetUp() override { setenv("TENON_FAULTY_PLUGIN", TENON_NULL_PLUGIN, 1); }

  // Every struct size from nothing to 64 bytes more than there is.
  Outcome Sizes(const std::string& what, std::size_t own) {
    Outcome outcome;
    for (std::size_t size = 0; size <= own + 64; size += size < own || size >= own + 8 ? 4 : 1) {
      Check(what + " " + std::to_string(size), outcome);
    }
    return outcome;
  }
  Outcome Values(const std::string& what, std::initializer_list<std::uint64_t> values) {
    Outcome outcome;
    for (const std::uint64_t value : values) Check(what + " " + std::to_string(value), outcome);
    return outcome;
  }
  template <class T>
  Outcome NullSlots(const std::string& table) {
    Outcome outcome;
    for (std::size_t slot = 0; slot < (sizeof(T) - 8) / sizeof(void*); ++slot) {
      Check(table + ".null " + std::to_string(slot), outcome);
    }
    return outcome;
  }
};

TEST_F(FaultMatrix, NoFaultWorks) { EXPECT_EQ(Try("none 0"), "works"); }

TEST_F(FaultMatrix, StructSizes) {
  // Longer ones always work; shorter ones while what is required is there.
  for (const auto& [what, own] :
       std::initializer_list<std::pair<const char*, std::size_t>>{{"descriptor.size", sizeof(tenon_plugin_descriptor)},
                                                                  {"device.size", sizeof(tenon_device_vtable)},
                                                                  {"memory.size", sizeof(tenon_memory_vtable)},
                                                                  {"stream.size", sizeof(tenon_stream_vtable)},
                                                                  {"op.size", sizeof(tenon_op_vtable)},
                                                                  {"kernel.size", sizeof(tenon_kernel_vtable)},
                                                                  {"kernel_def.size", sizeof(tenon_kernel_def)},
                                                                  {"interface.size", sizeof(tenon_interface)},
                                                                  {"device_info.size", sizeof(tenon_device_info)}}) {
    const Outcome outcome = Sizes(what, own);
    EXPECT_GE(outcome.works, 16) << what << " longer than today's must work";
  }
}

TEST_F(FaultMatrix, NullSlots) {
  // A required slot is refused by name, an optional one does without.
  EXPECT_EQ(NullSlots<tenon_device_vtable>("device").refused, 5);
  EXPECT_EQ(NullSlots<tenon_memory_vtable>("memory").refused, 6);
  EXPECT_EQ(NullSlots<tenon_stream_vtable>("stream").refused, 11);
  EXPECT_EQ(NullSlots<tenon_op_vtable>("op").refused, 1);
  // Of a kernel: supports, create, execute, destroy. Without plan the skeleton's Relu has no size, and computes nothing.
  Outcome kernel;
  for (const int slot : {0, 1, 2, 4, 5, 6}) Check("kernel.null " + std::to_string(slot), kernel);
  EXPECT_EQ(kernel.refused, 4);
}

TEST_F(FaultMatrix, Strides) {
  for (const char* what : {"interfaces.stride", "kernels.stride"}) {
    const std::size_t own = what[0] == 'i' ? sizeof(tenon_interface) : sizeof(tenon_kernel_def);
    EXPECT_EQ(Values(what, {own, own + 8, own + 16}).works, 3) << what;
  }
  // Too short for a record: refused, and nothing is read beyond.
  EXPECT_EQ(Values("interfaces.stride", {0, 4, 7, 8, 16}).refused, 5);
  Values("interfaces.stride", {sizeof(tenon_interface) + 1, sizeof(tenon_interface) + 4});
  Values("kernels.stride", {0, 1, 8});
}

TEST_F(FaultMatrix, ReservedFields) {
  for (const char* what : {"device.reserved", "memory.reserved", "stream.reserved", "op.reserved", "kernel.reserved",
                           "interface.reserved"}) {
    Values(what, {0});
  }
}

TEST_F(FaultMatrix, UnknownEnumerators) {
  Values("descriptor.kinds", {std::uint64_t{1} << 40, std::uint64_t{1} << 63});
  Values("descriptor.sanitizer", {99, 0xFFFFFFFF});
  Values("descriptor.debug", {99});
  Values("device_info.flags", {0xFFFFFFF0, 0x80000000});
  Values("space.kind", {0, 99, 0xFFFFFFFF});
  Values("space.flags", {0, 0xFFFFFFFF});
  Values("kernel_def.stride_pattern", {3, 0xFFFFFFFF});
  Values("kernel_def.traits", {0});
  Values("supports.verdict", {0, 4, 99, 0xFFFFFFFF});
  Values("plan.flags", {0xFFFFFFFE});
  for (const char* code : {"device_count.code", "device_info.code", "open.code", "alloc.code", "list_kernels.code",
                           "create_kernel.code", "plan.code", "execute.code"}) {
    EXPECT_EQ(Values(code, {3, 17, 77, 0xFFFFFFFF}).refused, 4) << code;
  }
  // A kernel that cannot say whether it fits is passed over, and the reference computes.
  EXPECT_EQ(Values("supports.code", {3, 17, 77, 0xFFFFFFFF}).works, 4);
}

TEST_F(FaultMatrix, OddAnswers) {
  Values("device_count.value", {0, 0xFFFFFFFF});
  Values("device_info.kind", {0, 1});
  Values("device_info.name", {0, 5});
  Values("space_count.value", {0, 0xFFFFFFFF});
  Values("space.align", {0, 3, std::uint64_t{1} << 62});
  Values("space.null", {0});
  Values("open.null", {0});
  Values("alloc.address", {0, 1});
  Values("create_kernel.null", {0});
  Values("plan.align", {3, std::uint64_t{1} << 62});
  Values("plan.workspace", {std::uint64_t{1} << 62, ~std::uint64_t{0}});
  Values("interface.minor", {99, 0xFFFFFFFF});
  Values("interface.id", {0, 5});
  Values("interface.table", {0});
  Values("interfaces.null", {0});
  Values("descriptor.vendor", {5});
  Values("descriptor.id", {0, 5});
  Values("descriptor.create", {0});
  Values("descriptor.destroy", {0});
  Values("kernel_def.vtable", {0});
  Values("kernel_def.versions", {0});
  Values("kernel_def.name", {0, 5});
  Values("kernel_def.op_type", {0, 5});
  Values("kernel_def.device_kind", {0});
  Values("kernels.null", {0});
}

}  // namespace
}  // namespace tenon::api
