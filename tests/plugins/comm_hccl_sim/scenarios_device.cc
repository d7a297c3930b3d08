// Tensors of the simulated accelerator: found through its streams, in the order of its streams.
#include <cstring>

#include "tenon/native/npu_sim.h"
#include "tests/plugins/comm_hccl_sim/worker.h"
#include "tests/plugins/small_host.h"

namespace tenon::testing_support {

void DeviceScenario(Worker& worker) {
  const char* plugin = std::getenv("TENON_NPU_PLUGIN");
  Require(plugin != nullptr, "TENON_NPU_PLUGIN is not set");
  testing::SmallHost device(plugin, "memory_mb=256");
  std::uint64_t native = 0;
  Require(device.streams().native(device.stream(), &native, device.sink()) == TENON_OK, "the stream has no handle");
  CommSetting setting = worker.Setting();
  setting.memory_kind = TENON_NPU_SIM_MEMORY_KIND;
  setting.stream_kind = TENON_NPU_SIM_STREAM_KIND;
  tenon_comm* comm = nullptr;
  const Ending made = worker.host.Create(setting, &comm);
  Require(made.code == TENON_OK, "comm_create: " + made.text);
  const auto size = static_cast<float>(worker.size());
  for (const std::uint64_t count : {5u, 20001u, 1000003u}) {
    const testing::DeviceMemory from(device, count * 4), to(device, count * 4), all(device, count * 4 * worker.size());
    // The operations follow the fill on the stream, and nothing waits in between.
    constexpr std::uint64_t kOne = 0x3F800000;
    Require(device.memory().fill(device.space(), from.address(), count * 4, kOne, 4, device.stream(), device.sink()) ==
                TENON_OK,
            "fill");
    tenon_collective_op reduce = TENON_INIT(tenon_collective_op);
    reduce.send = from.address();
    reduce.receive = to.address();
    reduce.count = count;
    reduce.dtype = TENON_DTYPE_F32;
    reduce.reduction = TENON_REDUCE_SUM;
    reduce.native_stream = native;
    tenon_collective_op gather = reduce;
    gather.send = to.address();
    gather.receive = all.address();
    gather.reduction = 0;
    Ending ending = worker.host.Start(&tenon_collective_vtable::all_reduce, comm, &reduce);
    Require(ending.code == TENON_OK, "all_reduce: " + ending.text);
    ending = worker.host.Start(&tenon_collective_vtable::all_gather, comm, &gather);
    Require(ending.code == TENON_OK, "all_gather: " + ending.text);
    Require(device.Finish(), "the stream: " + device.last_error());
    Require(CollectiveHost::Wait(reduce).code == TENON_OK && CollectiveHost::Wait(gather).code == TENON_OK, "waiting");
    std::vector<float> got(count * worker.size());
    all.Read(got.data(), got.size() * 4);
    for (const float value : got) Require(value == size, "a sum is " + std::to_string(value));
  }
  tenon_collective_op wild = NewCollective(&wild, &wild, 1, TENON_DTYPE_F32, TENON_REDUCE_SUM);
  wild.native_stream = native;
  const Ending refused = worker.host.Start(&tenon_collective_vtable::all_reduce, comm, &wild);
  Require(refused.code == TENON_INVALID_ARGUMENT && refused.text.find("allocation of the device") != std::string::npos,
          "an address that is not the device's: " + refused.text);
  tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
  Require(worker.table().buffer_alloc(comm, 64, 64, &info, worker.host.sink()) == TENON_UNIMPLEMENTED,
          "a block for the device");
  worker.table().comm_destroy(comm);
}

}  // namespace tenon::testing_support
