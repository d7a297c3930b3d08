// The mutation layer: a plugin library that opens a sound one and hands out its tables with one slot replaced. A mutation
// is a function that changes copies of those tables; the replaced slot calls the sound one through Sound().
#pragma once

#include <cstring>
#include <map>
#include <string_view>

#include "tenon/abi/collective.h"
#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/profiler.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

namespace mutant {

// All tables of a plugin, in the sizes of this ABI; what it does not offer is zero.
struct Tables {
  tenon_plugin_descriptor descriptor;
  tenon_device_vtable device;
  tenon_memory_vtable memory;
  tenon_stream_vtable stream;
  tenon_op_vtable op;
  tenon_subgraph_vtable subgraph;
  tenon_collective_vtable collective;
  tenon_profiler_vtable profiler;
  tenon_kernel_vtable kernel;   // replaces that of every kernel, member by member where it is not NULL
  uint64_t kernel_traits;       // added to those of every kernel
  tenon_plugin_query_fn query;  // NULL: the ordinary answer
};
// The ordinary answer of the entry.
const tenon_plugin_descriptor* Answer(const tenon_host_info* host);

// Of the sound plugin.
const Tables& Sound();
// Its kernel slots, by the definition that the host passes, or by an instance.
const tenon_kernel_vtable& SoundKernel(const tenon_kernel_def* def);
const tenon_kernel_vtable& SoundKernel(tenon_kernel* kernel);
// The instance's host; NULL before create.
const tenon_host_api* Host();

struct Mutation {
  const char* name;
  void (*apply)(Tables* tables);
};
// mutations_*.cc
const Mutation* FindMutation(std::string_view name);

inline std::string_view View(tenon_str text) { return {text.data, text.size}; }
// Fills an error sink.
inline int32_t Fail(tenon_error* error, int32_t code, std::string_view text) {
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = code;
  info.message = {text.data(), text.size()};
  if (error != nullptr && Host() != nullptr) Host()->error_set(error, &info);
  return code;
}

}  // namespace mutant

// Each library has one file with these two; see mutant_name.c.in.
extern "C" const char tenon_mutant_name[];
extern "C" const char tenon_mutant_base[];
