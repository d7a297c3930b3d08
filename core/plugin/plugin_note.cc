#include "core/plugin/plugin_note.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <iterator>

#include "core/base/text.h"
#include "core/platform/cpu_features.h"
#include "core/plugin/plugin_message.h"
#include "tenon/abi/note.h"

namespace tenon {

namespace {

std::uint64_t Join64(const std::uint32_t (&words)[2]) { return words[0] | std::uint64_t{words[1]} << 32; }

// Text of a fixed field; false when it does not end inside or holds anything but printable characters.
template <std::size_t N>
bool FieldText(const char (&field)[N], std::string* out) {
  const void* end = std::memchr(field, 0, N);
  if (end == nullptr) return false;
  out->assign(field, static_cast<const char*>(end));
  for (const char c : *out) {
    if (c < 0x21 || c > 0x7e) return false;
  }
  return true;
}

bool LooksLikeId(const std::string& id) {
  if (id.empty() || id.front() == '.' || id.back() == '.') return false;
  for (const char c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

const char* SanitizerName(std::uint32_t kind) {
  switch (kind) {
    case TENON_SANITIZER_NONE:
      return "no sanitizer";
    case TENON_SANITIZER_ADDRESS:
      return "the address sanitizer";
    case TENON_SANITIZER_THREAD:
      return "the thread sanitizer";
    case TENON_SANITIZER_MEMORY:
      return "the memory sanitizer";
    default:
      return "an unknown sanitizer";
  }
}

struct FeatureName {
  std::uint64_t bit;
  const char* name;
};
constexpr FeatureName kFeatures[] = {
    {TENON_CPU_SSE42, "sse4.2"},
    {TENON_CPU_AVX, "avx"},
    {TENON_CPU_F16C, "f16c"},
    {TENON_CPU_FMA, "fma"},
    {TENON_CPU_AVX2, "avx2"},
    {TENON_CPU_AVX512F, "avx512f"},
    {TENON_CPU_AVX512BW, "avx512bw"},
    {TENON_CPU_AVX512VL, "avx512vl"},
    {TENON_CPU_AVX512DQ, "avx512dq"},
    {TENON_CPU_AVX512_VNNI, "avx512_vnni"},
    {TENON_CPU_AVX512_BF16, "avx512_bf16"},
    {TENON_CPU_AMX_TILE, "amx_tile"},
    {TENON_CPU_AMX_BF16, "amx_bf16"},
    {TENON_CPU_NEON, "neon"},
    {TENON_CPU_SVE, "sve"},
};

Status CheckProcessor(const PluginNote& note, const std::string& file_name) {
  std::vector<std::string> absent;
  std::uint64_t left = note.cpu_features;
  for (const FeatureName& feature : kFeatures) {
    if ((left & feature.bit) == 0) continue;
    left &= ~feature.bit;
    if (!HasCpuFeature(feature.name)) absent.emplace_back(feature.name);
  }
  if (left != 0) absent.push_back(fmt::format("feature bits {:#x}, which this host does not know", left));
  if (absent.empty()) return Status();
  return PluginError(PluginMessage::kCpuFeature, file_name,
                     "needs {}, which this processor does not have. Install the variant of {} for this processor.",
                     JoinAnd(absent), note.id);
}

}  // namespace

Result<PluginNote> ReadPluginNote(const ElfFile& file, const std::string& file_name) {
  const ElfNote* found = file.FindNote(TENON_NOTE_NAME, TENON_NOTE_TYPE);
  if (found == nullptr) {
    return PluginError(PluginMessage::kNoNote, file_name,
                       "is not a plugin: no ABI note. If you meant an operator library, add TENON_PLUGIN_NOTE(...) to "
                       "it and rebuild.");
  }
  tenon_note raw;
  if (found->descriptor.size() < sizeof(raw)) {
    return PluginError(PluginMessage::kBadNote, file_name,
                       "has an ABI note of {} bytes; {} are needed. Rebuild it with TENON_PLUGIN_NOTE(...).",
                       found->descriptor.size(), sizeof(raw));
  }
  std::memcpy(&raw, found->descriptor.data(), sizeof(raw));
  PluginNote note;
  if (raw.magic != TENON_NOTE_MAGIC || raw.size < sizeof(raw)) {
    return PluginError(
        PluginMessage::kBadNote, file_name,
        "has an ABI note with magic {:#010x} and size {}; {:#010x} and at least {} are needed. Rebuild it with "
        "TENON_PLUGIN_NOTE(...).",
        raw.magic, raw.size, TENON_NOTE_MAGIC, sizeof(raw));
  }
  note.abi_major = raw.abi_major;
  note.abi_minor = raw.abi_minor;
  note.oldest_host_minor = raw.oldest_host_minor;
  note.draft = raw.abi_draft;
  note.kinds = Join64(raw.kinds);
  note.flags = Join64(raw.flags);
  note.cpu_features = Join64(raw.cpu_features);
  note.sanitizer = raw.sanitizer;
  for (const std::uint8_t byte : raw.header_hash) note.header_hash += fmt::format("{:02x}", byte);
  if (!FieldText(raw.plugin_id, &note.id) || !LooksLikeId(note.id) || !FieldText(raw.plugin_version, &note.version)) {
    return PluginError(
        PluginMessage::kBadNote, file_name,
        "has an ABI note whose plugin id or version is not a word of letters, digits, '.', '_' and '-'. Rebuild it "
        "with TENON_PLUGIN_NOTE(...).");
  }
  return note;
}

const HostAbi& ThisHostAbi() {
  static const auto* abi = new HostAbi{TENON_ABI_MAJOR, TENON_ABI_MINOR,       TENON_ABI_MINOR_FLOOR,
                                       TENON_ABI_DRAFT, TENON_BUILD_SANITIZER, TENON_ABI_HEADER_HASH_HEX};
  return *abi;
}

Status CheckPluginNote(const PluginNote& note, const std::string& file_name, const HostAbi& host) {
  if (note.abi_major != host.major) {
    return PluginError(
        PluginMessage::kOtherMajor, file_name,
        "built for plugin ABI {}.{}; this host provides major {}. Install the version of {} that is made for ABI {}.x.",
        note.abi_major, note.abi_minor, host.major, note.id, host.major);
  }
  if (note.oldest_host_minor > host.minor) {
    return PluginError(PluginMessage::kNeedsNewerHost, file_name,
                       "built for plugin ABI {0}.{1} and needs host >= {0}.{2}; this host provides {0}.{3}. Upgrade "
                       "Tenon to a version "
                       "with plugin ABI {0}.{2} or later, or install an older {4} that needs host <= {0}.{3}.",
                       note.abi_major, note.abi_minor, note.oldest_host_minor, host.minor, note.id);
  }
  if (note.abi_minor < host.oldest_plugin_minor) {
    return PluginError(
        PluginMessage::kTooOld, file_name,
        "built for plugin ABI {0}.{1}; this host accepts {0}.{2} and later. Install a newer {3}, or rebuild it with "
        "newer headers.",
        note.abi_major, note.abi_minor, host.oldest_plugin_minor, note.id);
  }
  if (note.draft != host.draft || (host.draft != 0 && note.header_hash != host.header_hash)) {
    return PluginError(
        PluginMessage::kOtherDraft, file_name,
        "built with draft headers {}; this host has {}. While the plugin ABI is a draft both must be the same: rebuild "
        "{} with the plugin_api folder of this Tenon (-DTenonPluginApi_DIR=<plugin_api>/cmake).",
        note.draft == 0 ? "of a released ABI" : note.header_hash.substr(0, 8),
        host.draft == 0 ? "a released ABI" : host.header_hash.substr(0, 8), note.id);
  }
  if (note.sanitizer != host.sanitizer) {
    return PluginError(PluginMessage::kOtherSanitizer, file_name,
                       "built with {}, this host with {}. Opening it would end the process. Build both alike.",
                       SanitizerName(note.sanitizer), SanitizerName(host.sanitizer));
  }
  return CheckProcessor(note, file_name);
}

}  // namespace tenon
