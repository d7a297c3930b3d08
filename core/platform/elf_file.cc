#include "core/platform/elf_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace tenon {

namespace {

// Where bytes come from: memory or a file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // False when the range leaves the source or cannot be read.
  virtual bool Read(std::uint64_t offset, void* out, std::uint64_t bytes) const = 0;

  bool Contains(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size() && bytes <= size() - offset;
  }
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool Read(std::uint64_t offset, void* out, std::uint64_t bytes) const override {
    if (!Contains(offset, bytes)) return false;
    if (bytes > 0) std::memcpy(out, bytes_.data() + offset, bytes);
    return true;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  std::uint64_t size() const override { return size_; }
  bool Read(std::uint64_t offset, void* out, std::uint64_t bytes) const override {
    if (!Contains(offset, bytes)) return false;
    auto* to = static_cast<char*>(out);
    while (bytes > 0) {
      const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::uint64_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
  std::uint64_t size_;
};

// Limits that no sane library reaches; they keep a hostile file from costing time or memory.
constexpr std::uint64_t kMaxProgramHeaders = 4096;
constexpr std::uint64_t kMaxNoteBytes = 16U << 20;
constexpr std::uint64_t kMaxDynamicEntries = 65536;
constexpr std::uint64_t kMaxStringTable = 1ULL << 30;
constexpr std::uint64_t kMaxSymbols = 1ULL << 24;

std::string Hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class Parser {
 public:
  Parser(const ByteSource& source, bool with_symbols) : source_(source), with_symbols_(with_symbols) {
    file_.file_bytes = source.size();
  }

  ElfFile Run() && {
    if (ReadHeader() && ReadProgramHeaders() && ReadNotes()) ReadDynamic();
    return std::move(file_);
  }

 private:
  bool Fail(ElfProblem problem, std::string detail) {
    file_.problem = problem;
    file_.detail = std::move(detail);
    return false;
  }

  template <class T>
  std::optional<T> At(std::uint64_t offset) const {
    T value;
    if (!source_.Read(offset, &value, sizeof(T))) return std::nullopt;
    return value;
  }

  bool ReadHeader() {
    if (source_.size() == 0) return Fail(ElfProblem::kEmpty, "the file is empty");
    unsigned char ident[EI_NIDENT] = {};
    const std::uint64_t head = std::min<std::uint64_t>(source_.size(), sizeof(ident));
    if (!source_.Read(0, ident, head)) return Fail(ElfProblem::kUnreadable, "its first bytes cannot be read");
    if (head < SELFMAG || std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
      return Fail(ElfProblem::kNotElf,
                  fmt::format("it starts with the bytes {}, a library starts with 7f 45 4c 46",
                              ShowBytes({ident, static_cast<std::size_t>(std::min<std::uint64_t>(head, 4))})));
    }
    const auto header = At<Elf64_Ehdr>(0);
    if (!header) {
      return Fail(ElfProblem::kTruncated,
                  fmt::format("the ELF header needs {} bytes, the file has {}", sizeof(Elf64_Ehdr), source_.size()));
    }
    if (header->e_ident[EI_CLASS] != ELFCLASS64) return Fail(ElfProblem::kWrongClass, "it is not a 64-bit file");
    if (header->e_ident[EI_DATA] != ELFDATA2LSB) return Fail(ElfProblem::kWrongClass, "it is a big-endian file");
    file_.machine = header->e_machine;
    file_.type = header->e_type;
    if (file_.machine != HostElfMachine()) {
      return Fail(ElfProblem::kWrongMachine, fmt::format("it is built for {}", ElfMachineName(file_.machine)));
    }
    if (file_.type != ET_DYN) {
      const char* what = file_.type == ET_EXEC  ? "a program"
                         : file_.type == ET_REL ? "an object file"
                                                : "another kind of file";
      return Fail(ElfProblem::kNotShared, fmt::format("it is {} (ELF type {})", what, file_.type));
    }
    header_ = *header;
    return true;
  }

  static std::string ShowBytes(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
    return text;
  }

  bool ReadProgramHeaders() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0) {
      return Fail(ElfProblem::kMalformed,
                  fmt::format("it has {} program headers of {} bytes", header_.e_phnum, header_.e_phentsize));
    }
    if (header_.e_phnum > kMaxProgramHeaders) {
      return Fail(ElfProblem::kMalformed, fmt::format("it claims {} program headers", header_.e_phnum));
    }
    const std::uint64_t bytes = std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
    if (!source_.Contains(header_.e_phoff, bytes)) {
      return Fail(ElfProblem::kTruncated, fmt::format("its program headers lie at bytes {} to {}, the file has {}",
                                                      header_.e_phoff, header_.e_phoff + bytes, source_.size()));
    }
    segments_.resize(header_.e_phnum);
    if (!source_.Read(header_.e_phoff, segments_.data(), bytes)) {
      return Fail(ElfProblem::kUnreadable, "its program headers cannot be read");
    }
    bool loadable = false;
    file_.executable_stack = true;  // what the system assumes when no header speaks of the stack
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const Elf64_Phdr& segment = segments_[i];
      if (segment.p_type == PT_GNU_STACK) file_.executable_stack = (segment.p_flags & PF_X) != 0;
      if (segment.p_type == PT_GNU_RELRO) file_.relro = true;
      if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC && segment.p_type != PT_NOTE) continue;
      loadable = loadable || segment.p_type == PT_LOAD;
      if (!source_.Contains(segment.p_offset, segment.p_filesz)) {
        return Fail(ElfProblem::kTruncated, fmt::format("its segment {} ends at byte {}, the file has {}", i,
                                                        segment.p_offset + segment.p_filesz, source_.size()));
      }
      if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz) {
        return Fail(ElfProblem::kMalformed, fmt::format("segment {} has more bytes in the file than in memory", i));
      }
    }
    if (!loadable) return Fail(ElfProblem::kMalformed, "it has no loadable segment");
    return true;
  }

  bool ReadNotes() {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_NOTE || segment.p_filesz == 0) continue;
      if (segment.p_filesz > kMaxNoteBytes) {
        return Fail(ElfProblem::kMalformed, fmt::format("a note segment claims {} bytes", segment.p_filesz));
      }
      std::vector<std::uint8_t> bytes(segment.p_filesz);
      if (!source_.Read(segment.p_offset, bytes.data(), bytes.size())) {
        return Fail(ElfProblem::kUnreadable, "its notes cannot be read");
      }
      if (!WalkNotes(bytes, segment.p_align == 8 ? 8 : 4)) return false;
    }
    return true;
  }

  // Entries share a segment (build id, properties, ours); each is padded to the alignment of the segment.
  bool WalkNotes(const std::vector<std::uint8_t>& bytes, std::uint64_t align) {
    std::uint64_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= bytes.size()) {
      Elf64_Nhdr head;
      std::memcpy(&head, bytes.data() + at, sizeof(head));
      const std::uint64_t name_at = at + sizeof(head);
      const std::uint64_t descriptor_at = RoundUp(name_at + head.n_namesz, align);
      if (descriptor_at > bytes.size() || head.n_descsz > bytes.size() - descriptor_at) {
        return Fail(ElfProblem::kMalformed,
                    fmt::format("a note at byte {} of its segment is longer than the segment", at));
      }
      ElfNote note;
      note.type = head.n_type;
      if (head.n_namesz > 0) {
        note.name.assign(reinterpret_cast<const char*>(bytes.data() + name_at), head.n_namesz - 1);
      }
      note.descriptor.assign(bytes.begin() + static_cast<std::ptrdiff_t>(descriptor_at),
                             bytes.begin() + static_cast<std::ptrdiff_t>(descriptor_at + head.n_descsz));
      if (note.name == "GNU" && note.type == NT_GNU_BUILD_ID) file_.build_id = Hex(note.descriptor);
      file_.notes.push_back(std::move(note));
      at = RoundUp(descriptor_at + head.n_descsz, align);
    }
    return true;
  }

  static std::uint64_t RoundUp(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }

  // File offset of a virtual address, and how many bytes of the file follow in that segment.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> FileRange(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const std::uint64_t inside = address - segment.p_vaddr;
      if (inside < segment.p_filesz) return std::make_pair(segment.p_offset + inside, segment.p_filesz - inside);
    }
    return std::nullopt;
  }

  // Entries whose values are places in the table of strings, which is known when all have been seen.
  struct DynamicTexts {
    std::vector<std::uint64_t> needed;
    std::optional<std::uint64_t> soname, runpath, rpath;
  };

  void Note(const Elf64_Dyn& entry, DynamicTexts& texts) {
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_NEEDED:
        texts.needed.push_back(value);
        break;
      case DT_SONAME:
        texts.soname = value;
        break;
      case DT_RUNPATH:
        texts.runpath = value;
        break;
      case DT_RPATH:
        texts.rpath = value;
        break;
      case DT_FLAGS:
        file_.flags = value;
        break;
      case DT_FLAGS_1:
        file_.flags_1 = value;
        break;
      case DT_STRTAB:
        strings_address_ = value;
        break;
      case DT_STRSZ:
        strings_bytes_ = value;
        break;
      case DT_SYMTAB:
        symbols_address_ = value;
        break;
      case DT_SYMENT:
        symbol_bytes_ = value;
        break;
      case DT_HASH:
        hash_address_ = value;
        break;
      case DT_GNU_HASH:
        gnu_hash_address_ = value;
        break;
      case DT_VERNEED:
        versions_address_ = value;
        break;
      case DT_VERNEEDNUM:
        version_files_ = value;
        break;
      case DT_TEXTREL:
        file_.text_relocations = true;
        break;
      default:
        break;
    }
  }

  bool ReadDynamic() {
    const auto dynamic = std::find_if(segments_.begin(), segments_.end(),
                                      [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
    if (dynamic == segments_.end()) return Fail(ElfProblem::kMalformed, "it has no dynamic section");
    const std::uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
    if (count > kMaxDynamicEntries)
      return Fail(ElfProblem::kMalformed, fmt::format("it has {} dynamic entries", count));
    std::vector<Elf64_Dyn> entries(count);
    if (!source_.Read(dynamic->p_offset, entries.data(), count * sizeof(Elf64_Dyn))) {
      return Fail(ElfProblem::kUnreadable, "its dynamic section cannot be read");
    }
    DynamicTexts texts;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      Note(entry, texts);
    }
    file_.static_tls = (file_.flags & DF_STATIC_TLS) != 0;
    if ((file_.flags & DF_TEXTREL) != 0) file_.text_relocations = true;
    if (!ReadStrings()) return false;
    for (const std::uint64_t offset : texts.needed) {
      if (!String(offset, &file_.needed.emplace_back())) return BadString();
    }
    if (texts.soname && !String(*texts.soname, &file_.soname)) return BadString();
    const auto runpath = texts.runpath ? texts.runpath : texts.rpath;
    if (runpath && !String(*runpath, &file_.runpath)) return BadString();
    return ReadVersions() && (!with_symbols_ || ReadSymbols());
  }

  // A list per library that is needed, each with a list of versions; both linked by distances.
  bool ReadVersions() {
    if (version_files_ == 0) return true;
    const auto range = FileRange(versions_address_);
    if (!range) return Fail(ElfProblem::kMalformed, "its table of versions lies outside the file");
    const auto damaged = [this] { return Fail(ElfProblem::kMalformed, "its table of versions is damaged"); };
    std::uint64_t file_at = 0, entries = 0;
    for (std::uint64_t i = 0; i < version_files_; ++i) {
      if (file_at + sizeof(Elf64_Verneed) > range->second) return damaged();
      const auto file = At<Elf64_Verneed>(range->first + file_at);
      if (!file) return damaged();
      std::uint64_t at = file_at + file->vn_aux;
      for (std::uint32_t k = 0; k < file->vn_cnt; ++k) {
        if (at + sizeof(Elf64_Vernaux) > range->second || ++entries > kMaxDynamicEntries) return damaged();
        const auto version = At<Elf64_Vernaux>(range->first + at);
        if (!version) return damaged();
        if (!String(version->vna_name, &file_.needed_versions.emplace_back())) return BadString();
        if (version->vna_next == 0) break;
        at += version->vna_next;
      }
      if (file->vn_next == 0) break;
      file_at += file->vn_next;
    }
    return true;
  }

  bool BadString() { return Fail(ElfProblem::kMalformed, "a name lies outside its string table"); }

  bool ReadStrings() {
    if (strings_bytes_ == 0) return true;
    const auto range = FileRange(strings_address_);
    if (!range || strings_bytes_ > range->second || strings_bytes_ > kMaxStringTable) {
      return Fail(ElfProblem::kMalformed, "its string table lies outside the file");
    }
    strings_.resize(strings_bytes_);
    if (!source_.Read(range->first, strings_.data(), strings_bytes_)) {
      return Fail(ElfProblem::kUnreadable, "its string table cannot be read");
    }
    return true;
  }

  bool String(std::uint64_t offset, std::string* out) const {
    if (offset >= strings_.size()) return false;
    const char* begin = strings_.data() + offset;
    const void* end = std::memchr(begin, 0, strings_.size() - offset);
    if (end == nullptr) return false;
    out->assign(begin, static_cast<const char*>(end));
    return true;
  }

  bool ReadSymbols() {
    if (symbols_address_ == 0) return true;
    if (symbol_bytes_ != sizeof(Elf64_Sym)) {
      return Fail(ElfProblem::kMalformed, fmt::format("its symbols have {} bytes each", symbol_bytes_));
    }
    const auto range = FileRange(symbols_address_);
    if (!range) return Fail(ElfProblem::kMalformed, "its symbol table lies outside the file");
    const std::optional<std::uint64_t> count = CountSymbols();
    if (!count) return Fail(ElfProblem::kMalformed, "its symbol hash table is damaged");
    if (*count > kMaxSymbols || *count > range->second / sizeof(Elf64_Sym)) {
      return Fail(ElfProblem::kMalformed, fmt::format("its {} symbols do not fit into the file", *count));
    }
    std::vector<Elf64_Sym> table(*count);
    if (!source_.Read(range->first, table.data(), *count * sizeof(Elf64_Sym))) {
      return Fail(ElfProblem::kUnreadable, "its symbol table cannot be read");
    }
    for (std::size_t i = 1; i < table.size(); ++i) {
      if (!AddSymbol(table[i])) return false;
    }
    return true;
  }

  bool AddSymbol(const Elf64_Sym& entry) {
    const unsigned char binding = ELF64_ST_BIND(entry.st_info);
    if (binding == STB_LOCAL) return true;
    ElfSymbol symbol;
    if (!String(entry.st_name, &symbol.name)) return BadString();
    symbol.defined = entry.st_shndx != SHN_UNDEF;
    symbol.weak = binding == STB_WEAK;
    symbol.unique = binding == STB_GNU_UNIQUE;
    symbol.function = ELF64_ST_TYPE(entry.st_info) == STT_FUNC;
    const unsigned char visibility = ELF64_ST_VISIBILITY(entry.st_other);
    if (symbol.defined && (visibility == STV_HIDDEN || visibility == STV_INTERNAL)) return true;
    if (!symbol.name.empty()) file_.symbols.push_back(std::move(symbol));
    return true;
  }

  // The symbol table has no length of its own; both hash tables tell it.
  std::optional<std::uint64_t> CountSymbols() const {
    if (hash_address_ != 0) {
      const auto range = FileRange(hash_address_);
      if (!range || range->second < 8) return std::nullopt;
      const auto chains = At<std::uint32_t>(range->first + 4);
      if (!chains) return std::nullopt;
      return *chains;
    }
    if (gnu_hash_address_ != 0) return CountGnuSymbols();
    return 0;
  }

  std::optional<std::uint64_t> CountGnuSymbols() const {
    const auto range = FileRange(gnu_hash_address_);
    std::uint32_t head[4];  // buckets, first symbol, bloom words, shift
    if (!range || range->second < sizeof(head) || !source_.Read(range->first, head, sizeof(head))) return std::nullopt;
    const std::uint64_t buckets_at = sizeof(head) + std::uint64_t{head[2]} * 8;
    const std::uint64_t chains_at = buckets_at + std::uint64_t{head[0]} * 4;
    if (chains_at > range->second) return std::nullopt;
    std::vector<std::uint32_t> buckets(head[0]);
    if (!source_.Read(range->first + buckets_at, buckets.data(), buckets.size() * 4)) return std::nullopt;
    const std::uint64_t last = buckets.empty() ? 0 : *std::max_element(buckets.begin(), buckets.end());
    if (last == 0) return head[1];  // nothing defined; undefined symbols come first
    if (last < head[1]) return std::nullopt;
    for (std::uint64_t index = last;; ++index) {
      const std::uint64_t at = chains_at + (index - head[1]) * 4;
      if (at + 4 > range->second) return std::nullopt;
      const auto value = At<std::uint32_t>(range->first + at);
      if (!value) return std::nullopt;
      if ((*value & 1U) != 0) return index + 1;
    }
  }

  const ByteSource& source_;
  const bool with_symbols_;
  ElfFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<char> strings_;
  std::uint64_t strings_address_ = 0, strings_bytes_ = 0;
  std::uint64_t symbols_address_ = 0, symbol_bytes_ = sizeof(Elf64_Sym);
  std::uint64_t hash_address_ = 0, gnu_hash_address_ = 0;
  std::uint64_t versions_address_ = 0, version_files_ = 0;
};

}  // namespace

std::uint16_t HostElfMachine() {
#if defined(__x86_64__)
  return kElfMachineX86_64;
#elif defined(__aarch64__)
  return kElfMachineAarch64;
#else
#error "This processor has no entry here."
#endif
}

std::string ElfMachineName(std::uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit ARM";
    case EM_PPC64:
      return "PowerPC 64";
    case EM_S390:
      return "S390";
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    default:
      return fmt::format("machine {}", machine);
  }
}

const ElfNote* ElfFile::FindNote(const std::string& name, std::uint32_t note_type) const {
  for (const ElfNote& note : notes) {
    if (note.type == note_type && note.name == name) return &note;
  }
  return nullptr;
}

bool ElfFile::Defines(const std::string& name) const {
  return std::any_of(symbols.begin(), symbols.end(),
                     [&name](const ElfSymbol& symbol) { return symbol.defined && symbol.name == name; });
}

ElfFile ParseElf(std::span<const std::uint8_t> bytes, bool with_symbols) {
  return Parser(MemorySource(bytes), with_symbols).Run();
}

ElfFile ReadElf(int descriptor, bool with_symbols) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || info.st_size < 0) {
    ElfFile file;
    file.problem = ElfProblem::kUnreadable;
    file.detail = std::strerror(errno);
    return file;
  }
  return Parser(DescriptorSource(descriptor, static_cast<std::uint64_t>(info.st_size)), with_symbols).Run();
}

}  // namespace tenon
