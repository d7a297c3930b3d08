// L3: what collective operations compute. Cases 71 to 73 and 81.
#include <cmath>
#include <cstring>

#include "tools/conform/cases.h"
#include "tools/conform/op_samples.h"
#include "tools/conform/world.h"

namespace tenon::conform {
namespace {

using Slot = std::int32_t (*)(tenon_comm*, const tenon_collective_op*, tenon_error*);

struct Kind {
  std::uint32_t kind;
  const char* name;
  Slot tenon_collective_vtable::*slot;
  bool reduces;
};
constexpr Kind kKinds[] = {
    {TENON_COLLECTIVE_ALL_REDUCE, "all_reduce", &tenon_collective_vtable::all_reduce, true},
    {TENON_COLLECTIVE_REDUCE, "reduce", &tenon_collective_vtable::reduce, true},
    {TENON_COLLECTIVE_BROADCAST, "broadcast", &tenon_collective_vtable::broadcast, false},
    {TENON_COLLECTIVE_ALL_GATHER, "all_gather", &tenon_collective_vtable::all_gather, false},
    {TENON_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter", &tenon_collective_vtable::reduce_scatter, true},
    {TENON_COLLECTIVE_ALL_TO_ALL, "all_to_all", &tenon_collective_vtable::all_to_all, false},
    {TENON_COLLECTIVE_GATHER, "gather", &tenon_collective_vtable::gather, false},
    {TENON_COLLECTIVE_SCATTER, "scatter", &tenon_collective_vtable::scatter, false},
};

// What element i of block b of rank r's source is: small whole numbers, exact in every dtype, also when multiplied.
double Element(std::uint32_t rank, std::uint64_t block, std::uint64_t i) {
  return static_cast<double>((rank + 2 * block + i) % 3 + 1);
}

double Reduced(std::uint32_t size, std::uint64_t block, std::uint64_t i, std::uint32_t reduction) {
  double value = Element(0, block, i);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    const double next = Element(rank, block, i);
    switch (reduction) {
      case TENON_REDUCE_PROD:
        value *= next;
        break;
      case TENON_REDUCE_MIN:
        value = std::min(value, next);
        break;
      case TENON_REDUCE_MAX:
        value = std::max(value, next);
        break;
      default:
        value += next;
    }
  }
  return reduction == TENON_REDUCE_AVERAGE ? value / size : value;
}

// One operation on one rank, with its memory. Blocks of `count` elements.
struct Trial {
  const Kind* kind;
  DType dtype;
  std::uint32_t reduction, root;
  std::uint64_t count;
  bool in_place;

  std::string text() const {
    return fmt::format("{} of {} {} (reduction {}, root {}{})", kind->name, count, NameOf(dtype), reduction, root,
                       in_place ? ", in place" : "");
  }
};

std::uint64_t SourceBlocks(const Trial& trial, std::uint32_t size) {
  switch (trial.kind->kind) {
    case TENON_COLLECTIVE_REDUCE_SCATTER:
    case TENON_COLLECTIVE_ALL_TO_ALL:
    case TENON_COLLECTIVE_SCATTER:
      return size;
    default:
      return 1;
  }
}
std::uint64_t TargetBlocks(const Trial& trial, std::uint32_t size) {
  switch (trial.kind->kind) {
    case TENON_COLLECTIVE_ALL_GATHER:
    case TENON_COLLECTIVE_ALL_TO_ALL:
    case TENON_COLLECTIVE_GATHER:
      return size;
    default:
      return 1;
  }
}

// Element i of block b of the target of `rank`.
double Expected(const Trial& trial, std::uint32_t rank, std::uint32_t size, std::uint64_t block, std::uint64_t i) {
  switch (trial.kind->kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
    case TENON_COLLECTIVE_REDUCE:
      return Reduced(size, 0, i, trial.reduction);
    case TENON_COLLECTIVE_REDUCE_SCATTER:
      return Reduced(size, rank, i, trial.reduction);
    case TENON_COLLECTIVE_BROADCAST:
      return Element(trial.root, 0, i);
    case TENON_COLLECTIVE_ALL_GATHER:
    case TENON_COLLECTIVE_GATHER:
      return Element(static_cast<std::uint32_t>(block), 0, i);
    case TENON_COLLECTIVE_ALL_TO_ALL:
      return Element(static_cast<std::uint32_t>(block), rank, i);
    default:
      return Element(trial.root, rank, i);
  }
}

bool OnlyRootReceives(const Trial& trial) {
  return trial.kind->kind == TENON_COLLECTIVE_REDUCE || trial.kind->kind == TENON_COLLECTIVE_GATHER;
}

Tensor Blocks(DType dtype, std::uint64_t blocks, std::uint64_t count,
              const std::function<double(std::uint64_t, std::uint64_t)>& of) {
  Tensor wide(DType::kF64, Shape{static_cast<std::int64_t>(blocks * count)});
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::uint64_t i = 0; i < count; ++i) wide.data<double>()[block * count + i] = of(block, i);
  }
  return dtype == DType::kF64 ? wide : Cast(wide, dtype);
}

void RunTrial(Context& context, Rank& rank, const Trial& trial) {
  const std::uint32_t me = rank.rank(), size = rank.size();
  const std::uint64_t source_blocks = SourceBlocks(trial, size), target_blocks = TargetBlocks(trial, size);
  const auto width = static_cast<std::uint64_t>(SizeOf(trial.dtype));
  const std::uint64_t block_bytes = trial.count * width;
  const Tensor source = Blocks(trial.dtype, source_blocks, trial.count,
                               [me](std::uint64_t block, std::uint64_t i) { return Element(me, block, i); });
  // In place both lie in one array; else the target is poisoned. A guard follows.
  std::vector<std::uint8_t> memory((source_blocks + target_blocks) * block_bytes + 64, 0xA5);
  std::uint64_t send = 0, receive = source_blocks * block_bytes;
  if (trial.in_place) {
    send = trial.kind->kind == TENON_COLLECTIVE_ALL_GATHER ? me * block_bytes : 0;
    receive = trial.kind->kind == TENON_COLLECTIVE_REDUCE_SCATTER ? me * block_bytes : 0;
  }
  if (block_bytes > 0) std::memcpy(memory.data() + send, source.raw(), source_blocks * block_bytes);
  tenon_collective_op op = rank.NewOp();
  op.send = reinterpret_cast<std::uintptr_t>(memory.data()) + send;
  op.receive = reinterpret_cast<std::uintptr_t>(memory.data()) + receive;
  op.count = trial.count;
  op.dtype = static_cast<std::uint32_t>(trial.dtype);
  op.reduction = trial.kind->reduces ? trial.reduction : 0;
  op.root = trial.root;
  op.fingerprint = 1000 + trial.kind->kind;
  tenon_error error;
  const std::int32_t code = Call(trial.kind->name, rank.table().*(trial.kind->slot), rank.comm(), &op, &error);
  context.Require(code == TENON_OK, "{} answers {} on rank {}: {}", trial.text(), code, me, error.message_text());
  std::string text;
  const std::int32_t done = rank.Wait(op, 20000, &text);
  context.Require(done == TENON_OK, "{} ends with {} on rank {}: {}", trial.text(), done, me, text);
  for (int i = 0; i < 64; ++i)
    context.Require(memory[memory.size() - 64 + static_cast<std::size_t>(i)] == 0xA5, "{} writes past its target.",
                    trial.text());
  if (OnlyRootReceives(trial) && me != trial.root) return;
  Tensor got(trial.dtype, Shape{static_cast<std::int64_t>(target_blocks * trial.count)});
  if (got.bytes() > 0) std::memcpy(got.raw(), memory.data() + receive, static_cast<std::size_t>(got.bytes()));
  const Tensor values = Cast(got, DType::kF64);
  const double tolerance = trial.dtype == DType::kBF16 ? 2e-2 : trial.dtype == DType::kF16 ? 2e-3 : 1e-6;
  for (std::uint64_t block = 0; block < target_blocks; ++block) {
    for (std::uint64_t i = 0; i < trial.count; ++i) {
      double wanted = Expected(trial, me, size, block, i);
      if (!IsFloating(trial.dtype)) wanted = std::trunc(wanted);
      const double value = values.data<double>()[block * trial.count + i];
      context.Require(std::abs(value - wanted) <= tolerance * wanted,
                      "{}: element {} of block {} on rank {} is {}; it must be {}.", trial.text(), i, block, me, value,
                      wanted);
    }
  }
}

bool Offers(Context& context, Rank& rank, const Kind& kind, DType dtype, std::uint32_t reduction) {
  if (rank.table().*(kind.slot) == nullptr) return false;
  std::uint32_t answer = 0;
  tenon_error error;
  const std::int32_t code =
      TENON_CALL(tenon.collective, &rank.table(), supports, rank.instance().plugin(), kind.kind,
                 static_cast<std::uint32_t>(dtype), reduction, tenon_str TENON_STR("host"), &answer, &error);
  context.Require(code == TENON_OK, "supports answers {}.", code);
  return answer == TENON_ANSWER_YES;
}

std::vector<Trial> TrialsOf(Context& context, Rank& rank, const Kind& kind) {
  std::vector<Trial> trials;
  for (const DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    for (std::uint32_t reduction = TENON_REDUCE_SUM;
         reduction <= (kind.reduces ? std::uint32_t{TENON_REDUCE_AVERAGE} : 1u); ++reduction) {
      if (!Offers(context, rank, kind, dtype, reduction)) continue;
      for (const std::uint64_t count : {0u, 1u, 7u, 20011u}) {
        if (count > 1000 && dtype != DType::kF32) continue;
        const std::uint32_t root = static_cast<std::uint32_t>(count) % rank.size();
        const bool can = kind.kind == TENON_COLLECTIVE_ALL_REDUCE || kind.kind == TENON_COLLECTIVE_REDUCE ||
                         kind.kind == TENON_COLLECTIVE_ALL_GATHER || kind.kind == TENON_COLLECTIVE_REDUCE_SCATTER;
        trials.push_back({&kind, dtype, reduction, root, count, false});
        if (can) trials.push_back({&kind, dtype, reduction, root, count, true});
      }
    }
  }
  return trials;
}

// Values to one rank and from another, in one group.
void PassOn(Context& context, Rank& rank, std::uint64_t count) {
  const std::uint32_t me = rank.rank(), size = rank.size();
  std::vector<float> mine(count, static_cast<float>(me)), got(count + 1, -1);
  std::vector<float> sum(3, static_cast<float>(me + 1));
  tenon_comm* comms[] = {rank.comm()};
  tenon_comm_group* group = nullptr;
  tenon_error error;
  std::int32_t code = TENON_CALL(tenon.collective, &rank.table(), group_begin, comms, 1, &group, &error);
  context.Require(code == TENON_OK && group != nullptr, "group_begin answers {}: {}", code, error.message_text());
  tenon_comm_group* nested = nullptr;
  code = TENON_CALL(tenon.collective, &rank.table(), group_begin, comms, 1, &nested, &error);
  context.Require(code == TENON_FAILED_PRECONDITION, "A second group with the same communicator answers {}.", code);
  tenon_collective_op send = rank.NewOp(), receive = rank.NewOp(), reduce = rank.NewOp();
  send.group = receive.group = reduce.group = group;
  send.send = reinterpret_cast<std::uintptr_t>(mine.data());
  receive.receive = reinterpret_cast<std::uintptr_t>(got.data());
  send.count = receive.count = count;
  send.dtype = receive.dtype = reduce.dtype = TENON_DTYPE_F32;
  send.peer = (me + 1) % size;
  receive.peer = (me + size - 1) % size;
  reduce.send = reduce.receive = reinterpret_cast<std::uintptr_t>(sum.data());
  reduce.count = sum.size();
  reduce.reduction = TENON_REDUCE_SUM;
  const auto ok = [&](std::int32_t answer, const char* what) {
    context.Require(answer == TENON_OK, "{} in a group answers {}: {}", what, answer, error.message_text());
  };
  ok(TENON_CALL(tenon.collective, &rank.table(), send, rank.comm(), &send, &error), "send");
  ok(TENON_CALL(tenon.collective, &rank.table(), recv, rank.comm(), &receive, &error), "recv");
  ok(TENON_CALL(tenon.collective, &rank.table(), all_reduce, rank.comm(), &reduce, &error), "all_reduce");
  ok(TENON_CALL(tenon.collective, &rank.table(), group_end, group, &error), "group_end");
  for (const tenon_collective_op* op : {&send, &receive, &reduce}) {
    std::string text;
    const std::int32_t done = rank.Wait(*op, 20000, &text);
    context.Require(done == TENON_OK, "An operation of a group ends with {} on rank {}: {}", done, me, text);
  }
  for (std::uint64_t i = 0; i < count; ++i)
    context.Require(got[i] == static_cast<float>((me + size - 1) % size), "Rank {} received {} at element {}.", me,
                    got[i], i);
  context.Require(got[count] == -1, "recv writes past its target.");
  const auto total = static_cast<float>(size * (size + 1) / 2);
  context.Require(sum[0] == total && sum[2] == total, "all_reduce in a group gives {}; it must be {}.", sum[0], total);
}

void AllToAllV(Context& context, Rank& rank) {
  if (rank.table().all_to_all_v == nullptr) return;
  const std::uint32_t me = rank.rank(), size = rank.size();
  // Rank r sends r + p elements to rank p, with a gap before each block.
  std::vector<std::uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
  std::uint64_t send_size = 0, receive_size = 0;
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    send_counts.push_back(me + peer);
    send_offsets.push_back(send_size + 1);
    send_size += me + peer + 1;
    receive_counts.push_back(peer + me);
    receive_offsets.push_back(receive_size + 2);
    receive_size += peer + me + 2;
  }
  std::vector<std::int32_t> sent(send_size, -1), got(receive_size, -2);
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    for (std::uint64_t i = 0; i < send_counts[peer]; ++i)
      sent[send_offsets[peer] + i] = static_cast<std::int32_t>(me * 100 + peer * 10 + i);
  }
  tenon_collective_op op = rank.NewOp();
  op.send = reinterpret_cast<std::uintptr_t>(sent.data());
  op.receive = reinterpret_cast<std::uintptr_t>(got.data());
  op.dtype = TENON_DTYPE_I32;
  op.send_counts = send_counts.data();
  op.send_offsets = send_offsets.data();
  op.receive_counts = receive_counts.data();
  op.receive_offsets = receive_offsets.data();
  tenon_error error;
  const std::int32_t code = TENON_CALL(tenon.collective, &rank.table(), all_to_all_v, rank.comm(), &op, &error);
  context.Require(code == TENON_OK, "all_to_all_v answers {}: {}", code, error.message_text());
  // The arrays were borrowed for the call only.
  std::fill(send_counts.begin(), send_counts.end(), 0xFFFFFFFFu);
  std::fill(receive_counts.begin(), receive_counts.end(), 0xFFFFFFFFu);
  const std::int32_t done = rank.Wait(op);
  context.Require(done == TENON_OK, "all_to_all_v ends with {}.", done);
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    for (std::uint64_t i = 0; i < peer + me; ++i)
      context.Require(got[receive_offsets[peer] + i] == static_cast<std::int32_t>(peer * 100 + me * 10 + i),
                      "all_to_all_v: element {} from rank {} on rank {} is {}.", i, peer, me,
                      got[receive_offsets[peer] + i]);
    context.Require(got[receive_offsets[peer] - 1] == -2, "all_to_all_v writes between its blocks.");
  }
}

}  // namespace

void CollectiveResults(Context& context) {
  std::atomic<int> trials{0};
  for (const std::uint32_t size : {1u, 3u, 4u}) {
    RunWorld(context, size, [&](Rank& rank) {
      for (const Kind& kind : kKinds) {
        for (const Trial& trial : TrialsOf(context, rank, kind)) {
          RunTrial(context, rank, trial);
          if (rank.rank() == 0) trials.fetch_add(1);
        }
      }
      AllToAllV(context, rank);
    });
  }
  context.Require(trials.load() > 0, "The plugin offers no collective on host memory.");
  context.Note(fmt::format("{} operations agree", trials.load()));
}

void GroupsAndCycles(Context& context) {
  const Library library(context);
  const auto* table = library.Table<tenon_collective_vtable>();
  if (table == nullptr) context.Skip("The plugin does not offer tenon.collective.");
  if (table->group_begin == nullptr || table->send == nullptr || table->recv == nullptr)
    context.Skip("The plugin has no groups or no point-to-point operations.");
  RunWorld(context, 4, [&context](Rank& rank) {
    for (const std::uint64_t count : {1u, 1000u, 100003u}) PassOn(context, rank, count);
  });
}

void TwoCommunicators(Context& context) {
  RunWorld(context, 3, [&context](Rank& rank) {
    CommWay way;
    way.name = "second";
    tenon_comm* second = nullptr;
    tenon_error error;
    const std::int32_t code = rank.Create(way, &second, &error);
    context.Require(code == TENON_OK && second != nullptr, "A second communicator answers {}: {}", code,
                    error.message_text());
    const auto work = [&](tenon_comm* comm, float factor) {
      for (int round = 1; round <= 50; ++round) {
        std::vector<float> values(257, factor * static_cast<float>(rank.rank() + 1));
        tenon_collective_op op = TENON_INIT(tenon_collective_op);
        op.sequence = static_cast<std::uint64_t>(round);
        op.completion = rank.instance().host().completions().Start(nullptr);
        op.send = op.receive = reinterpret_cast<std::uintptr_t>(values.data());
        op.count = values.size();
        op.dtype = TENON_DTYPE_F32;
        op.reduction = TENON_REDUCE_SUM;
        const std::int32_t issued = TENON_CALL(tenon.collective, &rank.table(), all_reduce, comm, &op, nullptr);
        context.Require(issued == TENON_OK, "all_reduce on one of two communicators answers {}.", issued);
        const std::int32_t done = rank.Wait(op);
        context.Require(done == TENON_OK && values[0] == factor * 6 && values[256] == factor * 6,
                        "all_reduce on one of two communicators ends with {} and {}; it must be {}.", done, values[0],
                        factor * 6);
      }
    };
    std::thread other([&] { work(second, 10); });
    work(rank.comm(), 1);
    other.join();
    TENON_CALL(tenon.collective, &rank.table(), comm_destroy, second);
  });
}

void CollectiveDeterminism(Context& context) {
  CommWay way;
  way.flags = TENON_COMM_DETERMINISTIC;
  std::mutex mutex;
  std::vector<float> first;
  RunRanks(context, 4, new MemoryStore, [&](Rank& rank) {
    tenon_error error;
    const std::int32_t joined = rank.Join(way, &error);
    if (joined == TENON_UNIMPLEMENTED)
      context.Skip("The plugin cannot give the same bits: " + std::string(error.message_text()));
    context.Require(joined == TENON_OK, "Joining with DETERMINISTIC answers {}: {}", joined, error.message_text());
    for (int round = 0; round < 10; ++round) {
      Tensor values = RandomTensor(DType::kF32, Shape{4099}, -1, 1, rank.rank() + 1);
      tenon_collective_op op = rank.NewOp();
      op.send = op.receive = reinterpret_cast<std::uintptr_t>(values.raw());
      op.count = 4099;
      op.dtype = TENON_DTYPE_F32;
      op.reduction = TENON_REDUCE_SUM;
      if (round % 3 == static_cast<int>(rank.rank()) % 3) SleepMs(2);
      TENON_CALL(tenon.collective, &rank.table(), all_reduce, rank.comm(), &op, &error);
      const std::int32_t done = rank.Wait(op);
      context.Require(done == TENON_OK, "all_reduce ends with {}.", done);
      const std::lock_guard<std::mutex> lock(mutex);
      if (first.empty()) first.assign(values.data<float>(), values.data<float>() + 4099);
      context.Require(std::memcmp(first.data(), values.raw(), 4099 * sizeof(float)) == 0,
                      "all_reduce of the same values gives other bits, although DETERMINISTIC was accepted.");
    }
  });
}

}  // namespace tenon::conform
