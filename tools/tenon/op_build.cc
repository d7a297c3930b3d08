#include "tools/tenon/op_build.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/base/env.h"
#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_precheck.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestMs = 600'000;

// The folder with include/ and cmake/ of the plugin interface: beside the installed program, or in the source tree.
std::string InterfaceFolder() {
  const fs::path beside = fs::path(ExecutableFolder()) / ".." / "share" / "tenon" / "plugin_api";
  if (fs::exists(beside)) return beside.lexically_normal().string();
  return TENON_PLUGIN_API_SOURCE;
}

Result<ChildResult> Call(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  return RunInChild(
      [&](int write_descriptor) {
        ::dup2(write_descriptor, STDOUT_FILENO);
        ::dup2(write_descriptor, STDERR_FILENO);
        ::execvp(argv[0], argv.data());
        return 127;
      },
      kLongestMs);
}

Status NotCompiled(const std::vector<std::string>& words, const ChildResult& result) {
  if (result.exited && result.exit_code == 127 && result.output.empty())
    return Error(Code::kNotFound, "The compiler '{}' is not found. Install one, or name it with --compiler.", words[0]);
  const std::string how = result.timed_out ? "took too long"
                          : result.exited  ? fmt::format("ended with {}", result.exit_code)
                                           : "was ended by " + SignalName(result.signal);
  return InvalidArgument("{} is not compiled; {} {}:\n{}", words.back(), words[0], how, result.output);
}

// The flags that tenon_add_plugin sets.
std::vector<std::string> CompilerCall(const std::string& compiler, bool gcc, const std::string& source,
                                      const std::string& output) {
  const std::string api = InterfaceFolder();
  std::vector<std::string> words = {compiler,
                                    "-std=c++17",
                                    "-O2",
                                    "-DNDEBUG",
                                    "-fPIC",
                                    "-shared",
                                    "-fvisibility=hidden",
                                    "-fvisibility-inlines-hidden",
                                    "-Wall",
                                    "-Wextra",
                                    "-Wshadow",
                                    "-Wconversion",
                                    "-I" + api + "/include",
                                    "-Wl,--version-script=" + api + "/cmake/tenon_plugin.map",
                                    "-Wl,-z,now",
                                    "-Wl,-z,relro",
                                    "-Wl,-z,defs",
                                    "-Wl,--exclude-libs,ALL",
                                    "-Wl,--build-id=sha1"};
  if (gcc) words.insert(words.end(), {"-fno-gnu-unique"});
  words.insert(words.end(), {"-o", output, source});
  return words;
}

// Compiles, and reads the note of what came out as a host would.
Status BuildIn(const fs::path& output, const std::string& compiler, bool gcc, const OpBuildOptions& options) {
  const std::vector<std::string> words = CompilerCall(compiler, gcc, options.source, output.string());
  if (options.verbose) std::fprintf(stderr, "%s\n", Join(words, " ").c_str());
  TENON_ASSIGN(const ChildResult result, Call(words));
  if (!result.exited || result.exit_code != 0) return NotCompiled(words, result);
  std::fputs(result.output.c_str(), stderr);  // warnings
  return PrecheckPlugin({fs::absolute(output).string(), PluginOrigin::kLoadPath, {}, {}}, TrustPolicy::kOff).status;
}

Status Build(const OpBuildOptions& options) {
  TENON_INVALID_IF(!fs::is_regular_file(options.source), "{} is no file.", options.source);
  const fs::path output =
      options.output.empty() ? fs::path(options.source).replace_extension(".so") : fs::path(options.output);
  TENON_INVALID_IF(output == fs::path(options.source), "The output {} is the source itself.", output.string());
  std::string compiler = options.compiler;
  if (compiler.empty()) compiler = GetEnv("CXX").value_or("");
  if (compiler.empty()) compiler = "c++";

  const std::vector<std::string> ask = {compiler, "--version"};
  TENON_ASSIGN(const ChildResult version, Call(ask));
  if (!version.exited || version.exit_code != 0) return NotCompiled(ask, version);
  const bool gcc = version.output.find("clang") == std::string::npos;

  // Built in a folder beside the output, so that a file which cannot be used replaces none that can.
  const fs::path folder = output.parent_path() / fmt::format(".op_build-{}", ::getpid());
  std::error_code failed;
  fs::create_directory(folder, failed);
  TENON_INVALID_IF(failed, "{} cannot be made: {}.", folder.string(), failed.message());
  const Status built = BuildIn(folder / output.filename(), compiler, gcc, options);
  if (built.ok()) fs::rename(folder / output.filename(), output, failed);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  TENON_TRY(built);
  TENON_INVALID_IF(failed, "{} cannot be written: {}.", output.string(), failed.message());
  std::printf("%s\n", output.string().c_str());
  return {};
}

}  // namespace

int RunOpBuild(const OpBuildOptions& options) { return cli::Report(Build(options)); }

}  // namespace tenon
