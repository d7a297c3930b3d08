// device_null with one fault, which TENON_ABI_FAULT names: "<what> <number>" (fault_matrix_test.cc lists them). Opens the real
// plugin, the file named by TENON_FAULTY_PLUGIN, and changes copies of its tables. A struct that is said to be short
// ends where memory ends, so that a host that reads on is stopped; one that is said to be long goes on with noise.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/note.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/stream.h"

namespace {

std::string fault_name;
uint64_t fault_number = 0;

bool Fault(std::string_view name) { return fault_name == name; }

void ReadFault() {
  const char* text = std::getenv("TENON_ABI_FAULT");
  const std::string fault = text == nullptr ? "none 0" : text;
  const std::size_t space = fault.find(' ');
  fault_name = fault.substr(0, space);
  fault_number = std::strtoull(fault.c_str() + space + 1, nullptr, 10);
}

// Room for `bytes`, in steps of 8, after which memory ends.
char* RoomAtTheEnd(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 8) + 7) / 8 * 8,
                    pages = (rounded + kPage - 1) / kPage * kPage;
  void* area = mmap(nullptr, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) std::abort();
  mprotect(static_cast<char*>(area) + pages, kPage, PROT_NONE);
  return static_cast<char*>(area) + pages - rounded;
}

// `from` with the size that the fault says.
template <class T>
T* WithSize(const T& from, std::size_t bytes) {
  char* room = RoomAtTheEnd(bytes);
  std::memset(room, 0xA5, bytes);
  std::memcpy(room, &from, std::min(bytes, sizeof(T)));
  const auto size = static_cast<uint32_t>(bytes);
  std::memcpy(room, &size, sizeof(size));
  return reinterpret_cast<T*>(room);
}

// A table with the fault "<table> size", "<table> null" (number: the slot) or "<table> reserved".
template <class T>
const T* Table(std::string_view name, const void* from) {
  T table{};
  std::memcpy(&table, from, sizeof(table));
  const std::string own(name);
  if (Fault(own + ".null")) std::memset(reinterpret_cast<char*>(&table) + 8 + 8 * fault_number, 0, 8);
  if (Fault(own + ".reserved")) table.flags = 0xFFFFFFFF;
  return WithSize(table, Fault(own + ".size") ? fault_number : sizeof(table));
}

// ---- functions that answer in an odd way ----
tenon_device_vtable device_table;
tenon_memory_vtable memory_table;

int32_t DeviceCount(tenon_plugin* plugin, uint32_t* out, tenon_error* error) {
  if (Fault("device_count.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = device_table.device_count(plugin, out, error);
  if (Fault("device_count.value")) *out = static_cast<uint32_t>(fault_number);
  return code;
}
int32_t DeviceInfo(tenon_plugin* plugin, uint32_t index, tenon_device_info* out, tenon_error* error) {
  if (Fault("device_info.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = device_table.device_info(plugin, index, out, error);
  if (Fault("device_info.flags")) out->flags |= static_cast<uint32_t>(fault_number);
  if (Fault("device_info.kind")) out->kind = fault_number == 0 ? tenon_str{nullptr, 0} : tenon_str{"nu\nll", 5};
  if (Fault("device_info.name")) out->name = tenon_str{nullptr, fault_number};
  if (Fault("device_info.size")) out->struct_size = static_cast<uint32_t>(fault_number);
  return code;
}
int32_t Open(tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* error) {
  if (Fault("open.code")) return static_cast<int32_t>(fault_number);
  if (Fault("open.null")) {
    *out = nullptr;
    return TENON_OK;
  }
  return device_table.open(plugin, index, out, error);
}
int32_t SpaceCount(tenon_device* device, uint32_t* out, tenon_error* error) {
  const int32_t code = memory_table.space_count(device, out, error);
  if (Fault("space_count.value")) *out = static_cast<uint32_t>(fault_number);
  return code;
}
int32_t SpaceGet(tenon_device* device, uint32_t index, tenon_space** space, tenon_space_info* info,
                 tenon_error* error) {
  const int32_t code = memory_table.space_get(device, index, space, info, error);
  if (Fault("space.kind")) info->kind = static_cast<uint32_t>(fault_number);
  if (Fault("space.flags")) info->flags = static_cast<uint32_t>(fault_number);
  if (Fault("space.align")) info->min_align = fault_number;
  if (Fault("space.null")) *space = nullptr;
  return code;
}
int32_t Alloc(tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
              tenon_buffer** out, uint64_t* address, tenon_error* error) {
  if (Fault("alloc.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = memory_table.alloc(space, bytes, align, stream, hint, out, address, error);
  if (Fault("alloc.address")) *address = fault_number;
  return code;
}

const tenon_device_vtable* DeviceTable(const void* from) {
  std::memcpy(&device_table, from, sizeof(device_table));
  tenon_device_vtable table = device_table;
  table.device_count = DeviceCount;
  table.device_info = DeviceInfo;
  table.open = Open;
  return Table<tenon_device_vtable>("device", &table);
}
const tenon_memory_vtable* MemoryTable(const void* from) {
  std::memcpy(&memory_table, from, sizeof(memory_table));
  tenon_memory_vtable table = memory_table;
  table.space_count = SpaceCount;
  table.space_get = SpaceGet;
  table.alloc = Alloc;
  return Table<tenon_memory_vtable>("memory", &table);
}

// ---- kernels ----
tenon_op_vtable op_table;
tenon_kernel_vtable kernel_table;
const tenon_kernel_def* relu = nullptr;  // of the real plugin

int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def*, const tenon_kernel_query* query, uint32_t* verdict,
                 const tenon_reason_sink* reason) {
  if (Fault("supports.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = kernel_table.supports(plugin, relu, query, verdict, reason);
  if (Fault("supports.verdict")) *verdict = static_cast<uint32_t>(fault_number);
  return code;
}
int32_t Create(tenon_plugin* plugin, const tenon_kernel_def*, const tenon_kernel_query* query, tenon_kernel** out,
               tenon_error* error) {
  if (Fault("create_kernel.code")) return static_cast<int32_t>(fault_number);
  if (Fault("create_kernel.null")) {
    *out = nullptr;
    return TENON_OK;
  }
  return kernel_table.create(plugin, relu, query, out, error);
}
int32_t Plan(tenon_kernel* kernel, const tenon_plan_args* args, tenon_plan_result* out, tenon_error* error) {
  if (Fault("plan.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = kernel_table.plan(kernel, args, out, error);
  if (Fault("plan.align")) out->workspace_align = fault_number;
  if (Fault("plan.workspace")) out->workspace_bytes = fault_number;
  if (Fault("plan.flags")) out->flags = static_cast<uint32_t>(fault_number) & ~uint32_t{TENON_PLAN_NO_OP};
  return code;
}
int32_t Execute(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  if (Fault("execute.code")) return static_cast<int32_t>(fault_number);
  return kernel_table.execute(kernel, call, error);
}

int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                    tenon_error* error) {
  if (Fault("list_kernels.code")) return static_cast<int32_t>(fault_number);
  const int32_t code = op_table.list_kernels(plugin, &relu, count, stride, error);
  if (code != TENON_OK) return code;
  std::memcpy(&kernel_table, relu->vtable, sizeof(kernel_table));
  tenon_kernel_vtable table = kernel_table;
  table.supports = Supports;
  table.create = Create;
  table.plan = Plan;
  table.execute = Execute;
  tenon_kernel_def def = *relu;
  def.vtable = Table<tenon_kernel_vtable>("kernel", &table);
  if (Fault("kernel_def.vtable")) def.vtable = nullptr;
  if (Fault("kernel_def.stride_pattern")) def.stride_pattern = static_cast<uint32_t>(fault_number);
  if (Fault("kernel_def.traits")) def.traits = ~uint64_t{0} & ~uint64_t{TENON_TRAIT_HOST_SYNC | TENON_TRAIT_ASYNC_HOST};
  if (Fault("kernel_def.versions")) def.min_version = 9, def.max_version = 8;
  if (Fault("kernel_def.name")) def.name = tenon_str{nullptr, fault_number};
  if (Fault("kernel_def.op_type")) def.op_type = tenon_str{nullptr, fault_number};
  if (Fault("kernel_def.device_kind")) def.device_kind = tenon_str{"other", 5};
  *first = WithSize(def, Fault("kernel_def.size") ? fault_number : sizeof(def));
  if (Fault("kernels.stride")) *stride = fault_number;
  if (Fault("kernels.null")) *first = nullptr;
  return code;
}

const tenon_op_vtable* OpTable(const void* from) {
  std::memcpy(&op_table, from, sizeof(op_table));
  tenon_op_vtable table = op_table;
  table.list_kernels = ListKernels;
  return Table<tenon_op_vtable>("op", &table);
}

// ---- the descriptor ----
const tenon_plugin_descriptor* real = nullptr;
std::vector<char> records;

void AddRecord(tenon_interface record, std::size_t stride) {
  if (Fault("interface.reserved")) record.flags = ~uint64_t{0};
  if (Fault("interface.minor")) record.abi_minor = static_cast<uint32_t>(fault_number);
  if (Fault("interface.id")) record.id = tenon_str{nullptr, fault_number};
  if (Fault("interface.table")) record.vtable = nullptr;
  if (Fault("interface.size")) record.struct_size = static_cast<uint32_t>(fault_number);
  const std::size_t at = records.size();
  records.resize(at + stride, static_cast<char>(0xA5));
  if (stride > 0) std::memcpy(records.data() + at, &record, std::min(stride, sizeof(record)));
}

const void* TableOf(std::string_view id, const void* table) {
  if (id == TENON_INTERFACE_DEVICE) return DeviceTable(table);
  if (id == TENON_INTERFACE_MEMORY) return MemoryTable(table);
  if (id == TENON_INTERFACE_STREAM) return Table<tenon_stream_vtable>("stream", table);
  return OpTable(table);
}

const tenon_plugin_descriptor* FaultyDescriptor() {
  tenon_plugin_descriptor descriptor = *real;
  const std::size_t stride = Fault("interfaces.stride") ? fault_number : sizeof(tenon_interface);
  for (uint32_t i = 0; i < real->interface_count; ++i) {
    const tenon_interface& record = real->interfaces[i];
    const std::string_view id(record.id.data, record.id.size);
    AddRecord(tenon_abi_interface(record.id, TableOf(id, record.vtable)), stride);
  }
  records.resize(records.size() + 2 * sizeof(tenon_interface));
  descriptor.interfaces = reinterpret_cast<const tenon_interface*>(records.data());
  descriptor.interface_stride = static_cast<uint32_t>(stride);
  if (Fault("interfaces.null")) descriptor.interfaces = nullptr;
  if (Fault("descriptor.kinds")) descriptor.kinds |= fault_number;
  if (Fault("descriptor.sanitizer")) descriptor.sanitizer = static_cast<uint32_t>(fault_number);
  if (Fault("descriptor.debug")) descriptor.debug_build = static_cast<uint32_t>(fault_number);
  if (Fault("descriptor.vendor")) descriptor.vendor = tenon_str{nullptr, fault_number};
  if (Fault("descriptor.id")) descriptor.plugin_id = tenon_str{nullptr, fault_number};
  if (Fault("descriptor.create")) descriptor.create = nullptr;
  if (Fault("descriptor.destroy")) descriptor.destroy = nullptr;
  return WithSize(descriptor, Fault("descriptor.size") ? fault_number : sizeof(descriptor));
}

}  // namespace

TENON_PLUGIN_NOTE("org.tenon.device_null", "0.1.0", TENON_KIND_DEVICE | TENON_KIND_OP, 0, 0);

extern "C" const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host) {
  static const tenon_plugin_descriptor* faulty = nullptr;
  if (faulty != nullptr) return faulty;
  ReadFault();
  const char* path = std::getenv("TENON_FAULTY_PLUGIN");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    std::fprintf(stderr, "fault shim: %s\n", path == nullptr ? "TENON_FAULTY_PLUGIN is not set" : dlerror());
    return nullptr;
  }
  real = reinterpret_cast<tenon_plugin_query_fn>(dlsym(library, TENON_ENTRY_SYMBOL))(host);
  if (real != nullptr) faulty = FaultyDescriptor();
  return faulty;
}
