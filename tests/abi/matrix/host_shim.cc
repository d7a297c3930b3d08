// A plugin that stands between today's host and another plugin, and is to that plugin a host of another minor: the
// older one, whose structs end a field earlier, or the newer one, whose structs go on. It has the id of the plugin that it
// opens, the file named by TENON_SHIMMED_PLUGIN.
//
// What is not imitated: operators that the plugin defines (list_operators) and claims of graphs pass as they are.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "host_struct.h"
#include "tenon/abi/note.h"

namespace tenon::test {
namespace {

// The plugin's table, cut to what the host knows.
template <class Table>
Table inner{};

template <class Table>
void ReadInner(const void* table) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, table, sizeof(bytes));
  inner<Table> = {};
  std::memcpy(&inner<Table>, table, std::min({bytes, HostSize<Table>::bytes(), static_cast<uint32_t>(sizeof(Table))}));
}

// A slot that hands its arguments on, structs in the host's size.
template <auto kSlot>
struct Through;
template <class Table, class R, class... A, R (*Table::*kSlot)(A...)>
struct Through<kSlot> {
  static R Call(A... arguments) { return (inner<Table>.*kSlot)(Argument<A>(arguments)...); }
  static void Set(Table& outer) {
    if (inner<Table>.*kSlot != nullptr) outer.*kSlot = Call;
  }
};

template <class Table, auto... kSlots>
const Table* TableThrough(const void* table) {
  static_assert(sizeof(Table) == 8 + sizeof...(kSlots) * sizeof(void*), "a slot is not listed");
  ReadInner<Table>(table);
  static Table outer;
  outer = {};
  outer.struct_size = sizeof(outer);
  (Through<kSlots>::Set(outer), ...);
  return &outer;
}

// ---- kernels: a definition of the plugin and ours, an instance of the plugin and the table that it came from ----
struct KernelSource {
  tenon_kernel_def outer;
  tenon_kernel_vtable outer_table;
  const tenon_kernel_def* def;
  tenon_kernel_vtable table;
};
std::vector<KernelSource> kernel_sources;
std::vector<tenon_kernel_def> kernel_defs;

struct Instance {
  const KernelSource* source;
  tenon_kernel* kernel;
};
Instance& InstanceOf(tenon_kernel* kernel) { return *reinterpret_cast<Instance*>(kernel); }
const KernelSource& SourceOf(const tenon_kernel_def* def) {
  return kernel_sources[static_cast<std::size_t>(def - kernel_defs.data())];
}

int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query, uint32_t* verdict,
                 const tenon_reason_sink* reason) {
  const KernelSource& source = SourceOf(def);
  Argument<const tenon_kernel_query*> given(query);
  Argument<const tenon_reason_sink*> sink(reason);
  return source.table.supports(plugin, source.def, given, verdict, sink);
}
int32_t QueryLayouts(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                     const tenon_layout_sink* sink, tenon_error* error) {
  const KernelSource& source = SourceOf(def);
  Argument<const tenon_kernel_query*> given(query);
  Argument<const tenon_layout_sink*> to(sink);
  return source.table.query_layouts(plugin, source.def, given, to, error);
}
int32_t Create(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query, tenon_kernel** out,
               tenon_error* error) {
  const KernelSource& source = SourceOf(def);
  Argument<const tenon_kernel_query*> given(query);
  auto instance = std::make_unique<Instance>();
  instance->source = &source;
  const int32_t code = source.table.create(plugin, source.def, given, &instance->kernel, error);
  if (code == TENON_OK) *out = reinterpret_cast<tenon_kernel*>(instance.release());
  return code;
}
int32_t Plan(tenon_kernel* kernel, const tenon_plan_args* args, tenon_plan_result* out, tenon_error* error) {
  const Instance& instance = InstanceOf(kernel);
  Argument<const tenon_plan_args*> given(args);
  Argument<tenon_plan_result*> result(out);
  return instance.source->table.plan(instance.kernel, given, result, error);
}
int32_t Execute(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  const Instance& instance = InstanceOf(kernel);
  Argument<const tenon_kernel_call*> given(call);
  return instance.source->table.execute(instance.kernel, given, error);
}
void Destroy(tenon_kernel* kernel) {
  if (kernel == nullptr) return;
  const std::unique_ptr<Instance> instance(&InstanceOf(kernel));
  instance->source->table.destroy(instance->kernel);
}
uint64_t HeldBytes(tenon_kernel* kernel) {
  return InstanceOf(kernel).source->table.held_bytes(InstanceOf(kernel).kernel);
}

KernelSource SourceFrom(const tenon_kernel_def& def) {
  KernelSource source{};
  source.def = &def;
  std::memcpy(&source.table, def.vtable,
              std::min({def.vtable->struct_size, HostSize<tenon_kernel_vtable>::bytes(),
                        static_cast<uint32_t>(sizeof(source.table))}));
  tenon_kernel_vtable& outer = source.outer_table;
  outer.struct_size = sizeof(outer);
  outer.supports = Supports;
  outer.query_layouts = source.table.query_layouts == nullptr ? nullptr : QueryLayouts;
  outer.create = Create;
  outer.plan = source.table.plan == nullptr ? nullptr : Plan;
  outer.execute = Execute;
  outer.destroy = Destroy;
  outer.held_bytes = source.table.held_bytes == nullptr ? nullptr : HeldBytes;
  std::memcpy(&source.outer, &def, std::min<std::size_t>(def.struct_size, sizeof(source.outer)));
  source.outer.struct_size = sizeof(source.outer);
  return source;
}

int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                    tenon_error* error) {
  if (kernel_sources.empty()) {
    const int32_t code = inner<tenon_op_vtable>.list_kernels(plugin, first, count, stride, error);
    if (code != TENON_OK) return code;
    for (uint64_t i = 0; i < *count; ++i) {
      kernel_sources.push_back(
          SourceFrom(*reinterpret_cast<const tenon_kernel_def*>(reinterpret_cast<const char*>(*first) + i * *stride)));
    }
    for (KernelSource& source : kernel_sources) {
      source.outer.vtable = &source.outer_table;
      kernel_defs.push_back(source.outer);
    }
  }
  *first = kernel_defs.data();
  *count = kernel_defs.size();
  *stride = sizeof(tenon_kernel_def);
  return TENON_OK;
}

// ---- fused operators: only the predicate receives structs of the host ----
std::vector<const tenon_fused_def*> fused_sources;
std::vector<tenon_fused_def> fused_defs;

int32_t Match(tenon_plugin* plugin, const tenon_fused_def* def, const tenon_match* match, uint32_t* accept,
              const tenon_reason_sink* reason) {
  const tenon_fused_def* source = fused_sources[static_cast<std::size_t>(def - fused_defs.data())];
  Argument<const tenon_match*> given(match);
  Argument<const tenon_reason_sink*> sink(reason);
  return source->match(plugin, source, given, accept, sink);
}

int32_t ListFused(tenon_plugin* plugin, const tenon_fused_def** first, uint64_t* count, uint64_t* stride,
                  tenon_error* error) {
  if (fused_defs.empty()) {
    const int32_t code = inner<tenon_subgraph_vtable>.list_fused(plugin, first, count, stride, error);
    if (code != TENON_OK) return code;
    for (uint64_t i = 0; i < *count; ++i) {
      const auto* def = reinterpret_cast<const tenon_fused_def*>(reinterpret_cast<const char*>(*first) + i * *stride);
      tenon_fused_def outer{};
      std::memcpy(&outer, def, std::min<std::size_t>(def->struct_size, sizeof(outer)));
      outer.struct_size = sizeof(outer);
      if (outer.match != nullptr) outer.match = Match;
      fused_sources.push_back(def);
      fused_defs.push_back(outer);
    }
  }
  *first = fused_defs.data();
  *count = fused_defs.size();
  *stride = sizeof(tenon_fused_def);
  return TENON_OK;
}

const tenon_op_vtable* OpTable(const void* table) {
  ReadInner<tenon_op_vtable>(table);
  static tenon_op_vtable outer;
  outer = inner<tenon_op_vtable>;
  outer.struct_size = sizeof(outer);
  outer.list_kernels = ListKernels;
  return &outer;
}
const tenon_subgraph_vtable* SubgraphTable(const void* table) {
  ReadInner<tenon_subgraph_vtable>(table);
  static tenon_subgraph_vtable outer;
  outer = inner<tenon_subgraph_vtable>;
  outer.struct_size = sizeof(outer);
  if (outer.list_fused != nullptr) outer.list_fused = ListFused;
  return &outer;
}

const void* TableFor(std::string_view id, const void* table) {
  using D = tenon_device_vtable;
  using M = tenon_memory_vtable;
  using S = tenon_stream_vtable;
  using P = tenon_profiler_vtable;
  if (id == TENON_INTERFACE_DEVICE) {
    return TableThrough<D, &D::device_count, &D::device_info, &D::open, &D::close, &D::query, &D::status,
                        &D::layout_info, &D::reorder, &D::find_layout>(table);
  }
  if (id == TENON_INTERFACE_MEMORY) {
    return TableThrough<M, &M::space_count, &M::space_get, &M::alloc, &M::free, &M::copy, &M::fill, &M::wrap_external,
                        &M::stats, &M::trim>(table);
  }
  if (id == TENON_INTERFACE_STREAM) {
    return TableThrough<S, &S::stream_create, &S::stream_destroy, &S::stream_query, &S::stream_synchronize,
                        &S::stream_wait_event, &S::stream_notify, &S::event_create, &S::event_destroy, &S::event_record,
                        &S::event_query, &S::event_synchronize, &S::event_elapsed, &S::native, &S::capture_begin,
                        &S::capture_end, &S::capture_replay, &S::capture_destroy, &S::wrap_native>(table);
  }
  if (id == TENON_INTERFACE_PROFILER) {
    return TableThrough<P, &P::clock_count, &P::clock_info, &P::clock_pair, &P::start, &P::stop, &P::flush,
                        &P::set_mask>(table);
  }
  if (id == TENON_INTERFACE_OP) return OpTable(table);
  if (id == TENON_INTERFACE_SUBGRAPH) return SubgraphTable(table);
  std::fprintf(stderr, "host shim: interface '%.*s' is not imitated\n", static_cast<int>(id.size()), id.data());
  std::abort();
}

// ---- the descriptor ----
const tenon_plugin_descriptor* shimmed = nullptr;
std::array<tenon_interface, 8> interfaces;
tenon_plugin_descriptor descriptor;

int32_t CreatePlugin(const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
  static Copies for_ever;  // a host table is never freed
  tenon_create_args whole = *args;
  tenon_host_api host = *args->host;
  host.abi_minor = tenon_host_minor;
  whole.host = for_ever.Make(host);
  Argument<const tenon_create_args*> given(&whole);
  return shimmed->create(given, out, error);
}

const tenon_plugin_descriptor* QueryShimmed(const tenon_host_info* host) {
  const char* path = std::getenv("TENON_SHIMMED_PLUGIN");
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    std::fprintf(stderr, "host shim: %s\n", dlerror());
    return nullptr;
  }
  const auto query = reinterpret_cast<tenon_plugin_query_fn>(dlsym(library, TENON_ENTRY_SYMBOL));
  if (query == nullptr) return nullptr;
  tenon_host_info info = *host;
  info.abi_minor = tenon_host_minor;
  Argument<const tenon_host_info*> given(&info);
  return query(given);
}

}  // namespace
}  // namespace tenon::test

TENON_PLUGIN_NOTE(TENON_SHIM_ID, TENON_SHIM_VERSION, TENON_SHIM_KINDS, 0, 0);

extern "C" const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host) {
  using namespace tenon::test;
  if (shimmed != nullptr) return &descriptor;
  if (host == nullptr || (shimmed = QueryShimmed(host)) == nullptr) return nullptr;
  std::memcpy(&descriptor, shimmed, std::min<std::size_t>(shimmed->struct_size, sizeof(descriptor)));
  descriptor.struct_size = sizeof(descriptor);
  descriptor.abi_minor = TENON_TARGET_MINOR;  // towards today's host it is a plugin of today
  descriptor.interface_count = 0;
  descriptor.interfaces = interfaces.data();
  descriptor.interface_stride = sizeof(tenon_interface);
  descriptor.create = CreatePlugin;
  descriptor.get_experimental = nullptr;  // the last member of all, which the older host does not see
  for (uint32_t i = 0; i < shimmed->interface_count; ++i) {
    const auto* record = reinterpret_cast<const tenon_interface*>(reinterpret_cast<const char*>(shimmed->interfaces) +
                                                                  i * shimmed->interface_stride);
    const std::string_view id(record->id.data, record->id.size);
    interfaces.at(descriptor.interface_count++) = tenon_abi_interface(record->id, TableFor(id, record->vtable));
  }
  return &descriptor;
}
