#include "mutant.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace mutant {
namespace {

Tables g_sound;
Tables g_mutated;
std::vector<tenon_interface> g_interfaces;
std::atomic<const tenon_host_api*> g_host = nullptr;  // of the instance made last, by any thread
int32_t (*g_create)(const tenon_create_args*, tenon_plugin**, tenon_error*) = nullptr;

// Kernel definitions with the mutated slots. The sound definition follows the copy, so that either is found from the other.
struct KernelCopy {
  tenon_kernel_def def;
  tenon_kernel_vtable table;
  const tenon_kernel_def* sound;
};
std::vector<KernelCopy> g_kernels;

std::mutex g_mutex;
std::map<tenon_kernel*, const tenon_kernel_vtable*>& Kernels() {
  static auto* kernels = new std::map<tenon_kernel*, const tenon_kernel_vtable*>;
  return *kernels;
}

// Keeps whose an instance is.
int32_t CreateKernel(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                     tenon_kernel** out, tenon_error* error) {
  const auto create = g_mutated.kernel.create != nullptr ? g_mutated.kernel.create : SoundKernel(def).create;
  const int32_t code = create(plugin, def, query, out, error);
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (code == TENON_OK) Kernels()[*out] = &SoundKernel(def);
  return code;
}

template <class T>
void Copy(const tenon_interface& record, const char* id, T* out) {
  if (View(record.id) == id) std::memcpy(out, record.vtable, sizeof(T));
}

const void* Mutated(const tenon_interface& record) {
  const std::string_view id = View(record.id);
  if (id == TENON_INTERFACE_DEVICE) return &g_mutated.device;
  if (id == TENON_INTERFACE_MEMORY) return &g_mutated.memory;
  if (id == TENON_INTERFACE_STREAM) return &g_mutated.stream;
  if (id == TENON_INTERFACE_OP) return &g_mutated.op;
  if (id == TENON_INTERFACE_SUBGRAPH) return &g_mutated.subgraph;
  if (id == TENON_INTERFACE_COLLECTIVE) return &g_mutated.collective;
  if (id == TENON_INTERFACE_PROFILER) return &g_mutated.profiler;
  return record.vtable;
}

int32_t Create(const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
  g_host = args->host;
  return g_create(args, out, error);
}

int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                    tenon_error* error) {
  const tenon_kernel_def* list = nullptr;
  uint64_t size = 0, step = 0;
  const int32_t code = Sound().op.list_kernels(plugin, &list, &size, &step, error);
  if (code != TENON_OK) return code;
  if (g_kernels.empty()) {
    for (uint64_t i = 0; i < size; ++i) {
      const auto* sound = reinterpret_cast<const tenon_kernel_def*>(reinterpret_cast<const char*>(list) + i * step);
      g_kernels.push_back({*sound, *sound->vtable, sound});
    }
    for (KernelCopy& copy : g_kernels) {
      copy.def.vtable = &copy.table;
      copy.def.traits |= g_mutated.kernel_traits;
      const tenon_kernel_vtable& changed = g_mutated.kernel;
      if (changed.supports != nullptr) copy.table.supports = changed.supports;
      copy.table.create = &CreateKernel;
      if (changed.plan != nullptr) copy.table.plan = changed.plan;
      if (changed.execute != nullptr) copy.table.execute = changed.execute;
      if (changed.destroy != nullptr) copy.table.destroy = changed.destroy;
      if (changed.query_layouts != nullptr) copy.table.query_layouts = changed.query_layouts;
    }
  }
  *first = g_kernels.empty() ? nullptr : &g_kernels[0].def;
  *count = g_kernels.size();
  *stride = sizeof(KernelCopy);
  return TENON_OK;
}

// Opens the sound library when this one is opened, so that the query stays pure.
__attribute__((constructor)) void Open() {
  void* library = ::dlopen(tenon_mutant_base, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  const auto query = reinterpret_cast<tenon_plugin_query_fn>(::dlsym(library, TENON_ENTRY_SYMBOL));
  const tenon_plugin_descriptor* descriptor = query(nullptr);
  g_sound.descriptor = *descriptor;
  for (uint32_t i = 0; i < descriptor->interface_count; ++i) {
    const tenon_interface& record = descriptor->interfaces[i];
    Copy(record, TENON_INTERFACE_DEVICE, &g_sound.device);
    Copy(record, TENON_INTERFACE_MEMORY, &g_sound.memory);
    Copy(record, TENON_INTERFACE_STREAM, &g_sound.stream);
    Copy(record, TENON_INTERFACE_OP, &g_sound.op);
    Copy(record, TENON_INTERFACE_SUBGRAPH, &g_sound.subgraph);
    Copy(record, TENON_INTERFACE_COLLECTIVE, &g_sound.collective);
    Copy(record, TENON_INTERFACE_PROFILER, &g_sound.profiler);
    g_interfaces.push_back(record);
  }
  g_mutated = g_sound;
  if (g_sound.op.list_kernels != nullptr) g_mutated.op.list_kernels = &ListKernels;
  const Mutation* mutation = FindMutation(tenon_mutant_name);
  if (mutation == nullptr) {
    std::fprintf(stderr, "There is no mutation '%s'.\n", tenon_mutant_name);
    std::exit(1);
  }
  mutation->apply(&g_mutated);
  for (tenon_interface& record : g_interfaces) record.vtable = Mutated(record);
  g_mutated.descriptor.interfaces = g_interfaces.data();
  g_mutated.descriptor.interface_stride = sizeof(tenon_interface);
  g_create = g_mutated.descriptor.create;
  g_mutated.descriptor.create = &Create;
}

}  // namespace

const Tables& Sound() { return g_sound; }
const tenon_host_api* Host() { return g_host; }

const tenon_kernel_vtable& SoundKernel(const tenon_kernel_def* def) {
  return *reinterpret_cast<const KernelCopy*>(def)->sound->vtable;
}

const tenon_kernel_vtable& SoundKernel(tenon_kernel* kernel) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return *Kernels()[kernel];
}

tenon_plugin_query_fn MutatedQuery() { return g_mutated.query; }

const tenon_plugin_descriptor* Answer(const tenon_host_info* host) {
  if (host != nullptr && host->abi_major != TENON_ABI_MAJOR) return nullptr;
  return &g_mutated.descriptor;
}

}  // namespace mutant

extern "C" TENON_EXPORT const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host) {
  const tenon_plugin_query_fn mutated = mutant::MutatedQuery();
  return mutated != nullptr ? mutated(host) : mutant::Answer(host);
}
