#include "plugins/legacy_aot/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <string_view>

#include "tenon/sdk/error.h"

namespace tenon::aot {
namespace {

// The tables of a mapped library, found through its dynamic section.
struct Tables {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;      // DT_HASH
  const uint32_t* gnu_hash = nullptr;  // DT_GNU_HASH
};

Tables FindTables(const link_map& map) {
  Tables tables;
  for (const Elf64_Dyn* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const Elf64_Sym*>(address);
    if (entry->d_tag == DT_STRTAB) tables.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_HASH) tables.hash = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const uint32_t*>(address);
  }
  return tables;
}

// The table of symbols does not say how long it is; its hash tables do. The GNU form: a header of four words (buckets, first
// symbol, words of the filter, shift), the filter, the buckets, then a chain of hashes whose last one is odd.
uint32_t CountSymbols(const Tables& tables) {
  if (tables.hash != nullptr) return tables.hash[1];
  if (tables.gnu_hash == nullptr) return 0;
  const uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], filter = tables.gnu_hash[2];
  const uint32_t* bucket = tables.gnu_hash + 4 + filter * 2;
  const uint32_t* chain = bucket + buckets;
  uint32_t last = first;
  for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
  if (last == first && std::all_of(bucket, bucket + buckets, [](uint32_t b) { return b == 0; })) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

bool UsesOldString(std::string_view name) {
  return name.substr(0, 2) == "_Z" && name.find("cxx11") == std::string_view::npos &&
         (name.find("Ss") != std::string_view::npos || name.find("basic_string") != std::string_view::npos);
}

}  // namespace

ExportedSymbols ReadSymbols(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) throw sdk::Failure(TENON_INTERNAL, "Its link map is not there.");
  const Tables tables = FindTables(*map);
  if (tables.symbols == nullptr || tables.names == nullptr)
    throw sdk::Failure(TENON_INVALID_ARGUMENT, "It has no table of dynamic symbols.");
  ExportedSymbols found;
  bool old_string = false, new_string = false;
  const uint32_t count = CountSymbols(tables);
  for (uint32_t i = 1; i < count; ++i) {
    const Elf64_Sym& symbol = tables.symbols[i];
    const std::string_view name = tables.names + symbol.st_name;
    new_string = new_string || name.find("__cxx11") != std::string_view::npos;
    old_string = old_string || UsesOldString(name);
    const bool exported = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (exported && name.substr(0, 2) != "_Z" && !name.empty() && name[0] != '_') found.functions.emplace_back(name);
  }
  std::sort(found.functions.begin(), found.functions.end());
  if (old_string && !new_string) found.string_abi = StringAbi::kOld;
  return found;
}

}  // namespace tenon::aot
