// A device in host memory whose kernels do nothing: what is left of a call is what it costs to make it.
#include "tenon/sdk/sdk.h"

namespace {

namespace sdk = tenon::sdk;

constexpr char kDeviceKind[] = "empty";

class Nothing : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Execute(const sdk::Call&, sdk::Error&) { return TENON_OK; }
};

struct Tables {
  static sdk::Table<tenon_kernel_def> Kernels() {
    static constexpr sdk::KernelOptions kOptions{
        0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | TENON_TRAIT_LAYOUT_BLIND};
    static constexpr tenon_kernel_def kKernels[] = {
        sdk::MakeKernel<Nothing>("", "Neg", kDeviceKind, "nothing", kOptions),
        sdk::MakeKernel<Nothing>("", "Add", kDeviceKind, "nothing", kOptions),
    };
    return kKernels;
  }
};

class EmptyPlugin : public sdk::Plugin {
 public:
  int32_t Start(const tenon_create_args&, sdk::Error&) override { return TENON_OK; }
  int32_t DeviceCount(uint32_t& out, sdk::Error&) override {
    out = 1;
    return TENON_OK;
  }
  int32_t DescribeDevice(uint32_t, tenon_device_info& out, sdk::Error&) override {
    out.flags = sdk::kHostDeviceFlags | TENON_DEVICE_DETERMINISTIC;
    out.kind = sdk::Str(kDeviceKind);
    out.name = sdk::Str("Empty device");
    out.unique_id = sdk::Str("empty");
    return TENON_OK;
  }
  int32_t OpenDevice(uint32_t, sdk::Device** out, sdk::Error&) override {
    *out = new sdk::HostDevice(*this, 0);
    return TENON_OK;
  }
};

constexpr tenon_interface kInterfaces[] = {
    sdk::DeviceInterface(),
    sdk::MemoryInterface(),
    sdk::StreamInterface(),
    sdk::OpInterface<Tables>(),
};

}  // namespace

TENON_SDK_PLUGIN(EmptyPlugin, "org.tenon.benchmark.empty", "0.1.0", "Tenon authors", "Apache-2.0",
                 TENON_KIND_DEVICE | TENON_KIND_OP, kInterfaces);
