#include "tests/support/collective_host.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::testing_support {
namespace {

std::int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(70);
}

StoreClient& StoreOf(tenon_store* store) { return *reinterpret_cast<StoreClient*>(store); }

}  // namespace

struct CollectiveServices {
  static CollectiveHost& Of(tenon_host* host) { return *reinterpret_cast<CollectiveHost*>(host); }

  static void ErrorSet(tenon_error* sink, const tenon_error_info* info) {
    if (sink != nullptr) *reinterpret_cast<std::string*>(sink) = std::string(sdk::Text(info->message));
  }
  static void Complete(tenon_host*, tenon_token* handle, std::int32_t code, tenon_str text) {
    auto& token = *reinterpret_cast<CollectiveToken*>(handle);
    token.code = code;
    if (text.size > 0) token.text = std::string(sdk::Text(text));
    token.state.store(1, std::memory_order_release);
    token.state.notify_all();
  }
  static void Log(tenon_host* host, std::uint32_t, tenon_str, tenon_str text, std::uint32_t) {
    const std::lock_guard<std::mutex> lock(Of(host).log_mutex_);
    Of(host).log_.emplace_back(sdk::Text(text));
  }
  static std::int32_t Get(tenon_store* store, tenon_str key, std::uint64_t timeout_ns, void* buffer,
                          std::uint64_t capacity, std::uint64_t* size, tenon_error*) {
    std::string value;
    const std::int32_t code = StoreOf(store).Get(std::string(sdk::Text(key)), timeout_ns, &value);
    if (code != TENON_OK) return code;
    *size = value.size();
    if (value.size() > capacity) return TENON_OUT_OF_RANGE;
    std::memcpy(buffer, value.data(), value.size());
    return TENON_OK;
  }
  static std::int32_t Put(tenon_store* store, tenon_str key, const void* data, std::uint64_t size, tenon_error*) {
    return StoreOf(store).Put(std::string(sdk::Text(key)), std::string(static_cast<const char*>(data), size));
  }
  static std::int32_t Delete(tenon_store* store, tenon_str key, tenon_error*) {
    return StoreOf(store).Delete(std::string(sdk::Text(key)));
  }

  static void Fill(tenon_host_api* api, CollectiveHost* host) {
    api->struct_size = sizeof *api;
    api->abi_minor = TENON_ABI_MINOR;
    api->host = reinterpret_cast<tenon_host*>(host);
    api->error_set = &ErrorSet;
    api->complete = &Complete;
    api->log = &Log;
    api->thread_budget = [](tenon_host*) { return 1u; };
    api->store_get = &Get;
    api->store_put = &Put;
    api->store_delete = &Delete;
    api->clock_ns = [](tenon_host*) { return static_cast<std::uint64_t>(NowNs()); };
  }
};

CollectiveHost::CollectiveHost(const std::string& plugin, StoreClient* store) : store_(store) {
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Die(std::string("The plugin cannot be opened: ") + dlerror());
  using QueryFn = const tenon_plugin_descriptor* (*)(const tenon_host_info*);
  const auto query = reinterpret_cast<QueryFn>(dlsym(library, TENON_ENTRY_SYMBOL));
  if (query == nullptr) Die("The plugin has no entry point.");
  tenon_host_info info = TENON_INIT(tenon_host_info);
  info.abi_major = TENON_ABI_MAJOR;
  info.abi_minor = TENON_ABI_MINOR;
  descriptor_ = query(&info);
  CollectiveServices::Fill(&api_, this);
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.thread_budget = 1;
  args.host = &api_;
  if (descriptor_->create(&args, &plugin_, sink()) != TENON_OK) Die("create failed: " + last_error_);
  for (std::uint32_t i = 0; i < descriptor_->interface_count; ++i) {
    const tenon_interface& interface = sdk::AtStride(descriptor_->interfaces, descriptor_->interface_stride, i);
    if (sdk::Text(interface.id) == TENON_INTERFACE_COLLECTIVE)
      table_ = static_cast<const tenon_collective_vtable*>(interface.vtable);
  }
  if (table_ == nullptr) Die("The plugin offers no collectives.");
}

CollectiveHost::~CollectiveHost() { descriptor_->destroy(plugin_); }

Ending CollectiveHost::Create(const CommSetting& setting, tenon_comm** comm) {
  tenon_comm_config config = TENON_INIT(tenon_comm_config);
  config.magic = TENON_COMM_CONFIG_MAGIC;
  config.flags = setting.flags;
  config.rank = setting.rank;
  config.size = setting.size;
  config.local_rank = setting.local_rank;
  config.local_size = setting.local_size;
  config.name = sdk::Str(setting.name);
  config.store = reinterpret_cast<tenon_store*>(store_);
  config.timeout_ns = setting.timeout_ns;
  config.native_memory_kind = sdk::Str(setting.memory_kind);
  config.native_stream_kind = sdk::Str(setting.stream_kind);
  config.node_name = sdk::Str(setting.node);
  last_error_.clear();
  *comm = nullptr;
  const std::int64_t start = NowNs();
  const std::int32_t code = table_->comm_create(plugin_, &config, comm, sink());
  return {code, last_error_, NowNs() - start};
}

Ending CollectiveHost::Start(Slot slot, tenon_comm* comm, tenon_collective_op* op) {
  auto* token = new CollectiveToken;
  const Ending ending = Start(slot, comm, op, token);
  if (ending.code != TENON_OK) delete token;
  return ending;
}

Ending CollectiveHost::Start(Slot slot, tenon_comm* comm, tenon_collective_op* op, CollectiveToken* token) {
  op->completion = reinterpret_cast<tenon_token*>(token);
  const std::int32_t code = (table_->*slot)(comm, op, sink());
  return code == TENON_OK ? Ending{} : Ending{code, last_error_};
}

Ending CollectiveHost::Wait(const tenon_collective_op& op) {
  const std::unique_ptr<CollectiveToken> token(reinterpret_cast<CollectiveToken*>(op.completion));
  token->state.wait(0, std::memory_order_acquire);
  return {token->code, token->text};
}

Ending CollectiveHost::Run(Slot slot, tenon_comm* comm, tenon_collective_op op) {
  const std::int64_t start = NowNs();
  Ending ending = Start(slot, comm, &op);
  if (ending.code == TENON_OK) ending = Wait(op);
  ending.ns = NowNs() - start;
  return ending;
}

tenon_collective_op NewCollective(const void* send, void* receive, std::uint64_t count, std::uint32_t dtype,
                                  std::uint32_t reduction) {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  op.send = reinterpret_cast<std::uintptr_t>(send);
  op.receive = reinterpret_cast<std::uintptr_t>(receive);
  op.count = count;
  op.dtype = dtype;
  op.reduction = reduction;
  return op;
}

}  // namespace tenon::testing_support
