#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/abi_query.h"

namespace tenon::exec {

// A kernel that some plugin offers.
struct KernelEntry {
  const PluginHandle* plugin;
  const tenon_kernel_def* def;  // the plugin's own record, to hand back
  tenon_kernel_def facts;       // its content; fields that the plugin lacks are 0
  tenon_kernel_vtable vtable;   // slots that the plugin lacks are NULL
  std::string name;             // "device_cpu.so/conv_small_nhwc"
};

// Kernels of all plugins for one device kind, per operator from first to last asked: plugins.priority of the
// configuration, then the kernel's own priority. Two plugins that offer one operator with equal priorities are an error
// that names both files.
class KernelCatalog {
 public:
  static Result<KernelCatalog> Make(const std::vector<const PluginHandle*>& plugins, std::string_view device_kind);
  const std::vector<KernelEntry>& Find(std::string_view domain, std::string_view type) const;
  std::vector<std::string> Operators() const;  // "Conv", "tenon.SGD", ... in order
  bool HasMathHigh() const;                    // does any kernel have TENON_TRAIT_MATH_HIGH?

 private:
  std::map<std::string, std::vector<KernelEntry>, std::less<>> kernels_;  // key "domain.type"
};

// Fused operators of all plugins for one device kind, best first.
Result<std::vector<graph::FusionRule>> LoadFusions(const std::vector<const PluginHandle*>& plugins,
                                                   const Device& device, const KernelCatalog& catalog);

}  // namespace tenon::exec
