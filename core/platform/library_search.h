#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/platform/elf_file.h"

namespace tenon {

// Where the dynamic linker would look for the libraries that a file needs, and what it would not find. A forecast made
// without opening anything: LD_LIBRARY_PATH, DT_RUNPATH with $ORIGIN, the linker's cache, its default folders.
struct MissingLibrary {
  std::string name;                  // "libfoo.so.9"
  std::vector<std::string> chain;    // files that lead to it: {"libfoo_plugin.so", "libbar.so.1"}; the last needs it
  std::vector<std::string> folders;  // folders looked at, without the cache
};

// Libraries that `file` (read from `path`) needs, directly or through others, and that are not found. Empty = all there.
std::vector<MissingLibrary> FindMissingLibraries(const ElfFile& file, const std::string& path);

namespace internal {

// One name and path of the linker's cache (/etc/ld.so.cache, format "glibc-ld.so.cache1.1").
struct LinkerCacheEntry {
  std::string name;
  std::string path;
};

// Entries of a cache image for 64-bit libraries of this machine; empty for an image that is not understood. Bounds-checked.
std::vector<LinkerCacheEntry> ParseLinkerCache(std::span<const std::uint8_t> bytes);

}  // namespace internal

}  // namespace tenon
