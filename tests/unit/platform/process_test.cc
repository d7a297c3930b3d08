#include "core/platform/process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/platform/cpu_features.h"
#include "core/platform/dynamic_library.h"
#include "core/platform/file_identity.h"
#include "core/platform/file_trust.h"
#include "core/platform/process_state.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;
using testing_support::WriteFile;

TEST(DynamicLibrary, FolderOfCodeIsThatOfItsFile) {
  static const char here = 0;
  EXPECT_EQ(FolderOfCode(&here), ExecutableFolder());
  const std::string libc = FolderOfCode(reinterpret_cast<const void*>(&::getpid));
  EXPECT_TRUE(fs::exists(fs::path(libc) / "libc.so.6")) << libc;
  int on_stack = 0;
  EXPECT_EQ(FolderOfCode(&on_stack), "");
}

TEST(Process, PeakIsSmallAtStart) { EXPECT_LT(PeakResidentMemory(), 192 << 20); }

TEST(Process, PeakDoesNotGoOnFromTheProgramBefore) {
  const std::vector<char> large(256 << 20, 1);
  ASSERT_GE(PeakResidentMemory(), static_cast<std::int64_t>(large.size()));
  const pid_t child = fork();
  if (child == 0) {
    const std::string self = ExecutablePath();
    execl(self.c_str(), self.c_str(), "--gtest_filter=Process.PeakIsSmallAtStart", nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, KnowsItself) {
  EXPECT_EQ(FileName(ExecutablePath()), "unit_platform_process_test");
  EXPECT_EQ(ExecutablePath(), ExecutableFolder() + "/unit_platform_process_test");
  EXPECT_GE(UsableCores(), 1);
  EXPECT_FALSE(IsSecureExec());
  const std::int64_t before = MonotonicNs();
  EXPECT_LE(before, MonotonicNs());
  EXPECT_GT(MonotonicRawNs(), 0);
}

TEST(Process, ChildrenAreToldApart) {
  Result<ChildResult> done = RunInChild(
      [](int descriptor) {
        const bool wrote = ::write(descriptor, "text", 4) == 4;
        return wrote ? 7 : 8;
      },
      10000);
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(done->exited);
  EXPECT_EQ(done->exit_code, 7);
  EXPECT_EQ(done->output, "text");
  Result<ChildResult> killed = RunInChild(
      [](int) {
        ::signal(SIGILL, SIG_DFL);
        return ::raise(SIGILL);
      },
      10000);
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(killed->signal, SIGILL);
  EXPECT_EQ(SignalName(SIGILL), "SIGILL (Illegal instruction)");
  Result<ChildResult> slow = RunInChild([](int) { return static_cast<int>(::sleep(60)); }, 50);
  ASSERT_TRUE(slow.ok());
  EXPECT_TRUE(slow->timed_out);
}

TEST(Process, EnvironmentDefaultsDoNotOverwrite) {
  ::unsetenv("TENON_TEST_DEFAULT");
  SetEnvDefault("TENON_TEST_DEFAULT", "first");
  SetEnvDefault("TENON_TEST_DEFAULT", "second");
  EXPECT_STREQ(std::getenv("TENON_TEST_DEFAULT"), "first");
}

TEST(FileIdentity, PathsToOneFileAreEqual) {
  const TempFolder folder;
  WriteFile(folder / "a", "x");
  fs::create_symlink(folder / "a", folder / "b");
  fs::copy_file(folder / "a", folder / "c");
  EXPECT_EQ(*IdentityOf(folder / "a"), *IdentityOf(folder / "b"));
  EXPECT_FALSE(*IdentityOf(folder / "a") == *IdentityOf(folder / "c"));
  EXPECT_EQ(IdentityOf(folder / "d").status().code(), Code::kNotFound);
  EXPECT_EQ(OpenedFile::Open(folder.path()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(AbsolutePath("./x/../y.so", "/opt/run"), "/opt/run/y.so");
  EXPECT_EQ(AbsolutePath("/a//b/", "/opt"), "/a/b");
  EXPECT_EQ(*ListFolder(folder.path()), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(FileTrust, FindsWhatOthersCouldChange) {
  const TempFolder folder;
  const std::string inner = folder / "inner";
  fs::create_directory(inner);
  WriteFile(inner + "/x.so", "x");
  const auto findings = [&] {
    Result<OpenedFile> file = OpenedFile::Open(inner + "/x.so");
    EXPECT_TRUE(file.ok());
    return CheckTrust(*file, *RealPath(inner + "/x.so"));
  };
  ASSERT_EQ(::chmod((inner + "/x.so").c_str(), 0644), 0);
  ASSERT_TRUE(findings().empty()) << findings().front().path << " " << findings().front().reason;
  ASSERT_EQ(::chmod((inner + "/x.so").c_str(), 0666), 0);
  EXPECT_EQ(findings().front().kind, TrustFinding::Kind::kFileWritable);
  ASSERT_EQ(::chmod((inner + "/x.so").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(inner.c_str(), 0777), 0);
  EXPECT_EQ(findings().front().kind, TrustFinding::Kind::kFolderWritable);
  ASSERT_EQ(::chmod(inner.c_str(), 01777), 0);  // sticky: nobody can replace another's file
  EXPECT_TRUE(findings().empty());
  EXPECT_TRUE(IsSystemPath("/usr/lib/tenon/plugins/x.so"));
  EXPECT_FALSE(IsSystemPath("/usrlocal/x.so"));
}

TEST(DynamicLibrary, KeepsTheLinkersText) {
  EXPECT_EQ(DynamicLibrary::Open("libm.so.6").status().code(), Code::kInvalidArgument);  // never by a bare name
  const TempFolder folder;
  WriteFile(folder / "text.so", "text");
  const Status status = DynamicLibrary::Open(folder / "text.so").status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("text.so: file too short"), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("Bad file descriptor"), std::string::npos) << status.message();
}

TEST(ProcessState, TellsWhatChanged) {
  const ProcessState before = CaptureProcessState();
  EXPECT_TRUE(DescribeChanges(before, CaptureProcessState(), true).empty());
  auto* old = ::signal(SIGUSR1, SIG_IGN);
  const std::vector<std::string> changes = DescribeChanges(before, CaptureProcessState(), true);
  ::signal(SIGUSR1, old);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0], "it changed the handler of SIGUSR1 (User defined signal 1)");
}

TEST(CpuFeatures, AgreeWithTheCompilersView) {
#if defined(__x86_64__)
  EXPECT_EQ(HasCpuFeature("avx2"), __builtin_cpu_supports("avx2") != 0);
#endif
  EXPECT_FALSE(HasCpuFeature("no_such_feature"));
}

}  // namespace
}  // namespace tenon
