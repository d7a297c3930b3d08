#include <charconv>
#include <filesystem>

#include "configs/compat/launchers.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/comm/limits.h"
#include "core/comm/rendezvous.h"
#include "core/comm/rendezvous/library.h"
#include "core/platform/dynamic_library.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

Result<const rendezvous::Library*> Open() {
  static const char here = 0;
  const fs::path folder = FolderOfCode(&here);
  const fs::path beside_programs = folder / "../lib/tenon" / rendezvous::kLibraryFile;
  const fs::path beside_library = folder / "tenon" / rendezvous::kLibraryFile;
  std::error_code error;
  const fs::path path = fs::exists(beside_programs, error) ? beside_programs : beside_library;
  TENON_ASSIGN_WHILE(DynamicLibrary library, DynamicLibrary::Open(path.lexically_normal().string()),
                     "opening the rendezvous library, which runs of several ranks need");
  TENON_ASSIGN(void* const entry, library.Symbol(rendezvous::kLibraryEntry));
  const rendezvous::Library* opened = reinterpret_cast<rendezvous::LibraryEntry>(entry)();
  if (opened->version != std::string_view(TENON_VERSION_STRING) || opened->interface != rendezvous::kInterface)
    return Error(Code::kUnavailable, "{} belongs to Tenon {}, and this is {}: installations are mixed.", path.string(),
                 opened->version, TENON_VERSION_STRING);
  return opened;
}

// Seconds of a variable as nanoseconds; 0 (no limit) for a negative number where the launcher means that.
Status ReadSeconds(const char* names, std::uint64_t& limit_ns) {
  for (const std::string& name : Split(names, ' ')) {
    const std::optional<std::string> text = GetEnv(name.c_str());
    if (!text || text->empty()) continue;
    double seconds = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
    if (error != std::errc() || end != text->data() + text->size() || seconds == 0 || seconds > 1e8)
      return InvalidArgument("{}={} is not a number of seconds.", name, *text);
    limit_ns = seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds * 1e9);
    return Status();
  }
  return Status();
}

}  // namespace

Result<const rendezvous::Library*> rendezvous::OpenLibrary() {
  static const Result<const Library*> library = Open();
  return library;
}

Result<rendezvous::Limits> RendezvousLimits() {
  rendezvous::Limits limits;
  TENON_TRY(ReadSeconds(compat::kTopologyTimeout, limits.topology_ns));
  TENON_TRY(ReadSeconds(compat::kNodeTimeout, limits.node_ns));
  TENON_TRY(ReadSeconds(compat::kRetryTimeout, limits.retry_ns));
  TENON_INVALID_IF(limits.node_ns == 0 || limits.retry_ns == 0, "{} and {} must be above 0 seconds.",
                   compat::kNodeTimeout, compat::kRetryTimeout);
  return limits;
}

Result<std::unique_ptr<Rendezvous>> JoinRun(const Rank& rank, const Handshake& handshake) {
  TENON_ASSIGN(const rendezvous::Library* library, rendezvous::OpenLibrary());
  rendezvous::JoinOptions options;
  TENON_ASSIGN(options.limits, RendezvousLimits());
  options.own_address = GetEnv(compat::kOwnAddress).value_or("");
  options.one_machine = rank.one_machine || GetEnv("TENON_ONE_MACHINE").value_or("") == "1";
  options.log = [](LogLevel level, const std::string& text) {
    if (LogEnabled(level, "comm")) Log(level, "comm", text);
  };
  TENON_LOG(kInfo, "comm", "This process is {}.", Describe(rank));
  return library->join(rank, handshake, options);
}

}  // namespace tenon
