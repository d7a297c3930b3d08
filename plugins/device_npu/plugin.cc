#include "plugin.h"

#include "device.h"

namespace tenon::npu {

int32_t NpuPlugin::Start(const tenon_create_args&, sdk::Error& error) {
  const sdk::Host host = this->host();
  profiler_.Start(host);
  constexpr int64_t kMany = int64_t{1} << 40;
  int64_t devices = 1;
  int32_t code = TENON_OK;
  const auto integer = [&](std::string_view key, int64_t fallback, int64_t low, int64_t high, std::string_view help,
                           int64_t& out) {
    if (code == TENON_OK) code = host.Option(key, fallback, low, high, help, out, error);
  };
  integer("devices", 1, 1, 64, "number of devices that are offered", devices);
  integer("memory_mb", 2048, 1, int64_t{1} << 20, "memory of each device", memory_mb_);
  integer("copy_engines", 1, 1, 8, "queues that move data between host and device side by side", copy_engines_);
  integer("faults.lost_at_call", 0, 0, kMany, "the device is lost when this call starts, counted from 1; 0: never",
          faults_.lost_at_call);
  integer("faults.out_of_memory_bytes", 0, 0, kMany, "most bytes that can be in use at once; 0: all memory",
          faults_.out_of_memory_bytes);
  integer("faults.late_completion_ms", 0, 0, 60000, "how much later each completion arrives",
          faults_.late_completion_ms);
  if (code != TENON_OK) return code;
  code = host.Option("faults.slow_copy_ms_per_mb", 0.0, "what each MB of a transfer takes longer, in milliseconds",
                     faults_.slow_copy_ms_per_mb, error);
  if (code != TENON_OK) return code;
  if (faults_.slow_copy_ms_per_mb < 0) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Option faults.slow_copy_ms_per_mb is ", faults_.slow_copy_ms_per_mb,
                      "; it cannot be negative.");
  }
  memories_.resize(static_cast<size_t>(devices));
  for (int64_t i = 0; i < devices; ++i) ids_.push_back("npu.sim." + std::to_string(i));
  return TENON_OK;
}

int32_t NpuPlugin::CheckIndex(uint32_t index, sdk::Error& error) const {
  if (index < memories_.size()) return TENON_OK;
  return error.Fail(TENON_OUT_OF_RANGE, "Device ", index, " was asked for; there are ", memories_.size(),
                    " (option devices).");
}

int32_t NpuPlugin::DeviceCount(uint32_t& out, sdk::Error&) {
  out = static_cast<uint32_t>(memories_.size());
  return TENON_OK;
}

int32_t NpuPlugin::DescribeDevice(uint32_t index, tenon_device_info& out, sdk::Error& error) {
  if (const int32_t code = CheckIndex(index, error); code != TENON_OK) return code;
  out.flags = TENON_DEVICE_DETERMINISTIC;
  out.kind = sdk::Str(kDeviceKind);
  out.name = sdk::Str("Simulated NPU");
  out.unique_id = sdk::Str(ids_[index]);
  out.memory_bytes = static_cast<uint64_t>(memory_mb_) << 20;
  out.native_stream_kind = sdk::Str(TENON_NPU_SIM_STREAM_KIND);
  out.native_memory_kind = sdk::Str(TENON_NPU_SIM_MEMORY_KIND);
  return TENON_OK;
}

int32_t NpuPlugin::OpenDevice(uint32_t index, sdk::Device** out, sdk::Error& error) {
  if (const int32_t code = CheckIndex(index, error); code != TENON_OK) return code;
  std::shared_ptr<Memory>& memory = memories_[index];
  if (memory == nullptr) memory = std::make_shared<Memory>(static_cast<uint64_t>(memory_mb_) << 20);
  *out = new NpuDevice(*this, index, memory, faults_, static_cast<int>(copy_engines_));
  return TENON_OK;
}

int32_t NpuPlugin::Query(uint32_t index, std::string_view key, tenon_value& out, sdk::Error& error) {
  if (const int32_t code = CheckIndex(index, error); code != TENON_OK) return code;
  const auto number = [&](uint64_t value) {
    out.answer = TENON_ANSWER_YES;
    out.kind = TENON_ATTRIBUTE_INT;
    out.i64 = static_cast<int64_t>(value);
  };
  if (key == "deterministic" || key == "event_timing") out.answer = TENON_ANSWER_YES;
  if (key == "capture" || key == "peer_access" || key == "unified_memory" || key == "stream_priorities")
    out.answer = TENON_ANSWER_NO;
  if (key == "async_copy_engines") number(static_cast<uint64_t>(copy_engines_));
  if (key == "max_rank") number(kMaxRank);
  if (key == "org.tenon.npu.launch_cycles") number(kLaunchCycles);
  if (key == "org.tenon.npu.cube_macs_per_cycle") number(kCubeMacsPerCycle);
  if (key == "org.tenon.npu.vector_lanes") number(kVectorLanes);
  if (key == "org.tenon.npu.memory_bytes_per_cycle") number(kMemoryBytes);
  if (key == "org.tenon.npu.link_bytes_per_cycle") number(kLinkBytes);
  return TENON_OK;
}

namespace {
constexpr tenon_interface kInterfaces[] = {
    sdk::DeviceInterface(),        sdk::MemoryInterface(),   sdk::StreamInterface(),
    sdk::OpInterface<NpuTables>(), sdk::ProfilerInterface(),
};
}  // namespace

}  // namespace tenon::npu

TENON_SDK_PLUGIN(tenon::npu::NpuPlugin, "org.tenon.device_npu", "0.1.0", "Tenon authors", "Apache-2.0",
                 TENON_KIND_DEVICE | TENON_KIND_OP | TENON_KIND_PROFILER, tenon::npu::kInterfaces);
