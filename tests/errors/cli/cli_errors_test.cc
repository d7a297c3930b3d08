// Wrong calls of `tenon`: what they say on standard error, and that they end with 2.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tenon {
namespace {

struct Answer {
  int code = -1;
  std::string out;  // standard output
  std::string err;  // standard error
};

std::string Drain(const std::string& command, int& code) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  const int status = pclose(pipe);
  code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return text;
}

Answer Call(const std::string& arguments) {
  const char* build = std::getenv("TENON_BUILD_DIR");
  const std::string program = std::string(build != nullptr ? build : "build/dev") + "/bin/tenon " + arguments;
  Answer answer;
  answer.err = Drain(program + " 2>&1 >/dev/null", answer.code);
  answer.out = Drain(program + " 2>/dev/null", answer.code);
  return answer;
}

void ExpectError(const std::string& arguments, const std::string& text) {
  const Answer answer = Call(arguments);
  EXPECT_EQ(answer.code, 2) << arguments;
  EXPECT_EQ(answer.err, text) << arguments;
  EXPECT_EQ(answer.out, "") << arguments;
}

TEST(CliErrors, CommandsAreNamed) {
  ExpectError("trian", "error: Unknown command 'trian'. Did you mean 'train'?\nSee tenon --help.\n");
  ExpectError("config", "error: A command is missing. Known commands: show and schema.\nSee tenon config --help.\n");
  ExpectError("config shwo a.yaml", "error: Unknown command 'shwo'. Did you mean 'show'?\nSee tenon config --help.\n");
}

TEST(CliErrors, FlagsAreNamed) {
  ExpectError(
      "config show --jsn a.yaml",
      "error: The following argument was not expected: --jsn. Did you mean --json?\nSee tenon config show --help.\n");
  ExpectError("config show", "error: CONFIG is required.\nSee tenon config show --help.\n");
}

TEST(CliErrors, ConfigShowEndsWith2) {
  ExpectError("config show nowhere.yaml", "error: The config file 'nowhere.yaml' does not exist.\n");
  ExpectError("config show tests", "error: 'tests' is a folder, and a config is a file.\n");
  ExpectError("config show configs/train/lenet_digits.yaml --set train.epochs=0 --set optimizer.lrr=1",
              "--set optimizer.lrr=1: error: Unknown key 'optimizer.lrr'. Did you mean 'lr'?\n"
              "--set train.epochs=0: error: 'train.epochs' must be at least 1, but is 0.\n");
}

TEST(CliErrors, WhatIsPrintedReadsBack) {
  const Answer first = Call("config show configs/train/lenet_digits.yaml --set train.epochs=3");
  EXPECT_EQ(first.code, 0);
  const std::string copy = testing::TempDir() + "tenon_cli_copy.yaml";
  std::FILE* file = std::fopen(copy.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fwrite(first.out.data(), 1, first.out.size(), file);
  std::fclose(file);
  EXPECT_EQ(Call("config show " + copy).out, first.out);
  std::remove(copy.c_str());
}

}  // namespace
}  // namespace tenon
