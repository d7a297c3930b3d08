#include "core/plugin/plugin_precheck.h"

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/platform/file_trust.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

PluginMessage TrustMessage(TrustFinding::Kind kind) {
  switch (kind) {
    case TrustFinding::Kind::kFolderWritable:
      return PluginMessage::kFolderWritable;
    case TrustFinding::Kind::kFileWritable:
      return PluginMessage::kFileWritable;
    case TrustFinding::Kind::kFileOwner:
    case TrustFinding::Kind::kFolderOwner:
      return PluginMessage::kOtherOwner;
  }
  return PluginMessage::kOtherOwner;
}

Status CheckTrusted(const OpenedFile& file, TrustPolicy policy, PluginPrecheck* out) {
  if (policy == TrustPolicy::kOff) return Status();
  const std::vector<TrustFinding> findings = CheckTrust(file, out->real_path);
  if (findings.empty()) return Status();
  const TrustFinding& first = findings.front();
  const std::string more =
      findings.size() > 1 ? fmt::format(" ({} more of this kind above or below it.)", findings.size() - 1) : "";
  const PluginMessage message = TrustMessage(first.kind);
  if (policy == TrustPolicy::kStrict) {
    return PluginError(message, out->file_name(), "refused: {} {}. {}, or set plugins.trust: warn.{}", first.path,
                       first.reason, first.fix, more);
  }
  out->warnings.push_back(
      PluginError(message, out->file_name(),
                  "{} {}, so others can change the code of the plugin. {}, or set plugins.trust: off.{}", first.path,
                  first.reason, first.fix, more)
          .message());
  return Status();
}

Status FileProblem(const ElfFile& elf, const std::string& name) {
  switch (elf.problem) {
    case ElfProblem::kNone:
      return Status();
    case ElfProblem::kEmpty:
    case ElfProblem::kTruncated:
      return PluginError(PluginMessage::kTruncated, name, "is truncated: {}. Copy or install it again.", elf.detail);
    case ElfProblem::kNotElf:
      return PluginError(PluginMessage::kNotElf, name, "is not a library: {}. Remove it, or correct the path.",
                         elf.detail);
    case ElfProblem::kWrongClass:
    case ElfProblem::kWrongMachine:
      return PluginError(PluginMessage::kWrongMachine, name,
                         "cannot run here: {}; this machine needs 64-bit {}. Install the file made for it.", elf.detail,
                         ElfMachineName(HostElfMachine()));
    case ElfProblem::kNotShared:
      return PluginError(PluginMessage::kNotShared, name,
                         "is not a shared library: {}. Link it with -shared, or correct the path.", elf.detail);
    case ElfProblem::kMalformed:
      return PluginError(PluginMessage::kMalformed, name, "is damaged: {}. Copy or install it again.", elf.detail);
    case ElfProblem::kUnreadable:
      return PluginError(PluginMessage::kUnreadable, name, "cannot be read: {}.", elf.detail);
  }
  return Status();
}

// Opens the file and reads its structure; notes where it lies and what it is.
Result<std::pair<OpenedFile, ElfFile>> ReadLibrary(const std::string& path, PluginPrecheck* out) {
  const std::string name = out->file_name();
  Result<std::string> real = RealPath(path);
  if (!real.ok()) {
    const bool absent = real.status().code() == Code::kNotFound;
    return PluginError(absent ? PluginMessage::kNotFound : PluginMessage::kUnreadable, name,
                       "cannot be found at {}: {}.", path, real.status().message());
  }
  out->real_path = *real;
  Result<OpenedFile> opened = OpenedFile::Open(out->real_path);
  if (!opened.ok()) {
    return PluginError(PluginMessage::kUnreadable, name, "cannot be opened at {}: {}.", out->real_path,
                       opened.status().message());
  }
  out->identity = opened->identity();
  ElfFile elf = ReadElf(opened->descriptor());
  out->build_id = elf.build_id;
  TENON_TRY(FileProblem(elf, name));
  return std::pair(std::move(*opened), std::move(elf));
}

Status CheckTrusted(const OpenedFile& file, std::optional<TrustPolicy> trust, PluginPrecheck* out) {
  return CheckTrusted(file, trust.value_or(IsSystemPath(out->real_path) ? TrustPolicy::kStrict : TrustPolicy::kWarn),
                      out);
}

Status Check(const PluginFile& file, std::optional<TrustPolicy> trust, PluginPrecheck* out) {
  const std::string name = out->file_name();
  TENON_ASSIGN(const auto library, ReadLibrary(file.path, out));
  const ElfFile& elf = library.second;
  Result<PluginNote> note = ReadPluginNote(elf, name);
  if (!note.ok()) return std::move(note).status();
  out->note = *note;
  out->has_note = true;
  TENON_TRY(CheckTrusted(library.first, trust, out));
  TENON_TRY(CheckPluginNote(out->note, name));
  if (!elf.Defines("tenon_plugin_query_v1")) {
    return PluginError(
        PluginMessage::kNoEntry, name,
        "has an ABI note of {} but does not export tenon_plugin_query_v1. Declare the function with TENON_EXPORT.",
        out->note.id);
  }
  out->missing = FindMissingLibraries(elf, out->real_path);
  return Status();
}

}  // namespace

std::string PluginPrecheck::file_name() const { return FileName(path); }

std::string PluginPrecheck::Describe() const {
  return build_id.empty() ? path : fmt::format("{} (build id {})", path, build_id.substr(0, 12));
}

PluginPrecheck PrecheckPlugin(const PluginFile& file, std::optional<TrustPolicy> trust) {
  PluginPrecheck result;
  result.path = file.path;
  result.origin = file.origin;
  result.status = Check(file, trust, &result);
  return result;
}

Status PrecheckLegacyLibrary(const std::string& path, std::optional<TrustPolicy> trust) {
  PluginPrecheck check;
  check.path = path;
  TENON_ASSIGN(const auto library, ReadLibrary(path, &check));
  if (ReadPluginNote(library.second, check.file_name()).ok())
    return PluginError(PluginMessage::kNoNote, check.file_name(),
                       "is a plugin with an ABI note of its own. Leave 'legacy' out of its entry.");
  TENON_TRY(CheckTrusted(library.first, trust, &check));
  for (const std::string& warning : check.warnings) TENON_LOG(kWarning, "plugin", "{}", warning);
  const std::vector<MissingLibrary> missing = FindMissingLibraries(library.second, check.real_path);
  return missing.empty() ? Status() : MissingLibraryError(check, missing.front());
}

Status MissingLibraryError(const PluginPrecheck& plugin, const MissingLibrary& missing) {
  std::string through;
  for (std::size_t i = 1; i < missing.chain.size(); ++i)
    through += fmt::format("{}{}", i == 1 ? "" : ", which needs ", missing.chain[i]);
  if (!through.empty()) through += ", which needs ";
  return PluginError(PluginMessage::kMissingLibrary, plugin.file_name(),
                     "cannot be opened: needs {}{}, which the dynamic linker did not find. Checked: {}. Install the "
                     "package that holds "
                     "{}, or add its folder to LD_LIBRARY_PATH.",
                     through, missing.name,
                     missing.folders.empty() ? "the linker's cache" : Join(missing.folders, ", "), missing.name);
}

}  // namespace tenon
