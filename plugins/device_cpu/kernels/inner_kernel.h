// Kernels that prepare the operands of another kernel of this plugin and run it: what they share. The definition of the kernel
// inside is the `user` of the definition outside.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

inline const tenon_kernel_def& InnerOf(const tenon_kernel_def& def) {
  return *static_cast<const tenon_kernel_def*>(def.user);
}

// A struct of the host in this plugin's size.
template <class T>
T CopyOf(const T& from) {
  T copy = TENON_INIT(T);
  std::memcpy(&copy, &from, std::min<size_t>(from.struct_size, sizeof copy));
  copy.struct_size = sizeof copy;
  return copy;
}

// Places in a workspace, in bytes.
inline constexpr uint64_t kWorkspaceAlign = 64;
constexpr uint64_t RoundUp(uint64_t bytes) { return (bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign; }

// Base of an instance; derived classes make kernel_ in Create.
class InnerKernel {
 public:
  InnerKernel(CpuPlugin& plugin, const tenon_kernel_def& inner) : plugin_(plugin), inner_(inner) {}
  ~InnerKernel() {
    if (kernel_ != nullptr) inner_.vtable->destroy(kernel_);
  }
  InnerKernel(const InnerKernel&) = delete;
  InnerKernel& operator=(const InnerKernel&) = delete;

  sdk::Host host() const { return plugin_.host(); }

 protected:
  CpuPlugin& plugin_;
  const tenon_kernel_def& inner_;
  tenon_kernel* kernel_ = nullptr;
};

// Slots of a class T that derives from InnerKernel:
//   int32_t Create(tenon_plugin*, const tenon_kernel_query&, tenon_error*);
//   int32_t Plan(const tenon_plan_args&, tenon_plan_result&, tenon_error*);
//   int32_t Execute(const tenon_kernel_call&, tenon_error*) const;
template <class T>
struct InnerKernelSlots {
  static int32_t Create(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                        tenon_kernel** out, tenon_error* sink) noexcept {
    *out = nullptr;
    return sdk::Guard(sdk::Plugin::HostOf(plugin), sink, [&](sdk::Error&) -> int32_t {
      auto kernel = std::make_unique<T>(static_cast<CpuPlugin&>(*sdk::Plugin::From(plugin)), InnerOf(*def));
      const int32_t code = kernel->Create(plugin, *query, sink);
      if (code == TENON_OK) *out = reinterpret_cast<tenon_kernel*>(kernel.release());
      return code;
    });
  }
  static int32_t Plan(tenon_kernel* handle, const tenon_plan_args* args, tenon_plan_result* out,
                      tenon_error* sink) noexcept {
    tenon_plan_result result = TENON_INIT(tenon_plan_result);
    const int32_t code = reinterpret_cast<T*>(handle)->Plan(*args, result, sink);
    if (code == TENON_OK) sdk::CopyOut(result, out);
    return code;
  }
  static int32_t Execute(tenon_kernel* handle, const tenon_kernel_call* call, tenon_error* sink) noexcept {
    return reinterpret_cast<const T*>(handle)->Execute(*call, sink);
  }
  static void Destroy(tenon_kernel* handle) noexcept { delete reinterpret_cast<T*>(handle); }

  // query_layouts may be NULL.
  static constexpr tenon_kernel_vtable Vtable(decltype(tenon_kernel_vtable::supports) supports,
                                              decltype(tenon_kernel_vtable::query_layouts) query_layouts) {
    tenon_kernel_vtable table = TENON_INIT(tenon_kernel_vtable);
    table.supports = supports;
    table.query_layouts = query_layouts;
    table.create = &Create;
    table.plan = &Plan;
    table.execute = &Execute;
    table.destroy = &Destroy;
    return table;
  }
};

}  // namespace tenon::cpu
