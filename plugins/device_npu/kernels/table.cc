// The table that the plugin hands out.
#include "kernels/work.h"

namespace tenon::npu {

sdk::Table<tenon_kernel_def> NpuTables::Kernels() {
  static const EntryList entries = [] {
    EntryList list;
    AddElementwise(list);
    AddElementwiseGradients(list);
    AddBroadcasting(list);
    AddMovement(list);
    AddReductions(list);
    AddProducts(list);
    AddConvolutions(list);
    AddPooling(list);
    AddNormalisations(list);
    AddSoftmax(list);
    AddLosses(list);
    AddAttention(list);
    AddGather(list);
    AddDropout(list);
    AddOptimizers(list);
    return list;
  }();
  static const std::vector<tenon_kernel_def> kernels = [] {
    std::vector<tenon_kernel_def> list;
    for (const Entry& entry : entries) {
      sdk::KernelOptions options;
      options.traits = TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | entry.traits;
      options.min_version = entry.min_version;
      options.max_version = entry.max_version;
      options.user = &entry;
      list.push_back(sdk::MakeKernel<NpuKernel>(entry.domain, entry.op_type, kDeviceKind, entry.name, options));
    }
    return list;
  }();
  return {kernels.data(), kernels.size()};
}

}  // namespace tenon::npu
