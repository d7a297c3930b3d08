// Wrong calls of `tenon`: what they say on standard error, and that they end with 2.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "tests/support/tool_run.h"

namespace tenon {
namespace {

using testing_support::TempFolder;
using testing_support::ToolPath;
using testing_support::WriteFile;

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
  const std::string program = ToolPath("tenon") + " " + arguments;
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
  const TempFolder folder;
  WriteFile(folder / "copy.yaml", first.out);
  EXPECT_EQ(Call("config show " + folder / "copy.yaml").out, first.out);
}

// Traces and tables write a dot, graphs two colons.
TEST(CliErrors, OperatorsHaveBothSpellings) {
  const Answer dot = Call("op info tenon.SGD"), colons = Call("op info tenon::SGD");
  EXPECT_EQ(dot.code, 0) << dot.err;
  EXPECT_EQ(dot.out, colons.out);
  EXPECT_EQ(dot.out.rfind("tenon::SGD(", 0), 0U) << dot.out;
}

TEST(CliErrors, ADoctorOfSeveralNeedsALauncher) {
  for (const char* command : {"doctor net", "doctor barrier"}) {
    const Answer answer = Call(command);
    EXPECT_EQ(answer.code, 2) << command;
    EXPECT_NE(answer.out.find("msrun --worker_num=2 --local_worker_num=2"), std::string::npos) << answer.out;
  }
}

// Half an answer must not pass for a whole one.
TEST(CliErrors, FullStandardOutputIsAFailure) {
  for (const char* arguments :
       {"op list --json", "op info Conv", "config schema", "config show configs/train/lenet_digits.yaml", "--version",
        "--help", "plugin list --json"}) {
    int code = -1;
    const std::string err = Drain(ToolPath("tenon") + " " + arguments + " 2>&1 >/dev/full", code);
    EXPECT_EQ(code, 1) << arguments;
    EXPECT_EQ(err.rfind("error: The standard output cannot be written", 0), 0U) << arguments << err;
  }
}

void ExpectFailure(const std::string& arguments, int code, const std::string& part) {
  const Answer answer = Call(arguments);
  EXPECT_EQ(answer.code, code) << arguments;
  EXPECT_NE(answer.err.find(part), std::string::npos) << answer.err;
}

// More memory than any machine has: 10^16 and more bytes.
TEST(CliErrors, TooLittleMemoryIsTold) {
  const TempFolder folder;
  const std::string graph = folder / "large.ir", run = folder / "large.yaml";
  WriteFile(graph,
            "graph g {\n  %c: f32[10000000000000000] constant = tensor f32[10000000000000000]{0}\n  %x: f32[1] input\n"
            "  %y = Add(%x, %c) : f32[10000000000000000]\n  return %y\n}\n");
  ExpectFailure("graph show " + graph, 1,
                "error: There is not enough memory: a tensor of 40000000.0 GB was asked for.");
  WriteFile(run,
            "name: large\nnetwork: {layers: [flatten, {linear: {out: 3}}]}\n"
            "data: {type: synthetic, samples: 10000000000000000, image: {shape: [1, 4, 4]}, "
            "classes: 3}\ntrain: {epochs: 1}\n");
  ExpectFailure("train --dry-run " + run, 1,
                "Synthetic data of 10000000000000000 samples need 80000000.0 GB for their order; this machine has ");
  ExpectFailure("train --dry-run " + run +
                    " --set 'data={type: synthetic, samples: 1048576, image: {shape: [1, 4096, 4096]}, classes: 3, "
                    "batch: 1048576}'",
                1, "A batch of 1048576 samples float32[1,4096,4096] takes 70368.7 GB, and ");
}

// 4 * 2^62 elements wrap around to 0 in 64 bits.
TEST(CliErrors, ShapesDoNotWrapAround) {
  const TempFolder folder;
  const std::string graph = folder / "wraps.ir";
  WriteFile(graph,
            "graph g {\n  %x: f32[4,4611686018427387904] input\n"
            "  %y = Concat(%x, %x, %x, %x) {axis=1} : f32[4,0]\n  return %y\n}\n");
  ExpectFailure("graph show " + graph, 2, "Input 0 has shape [4,4611686018427387904]: that is more than 2^62 bytes.");
}

}  // namespace
}  // namespace tenon
