#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plugin/breach.h"
#include "core/plugin/interface_table.h"

namespace tenon {

// The tables of one plugin with checks in front of every slot, for `plugins: {check: true}` and for tenon-conform. They see
//   - objects that the plugin did not give, or that were destroyed or freed before, also twice,
//   - writes past the capacity of out-structs,
//   - writes around buffers and workspaces that the host can reach, and into inputs of kernels,
//   - OK without a result, codes that nobody knows, errors without a text,
//   - one kernel called by two threads that wants one call at a time.
// A breach goes to ReportBreach with the plugin and the slot. Lives until the process ends, as the library does.
class CheckedTables {
 public:
  // Tables as negotiated, null where the plugin lacks an interface.
  struct Sound {
    const tenon_device_vtable* device = nullptr;
    const tenon_memory_vtable* memory = nullptr;
    const tenon_stream_vtable* stream = nullptr;
    const tenon_op_vtable* op = nullptr;
    const tenon_subgraph_vtable* subgraph = nullptr;
    const tenon_collective_vtable* collective = nullptr;
    const tenon_profiler_vtable* profiler = nullptr;
  };
  static CheckedTables* Make(std::string plugin_id, const Sound& sound);

  const std::string& plugin() const { return plugin_; }
  const Sound& sound() const { return sound_; }
  // The instance that create gave, and its end.
  void Created(tenon_plugin* instance) const;
  void Destroyed(tenon_plugin* instance) const;

  // What the host uses instead; null where the plugin lacks the interface. tenon.subgraph is handed through.
  template <class T>
  const T* Interface() const;

  // A kernel definition with checked slots, and the plugin's own. The host sees the first member.
  struct CheckedKernel {
    tenon_kernel_def def;
    tenon_kernel_vtable table;
    tenon_kernel_vtable sound_table;  // negotiated
    const tenon_kernel_def* sound;
    const CheckedTables* owner;
  };
  // The checked copies of what list_kernels gave. Made once.
  const std::vector<CheckedKernel>& Kernels(const tenon_kernel_def* first, std::uint64_t count,
                                            std::uint64_t stride) const;

 private:
  CheckedTables() = default;
  std::string plugin_;
  Sound sound_;
  tenon_device_vtable device_{};
  tenon_memory_vtable memory_{};
  tenon_stream_vtable stream_{};
  tenon_op_vtable op_{};
  tenon_collective_vtable collective_{};
  tenon_profiler_vtable profiler_{};
  mutable std::mutex mutex_;
  mutable std::vector<CheckedKernel> kernels_;
};

template <>
inline const tenon_device_vtable* CheckedTables::Interface() const {
  return sound_.device == nullptr ? nullptr : &device_;
}
template <>
inline const tenon_memory_vtable* CheckedTables::Interface() const {
  return sound_.memory == nullptr ? nullptr : &memory_;
}
template <>
inline const tenon_stream_vtable* CheckedTables::Interface() const {
  return sound_.stream == nullptr ? nullptr : &stream_;
}
template <>
inline const tenon_op_vtable* CheckedTables::Interface() const {
  return sound_.op == nullptr ? nullptr : &op_;
}
template <>
inline const tenon_subgraph_vtable* CheckedTables::Interface() const {
  return sound_.subgraph;
}
template <>
inline const tenon_collective_vtable* CheckedTables::Interface() const {
  return sound_.collective == nullptr ? nullptr : &collective_;
}
template <>
inline const tenon_profiler_vtable* CheckedTables::Interface() const {
  return sound_.profiler == nullptr ? nullptr : &profiler_;
}

}  // namespace tenon
