#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/platform/elf_file.h"

namespace tenon {

// The ABI note of a plugin file, decoded. All that is known about it without opening it.
struct PluginNote {
  std::uint16_t abi_major = 0;
  std::uint16_t abi_minor = 0;          // built for
  std::uint16_t oldest_host_minor = 0;  // needed
  std::uint16_t draft = 0;
  std::uint64_t kinds = 0;         // tenon_kind mask
  std::uint64_t flags = 0;         // tenon_note_flag
  std::uint64_t cpu_features = 0;  // tenon_cpu_feature mask
  std::uint32_t sanitizer = 0;     // tenon_sanitizer_kind
  std::string header_hash;         // hex
  std::string id;
  std::string version;

  bool Has(std::uint64_t kind) const { return (kinds & kind) != 0; }
};

// Reads the note out of a parsed file. TN-PLG-021 without a note, TN-PLG-016 with one that cannot be read.
Result<PluginNote> ReadPluginNote(const ElfFile& file, const std::string& file_name);

// What a host offers.
struct HostAbi {
  std::uint16_t major;
  std::uint16_t minor;
  std::uint16_t oldest_plugin_minor;
  std::uint16_t draft;
  std::uint32_t sanitizer;
  std::string header_hash;
};
const HostAbi& ThisHostAbi();

// OK when the host can live with the note: major, minors, draft hash, sanitizer, processor. TN-PLG-010 .. 015.
Status CheckPluginNote(const PluginNote& note, const std::string& file_name, const HostAbi& host = ThisHostAbi());

}  // namespace tenon
