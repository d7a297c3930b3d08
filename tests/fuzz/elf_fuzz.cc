// Plugin files: whatever the bytes, the ELF reader and the note reader end with facts or with a reason, and what they
// report stays within the file. The linker's cache goes through the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/platform/elf_file.h"
#include "core/platform/library_search.h"
#include "core/plugin/plugin_note.h"
#include "tenon/abi/note.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/elf_image.h"

namespace {

std::string Note() {
  tenon_note note;
  std::memset(&note, 0, sizeof(note));
  note.magic = TENON_NOTE_MAGIC;
  note.size = sizeof(note);
  note.abi_major = TENON_ABI_MAJOR;
  note.abi_draft = TENON_ABI_DRAFT;
  note.kinds[0] = TENON_KIND_OP;
  const std::uint8_t hash[] = {TENON_ABI_HEADER_HASH_BYTES};
  std::memcpy(note.header_hash, hash, sizeof(hash));
  std::memcpy(note.plugin_id, "org.tenon.fuzz", 15);
  std::memcpy(note.plugin_version, "1.0.0", 6);
  return std::string(reinterpret_cast<const char*>(&note), sizeof(note));
}

std::string Cache() {
  std::string cache = "glibc-ld.so.cache1.1";
  const auto word = [&cache](std::uint32_t value) {
    cache.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  word(1);  // entries
  word(0);
  for (int i = 0; i < 5; ++i) word(0);
  word(0x303);
  word(72);
  word(80);
  word(0);
  word(0);
  word(0);
  cache += std::string("liba.so\0/l/liba.so\0", 19);
  return cache;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tenon::ElfFile file = tenon::ParseElf(std::span(data, size));
  if (file.problem != tenon::ElfProblem::kNone && file.detail.empty()) std::abort();
  for (const tenon::ElfNote& note : file.notes) {
    if (note.descriptor.size() + note.name.size() > size) std::abort();
  }
  for (const tenon::ElfSymbol& symbol : file.symbols) {
    if (symbol.name.size() > size) std::abort();
  }
  const tenon::Result<tenon::PluginNote> note = tenon::ReadPluginNote(file, "x.so");
  if (note.ok()) {
    if (note->id.size() > 63 || note->version.size() > 31) std::abort();
    static_cast<void>(tenon::CheckPluginNote(*note, "x.so"));
  }
  for (const auto& entry : tenon::internal::ParseLinkerCache(std::span(data, size))) {
    if (entry.name.size() > size || entry.path.size() > size) std::abort();
  }
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {tenon::testing_support::MakeElfImage(Note()).bytes, tenon::testing_support::MakeElfImage("short").bytes,
          Cache()};
}
