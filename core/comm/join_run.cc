#include <filesystem>

#include "configs/compat/launchers.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/comm/rendezvous.h"
#include "core/comm/rendezvous/library.h"
#include "core/comm/rendezvous_limits.h"
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
  const std::string path =
      (fs::exists(beside_programs, error) ? beside_programs : beside_library).lexically_normal().string();
  if (!fs::exists(path, error))
    return Error(
        Code::kUnavailable,
        "The rendezvous library, which runs of several ranks need, is neither {} nor {}: the installation is not "
        "complete.",
        beside_programs.lexically_normal().string(), path);
  Result<DynamicLibrary> library = DynamicLibrary::Open(path);
  if (!library.ok())
    return Error(Code::kUnavailable,
                 "The rendezvous library {}, which runs of several ranks need, cannot be opened: {}", path,
                 library.status().message());
  TENON_ASSIGN(void* const entry, library->Symbol(rendezvous::kLibraryEntry));
  const rendezvous::Library* opened = reinterpret_cast<rendezvous::LibraryEntry>(entry)();
  if (opened->version != std::string_view(TENON_VERSION_STRING) || opened->interface != rendezvous::kInterface)
    return Error(Code::kUnavailable, "{} belongs to Tenon {}, and this is {}: installations are mixed.", path,
                 opened->version, TENON_VERSION_STRING);
  return opened;
}

}  // namespace

Result<const rendezvous::Library*> rendezvous::OpenLibrary() {
  static const Result<const Library*> library = Open();
  return library;
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
