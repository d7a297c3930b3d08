#include "core/platform/library_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "core/base/env.h"
#include "core/base/text.h"
#include "core/platform/dynamic_library.h"
#include "core/platform/file_identity.h"
#include "core/platform/process.h"

namespace tenon {

namespace internal {

std::vector<LinkerCacheEntry> ParseLinkerCache(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr std::size_t kHead = 48;   // magic 20, count 4, bytes of text 4, flags and reserved 20
  constexpr std::size_t kEntry = 24;  // flags 4, name 4, path 4, system version 4, hardware 8
  const auto text_at = [&bytes](std::uint32_t offset) -> std::string {
    if (offset >= bytes.size()) return {};
    const char* begin = reinterpret_cast<const char*>(bytes.data() + offset);
    const void* end = std::memchr(begin, 0, bytes.size() - offset);
    return end == nullptr ? std::string() : std::string(begin, static_cast<const char*>(end));
  };
  // An older table may stand in front; the new one follows it, aligned.
  const auto* first = bytes.data();
  const auto* found = std::search(first, first + bytes.size(), kMagic.begin(), kMagic.end());
  const std::size_t base = static_cast<std::size_t>(found - first);
  if (bytes.size() - base < kHead) return {};
  bytes = bytes.subspan(base);
  std::uint32_t count = 0;
  std::memcpy(&count, bytes.data() + kMagic.size(), sizeof(count));
  if (count > (bytes.size() - kHead) / kEntry) return {};
  std::vector<LinkerCacheEntry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t fields[3];
    std::memcpy(fields, bytes.data() + kHead + i * kEntry, sizeof(fields));
    entries.push_back({text_at(fields[1]), text_at(fields[2])});
  }
  return entries;
}

}  // namespace internal

namespace {

const std::vector<internal::LinkerCacheEntry>& LinkerCache() {
  static const auto* cache = [] {
    std::ifstream in("/etc/ld.so.cache", std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return new std::vector<internal::LinkerCacheEntry>(
        internal::ParseLinkerCache({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
  }();
  return *cache;
}

ElfFile ReadLibrary(const std::string& path) {
  Result<OpenedFile> opened = OpenedFile::Open(path);
  if (opened.ok()) return ReadElf(opened->descriptor(), /*with_symbols=*/false);
  ElfFile file;
  file.problem = ElfProblem::kUnreadable;
  return file;
}

// "$ORIGIN/../lib" -> "/opt/vendor/plugins/../lib"
std::string ExpandOrigin(std::string text, const std::string& folder) {
  for (const char* mark : {"${ORIGIN}", "$ORIGIN"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + folder.size())) {
      text.replace(at, std::strlen(mark), folder);
    }
  }
  return text;
}

void AddFolders(const std::string& list, const std::string& origin, std::vector<std::string>* folders) {
  for (const std::string& part : Split(list, ':')) {
    const std::string folder = ExpandOrigin(part, origin);
    if (folder.empty() || folder.front() != '/') continue;
    const std::string clean = AbsolutePath(folder, "/");
    if (std::find(folders->begin(), folders->end(), clean) == folders->end()) folders->push_back(clean);
  }
}

std::vector<std::string> FoldersFor(const ElfFile& file, const std::string& path) {
  std::vector<std::string> folders;
  if (!IsSecureExec()) AddFolders(GetEnv("LD_LIBRARY_PATH").value_or(""), "", &folders);
  AddFolders(file.runpath, ParentFolder(path), &folders);
  AddFolders(fmt::format("/lib/{0}-linux-gnu:/usr/lib/{0}-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib",
                         HostElfMachine() == kElfMachineX86_64 ? "x86_64" : "aarch64"),
             "", &folders);
  return folders;
}

// Path of a needed library, or empty. A library that the process has already is found whatever the folders say.
std::string Find(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return FileExists(name) ? name : std::string();
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (FileExists(path)) {
      const ElfFile file = ReadLibrary(path);
      // The linker skips files of another machine or class and goes on.
      if (file.problem != ElfProblem::kWrongMachine && file.problem != ElfProblem::kWrongClass) return path;
    }
  }
  for (const internal::LinkerCacheEntry& entry : LinkerCache()) {
    if (entry.name == name && FileExists(entry.path)) {
      const ElfFile file = ReadLibrary(entry.path);
      if (file.problem != ElfProblem::kWrongMachine && file.problem != ElfProblem::kWrongClass) return entry.path;
    }
  }
  return IsMapped(name) ? name : std::string();
}

}  // namespace

std::vector<MissingLibrary> FindMissingLibraries(const ElfFile& file, const std::string& path) {
  struct Visit {
    ElfFile file;
    std::string path;
    std::vector<std::string> chain;
  };
  std::vector<MissingLibrary> missing;
  std::set<std::string> seen;
  std::deque<Visit> queue;
  queue.push_back({file, path, {FileName(path)}});
  while (!queue.empty()) {
    const Visit visit = std::move(queue.front());
    queue.pop_front();
    const std::vector<std::string> folders = FoldersFor(visit.file, visit.path);
    for (const std::string& name : visit.file.needed) {
      if (!seen.insert(name).second || IsMapped(name)) continue;
      const std::string found = Find(name, folders);
      if (found.empty()) {
        missing.push_back({name, visit.chain, folders});
        continue;
      }
      Visit next{ReadLibrary(found), found, visit.chain};
      next.chain.push_back(name);
      if (next.file.problem == ElfProblem::kNone) queue.push_back(std::move(next));
    }
  }
  return missing;
}

}  // namespace tenon
