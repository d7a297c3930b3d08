#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// Machine numbers of ELF headers that messages name; others are shown as numbers.
inline constexpr std::uint16_t kElfMachineX86_64 = 62;
inline constexpr std::uint16_t kElfMachineAarch64 = 183;

// Machine number of this process, and the name of any machine ("x86-64", "AArch64", "machine 243").
std::uint16_t HostElfMachine();
std::string ElfMachineName(std::uint16_t machine);

// One entry of a PT_NOTE segment. `descriptor` is a copy.
struct ElfNote {
  std::string name;  // without the final zero byte
  std::uint32_t type = 0;
  std::vector<std::uint8_t> descriptor;
};

// One dynamic symbol that other files can see or that this file asks for.
struct ElfSymbol {
  std::string name;
  bool defined = false;
  bool weak = false;
  bool unique = false;  // STB_GNU_UNIQUE: shared by every file of the process, even ones opened locally
  bool function = false;
};

// What can be wrong with a file before anybody asks whether it is a plugin.
enum class ElfProblem {
  kNone,
  kEmpty,         // no byte in it
  kNotElf,        // other first bytes
  kTruncated,     // a header or a loadable segment ends after the end of the file
  kWrongClass,    // 32 bits, or big-endian
  kWrongMachine,  // another processor
  kNotShared,     // a program, an object file, a core dump
  kMalformed,     // tables that contradict each other
  kUnreadable,    // the system refused to read
};

// What was read. Filled as far as the file is sound; `problem` says why it ends early.
struct ElfFile {
  ElfProblem problem = ElfProblem::kNone;
  std::string detail;  // a clause for the message: "segment 2 ends at byte 31240, the file has 700"

  std::uint64_t file_bytes = 0;
  std::uint16_t machine = 0;
  std::uint16_t type = 0;
  std::vector<ElfNote> notes;
  std::string build_id;  // lower-case hex, empty when there is none
  std::string soname;
  std::string runpath;  // DT_RUNPATH, or DT_RPATH when only that is there
  std::vector<std::string> needed;
  std::vector<std::string> needed_versions;  // "GLIBC_2.34", of the libraries in `needed`
  std::uint64_t flags = 0;                   // DT_FLAGS
  std::uint64_t flags_1 = 0;                 // DT_FLAGS_1
  bool static_tls = false;                   // DF_STATIC_TLS
  bool text_relocations = false;
  bool executable_stack = false;
  bool relro = false;  // tables of the linker become read-only after loading
  std::vector<ElfSymbol> symbols;

  // The note with this owner name and type, or null.
  const ElfNote* FindNote(const std::string& name, std::uint32_t type) const;
  // True when the file itself defines the symbol and others can see it.
  bool Defines(const std::string& name) const;
};

// Reads the program headers, notes and dynamic section of a 64-bit little-endian file. Nothing of the file is trusted:
// every offset is checked against its size, and work and memory are bounded by it. No section header is used, so a
// stripped file reads the same. Never fails: what is wrong stands in `problem`.
// `with_symbols` false leaves the symbol table, the largest part, unread.
ElfFile ParseElf(std::span<const std::uint8_t> bytes, bool with_symbols = true);

// The same for an open file; reads only the parts it needs. The descriptor is neither moved nor closed.
ElfFile ReadElf(int descriptor, bool with_symbols = true);

}  // namespace tenon
