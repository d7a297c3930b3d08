#include "core/platform/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/platform/append_file.h"
#include "core/platform/mapped_file.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::CountFiles;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;

TEST(AtomicFile, AppearsOnlyWhenComplete) {
  TempFolder folder;
  const std::string path = folder / "a.txt";
  WriteFile(path, "old");
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append("new").ok());
    EXPECT_EQ(ReadFile(path), "old");
  }
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(CountFiles(folder.path()), 1);
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(AtomicFile, LargeAndSmallPiecesKeepTheirOrder) {
  TempFolder folder;
  auto file = AtomicFile::Create(folder / "a");
  ASSERT_TRUE(file.ok());
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 4 == 0 ? 300000 : 1000 * i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(file->Append(piece).ok());
    expected += piece;
  }
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadFile(folder / "a"), expected);
}

TEST(AtomicFile, ErrorsNamePathAndCause) {
  TempFolder folder;
  const auto missing = AtomicFile::Create(folder / "no/such/a.ckpt");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("no/such/a.ckpt' failed: No such file or directory"), std::string::npos);
  const auto is_folder = AtomicFile::Create(folder.path());
  ASSERT_FALSE(is_folder.ok());
  EXPECT_EQ(is_folder.status().code(), Code::kInvalidArgument);
  if (geteuid() != 0) {
    chmod(folder.path().c_str(), 0500);
    const auto denied = AtomicFile::Create(folder / "a");
    chmod(folder.path().c_str(), 0700);
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.status().code(), Code::kPermissionDenied);
  }
}

// In a child process, since the limit stays.
TEST(AtomicFile, AFullDiskIsAnErrorAndTheOldFileStays) {
  TempFolder folder;
  const std::string path = folder / "a.ckpt";
  WriteFile(path, "old");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Status status = WriteFileAtomically(path, std::string(1000000, 'x'));
    const bool right = status.code() == Code::kResourceExhausted && status.message().find(path) != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(AtomicFile, TemporariesOfDeadWritersAreRemoved) {
  TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto file = AtomicFile::Create(folder / "a.ckpt");
    _exit(file.ok() && file->Append(std::string(500000, 'x')).ok() ? 0 : 1);  // no destructor runs
  }
  int result = -1;
  waitpid(child, &result, 0);
  ASSERT_EQ(result, 0);
  EXPECT_EQ(CountFiles(folder.path()), 1);
  WriteFile(folder / ".hidden", "stays");
  auto living = AtomicFile::Create(folder / "b.ckpt");
  ASSERT_TRUE(living.ok());
  EXPECT_EQ(CountFiles(folder.path()), 2);  // .hidden and the temporary file of b.ckpt
  EXPECT_EQ(RemoveAbandonedTemporaries(folder.path()), 0);
  ASSERT_TRUE(living->Append("b").ok());
  ASSERT_TRUE(living->Commit().ok());
  EXPECT_EQ(ReadFile(folder / "b.ckpt"), "b");
}

TEST(MappedFile, ReadsWholeFiles) {
  TempFolder folder;
  WriteFile(folder / "a", "text");
  const auto file = MappedFile::Open(folder / "a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes().size(), 4U);
  EXPECT_EQ(file->bytes()[1], 'e');
  WriteFile(folder / "empty", "");
  EXPECT_TRUE(MappedFile::Open(folder / "empty")->bytes().empty());
  EXPECT_EQ(MappedFile::Open(folder / "none").status().code(), Code::kNotFound);
  EXPECT_FALSE(MappedFile::Open(folder.path()).ok());
}

TEST(AppendFile, Grows) {
  TempFolder folder;
  {
    auto file = AppendFile::Open(folder / "a", true);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append("one\n").ok());
  }
  auto file = AppendFile::Open(folder / "a", false);
  ASSERT_TRUE(file->Append("two\n").ok());
  EXPECT_EQ(ReadFile(folder / "a"), "one\ntwo\n");
  EXPECT_TRUE(AppendFile().Append("dropped").ok());
}

}  // namespace
}  // namespace tenon
