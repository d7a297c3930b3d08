#include "tools/conform/world.h"

namespace tenon::conform {

Rank::Rank(Context& context, const Library& library, KeyValueStore* store, std::uint32_t rank, std::uint32_t size)
    : context_(context),
      instance_(context, library),
      table_(&instance_.Need<tenon_collective_vtable>()),
      store_{store},
      rank_(rank),
      size_(size) {}

Rank::~Rank() { Leave(); }

std::int32_t Rank::Create(const CommWay& way, tenon_comm** out, tenon_error* error) {
  tenon_comm_config config = TENON_INIT(tenon_comm_config);
  config.flags = way.flags;
  config.magic = TENON_COMM_CONFIG_MAGIC;
  config.rank = config.local_rank = rank_;
  config.size = config.local_size = size_;
  config.name = ToStr(way.name);
  config.store = &store_;
  config.timeout_ns = way.timeout_ns;
  config.native_memory_kind = TENON_STR("host");
  config.native_stream_kind = TENON_STR("host");
  config.node_name = TENON_STR("here");
  return TENON_CALL(tenon.collective, table_, comm_create, instance_.plugin(), &config, out, error);
}

std::int32_t Rank::Join(const CommWay& way, tenon_error* error) {
  tenon_error own;
  const std::int32_t code = Create(way, &comm_, error == nullptr ? &own : error);
  if (code == TENON_OK && comm_ == nullptr) context_.Fail("comm_create answers OK but gives no communicator.");
  if (error == nullptr && code != TENON_OK)
    context_.Fail(fmt::format("Rank {} of {} cannot join: {} {}", rank_, size_, code, own.message_text()));
  return code;
}

void Rank::Leave() {
  if (comm_ != nullptr) TENON_CALL(tenon.collective, table_, comm_destroy, comm_);
  comm_ = nullptr;
}

tenon_collective_op Rank::NewOp() {
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  op.sequence = ++sequence_;
  op.completion = instance_.host().completions().Start(nullptr);
  return op;
}

std::int32_t Rank::Wait(const tenon_collective_op& op, int ms, std::string* text) {
  const bool done = WaitFor([&op] { return op.completion->state.load(std::memory_order_acquire) == 2; }, ms);
  if (!done) return TENON_DEADLINE_EXCEEDED;
  if (text != nullptr) *text = std::string(op.completion->message());
  return op.completion->code;
}

void RunRanks(Context& context, std::uint32_t size, KeyValueStore* store, const std::function<void(Rank&)>& body) {
  const Library library(context);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Rank one(context, library, store, rank, size);
      body(one);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void RunWorld(Context& context, std::uint32_t size, const std::function<void(Rank&)>& body, const CommWay& way) {
  MemoryStore store;
  RunRanks(context, size, &store, [&](Rank& rank) {
    rank.Join(way);
    body(rank);
  });
}

}  // namespace tenon::conform
