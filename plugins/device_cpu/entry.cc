// The entry of the library, and the interfaces that it offers.
#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {
namespace {

constexpr tenon_interface kInterfaces[] = {
    sdk::DeviceInterface(),        sdk::MemoryInterface(),           sdk::StreamInterface(),
    sdk::OpInterface<CpuTables>(), sdk::FusedInterface<CpuTables>(), sdk::ProfilerInterface(),
};

}  // namespace
}  // namespace tenon::cpu

TENON_SDK_PLUGIN(tenon::cpu::CpuPlugin, "org.tenon.device_cpu", "0.1.0", "Tenon authors", "Apache-2.0",
                 TENON_KIND_DEVICE | TENON_KIND_OP | TENON_KIND_SUBGRAPH | TENON_KIND_PROFILER,
                 tenon::cpu::kInterfaces);
