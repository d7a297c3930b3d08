#include "core/platform/elf_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/platform/file_identity.h"
#include "core/platform/library_search.h"
#include "tests/support/elf_image.h"

namespace tenon {
namespace {

using testing_support::ElfImage;
using testing_support::MakeElfImage;

ElfFile Parse(const std::string& bytes) {
  return ParseElf({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// Changes a field of the image in place.
template <class T>
std::string With(const ElfImage& image, std::size_t offset, T value) {
  std::string bytes = image.bytes;
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

TEST(ElfFile, ReadsNotesDependenciesAndSymbols) {
  const ElfFile file = Parse(MakeElfImage("hello").bytes);
  ASSERT_EQ(file.problem, ElfProblem::kNone) << file.detail;
  EXPECT_EQ(file.build_id, "01020304");
  const ElfNote* note = file.FindNote("Tenon", 1);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(std::string(note->descriptor.begin(), note->descriptor.end()), "hello");
  EXPECT_EQ(file.FindNote("Tenon", 2), nullptr);
  EXPECT_EQ(file.needed, (std::vector<std::string>{"libone.so", "libtwo.so.2"}));
  EXPECT_EQ(file.soname, "self.so");
  EXPECT_EQ(file.runpath, "$ORIGIN/lib");
  EXPECT_TRUE(file.static_tls);
  ASSERT_EQ(file.symbols.size(), 2U);
  EXPECT_TRUE(file.Defines("tenon_plugin_query_v1"));
  EXPECT_FALSE(file.Defines("malloc"));
  EXPECT_EQ(ParseElf({}, true).problem, ElfProblem::kEmpty);
}

TEST(ElfFile, EveryShorterFileIsTruncatedOrHasNoMagic) {
  const std::string whole = MakeElfImage("hello").bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ElfFile file = Parse(whole.substr(0, size));
    EXPECT_TRUE(file.problem == ElfProblem::kTruncated || file.problem == ElfProblem::kEmpty ||
                (size < 4 && file.problem == ElfProblem::kNotElf))
        << size << ": " << file.detail;
  }
}

TEST(ElfFile, NamesWhatIsWrong) {
  const ElfImage image = MakeElfImage("hello");
  EXPECT_EQ(Parse(With<unsigned char>(image, EI_CLASS, ELFCLASS32)).problem, ElfProblem::kWrongClass);
  EXPECT_EQ(Parse(With<unsigned char>(image, EI_DATA, ELFDATA2MSB)).problem, ElfProblem::kWrongClass);
  const ElfFile other = Parse(With<Elf64_Half>(image, offsetof(Elf64_Ehdr, e_machine), EM_RISCV));
  EXPECT_EQ(other.problem, ElfProblem::kWrongMachine);
  EXPECT_EQ(other.detail, "it is built for RISC-V");
  EXPECT_EQ(Parse(With<Elf64_Half>(image, offsetof(Elf64_Ehdr, e_type), ET_EXEC)).problem, ElfProblem::kNotShared);
  EXPECT_EQ(Parse(With<Elf64_Half>(image, offsetof(Elf64_Ehdr, e_phnum), 0)).problem, ElfProblem::kMalformed);
  EXPECT_EQ(Parse(With<Elf64_Off>(image, offsetof(Elf64_Ehdr, e_phoff), ~Elf64_Off{0} - 8)).problem,
            ElfProblem::kTruncated);
  // Sizes that would overflow a sum.
  const std::size_t load = sizeof(Elf64_Ehdr);
  EXPECT_EQ(Parse(With<Elf64_Xword>(image, load + offsetof(Elf64_Phdr, p_filesz), ~Elf64_Xword{0})).problem,
            ElfProblem::kTruncated);
  EXPECT_EQ(Parse(With<std::uint32_t>(image, image.notes_at, 0xffffffffU)).problem, ElfProblem::kMalformed);
  EXPECT_EQ(Parse(With<Elf64_Xword>(image, image.dynamic_at + 8, 100000)).problem,
            ElfProblem::kMalformed);  // name of the first NEEDED
  EXPECT_EQ(Parse(With<Elf64_Word>(image, image.symbols_at + sizeof(Elf64_Sym), 100000)).problem,
            ElfProblem::kMalformed);
}

TEST(ElfFile, ReadsTheRunningProgramsOwnLibraries) {
  Result<OpenedFile> file = OpenedFile::Open("/lib/x86_64-linux-gnu/libc.so.6");
  if (!file.ok()) GTEST_SKIP() << "no C library at the usual place: " << file.status().message();
  const ElfFile elf = ReadElf(file->descriptor());
  EXPECT_EQ(elf.problem, ElfProblem::kNone) << elf.detail;
  EXPECT_TRUE(elf.Defines("malloc"));
  EXPECT_EQ(elf.soname, "libc.so.6");
}

TEST(LibrarySearch, FindsWhatIsThereAndNamesWhatIsNot) {
  ElfFile file = Parse(MakeElfImage("").bytes);
  file.needed = {"libc.so.6", "libtenon_no_such_library.so.3"};
  const std::vector<MissingLibrary> missing = FindMissingLibraries(file, "/opt/plugins/self.so");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].name, "libtenon_no_such_library.so.3");
  EXPECT_EQ(missing[0].chain, std::vector<std::string>{"self.so"});
  EXPECT_NE(std::find(missing[0].folders.begin(), missing[0].folders.end(), "/opt/plugins/lib"),
            missing[0].folders.end());
}

}  // namespace
}  // namespace tenon
