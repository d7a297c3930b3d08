// L3: ranks that are late, dead, or mean something else; aborts. Cases 74 to 80.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/conform/cases.h"
#include "tools/conform/world.h"

namespace tenon::conform {
namespace {

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Enqueues an all_reduce of `count` floats that live as long as the process.
tenon_collective_op Enqueue(Context& context, Rank& rank, tenon_comm* comm, std::uint64_t count,
                            std::uint64_t fingerprint = 0, std::uint64_t timeout_ns = 0) {
  auto* values = new std::vector<float>(count, 1);
  tenon_collective_op op = rank.NewOp();
  op.send = op.receive = reinterpret_cast<std::uintptr_t>(values->data());
  op.count = count;
  op.dtype = TENON_DTYPE_F32;
  op.reduction = TENON_REDUCE_SUM;
  op.fingerprint = fingerprint;
  op.timeout_ns = timeout_ns;
  tenon_error error;
  const std::int64_t start = NowMs();
  const std::int32_t code = TENON_CALL(tenon.collective, &rank.table(), all_reduce, comm, &op, &error);
  context.Require(code == TENON_OK, "all_reduce answers {}: {}", code, error.message_text());
  context.Require(NowMs() - start < 1000, "all_reduce waited {} ms before it returned; it must only enqueue.",
                  NowMs() - start);
  return op;
}

void Need(Context& context) {
  const Library library(context);
  const auto* table = library.Table<tenon_collective_vtable>();
  if (table == nullptr) context.Skip("The plugin does not offer tenon.collective.");
  if (table->all_reduce == nullptr) context.Skip("The plugin has no all_reduce.");
}

bool Names(std::string_view text, std::uint32_t rank) {
  return text.find(std::to_string(rank)) != std::string_view::npos;
}

// A store in a folder, for ranks in processes of their own.
class FolderStore final : public KeyValueStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) {}
  Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) override {
    const std::int64_t until = NowMs() + static_cast<std::int64_t>(timeout_ns / 1'000'000);
    for (;;) {
      std::ifstream file(Path(key), std::ios::binary);
      if (file) return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (timeout_ns == 0) return Error(Code::kNotFound, "There is no key '{}'.", key);
      if (NowMs() >= until) return Error(Code::kDeadlineExceeded, "Key '{}' did not appear.", key);
      SleepMs(1);
    }
  }
  Status Put(std::string_view key, std::string_view value) override {
    const std::string path = Path(key), draft = path + fmt::format(".{}", ::getpid());
    std::ofstream(draft, std::ios::binary) << value;
    std::filesystem::rename(draft, path);
    return {};
  }
  Status Delete(std::string_view key) override {
    return std::filesystem::remove(Path(key)) ? Status() : Error(Code::kNotFound, "There is no key '{}'.", key);
  }

 private:
  std::string Path(std::string_view key) const {
    std::string name(key);
    for (char& c : name) c = c == '/' ? '_' : c;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

// Rank 2 of 3 in a child process: joins, takes part once, enqueues, and is gone.
[[noreturn]] void DyingRank(Context& context, const std::string& folder) {
  FolderStore store(folder);
  const Library library(context);
  Rank rank(context, library, &store, 2, 3);
  rank.Join();
  rank.Wait(Enqueue(context, rank, rank.comm(), 16));
  Enqueue(context, rank, rank.comm(), 4 << 20);
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace

void RankNeverArrives(Context& context) {
  Need(context);
  // At creation: two of three.
  CommWay way;
  way.timeout_ns = 400'000'000;
  RunRanks(context, 2, new MemoryStore, [&](Rank& missing) {
    const Library library(context);
    static MemoryStore store;
    Rank rank(context, library, &store, missing.rank(), 3);
    tenon_error error;
    const std::int64_t start = NowMs();
    const std::int32_t code = rank.Join(way, &error);
    const std::int64_t took = NowMs() - start;
    context.Require(code == TENON_DEADLINE_EXCEEDED, "Joining without rank 2 answers {}; it must be DEADLINE_EXCEEDED.",
                    code);
    context.Require(took >= 300 && took < 5000, "Joining with a timeout of 400 ms took {} ms.", took);
    context.Require(Names(error.message_text(), 2), "The error does not name rank 2, which is missing: '{}'",
                    error.message_text());
  });
  // At an operation: the third joins and stays away.
  RunWorld(context, 3, [&](Rank& rank) {
    if (rank.rank() == 2) return SleepMs(1500);
    const std::int64_t start = NowMs();
    const tenon_collective_op op = Enqueue(context, rank, rank.comm(), 16, 0, 400'000'000);
    std::string text;
    const std::int32_t code = rank.Wait(op, 10000, &text);
    // The first rank to give up may wake the others before their own time is over.
    context.Require(code == TENON_DEADLINE_EXCEEDED || code == TENON_ABORTED,
                    "An operation that rank 2 stays away from ends with {}; it must be DEADLINE_EXCEEDED.", code);
    context.Require(NowMs() - start < 5000, "An operation with a timeout of 400 ms took {} ms.", NowMs() - start);
    if (code == TENON_DEADLINE_EXCEEDED)
      context.Require(Names(text, 2), "The error does not name rank 2, which is missing: '{}'", text);
    tenon_error error;
    const std::int32_t sticky = TENON_CALL(tenon.collective, &rank.table(), async_error, rank.comm(), &error);
    context.Require(sticky != TENON_OK, "async_error is OK after an operation failed.");
  });
}

void RankDies(Context& context) {
  Need(context);
  char folder[] = "/tmp/tenon_conform_store_XXXXXX";
  if (::mkdtemp(folder) == nullptr) context.Fail("No folder for the store could be made.");
  const pid_t child = ::fork();
  if (child == 0) DyingRank(context, folder);
  FolderStore store(folder);
  RunRanks(context, 2, &store, [&](Rank& alive) {
    const Library library(context);
    Rank rank(context, library, &store, alive.rank(), 3);
    CommWay way;
    way.timeout_ns = 3'000'000'000;
    rank.Join(way);
    context.Require(rank.Wait(Enqueue(context, rank, rank.comm(), 16)) == TENON_OK,
                    "An operation with ranks in two processes fails.");
    const std::int64_t start = NowMs();
    std::string text;
    const std::int32_t code = rank.Wait(Enqueue(context, rank, rank.comm(), 4 << 20), 20000, &text);
    context.Require(code != TENON_OK, "An operation is OK although rank 2 died in it.");
    context.Require(NowMs() - start < 8000, "The error came after {} ms; the timeout is 3000 ms.", NowMs() - start);
    context.Require(!text.empty(), "An operation whose rank died ends with {} and no text.", code);
  });
  ::waitpid(child, nullptr, 0);
  std::filesystem::remove_all(folder);
}

void AbortFromElsewhere(Context& context) {
  Need(context);
  const auto mark = [&context](Rank& rank, tenon_comm* comm) {
    const std::int64_t start = NowMs();
    TENON_CALL(tenon.collective, &rank.table(), abort_mark, comm, TENON_ABORTED, tenon_str TENON_STR("on purpose"));
    context.Require(NowMs() - start < 400, "abort_mark took {} ms; it never waits.", NowMs() - start);
  };
  // While joining.
  RunRanks(context, 1, new MemoryStore, [&](Rank& one) {
    const Library library(context);
    MemoryStore store;
    Rank rank(context, library, &store, one.rank(), 2);
    CommWay way;
    way.flags = TENON_COMM_NONBLOCKING;
    tenon_comm* comm = nullptr;
    tenon_error error;
    const std::int32_t code = rank.Create(way, &comm, &error);
    if (code == TENON_UNIMPLEMENTED) return;
    context.Require(code == TENON_OK && comm != nullptr, "comm_create with NONBLOCKING answers {}: {}", code,
                    error.message_text());
    const std::int32_t state = TENON_CALL(tenon.collective, &rank.table(), comm_state, comm, &error);
    context.Require(state == TENON_WOULD_BLOCK, "comm_state of a communicator that waits for its ranks answers {}.",
                    state);
    mark(rank, comm);
    const bool seen = WaitFor(
        [&] { return TENON_CALL(tenon.collective, &rank.table(), comm_state, comm, &error) == TENON_ABORTED; }, 5000);
    context.Require(seen, "A communicator that was aborted while joining does not say ABORTED.");
    const std::int64_t start = NowMs();
    TENON_CALL(tenon.collective, &rank.table(), comm_destroy, comm);
    context.Require(NowMs() - start < 5000, "comm_destroy after an abort took {} ms.", NowMs() - start);
  });
  // In an operation that the other rank never starts, and while the communicator is being destroyed.
  RunWorld(context, 2, [&](Rank& rank) {
    if (rank.rank() == 1) return SleepMs(500);
    const tenon_collective_op op = Enqueue(context, rank, rank.comm(), 16);
    SleepMs(50);
    std::thread other([&] { mark(rank, rank.comm()); });
    const std::int32_t code = rank.Wait(op, 5000);
    other.join();
    context.Require(code == TENON_CANCELLED, "An operation that pends at an abort ends with {}; it must be CANCELLED.",
                    code);
    tenon_collective_op late = rank.NewOp();
    late.dtype = TENON_DTYPE_F32;
    late.reduction = TENON_REDUCE_SUM;
    const std::int32_t after = TENON_CALL(tenon.collective, &rank.table(), all_reduce, rank.comm(), &late, nullptr);
    context.Require(after == TENON_ABORTED, "all_reduce after an abort answers {}; it must be ABORTED.", after);
  });
  RunWorld(context, 2, [&](Rank& rank) {
    if (rank.rank() == 1) return SleepMs(1000);
    const tenon_collective_op op = Enqueue(context, rank, rank.comm(), 16);
    tenon_comm* comm = rank.comm();
    std::thread destroyer([&] { rank.Leave(); });
    SleepMs(100);
    mark(rank, comm);
    const std::int64_t start = NowMs();
    destroyer.join();
    context.Require(NowMs() - start < 5000, "comm_destroy ended {} ms after the abort.", NowMs() - start);
    context.Require(rank.Wait(op, 1000) == TENON_CANCELLED, "A pending operation was not cancelled by the abort.");
  });
}

void MarkAllThenDestroy(Context& context) {
  Need(context);
  RunWorld(context, 2, [&](Rank& rank) {
    std::vector<tenon_comm*> comms;
    for (int i = 0; i < 4; ++i) {
      CommWay way;
      way.name = fmt::format("comm{}", i);
      tenon_error error;
      tenon_comm* comm = nullptr;
      const std::int32_t code = rank.Create(way, &comm, &error);
      context.Require(code == TENON_OK, "Communicator {} answers {}: {}", i, code, error.message_text());
      comms.push_back(comm);
    }
    std::vector<tenon_collective_op> ops;
    if (rank.rank() == 0) {
      for (tenon_comm* comm : comms) ops.push_back(Enqueue(context, rank, comm, 1000));
    }
    SleepMs(50);
    const std::int64_t start = NowMs();
    for (tenon_comm* comm : comms)
      TENON_CALL(tenon.collective, &rank.table(), abort_mark, comm, TENON_ABORTED, tenon_str TENON_STR("all of them"));
    for (tenon_comm* comm : comms) TENON_CALL(tenon.collective, &rank.table(), comm_destroy, comm);
    context.Require(NowMs() - start < 5000, "Aborting and destroying four communicators took {} ms.", NowMs() - start);
    for (const tenon_collective_op& op : ops)
      context.Require(rank.Wait(op, 1000) == TENON_CANCELLED, "A pending operation was not cancelled.");
  });
}

void DestroyCommPending(Context& context) {
  Need(context);
  for (int round = 0; round < 10; ++round) {
    RunWorld(context, 3, [&](Rank& rank) {
      std::vector<tenon_collective_op> ops;
      for (int i = 0; i < 5; ++i) ops.push_back(Enqueue(context, rank, rank.comm(), 5000));
      rank.Leave();
      for (const tenon_collective_op& op : ops) {
        const std::int32_t code = rank.Wait(op, 2000);
        context.Require(code == TENON_OK || code == TENON_CANCELLED,
                        "An operation that pended when its communicator was destroyed ends with {}.", code);
      }
    });
  }
}

void FingerprintMismatch(Context& context) {
  Need(context);
  RunWorld(context, 2, [&](Rank& rank) {
    const std::uint32_t me = rank.rank();
    context.Require(rank.Wait(Enqueue(context, rank, rank.comm(), 16, 7)) == TENON_OK,
                    "Equal fingerprints are refused.");
    const std::int64_t start = NowMs();
    std::string text;
    // The same size, so that only the fingerprint tells the difference.
    const std::int32_t code = rank.Wait(Enqueue(context, rank, rank.comm(), 16, 100 + me), 10000, &text);
    context.Require(code != TENON_OK, "Ranks with different operations both end with OK.");
    context.Require(NowMs() - start < 3000, "Different operations were noticed after {} ms; a second is allowed.",
                    NowMs() - start);
    context.Require(code == TENON_INVALID_ARGUMENT || code == TENON_ABORTED,
                    "Different operations end with {}; it must be INVALID_ARGUMENT.", code);
    if (code == TENON_INVALID_ARGUMENT)
      context.Require(Names(text, 0) && Names(text, 1), "The error does not name both ranks: '{}'", text);
    tenon_error error;
    const std::int32_t sticky = TENON_CALL(tenon.collective, &rank.table(), async_error, rank.comm(), &error);
    context.Require(sticky != TENON_OK, "async_error is OK after ranks ran different operations.");
  });
}

void StoreFailures(Context& context) {
  Need(context);
  const Library library(context);
  CommWay way;
  way.timeout_ns = 2'000'000'000;
  for (std::int64_t call = 1; call <= 12; ++call) {
    auto* store = new MemoryStore;
    store->FailFrom(call);
    Rank rank(context, library, store, 0, 1);
    tenon_error error;
    const std::int64_t start = NowMs();
    const std::int32_t code = rank.Join(way, &error);
    context.Require(NowMs() - start < 10000, "Joining took {} ms when the store failed from call {} on.",
                    NowMs() - start, call);
    if (code == TENON_OK) {
      context.Require(call > 1, "Joining works although the store fails from the first call on.");
      return;  // it needs fewer calls than this
    }
    context.Require(rank.comm() == nullptr, "comm_create fails but gives a communicator.");
    context.Require(!error.message_text().empty(), "comm_create fails with {} and no text when the store fails.", code);
  }
}

}  // namespace tenon::conform
