// The memory space of the device: allocation, filling, statistics.
#include <cstring>
#include <utility>

#include "device.h"

namespace tenon::npu {
namespace {

class NpuBuffer final : public sdk::Buffer {
 public:
  NpuBuffer(NpuDevice& device, uint64_t address, tenon_deleter_fn deleter, void* user)
      : Buffer(device.host()), device_(device), address_(address), deleter_(deleter), user_(user) {}

  void Free(sdk::Stream* stream) noexcept override {
    if (deleter_ != nullptr) deleter_(user_);
    if (address_ != 0 && stream != nullptr) {
      device_.FreeBehind(*stream, address_);
    } else if (address_ != 0) {
      device_.memory().Give(address_);
    }
    delete this;
  }

 private:
  NpuDevice& device_;
  uint64_t address_;  // 0: nothing to give back
  tenon_deleter_fn deleter_;
  void* user_;
};

void FillBytes(std::byte* to, uint64_t bytes, uint64_t pattern, uint32_t width) {
  for (uint64_t place = 0; place < bytes; place += width) std::memcpy(to + place, &pattern, width);
}

}  // namespace

NpuSpace::NpuSpace(NpuDevice& device) : Space(device.host()), device_(device) {}

void NpuSpace::Describe(tenon_space_info& out) const {
  out.flags = TENON_SPACE_PLUGIN_POOLS | TENON_SPACE_DEFAULT;
  out.kind = TENON_SPACE_DEVICE;
  out.min_align = Memory::kAlign;
  out.max_bytes = device_.memory().stats().total;
  out.native_memory_kind = sdk::Str(TENON_NPU_SIM_MEMORY_KIND);
  out.name = sdk::Str("device memory");  // last member
}

bool NpuSpace::Take(uint64_t bytes, uint64_t align, uint64_t& address) {
  const auto limit = static_cast<uint64_t>(device_.health().faults().out_of_memory_bytes);
  if (limit != 0 && device_.memory().stats().current + bytes > limit) return false;
  return device_.memory().Take(bytes, align, address);
}

int32_t NpuSpace::Alloc(uint64_t bytes, uint64_t align, sdk::Stream*, uint32_t, sdk::Buffer** out, uint64_t& address,
                        sdk::Error& error) {
  if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
  if ((align & (align - 1)) != 0) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Alignment ", align, " is not a power of two.");
  }
  if (bytes > 0 && !Take(bytes, align, address)) {
    device_.WaitForFrees();
    if (!Take(bytes, align, address)) {
      const Memory::Stats stats = device_.memory().stats();
      const auto limit = static_cast<uint64_t>(device_.health().faults().out_of_memory_bytes);
      const uint64_t total = limit == 0 ? stats.total : limit;
      const uint64_t free = total > stats.current ? total - stats.current : 0;
      return error.OutOfMemory("device", bytes, free, total, std::min(free, stats.largest_free));
    }
  }
  *out = new NpuBuffer(device_, address, nullptr, nullptr);
  return TENON_OK;
}

int32_t NpuSpace::Fill(uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t width, sdk::Stream* stream,
                       sdk::Error& error) {
  if (const int32_t code = device_.health().Check(error); code != TENON_OK) return code;
  const bool width_ok = width == 1 || width == 2 || width == 4 || width == 8;
  if (!width_ok || bytes % width != 0) {
    return error.Fail(TENON_INVALID_ARGUMENT, "A pattern of ", width, " bytes cannot fill ", bytes, " bytes.");
  }
  if (bytes == 0) return TENON_OK;
  std::byte* to = device_.memory().Resolve(address, bytes);
  if (to == nullptr) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Bytes ", address, " to ", address + bytes,
                      " do not lie in one allocation of the device.");
  }
  Command command;
  command.name = "fill";
  const Cost cost{0, 0, bytes};
  command.recorded = {TENON_RECORD_FILL, cost.Cycles(), bytes};
  command.run = [this, to, bytes, pattern, width, cost](uint64_t& cycles) {
    FillBytes(to, bytes, pattern, width);
    device_.counters().Add(cost);
    cycles += cost.Cycles();
  };
  return device_.Launch(stream, std::move(command), error);
}

int32_t NpuSpace::WrapExternal(uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user,
                               sdk::Buffer** out, sdk::Error& error) {
  if (bytes > 0 && device_.memory().Resolve(address, bytes) == nullptr) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Address ", address, " is not memory of this device (",
                      std::string_view(TENON_NPU_SIM_MEMORY_KIND), ").");
  }
  *out = new NpuBuffer(device_, 0, deleter, user);
  return TENON_OK;
}

void NpuSpace::Stats(tenon_memory_stats& out) const {
  const Memory::Stats stats = device_.memory().stats();
  out.current_bytes = stats.current;
  out.peak_bytes = stats.peak;
  out.reserved_bytes = stats.total;
  out.largest_free_bytes = stats.largest_free;  // last member
}

}  // namespace tenon::npu
