// What operations compute, against the definitions in abi/collective.h. Values are small whole numbers, exact in every dtype.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "plugins/comm_hccl_sim/reduce/float16.h"
#include "tests/plugins/comm_hccl_sim/worker.h"

namespace tenon::testing_support {
namespace {

using Bytes = std::vector<char>;
using hccl::Brain;
using hccl::Half;

constexpr std::uint32_t kDtypes[] = {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                     TENON_DTYPE_I8,  TENON_DTYPE_U8,  TENON_DTYPE_I16, TENON_DTYPE_U16,
                                     TENON_DTYPE_I32, TENON_DTYPE_U32, TENON_DTYPE_I64, TENON_DTYPE_U64};

std::size_t WidthOf(std::uint32_t dtype) { return sdk::DTypeBits(dtype) / 8; }

template <typename T>
void PutAs(char* at, double value) {
  const T typed = static_cast<T>(value);
  std::memcpy(at, &typed, sizeof typed);
}
template <typename T>
double GetAs(const char* at) {
  T typed{};
  std::memcpy(&typed, at, sizeof typed);
  return static_cast<double>(typed);
}

void Put(std::uint32_t dtype, char* at, double value) {
  switch (dtype) {
    case TENON_DTYPE_F64:
      return PutAs<double>(at, value);
    case TENON_DTYPE_F16: {
      const Half half = Half::From(static_cast<float>(value));
      std::memcpy(at, &half, 2);
      return;
    }
    case TENON_DTYPE_BF16: {
      const Brain brain = Brain::From(static_cast<float>(value));
      std::memcpy(at, &brain, 2);
      return;
    }
    case TENON_DTYPE_I8:
      return PutAs<std::int8_t>(at, value);
    case TENON_DTYPE_U8:
      return PutAs<std::uint8_t>(at, value);
    case TENON_DTYPE_I16:
      return PutAs<std::int16_t>(at, value);
    case TENON_DTYPE_U16:
      return PutAs<std::uint16_t>(at, value);
    case TENON_DTYPE_I32:
      return PutAs<std::int32_t>(at, value);
    case TENON_DTYPE_U32:
      return PutAs<std::uint32_t>(at, value);
    case TENON_DTYPE_I64:
      return PutAs<std::int64_t>(at, value);
    case TENON_DTYPE_U64:
      return PutAs<std::uint64_t>(at, value);
    default:
      return PutAs<float>(at, value);
  }
}

double Get(std::uint32_t dtype, const char* at) {
  switch (dtype) {
    case TENON_DTYPE_F64:
      return GetAs<double>(at);
    case TENON_DTYPE_F16: {
      Half half{};
      std::memcpy(&half, at, 2);
      return static_cast<double>(half.ToFloat());
    }
    case TENON_DTYPE_BF16: {
      Brain brain{};
      std::memcpy(&brain, at, 2);
      return static_cast<double>(brain.ToFloat());
    }
    case TENON_DTYPE_I8:
      return GetAs<std::int8_t>(at);
    case TENON_DTYPE_U8:
      return GetAs<std::uint8_t>(at);
    case TENON_DTYPE_I16:
      return GetAs<std::int16_t>(at);
    case TENON_DTYPE_U16:
      return GetAs<std::uint16_t>(at);
    case TENON_DTYPE_I32:
      return GetAs<std::int32_t>(at);
    case TENON_DTYPE_U32:
      return GetAs<std::uint32_t>(at);
    case TENON_DTYPE_I64:
      return GetAs<std::int64_t>(at);
    case TENON_DTYPE_U64:
      return GetAs<std::uint64_t>(at);
    default:
      return GetAs<float>(at);
  }
}

// Element i of block b of rank r.
double Element(std::uint32_t rank, std::uint64_t block, std::uint64_t i) {
  return static_cast<double>((rank + 2 * block + i) % 3 + 1);
}

double Reduced(std::uint32_t size, std::uint64_t block, std::uint64_t i, std::uint32_t reduction) {
  double value = Element(0, block, i);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    const double next = Element(rank, block, i);
    if (reduction == TENON_REDUCE_PROD)
      value *= next;
    else if (reduction == TENON_REDUCE_MIN)
      value = std::min(value, next);
    else if (reduction == TENON_REDUCE_MAX)
      value = std::max(value, next);
    else
      value += next;
  }
  return reduction == TENON_REDUCE_AVERAGE ? value / size : value;
}

struct Kind {
  const char* name;
  CollectiveHost::Slot slot;
  std::uint32_t source_blocks, target_blocks;  // 0: as many as there are ranks
  bool reduces, only_root, in_place;           // in_place: send and receive may share memory
  // Element i of block b of the target of rank `me`.
  double (*expected)(std::uint32_t me, std::uint32_t size, std::uint32_t root, std::uint64_t block, std::uint64_t i,
                     std::uint32_t reduction);
};

const Kind kKinds[] = {
    {"all_reduce", &tenon_collective_vtable::all_reduce, 1, 1, true, false, true,
     [](auto, auto size, auto, auto, auto i, auto reduction) { return Reduced(size, 0, i, reduction); }},
    {"reduce", &tenon_collective_vtable::reduce, 1, 1, true, true, true,
     [](auto, auto size, auto, auto, auto i, auto reduction) { return Reduced(size, 0, i, reduction); }},
    {"reduce_scatter", &tenon_collective_vtable::reduce_scatter, 0, 1, true, false, true,
     [](auto me, auto size, auto, auto, auto i, auto reduction) { return Reduced(size, me, i, reduction); }},
    {"broadcast", &tenon_collective_vtable::broadcast, 1, 1, false, false, false,
     [](auto, auto, auto root, auto, auto i, auto) { return Element(root, 0, i); }},
    {"all_gather", &tenon_collective_vtable::all_gather, 1, 0, false, false, true,
     [](auto, auto, auto, auto block, auto i, auto) { return Element(static_cast<std::uint32_t>(block), 0, i); }},
    {"gather", &tenon_collective_vtable::gather, 1, 0, false, true, false,
     [](auto, auto, auto, auto block, auto i, auto) { return Element(static_cast<std::uint32_t>(block), 0, i); }},
    {"scatter", &tenon_collective_vtable::scatter, 0, 1, false, false, false,
     [](auto me, auto, auto root, auto, auto i, auto) { return Element(root, me, i); }},
    {"all_to_all", &tenon_collective_vtable::all_to_all, 0, 0, false, false, false,
     [](auto me, auto, auto, auto block, auto i, auto) { return Element(static_cast<std::uint32_t>(block), me, i); }},
};

void Try(Worker& worker, tenon_comm* comm, const Kind& kind, std::uint32_t dtype, std::uint32_t reduction,
         std::uint64_t count, std::uint32_t root, bool in_place) {
  const std::uint32_t me = worker.rank(), size = worker.size();
  const std::uint64_t sources = kind.source_blocks == 0 ? size : kind.source_blocks;
  const std::uint64_t targets = kind.target_blocks == 0 ? size : kind.target_blocks;
  const std::size_t width = WidthOf(dtype), block = count * width;
  Bytes memory((sources + targets) * block + 64, '\x5A');
  std::size_t send = 0, receive = sources * block;
  if (in_place) {
    send = targets > sources ? me * block : 0;
    receive = sources > targets ? me * block : 0;
  }
  for (std::uint64_t b = 0; b < sources; ++b) {
    for (std::uint64_t i = 0; i < count; ++i)
      Put(dtype, memory.data() + send + b * block + i * width, Element(me, b, i));
  }
  tenon_collective_op op =
      NewCollective(memory.data() + send, memory.data() + receive, count, dtype, kind.reduces ? reduction : 0);
  op.root = root;
  const std::string what = std::string(kind.name) + " of " + std::to_string(count) + " " +
                           std::string(sdk::DTypeName(dtype)) + ", reduction " + std::to_string(reduction) + ", root " +
                           std::to_string(root) + (in_place ? ", in place" : "");
  worker.Run(kind.slot, comm, op, what);
  for (std::size_t i = memory.size() - 64; i < memory.size(); ++i)
    Require(memory[i] == '\x5A', what + " writes past its target");
  if (kind.only_root && me != root) return;
  const double tolerance = dtype == TENON_DTYPE_BF16 ? 1e-2 : dtype == TENON_DTYPE_F16 ? 2e-3 : 1e-6;
  for (std::uint64_t b = 0; b < targets; ++b) {
    for (std::uint64_t i = 0; i < count; ++i) {
      double wanted = kind.expected(me, size, root, b, i, reduction);
      const bool whole = dtype != TENON_DTYPE_F32 && dtype != TENON_DTYPE_F64 && width != 2;
      if (whole || dtype == TENON_DTYPE_I16 || dtype == TENON_DTYPE_U16) wanted = std::trunc(wanted);
      const double got = Get(dtype, memory.data() + receive + b * block + i * width);
      Require(std::abs(got - wanted) <= tolerance * wanted,
              what + ": element " + std::to_string(i) + " of block " + std::to_string(b) + " on rank " +
                  std::to_string(me) + " is " + std::to_string(got) + ", not " + std::to_string(wanted));
    }
  }
}

// Blocks of other sizes between any two ranks, with gaps.
void TryVaried(Worker& worker, tenon_comm* comm, std::uint64_t unit) {
  const std::uint32_t me = worker.rank(), size = worker.size();
  std::vector<std::uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
  std::uint64_t sent = 0, received = 0;
  const auto amount = [unit](std::uint32_t from, std::uint32_t to) { return (from * 2 + to) % 3 * unit; };
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    send_counts.push_back(amount(me, peer));
    send_offsets.push_back(sent + 1);
    sent += amount(me, peer) + 1;
    receive_counts.push_back(amount(peer, me));
    receive_offsets.push_back(received + 2);
    received += amount(peer, me) + 2;
  }
  std::vector<std::int32_t> send(sent + 1, -1), receive(received + 1, -2);
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    for (std::uint64_t i = 0; i < send_counts[peer]; ++i)
      send[send_offsets[peer] + i] = static_cast<std::int32_t>(me * 1000 + peer * 100 + i % 100);
  }
  tenon_collective_op op = NewCollective(send.data(), receive.data(), 0, TENON_DTYPE_I32);
  op.send_counts = send_counts.data();
  op.send_offsets = send_offsets.data();
  op.receive_counts = receive_counts.data();
  op.receive_offsets = receive_offsets.data();
  worker.Run(&tenon_collective_vtable::all_to_all_v, comm, op, "all_to_all_v");
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    for (std::uint64_t i = 0; i < receive_counts[peer]; ++i)
      Require(receive[receive_offsets[peer] + i] == static_cast<std::int32_t>(peer * 1000 + me * 100 + i % 100),
              "all_to_all_v: element " + std::to_string(i) + " from rank " + std::to_string(peer) + " is wrong");
    Require(receive[receive_offsets[peer] - 1] == -2, "all_to_all_v writes between its blocks");
  }
}

// All dtypes and reductions with few elements, some with more: 9001 do not travel with the header, 300007 not in one piece.
bool Worthwhile(std::uint32_t dtype, std::uint32_t reduction, std::uint64_t count) {
  if (count == 7) return true;
  const bool sum = reduction == TENON_REDUCE_SUM, f32 = dtype == TENON_DTYPE_F32;
  if (count < 7) return f32 && sum;
  if (count < 10000)
    return sum && (f32 || dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_I8);
  return (f32 && (sum || reduction == TENON_REDUCE_AVERAGE)) || (dtype == TENON_DTYPE_BF16 && sum);
}

}  // namespace

void ResultsScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  for (const Kind& kind : kKinds) {
    for (const std::uint32_t dtype : kDtypes) {
      for (std::uint32_t reduction = TENON_REDUCE_SUM;
           reduction <= (kind.reduces ? TENON_REDUCE_AVERAGE : TENON_REDUCE_SUM); ++reduction) {
        for (const std::uint64_t count : {0u, 1u, 7u, 9001u, 300007u}) {
          if (!Worthwhile(dtype, reduction, count)) continue;
          const std::uint32_t root = static_cast<std::uint32_t>(count % worker.size());
          Try(worker, comm, kind, dtype, reduction, count, root, false);
          if (kind.in_place) Try(worker, comm, kind, dtype, reduction, count, root, true);
        }
      }
    }
  }
  for (const std::uint64_t unit : {0u, 1u, 50u, 100003u}) TryVaried(worker, comm, unit);
  worker.Barrier(comm);
  worker.table().comm_destroy(comm);
}

// Messages around a ring in groups, with a reduction beside, and messages that are not in a group.
void MessagesScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  const std::uint32_t me = worker.rank(), size = worker.size();
  for (const std::uint64_t count : {0u, 1u, 1000u, 200003u}) {
    std::vector<float> mine(count, static_cast<float>(me)), got(count + 1, -1), sum(3, static_cast<float>(me + 1));
    tenon_comm_group* group = nullptr;
    Require(worker.table().group_begin(&comm, 1, &group, worker.host.sink()) == TENON_OK, "group_begin");
    tenon_collective_op send = NewCollective(mine.data(), nullptr, count, TENON_DTYPE_F32);
    tenon_collective_op receive = NewCollective(nullptr, got.data(), count, TENON_DTYPE_F32);
    tenon_collective_op reduce = NewCollective(sum.data(), sum.data(), sum.size(), TENON_DTYPE_F32, TENON_REDUCE_SUM);
    send.peer = (me + 1) % size;
    receive.peer = (me + size - 1) % size;
    send.group = receive.group = reduce.group = group;
    Require(worker.host.Start(&tenon_collective_vtable::all_reduce, comm, &reduce).code == TENON_OK,
            "all_reduce in a group");
    Require(worker.host.Start(&tenon_collective_vtable::send, comm, &send).code == TENON_OK, "send in a group");
    Require(worker.host.Start(&tenon_collective_vtable::recv, comm, &receive).code == TENON_OK, "recv in a group");
    Require(worker.table().group_end(group, worker.host.sink()) == TENON_OK, "group_end");
    for (const tenon_collective_op* op : {&send, &receive, &reduce}) {
      const Ending ending = CollectiveHost::Wait(*op);
      Require(ending.code == TENON_OK, "an operation of a group: " + ending.text);
    }
    for (std::uint64_t i = 0; i < count; ++i)
      Require(got[i] == static_cast<float>((me + size - 1) % size),
              "element " + std::to_string(i) + " of a message is wrong");
    Require(got[count] == -1, "recv writes past its target");
    Require(sum[2] == static_cast<float>(size * (size + 1) / 2), "all_reduce in a group is wrong");
  }
  // From each rank to the next, one after the other.
  std::int64_t token = me == 0 ? 41 : 0;
  tenon_collective_op pass = NewCollective(&token, &token, 1, TENON_DTYPE_I64);
  pass.peer = (me + size - 1) % size;
  if (me != 0) worker.Run(&tenon_collective_vtable::recv, comm, pass, "recv");
  token += 1;
  pass.peer = (me + 1) % size;
  if (me + 1 < size) worker.Run(&tenon_collective_vtable::send, comm, pass, "send");
  Require(token == 42 + static_cast<std::int64_t>(me), "the token is " + std::to_string(token));
  worker.Barrier(comm);
  worker.table().comm_destroy(comm);
}

// Communicators of parts of the ranks beside one of all.
void PartsScenario(Worker& worker) {
  tenon_comm* world = worker.Join();
  const bool odd = worker.rank() % 2 == 1;
  CommSetting setting = worker.Setting(odd ? "odd" : "even");
  setting.rank = worker.rank() / 2;
  setting.size = odd ? worker.size() / 2 : (worker.size() + 1) / 2;
  tenon_comm* part = nullptr;
  const Ending made = worker.host.Create(setting, &part);
  Require(made.code == TENON_OK, "a communicator of a part: " + made.text);
  for (int round = 0; round < 200; ++round) {
    float ours[2] = {1, static_cast<float>(worker.rank())}, all[2] = {1, 1};
    tenon_collective_op in_part = NewCollective(ours, ours, 2, TENON_DTYPE_F32, TENON_REDUCE_SUM);
    tenon_collective_op in_world = NewCollective(all, all, 2, TENON_DTYPE_F32, TENON_REDUCE_SUM);
    Require(worker.host.Start(&tenon_collective_vtable::all_reduce, part, &in_part).code == TENON_OK,
            "all_reduce of a part");
    Require(worker.host.Start(&tenon_collective_vtable::all_reduce, world, &in_world).code == TENON_OK,
            "all_reduce of all");
    Require(CollectiveHost::Wait(in_world).code == TENON_OK && CollectiveHost::Wait(in_part).code == TENON_OK,
            "waiting");
    Require(ours[0] == static_cast<float>(setting.size), "a part has the sum " + std::to_string(ours[0]));
    Require(all[0] == static_cast<float>(worker.size()), "all have the sum " + std::to_string(all[0]));
  }
  worker.table().comm_destroy(part);
  worker.Barrier(world);
  worker.table().comm_destroy(world);
}

// Memory of the buffer hook, in the three ways that README.md of the plugin names.
void BlocksScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  const std::uint32_t me = worker.rank(), size = worker.size();
  for (const std::uint64_t count : {3u, 10007u, 700001u}) {
    const std::uint64_t part = (count * 4 + 63) / 64 * 64;
    tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
    Require(worker.table().buffer_alloc(comm, part * (size + 1), 64, &info, worker.host.sink()) == TENON_OK,
            "buffer_alloc: " + worker.host.last_error());
    Require((info.flags & TENON_COMM_BUFFER_SHARED) != 0 && info.address % 64 == 0,
            "the block is not shared or not aligned");
    auto* base = reinterpret_cast<char*>(info.address);
    auto* mine = reinterpret_cast<float*>(base + me * part);
    std::vector<float> beside(count);
    const auto check = [&](const float* values, const char* what) {
      for (std::uint64_t i = 0; i < count; ++i)
        Require(values[i] == static_cast<float>(size * i % 1000 + size * (size + 1) / 2),
                std::string(what) + ": element " + std::to_string(i) + " is " + std::to_string(values[i]));
      worker.Barrier(comm);
    };
    const auto fill = [&](float* values) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t whole = size * i % 1000;
        values[i] = static_cast<float>(me + 1) + (me == 0 ? static_cast<float>(whole) : 0.F);
      }
    };
    const auto reduce = [&](const void* send, void* receive, const char* what) {
      worker.Run(&tenon_collective_vtable::all_reduce, comm,
                 NewCollective(send, receive, count, TENON_DTYPE_F32, TENON_REDUCE_SUM), what);
    };
    auto* extra = reinterpret_cast<float*>(base + size * part);
    fill(mine);
    reduce(mine, extra, "one target beside the parts");
    check(extra, "one target beside the parts");
    fill(mine);
    reduce(mine, base, "one target in the first part");
    check(reinterpret_cast<float*>(base), "one target in the first part");
    fill(mine);
    reduce(mine, mine, "each rank in place");
    check(mine, "each rank in place");
    fill(mine);
    reduce(mine, beside.data(), "from the block to private memory");
    check(beside.data(), "from the block to private memory");
    fill(me == 0 ? mine : beside.data());
    reduce(me == 0 ? mine : beside.data(), me == 0 ? mine : beside.data(), "one rank in the block");
    check(me == 0 ? mine : beside.data(), "one rank in the block");
    fill(mine);
    worker.Barrier(comm);
    worker.Run(&tenon_collective_vtable::broadcast, comm, NewCollective(mine, beside.data(), count, TENON_DTYPE_F32),
               "broadcast");
    Require(beside[count - 1] == 1 + static_cast<float>(size * (count - 1) % 1000),
            "broadcast from the block is wrong");
    worker.Barrier(comm);
    worker.table().buffer_free(comm, info.handle);
  }
  worker.table().comm_destroy(comm);
}

// The same values give the same bits on all ranks and again, those of a sum in rank order.
void DeterminismScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  const auto values = [](std::uint32_t rank, std::uint64_t count) {
    std::mt19937 random(rank + 1);
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<float> made(count);
    for (float& value : made) value = real(random) * 1e3F;
    return made;
  };
  const bool one_node =
      std::all_of(worker.arguments.nodes.begin(), worker.arguments.nodes.end(), [](auto node) { return node == 0; });
  std::uint64_t hash = 1469598103934665603u;
  for (const std::uint64_t count : {1000u, 50021u, 700001u}) {
    std::vector<float> ordered = values(0, count);
    for (std::uint32_t rank = 1; rank < worker.size(); ++rank) {
      const std::vector<float> next = values(rank, count);
      for (std::uint64_t i = 0; i < count; ++i) ordered[i] += next[i];
    }
    std::vector<float> first;
    for (int round = 0; round < 3; ++round) {
      std::vector<float> mine = values(worker.rank(), count);
      worker.Run(&tenon_collective_vtable::all_reduce, comm,
                 NewCollective(mine.data(), mine.data(), count, TENON_DTYPE_F32, TENON_REDUCE_SUM), "all_reduce");
      if (first.empty()) first = mine;
      Require(std::memcmp(first.data(), mine.data(), count * 4) == 0, "the same values give other bits");
      if (one_node)
        Require(std::memcmp(ordered.data(), mine.data(), count * 4) == 0, "the sum is not in the order of ranks");
    }
    for (const float value : first) {
      std::uint32_t word = 0;
      std::memcpy(&word, &value, 4);
      hash = (hash ^ word) * 1099511628211u;
    }
  }
  std::printf("hash %llx\n", static_cast<unsigned long long>(hash));
  worker.Barrier(comm);
  worker.table().comm_destroy(comm);
}

// More than caches and stages hold, and more than memory holds.
void HugeScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  const std::uint64_t count = (24u << 20) + 3;
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1000 + worker.rank());
  tenon_collective_op op = NewCollective(values.data(), values.data(), count, TENON_DTYPE_F32, TENON_REDUCE_AVERAGE);
  op.scale = 2;
  worker.Run(&tenon_collective_vtable::all_reduce, comm, op, "all_reduce of 96 MB");
  for (std::uint64_t i = 0; i < count; ++i) {
    const float wanted = 2 * (static_cast<float>(i % 1000) + static_cast<float>(worker.size() - 1) / 2);
    Require(std::abs(values[i] - wanted) < 1e-3F, "element " + std::to_string(i) + " is " + std::to_string(values[i]));
  }
  tenon_collective_op impossible =
      NewCollective(values.data(), values.data(), UINT64_MAX / 3, TENON_DTYPE_F32, TENON_REDUCE_SUM);
  const Ending refused = worker.host.Start(&tenon_collective_vtable::all_reduce, comm, &impossible);
  Require(refused.code == TENON_INVALID_ARGUMENT && refused.text.find("EI0003") == 0,
          "an impossible count: " + refused.text);
  tenon_collective_op nowhere = NewCollective(nullptr, values.data(), 1, TENON_DTYPE_F32, TENON_REDUCE_SUM);
  const Ending null = worker.host.Start(&tenon_collective_vtable::all_reduce, comm, &nowhere);
  Require(null.code == TENON_INVALID_ARGUMENT && null.text.find("send") != std::string::npos,
          "no address: " + null.text);
  worker.Barrier(comm);
  worker.table().comm_destroy(comm);
}

}  // namespace tenon::testing_support
