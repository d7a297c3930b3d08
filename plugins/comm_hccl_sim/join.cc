#include "join.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "net/address.h"
#include "net/realtime.h"
#include "node/sockets.h"

namespace tenon::hccl {
namespace {

constexpr uint64_t kGlance = 10'000'000;  // waits on the store in pieces, so that an abort is seen

// What each rank says of itself, a line each.
struct Hello {
  std::string build;    // must be equal on all ranks
  std::string node;     // ranks of one node share memory
  std::string machine;  // ranks of one machine reach each other by loopback
  std::string socket;   // name of its listener
  std::string Text() const { return build + "\n" + node + "\n" + machine + "\n" + socket; }
};

Hello ParseHello(const std::string& text) {
  Hello hello;
  std::string* parts[] = {&hello.build, &hello.node, &hello.machine, &hello.socket};
  size_t at = 0;
  for (std::string* part : parts) {
    const size_t end = std::min(text.find('\n', at), text.size());
    *part = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
  }
  return hello;
}

std::string BuildName(uint32_t size) {
  return "org.tenon.comm_hccl_sim 0.1.0 (interface " + std::to_string(TENON_ABI_MAJOR) + "." +
         std::to_string(TENON_ABI_MINOR) + ", headers " TENON_ABI_HEADER_HASH_HEX ") of " + std::to_string(size) +
         " ranks";
}

// The store as joining uses it.
class Board {
 public:
  explicit Board(const Joining& joining) : joining_(joining), deadline_(DeadlineFrom(joining)) {}

  uint64_t deadline() const { return deadline_; }

  void CheckStop() const {
    if (joining_.stop->load(std::memory_order_acquire))
      throw Fault(TENON_CANCELLED, Ei::kNone, "The communicator was aborted while its ranks joined.");
  }

  void Put(const std::string& key, const std::string& value) const {
    const std::string full = joining_.name + "/" + key;
    if (joining_.host.api()->store_put(joining_.store, sdk::Str(full), value.data(), value.size(), nullptr) != TENON_OK)
      throw StoreFault();
  }

  // False: not there after ns.
  bool TryGet(const std::string& key, uint64_t ns, std::string* value) const {
    const std::string full = joining_.name + "/" + key;
    std::vector<char> room(1024);
    for (;;) {
      uint64_t size = 0;
      const int32_t code =
          joining_.host.api()->store_get(joining_.store, sdk::Str(full), ns, room.data(), room.size(), &size, nullptr);
      if (code == TENON_NOT_FOUND || code == TENON_DEADLINE_EXCEEDED) return false;
      if (code == TENON_OUT_OF_RANGE) {
        room.resize(size);
        continue;
      }
      if (code != TENON_OK) throw StoreFault();
      value->assign(room.data(), size);
      return true;
    }
  }

  // Waits for what `rank` puts; its absence is reported with all other ranks that are missing.
  std::string Get(const std::string& key, uint32_t rank) const {
    std::string value;
    const std::string prefix = key.substr(0, key.rfind('/') + 1);
    while (!TryGet(key, kGlance, &value)) {
      CheckStop();
      joining_.waiting_for->store(rank, std::memory_order_relaxed);
      if (NowNs() >= deadline_) throw MissingRanks(prefix);
    }
    joining_.waiting_for->store(-1, std::memory_order_relaxed);
    return value;
  }

  Fault MissingRanks(const std::string& prefix) const {
    std::string list, value;
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < joining_.size; ++rank) {
      if (TryGet(prefix + std::to_string(rank), 0, &value)) continue;
      if (++count <= 20) list += (list.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (count > 20) list += " and " + std::to_string(count - 20) + " more";
    return MakeFault(TENON_DEADLINE_EXCEEDED, Ei::kConnect,
                     "Rank" + std::string(count == 1 ? " " : "s ") + list + " of " + std::to_string(joining_.size) +
                         " did not join communicator '" + joining_.name + "' within " + Seconds(joining_.timeout_ns) +
                         " (HCCL_CONNECT_TIMEOUT or the communicator's own limit).");
  }

 private:
  static uint64_t DeadlineFrom(const Joining& joining) {
    return joining.timeout_ns == 0 ? kForever : joining.since + joining.timeout_ns;
  }
  Fault StoreFault() const {
    return Fault(
        TENON_UNAVAILABLE, Ei::kNone,
        "The key-value store failed while rank " + std::to_string(joining_.rank) + " joined '" + joining_.name + "'.");
  }

  const Joining& joining_;
  const uint64_t deadline_;
};

// The rank table, read once, and this rank's place in it.
void ConsultTable(const Joining& joining, const Board& board) {
  Site& site = *joining.site;
  if (site.environment.rank_table.empty()) return;
  if (!site.has_table) {
    site.table =
        ReadRankTable(site.environment.rank_table, site.environment.connect_ns, [&board] { board.CheckStop(); });
    site.has_table = true;
  }
  const size_t count = site.table.ranks.size();
  if (joining.size > count)
    throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kRankTable,
                    "Rank table '" + site.environment.rank_table + "' has " + std::to_string(count) +
                        " ranks, but communicator '" + joining.name + "' has " + std::to_string(joining.size) + ".");
  if (joining.size < count) return;  // ranks of a part of the run have other numbers
  site.table_ip = site.table.ranks[joining.rank].host_ip;
  site.table_server = site.table.ranks[joining.rank].server;
}

std::string NodeName(const Joining& joining, const std::string& machine) {
  if (!joining.node_name.empty()) return joining.node_name;
  if (!joining.site->table_server.empty()) return "server " + joining.site->table_server;
  return machine;
}

std::vector<Hello> MeetAll(const Joining& joining, const Board& board, const Hello& mine) {
  board.Put("hello/" + std::to_string(joining.rank), mine.Text());
  std::vector<Hello> all;
  for (uint32_t rank = 0; rank < joining.size; ++rank) {
    all.push_back(ParseHello(board.Get("hello/" + std::to_string(rank), rank)));
    if (all.back().build == mine.build) continue;
    throw MakeFault(TENON_ABI_MISMATCH, Ei::kMismatch,
                    "Rank " + std::to_string(rank) + " is " + all.back().build + ", rank " +
                        std::to_string(joining.rank) + " is " + mine.build + ".");
  }
  return all;
}

void SortNodes(const std::vector<Hello>& all, World* world) {
  std::map<std::string, size_t> seen;
  for (uint32_t rank = 0; rank < all.size(); ++rank) {
    const auto [place, fresh] = seen.emplace(all[rank].node, world->nodes.size());
    if (fresh) world->nodes.emplace_back();
    world->nodes[place->second].push_back(rank);
    if (rank == world->rank) world->my_node = static_cast<uint32_t>(place->second);
  }
}

Fault Gone(uint32_t rank, const std::string& what) {
  return MakeFault(TENON_UNAVAILABLE, Ei::kConnect, "Rank " + std::to_string(rank) + " of this node " + what + ".");
}

// Sockets to the ranks of this node: to lower ranks we connect, higher ones connect to us and say who they are.
std::vector<Neighbour> MeetNeighbours(const std::vector<Hello>& all, const World& world, Listener* listener,
                                      const Board& board) {
  const std::vector<uint32_t>& ranks = world.nodes[world.my_node];
  std::vector<Neighbour> neighbours(ranks.size());
  size_t expected = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    neighbours[i].rank = ranks[i];
    if (ranks[i] == world.rank) neighbours[i].process = getpid();
    if (ranks[i] > world.rank) ++expected;
    if (ranks[i] >= world.rank) continue;
    neighbours[i].socket = ConnectTo(all[ranks[i]].socket);
    if (!neighbours[i].socket.valid() || !SendNote(neighbours[i].socket, {world.rank, 0}))
      throw Gone(ranks[i], "is not there: its socket '" + all[ranks[i]].socket + "' refuses");
  }
  while (expected > 0) {
    Descriptor socket = listener->Accept(10);
    board.CheckStop();
    if (NowNs() >= board.deadline()) throw board.MissingRanks("hello/");
    if (!socket.valid()) continue;
    Note note;
    if (ReceiveNote(socket, 1000, &note) <= 0) continue;
    for (Neighbour& neighbour : neighbours) {
      if (neighbour.rank != note.value || neighbour.rank <= world.rank || neighbour.socket.valid()) continue;
      neighbour.socket = std::move(socket);
      --expected;
      break;
    }
  }
  for (Neighbour& neighbour : neighbours) {
    if (!neighbour.socket.valid()) continue;
    neighbour.process = PeerProcess(neighbour.socket);
    if (neighbour.process != getpid())
      neighbour.pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, neighbour.process, 0)));
  }
  return neighbours;
}

// The memory that the node shares: made by its first rank and sent to the others.
Descriptor GetSegment(const std::vector<Neighbour>& neighbours, uint32_t me, uint64_t bytes, const Board& board) {
  if (me != 0) {
    Note note;
    Descriptor file;
    for (;;) {
      const int received = ReceiveNote(neighbours[0].socket, 10, &note, &file);
      if (received > 0 && file.valid()) return file;
      if (received < 0) throw Gone(neighbours[0].rank, "left while memory was shared");
      board.CheckStop();
      if (NowNs() >= board.deadline()) throw board.MissingRanks("hello/");
    }
  }
  Descriptor file(memfd_create("tenon_hccl", MFD_CLOEXEC));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw MakeFault(TENON_RESOURCE_EXHAUSTED, Ei::kAllocation,
                    "The " + std::to_string(bytes) +
                        " bytes that the ranks of this node share cannot be made: " + std::strerror(errno) + ".");
  for (const Neighbour& neighbour : neighbours) {
    if (neighbour.socket.valid() && !SendNote(neighbour.socket, {0, bytes}, file.get()))
      throw Gone(neighbour.rank, "left while memory was shared");
  }
  return file;
}

std::shared_ptr<gloo::transport::Device> DeviceFor(const Joining& joining, const std::vector<Hello>& all) {
  const bool one_machine =
      std::all_of(all.begin(), all.end(), [&](const Hello& hello) { return hello.machine == all[0].machine; });
  const Choice choice = ChooseAddress(joining.site->environment, joining.site->table_ip, one_machine);
  joining.host.Log(TENON_LOG_INFO, "comm_hccl_sim", "Rank ", joining.rank, " of '", std::string_view(joining.name),
                   "' is reached by other nodes at ", std::string_view(choice.address), " (",
                   std::string_view(choice.why), ").");
  return OpenDevice(choice.address);
}

void ConnectNodes(const Joining& joining, const Board& board, const std::vector<Hello>& all, World* world) {
  std::vector<uint32_t> remotes;
  for (uint32_t rank = 0; rank < world->size; ++rank) {
    if (all[rank].node != all[world->rank].node) remotes.push_back(rank);
  }
  if (joining.site->environment.realtime) RunBeforeOthers();
  WireStore store;
  store.put = [&board](const std::string& key, const std::string& value) { board.Put(key, value); };
  store.get = [&board](const std::string& key, uint32_t rank) { return board.Get(key, rank); };
  const uint64_t now = NowNs();
  const uint64_t left = board.deadline() == kForever ? joining.site->environment.connect_ns
                                                     : board.deadline() - std::min(now, board.deadline());
  Node* node = world->node.get();
  world->wire = std::make_unique<Wire>(
      DeviceFor(joining, all), store, world->rank, world->size, remotes, left, [node] { node->Check(-1); },
      [joining](const Fault& fault) { PublishFailure(joining, fault); });
}

}  // namespace

World Join(const Joining& joining) {
  const Board board(joining);
  ConsultTable(joining, board);
  Listener listener;
  Hello mine;
  mine.build = BuildName(joining.size);
  mine.machine = MachineName();
  mine.node = NodeName(joining, mine.machine);
  mine.socket = listener.name();
  World world;
  world.rank = joining.rank;
  world.size = joining.size;
  const std::vector<Hello> all = MeetAll(joining, board, mine);
  SortNodes(all, &world);
  const std::vector<uint32_t>& ranks = world.nodes[world.my_node];
  if (ranks.size() > kMaxLocal)
    throw MakeFault(TENON_UNIMPLEMENTED, Ei::kArgument,
                    std::to_string(ranks.size()) + " ranks are on node '" + mine.node + "'; up to " +
                        std::to_string(kMaxLocal) + " are possible.");
  std::vector<Neighbour> neighbours = MeetNeighbours(all, world, &listener, board);
  const auto me = static_cast<uint32_t>(std::find(ranks.begin(), ranks.end(), joining.rank) - ranks.begin());
  const uint64_t bytes = SegmentLayout(static_cast<uint32_t>(ranks.size()), joining.size).bytes();
  const Descriptor segment = GetSegment(neighbours, me, bytes, board);
  world.node = std::make_unique<Node>(std::move(neighbours), me, joining.size, segment, *joining.stop);
  world.files = std::make_unique<Files>(*world.node);
  world.node->SetActivity(0, 0);
  world.node->Begin(board.deadline());
  if (!world.one_node()) {
    try {
      ConnectNodes(joining, board, all, &world);
      world.node->Step(board.deadline());
    } catch (const Fault& fault) {
      world.node->Publish(fault);
      throw;
    }
  }
  return world;
}

void ForgetKeys(const Joining& joining) {
  for (const char* kind : {"hello/", "gloo/"}) {
    const std::string key = joining.name + "/" + kind + std::to_string(joining.rank);
    joining.host.api()->store_delete(joining.store, sdk::Str(key), nullptr);
  }
}

void PublishFailure(const Joining& joining, const Fault& fault) {
  const std::string key = joining.name + "/failure";
  char room[1];
  uint64_t size = 0;
  const int32_t there =
      joining.host.api()->store_get(joining.store, sdk::Str(key), 0, room, sizeof room, &size, nullptr);
  if (there == TENON_OK || there == TENON_OUT_OF_RANGE) return;
  const std::string value =
      std::to_string(fault.code()) + " " + std::to_string(static_cast<int>(fault.ei())) + " " + fault.text();
  joining.host.api()->store_put(joining.store, sdk::Str(key), value.data(), value.size(), nullptr);
}

void ThrowPublishedFailure(const Joining& joining, uint64_t wait_ns) {
  const std::string key = joining.name + "/failure";
  std::vector<char> room(8192);
  uint64_t size = 0;
  if (joining.host.api()->store_get(joining.store, sdk::Str(key), wait_ns, room.data(), room.size() - 1, &size,
                                    nullptr) != TENON_OK)
    return;
  room[size] = '\0';
  char* rest = nullptr;
  const long code = std::strtol(room.data(), &rest, 10);
  const long ei = std::strtol(rest, &rest, 10);
  const std::string text = *rest == ' ' ? rest + 1 : rest;
  throw Fault(static_cast<int32_t>(code), static_cast<Ei>(ei), text);
}

}  // namespace tenon::hccl
