#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/comm/rank.h"
#include "core/comm/rendezvous.h"

namespace tenon::rendezvous {

using LogFunction = std::function<void(LogLevel, const std::string&)>;

// Limits in nanoseconds; 0: none.
struct Limits {
  std::uint64_t topology_ns = 1'800'000'000'000;  // for all ranks to come
  std::uint64_t node_ns = 30'000'000'000;         // of silence until a rank is lost
  std::uint64_t retry_ns = 20'000'000'000;        // without an answer until the rendezvous is lost
};

struct JoinOptions {
  Limits limits;
  std::string own_address;   // that the others are told; empty: found out
  bool one_machine = false;  // all nodes are this machine: loopback is fine
  LogFunction log;
};

struct ServeOptions {
  std::string address;     // the rendezvous as the ranks call it; a loopback address serves this machine alone
  std::uint16_t port = 0;  // 0: a free one
  std::uint32_t size = 1;
  std::string job;
  std::uint32_t generation = 0;
  Limits limits;
  LogFunction log;
  std::function<void(const std::string&)>
      waiting;  // told every 10 s who has not come, until all have; empty: the log is
};

// Serves one generation of a run until it is destroyed.
class Server {
 public:
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  virtual Status failure() const = 0;
  // As that of the board: not beyond a failure.
  virtual bool WaitAllLeft(std::uint64_t timeout_ns) const = 0;
  virtual bool Complete() const = 0;       // all ranks have come
  virtual bool AnyonePresent() const = 0;  // a rank that has come and not left
  virtual bool AllHeard() const = 0;       // of a failure: as the board has it
  // Tells all ranks how a rank ended: "was ended by SIGKILL (killed)".
  virtual void AbortRank(std::uint32_t rank, const std::string& what_happened) = 0;
};

// What libtenon_rendezvous.so offers.
struct Library {
  const char* version;      // of Tenon, that of the caller
  std::uint32_t interface;  // kInterface of this file, which changes with it
  Result<std::unique_ptr<Rendezvous>> (*join)(const Rank&, const Handshake&, const JoinOptions&);
  Result<std::unique_ptr<Server>> (*serve)(const ServeOptions&);
  // First rank of `workers` workers of this node, dealt out in the order of asking; asks until the limit of the topology.
  Result<std::uint32_t> (*allot)(const Rank& node, std::uint32_t workers, const JoinOptions&);
  // What answers at an address, as a sentence: "Tenon 0.1.0, job 'x', ...". UNAVAILABLE says why nothing does.
  Result<std::string> (*probe)(const std::string& address, std::uint16_t port, std::uint64_t timeout_ns);
};
inline constexpr std::uint32_t kInterface = 5;
inline constexpr char kLibraryFile[] = "libtenon_rendezvous.so";
inline constexpr char kLibraryEntry[] = "tenon_rendezvous_library";
using LibraryEntry = const Library* (*)();

// Opens the library at the first call. Errors name the file.
Result<const Library*> OpenLibrary();

}  // namespace tenon::rendezvous
