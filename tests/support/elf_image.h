#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tenon::testing_support {

// A small well-formed shared library as bytes: notes, dynamic section, strings, symbols, GNU hash. Addresses equal file
// offsets. Nothing in it can run; it is for readers.
struct ElfImage {
  std::string bytes;
  std::size_t notes_at = 0;
  std::size_t dynamic_at = 0;
  std::size_t symbols_at = 0;
};

namespace elf_image_internal {

template <class T>
void Append(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline void Align(std::string* out, std::size_t to) {
  while (out->size() % to != 0) out->push_back('\0');
}
inline void AppendNote(std::string* out, const std::string& name, std::uint32_t type, const std::string& descriptor) {
  Elf64_Nhdr head{static_cast<Elf64_Word>(name.size() + 1), static_cast<Elf64_Word>(descriptor.size()), type};
  Append(out, head);
  *out += name;
  out->push_back('\0');
  Align(out, 4);
  *out += descriptor;
  Align(out, 4);
}

}  // namespace elf_image_internal

// `note`: descriptor of the note "Tenon", type 1. Needs libone.so and libtwo.so.2, defines tenon_plugin_query_v1, asks
// for `malloc`, has the build id 01 02 03 04.
inline ElfImage MakeElfImage(const std::string& note) {
  using namespace elf_image_internal;
  ElfImage image;
  std::string& out = image.bytes;
  out.assign(sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr), '\0');

  image.notes_at = out.size();
  AppendNote(&out, "GNU", NT_GNU_BUILD_ID, std::string("\x01\x02\x03\x04", 4));
  AppendNote(&out, "Tenon", 1, note);
  const std::size_t notes_end = out.size();

  Align(&out, 8);
  const std::size_t strings_at = out.size();
  std::vector<std::size_t> names;
  out.push_back('\0');
  for (const char* name : {"libone.so", "libtwo.so.2", "self.so", "$ORIGIN/lib", "malloc", "tenon_plugin_query_v1"}) {
    names.push_back(out.size() - strings_at);
    out += name;
    out.push_back('\0');
  }
  const std::size_t strings_size = out.size() - strings_at;

  Align(&out, 8);
  image.symbols_at = out.size();
  const auto symbol = [&](std::size_t name, unsigned char info, Elf64_Half section) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(name);
    entry.st_info = info;
    entry.st_shndx = section;
    Append(&out, entry);
  };
  symbol(0, 0, 0);
  symbol(names[4], ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF);
  symbol(names[5], ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 7);

  Align(&out, 8);
  const std::size_t hash_at = out.size();
  for (const std::uint32_t word : {1U, 2U, 1U, 0U})
    Append(&out, word);  // one bucket, first hashed symbol 2, one bloom word
  Append(&out, ~std::uint64_t{0});
  Append(&out, std::uint32_t{2});  // bucket
  Append(&out, std::uint32_t{1});  // chain: last

  Align(&out, 8);
  image.dynamic_at = out.size();
  const auto dynamic = [&](Elf64_Sxword tag, std::size_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    Append(&out, entry);
  };
  dynamic(DT_NEEDED, names[0]);
  dynamic(DT_NEEDED, names[1]);
  dynamic(DT_SONAME, names[2]);
  dynamic(DT_RUNPATH, names[3]);
  dynamic(DT_STRTAB, strings_at);
  dynamic(DT_STRSZ, strings_size);
  dynamic(DT_SYMTAB, image.symbols_at);
  dynamic(DT_SYMENT, sizeof(Elf64_Sym));
  dynamic(DT_GNU_HASH, hash_at);
  dynamic(DT_FLAGS, DF_BIND_NOW | DF_STATIC_TLS);
  dynamic(DT_NULL, 0);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(header);
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  std::memcpy(out.data(), &header, sizeof(header));
  const auto segment = [&](std::size_t index, Elf64_Word type, std::size_t begin, std::size_t end, std::size_t align) {
    Elf64_Phdr entry{};
    entry.p_type = type;
    entry.p_offset = begin;
    entry.p_vaddr = begin;
    entry.p_filesz = end - begin;
    entry.p_memsz = end - begin;
    entry.p_align = align;
    std::memcpy(out.data() + sizeof(header) + index * sizeof(entry), &entry, sizeof(entry));
  };
  segment(0, PT_LOAD, 0, out.size(), 4096);
  segment(1, PT_NOTE, image.notes_at, notes_end, 4);
  segment(2, PT_DYNAMIC, image.dynamic_at, out.size(), 8);
  return image;
}

}  // namespace tenon::testing_support
