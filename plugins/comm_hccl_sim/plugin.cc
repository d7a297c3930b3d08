// comm_hccl_sim: collective operations with the face of HCCL. README.md says what it offers.
#include "communicator.h"
#include "hccl/environment.h"
#include "reduce/reduce.h"
#include "tenon/sdk/sdk.h"

namespace tenon::hccl {
namespace {

class HcclPlugin final : public sdk::Plugin {
 public:
  // The variables are read when a communicator is made, so that a wrong one fails where it matters.
  Site& site() { return site_; }

 private:
  Site site_;
};

constexpr tenon_str kKinds[] = {sdk::Str("host"), sdk::Str(TENON_NPU_SIM_MEMORY_KIND)};

HcclPlugin& PluginOf(tenon_plugin* plugin) { return *static_cast<HcclPlugin*>(sdk::Plugin::From(plugin)); }

// What a tenon_comm is.
struct CommHandle {
  sdk::Host host;
  Communicator comm;
  CommHandle(sdk::Host services, Site* site, const tenon_comm_config& config)
      : host(services), comm(services, site, config) {}
};
CommHandle& HandleOf(tenon_comm* comm) { return *reinterpret_cast<CommHandle*>(comm); }

int32_t MemoryKinds(tenon_plugin*, const tenon_str** out, uint64_t* count, tenon_error*) noexcept {
  *out = kKinds;
  *count = sizeof(kKinds) / sizeof(kKinds[0]);
  return TENON_OK;
}

int32_t Supports(tenon_plugin*, uint32_t kind, uint32_t dtype, uint32_t reduction, tenon_str memory_kind,
                 uint32_t* answer, tenon_error*) noexcept {
  const std::string_view memory = sdk::Text(memory_kind);
  const bool reaches = memory == "host" || memory == TENON_NPU_SIM_MEMORY_KIND;
  const bool known = kind >= TENON_COLLECTIVE_ALL_REDUCE && kind <= TENON_COLLECTIVE_BARRIER;
  const bool reduces =
      kind == TENON_COLLECTIVE_ALL_REDUCE || kind == TENON_COLLECTIVE_REDUCE || kind == TENON_COLLECTIVE_REDUCE_SCATTER;
  const bool can = reduces ? Reduces(dtype) && reduction >= TENON_REDUCE_SUM && reduction <= TENON_REDUCE_AVERAGE
                           : sdk::DTypeBits(dtype) >= 8 || kind == TENON_COLLECTIVE_BARRIER;
  *answer = reaches && known && can ? TENON_ANSWER_YES : TENON_ANSWER_NO;
  return TENON_OK;
}

int32_t Create(tenon_plugin* plugin, const tenon_comm_config* config, tenon_comm** out, tenon_error* sink) noexcept {
  *out = nullptr;
  const sdk::Host host = PluginOf(plugin).host();
  return Guarded(host.api(), sink, [&](sdk::Error& error) -> int32_t {
    if (config->magic != TENON_COMM_CONFIG_MAGIC)
      return error.Fail(TENON_INVALID_ARGUMENT, "The config of the communicator is not initialised.");
    if (config->size == 0 || config->rank >= config->size)
      throw MakeFault(
          TENON_INVALID_ARGUMENT, Ei::kArgument,
          "Rank " + std::to_string(config->rank) + " of " + std::to_string(config->size) + " is not possible.");
    Site& site = PluginOf(plugin).site();
    site.environment = ReadEnvironment();
    auto handle = std::make_unique<CommHandle>(host, &site, *config);
    if ((config->flags & TENON_COMM_NONBLOCKING) == 0) {
      if (const int32_t code = handle->comm.WaitJoined(error); code != TENON_OK) return code;
    }
    *out = reinterpret_cast<tenon_comm*>(handle.release());
    return TENON_OK;
  });
}

template <typename Body>
int32_t OnComm(tenon_comm* comm, tenon_error* sink, Body&& body) noexcept {
  CommHandle& handle = HandleOf(comm);
  return Guarded(handle.host.api(), sink, [&](sdk::Error& error) { return body(handle.comm, error); });
}

int32_t State(tenon_comm* comm, tenon_error* sink) noexcept {
  return OnComm(comm, sink, [](Communicator& object, sdk::Error& error) { return object.State(error); });
}
int32_t AsyncError(tenon_comm* comm, tenon_error* sink) noexcept {
  return OnComm(comm, sink, [](Communicator& object, sdk::Error& error) { return object.AsyncError(error); });
}
int32_t Progress(tenon_comm* comm, tenon_comm_progress* out, tenon_error*) noexcept {
  HandleOf(comm).comm.Progress(out);
  return TENON_OK;
}
void AbortMark(tenon_comm* comm, int32_t code, tenon_str reason) noexcept {
  HandleOf(comm).comm.Mark(code, sdk::Text(reason));
}
void Destroy(tenon_comm* comm) noexcept {
  if (comm != nullptr) delete &HandleOf(comm);
}

template <uint32_t kKind>
int32_t Issue(tenon_comm* comm, const tenon_collective_op* op, tenon_error* sink) noexcept {
  return OnComm(comm, sink,
                [op](Communicator& object, sdk::Error& error) { return object.Enqueue(kKind, *op, error); });
}

int32_t GroupBegin(tenon_comm* const* comms, uint64_t count, tenon_comm_group** out, tenon_error* sink) noexcept {
  *out = nullptr;
  if (count == 0) return TENON_INVALID_ARGUMENT;
  return Guarded(HandleOf(comms[0]).host.api(), sink, [&](sdk::Error& error) -> int32_t {
    auto group = std::make_unique<Group>();
    for (uint64_t i = 0; i < count; ++i) {
      Communicator& comm = HandleOf(comms[i]).comm;
      if (comm.group != nullptr)
        return error.Fail(TENON_FAILED_PRECONDITION, "Communicator ", i, " is in another group.");
      group->comms.push_back(&comm);
    }
    for (Communicator* comm : group->comms) comm->group = group.get();
    *out = reinterpret_cast<tenon_comm_group*>(group.release());
    return TENON_OK;
  });
}

int32_t GroupEnd(tenon_comm_group* handle, tenon_error* sink) noexcept {
  const std::unique_ptr<Group> group(reinterpret_cast<Group*>(handle));
  for (Communicator* comm : group->comms) comm->group = nullptr;
  return Guarded(nullptr, sink, [&](sdk::Error&) -> int32_t {
    for (Communicator* comm : group->comms) {
      std::vector<Operation> mine;
      for (auto& [of, operation] : group->operations) {
        if (of == comm) mine.push_back(std::move(operation));
      }
      if (!mine.empty()) comm->EnqueueTogether(std::move(mine));
    }
    return TENON_OK;
  });
}

// What a tenon_comm_buffer is.
struct BufferHandle {
  char* address;
};

int32_t BufferAlloc(tenon_comm* comm, uint64_t bytes, uint64_t align, tenon_comm_buffer_info* out,
                    tenon_error* sink) noexcept {
  return OnComm(comm, sink, [&](Communicator& object, sdk::Error& error) -> int32_t {
    constexpr uint64_t kPage = 4096;
    if (align > kPage)
      return error.Fail(TENON_INVALID_ARGUMENT, "Blocks are aligned to ", kPage, " bytes; ", align, " are asked for.");
    int32_t code = TENON_OK;
    char* address = object.AllocateBlock(bytes, error, &code);
    if (code != TENON_OK) return code;
    tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
    info.flags = TENON_COMM_BUFFER_SHARED;
    info.address = reinterpret_cast<uintptr_t>(address);
    info.bytes = bytes;
    info.handle = reinterpret_cast<tenon_comm_buffer*>(new BufferHandle{address});
    info.native_memory_kind = kKinds[0];  // last member
    sdk::CopyOut(info, out);
    return TENON_OK;
  });
}

void BufferFree(tenon_comm* comm, tenon_comm_buffer* buffer) noexcept {
  if (buffer == nullptr) return;
  const std::unique_ptr<BufferHandle> handle(reinterpret_cast<BufferHandle*>(buffer));
  HandleOf(comm).comm.FreeBlock(handle->address);
}

int32_t Describe(tenon_comm* comm, tenon_str* out, tenon_error*) noexcept {
  *out = sdk::Str(HandleOf(comm).comm.description());
  return TENON_OK;
}

constexpr tenon_collective_vtable MakeTable() {
  tenon_collective_vtable table = TENON_INIT(tenon_collective_vtable);
  table.memory_kinds = &MemoryKinds;
  table.supports = &Supports;
  table.comm_create = &Create;
  table.comm_state = &State;
  table.async_error = &AsyncError;
  table.progress = &Progress;
  table.abort_mark = &AbortMark;
  table.comm_destroy = &Destroy;
  table.all_reduce = &Issue<TENON_COLLECTIVE_ALL_REDUCE>;
  table.reduce = &Issue<TENON_COLLECTIVE_REDUCE>;
  table.broadcast = &Issue<TENON_COLLECTIVE_BROADCAST>;
  table.all_gather = &Issue<TENON_COLLECTIVE_ALL_GATHER>;
  table.reduce_scatter = &Issue<TENON_COLLECTIVE_REDUCE_SCATTER>;
  table.all_to_all = &Issue<TENON_COLLECTIVE_ALL_TO_ALL>;
  table.all_to_all_v = &Issue<TENON_COLLECTIVE_ALL_TO_ALL_V>;
  table.gather = &Issue<TENON_COLLECTIVE_GATHER>;
  table.scatter = &Issue<TENON_COLLECTIVE_SCATTER>;
  table.send = &Issue<TENON_COLLECTIVE_SEND>;
  table.recv = &Issue<TENON_COLLECTIVE_RECV>;
  table.barrier = &Issue<TENON_COLLECTIVE_BARRIER>;
  table.group_begin = &GroupBegin;
  table.group_end = &GroupEnd;
  table.buffer_alloc = &BufferAlloc;
  table.buffer_free = &BufferFree;
  table.describe = &Describe;  // last member
  return table;
}
constexpr tenon_collective_vtable kTable = MakeTable();
constexpr tenon_interface kInterfaces[] = {sdk::Interface(TENON_INTERFACE_COLLECTIVE, &kTable)};

}  // namespace
}  // namespace tenon::hccl

TENON_SDK_PLUGIN(tenon::hccl::HcclPlugin, "org.tenon.comm_hccl_sim", "0.1.0", "Tenon authors", "Apache-2.0",
                 TENON_KIND_COLLECTIVE, tenon::hccl::kInterfaces);
