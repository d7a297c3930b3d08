#include "plugins/device_cpu/plugin.h"

#include <unistd.h>

#include "plugins/device_cpu/device.h"

namespace tenon::cpu {

int32_t CpuPlugin::Start(const tenon_create_args&, sdk::Error& error) {
  std::string_view isa;
  int32_t code = host().Option("isa", "auto", "instruction set of the kernels: auto, sse2, avx2 or avx512", isa, error);
  if (code != TENON_OK) return code;
  code = host().Option("memory_mb", 0, 0, int64_t{1} << 30, "memory that tensors may use; 0 means no limit", memory_mb_,
                       error);
  if (code != TENON_OK) return code;
  std::string_view split;
  code = host().Option(
      "split_products", "auto",
      "with math: high, make float32 products of three bf16 ones: auto, where that is faster, or always", split, error);
  if (code != TENON_OK) return code;
  if (split != "auto" && split != "always")
    return error.Fail(TENON_INVALID_ARGUMENT, "Option split_products is '", split, "'; it can be auto or always.");
  always_splits_ = split == "always";
  if (isa != "auto" && isa != "sse2" && isa != "avx2" && isa != "avx512") {
    return error.Fail(TENON_INVALID_ARGUMENT, "Option isa is '", isa, "'; it can be auto, sse2, avx2 or avx512.");
  }
  routines_ = FindRoutines(isa);
  if (routines_ == nullptr) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Option isa is '", isa,
                      "', which this processor does not have; its best is '", FindRoutines("auto")->isa, "'.");
  }
  return TENON_OK;
}

int32_t CpuPlugin::DeviceCount(uint32_t& out, sdk::Error&) {
  out = 1;
  return TENON_OK;
}

int32_t CpuPlugin::DescribeDevice(uint32_t index, tenon_device_info& out, sdk::Error& error) {
  if (index != 0) return error.Fail(TENON_OUT_OF_RANGE, "Device ", index, " was asked for; there is only device 0.");
  out.flags = sdk::kHostDeviceFlags | TENON_DEVICE_DETERMINISTIC;
  out.kind = sdk::Str(kDeviceKind);
  out.name = sdk::Str("CPU");
  out.unique_id = sdk::Str("cpu");
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)),
             page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  out.memory_bytes = memory_mb_ != 0 ? static_cast<uint64_t>(memory_mb_) << 20 : pages * page;
  out.native_stream_kind = sdk::Str("host");
  out.native_memory_kind = sdk::Str("host");
  return TENON_OK;
}

int32_t CpuPlugin::OpenDevice(uint32_t index, sdk::Device** out, sdk::Error& error) {
  if (index != 0) return error.Fail(TENON_OUT_OF_RANGE, "Device ", index, " was asked for; there is only device 0.");
  *out = new CpuDevice(*this, static_cast<uint64_t>(memory_mb_) << 20);
  return TENON_OK;
}

int32_t CpuPlugin::Query(uint32_t, std::string_view key, tenon_value& out, sdk::Error&) {
  if (key == "deterministic") out.answer = TENON_ANSWER_YES;
  if (key == "capture" || key == "peer_access") out.answer = TENON_ANSWER_NO;
  if (key == "org.tenon.cpu.isa") {
    out.answer = TENON_ANSWER_YES;
    out.kind = TENON_ATTRIBUTE_TEXT;
    out.text = sdk::Str(routines_->isa);
  }
  return TENON_OK;
}

}  // namespace tenon::cpu
