#include "tools/conform/kit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/base/text.h"
#include "core/platform/file_identity.h"
#include "core/platform/process.h"
#include "tools/cli/cli.h"
#include "tools/conform/exceptions.h"
#include "tools/conform/perf.h"
#include "tools/conform/report.h"
#include "tools/conform/runner.h"

namespace tenon::conform {
namespace {

constexpr int kFailed = 1;
constexpr int kNotLoaded = 3;
// Cases up to this one run also when the plugin does not load: they may say why.
constexpr int kLastLoadCase = 15;

Result<std::vector<const Case*>> Chosen(const std::vector<std::string>& only) {
  std::vector<const Case*> chosen;
  for (const Case& row : Cases()) {
    if (only.empty()) chosen.push_back(&row);
  }
  for (const std::string& text : only) {
    const std::size_t before = chosen.size();
    if (const Case* one = FindCase(text)) chosen.push_back(one);
    for (const Case& row : Cases()) {
      if (text == row.level) chosen.push_back(&row);
    }
    if (chosen.size() == before) return InvalidArgument("There is no case or level '{}'; --list prints all.", text);
  }
  return chosen;
}

Result<std::map<std::string, std::string>> Exceptions(const KitOptions& options, const std::string& plugin) {
  if (!options.exceptions.empty()) return ReadExceptions(options.exceptions);
  const std::string beside = ExceptionsBeside(plugin);
  if (::access(beside.c_str(), F_OK) != 0) return std::map<std::string, std::string>();
  return ReadExceptions(beside);
}

// Runs one case with a record of its calls, and prints both.
int Reproduce(const Case& which, CaseSettings settings) {
  char record[] = "/tmp/tenon_conform_record_XXXXXX";
  const int file = ::mkstemp(record);
  if (file < 0) return cli::Report(Error(Code::kUnavailable, "No file for the record of calls could be made."));
  ::close(file);
  settings.record = record;
  const CaseResult result = RunCase(which, settings);
  std::ifstream calls(record);
  const std::string text((std::istreambuf_iterator<char>(calls)), std::istreambuf_iterator<char>());
  ::unlink(record);
  std::printf("%s enforces %s: %s\n%s%s", which.id().c_str(), which.clause, which.checks, text.c_str(),
              TextLine(result).c_str());
  return result.outcome == Outcome::kFailed ? kFailed : 0;
}

Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return InvalidArgument("{} cannot be written.", path);
  return {};
}

// Cases printed as they end; onto *results.
void RunEach(const std::vector<const Case*>& cases, const CaseSettings& settings, bool loads,
             const std::map<std::string, std::string>& exceptions, bool print, std::vector<CaseResult>* results) {
  for (const Case* which : cases) {
    CaseResult result;
    if (!loads && which->number > kLastLoadCase) {
      result.which = which;
      result.outcome = Outcome::kSkipped;
      result.message = "The plugin does not load.";
    } else {
      result = RunCase(*which, settings);
      ApplyExceptions(exceptions, &result);
    }
    if (print) {
      std::fputs(TextLine(result).c_str(), stdout);
      std::fflush(stdout);
    }
    results->push_back(std::move(result));
  }
}

// All cases; then those of operators once more for each further device.
std::vector<CaseResult> RunAll(const std::vector<const Case*>& cases, CaseSettings settings, bool loads,
                               const KitOptions& options, const std::map<std::string, std::string>& exceptions) {
  std::vector<CaseResult> results;
  RunEach(cases, settings, loads, exceptions, !options.json, &results);
  std::vector<const Case*> of_operators;
  for (const Case* which : cases) {
    if (std::string_view(which->level) == "L2") of_operators.push_back(which);
  }
  for (std::size_t i = 1; i < options.devices.size(); ++i) {
    settings.device = AbsolutePath(options.devices[i], CurrentFolder());
    RunEach(of_operators, settings, loads, exceptions, !options.json, &results);
  }
  return results;
}

int List(const KitOptions& options) {
  const std::string text = options.markdown ? ListMarkdown() : options.json ? ListJson() : ListText();
  std::fputs(text.c_str(), stdout);
  return 0;
}

int RunCases(const KitOptions& options, const CaseSettings& settings) {
  const auto cases = Chosen(options.only);
  if (!cases.ok()) return cli::Report(cases.status());
  const auto exceptions = Exceptions(options, settings.plugin);
  if (!exceptions.ok()) return cli::Report(exceptions.status());
  const Status loads = WouldLoad(settings);
  const std::vector<CaseResult> results = RunAll(*cases, settings, loads.ok(), options, *exceptions);
  std::fputs(options.json ? Json(results).c_str() : TextSummary(results).c_str(), stdout);
  if (!options.junit.empty()) {
    const Status written = WriteFile(options.junit, Junit(settings.plugin, results));
    if (!written.ok()) return cli::Report(written);
  }
  if (!loads.ok()) {
    std::fprintf(stderr, "%s\n", loads.ToString().c_str());
    return kNotLoaded;
  }
  const bool failed = std::any_of(results.begin(), results.end(),
                                  [](const CaseResult& result) { return result.outcome == Outcome::kFailed; });
  return failed ? kFailed : 0;
}

}  // namespace

int RunKit(const KitOptions& options) {
  if (options.list) return List(options);
  if (options.plugin.empty())
    return cli::Report(InvalidArgument("The plugin file is missing: tenon-conform PLUGIN.so"));
  CaseSettings settings;
  settings.self = ExecutablePath();
  settings.long_runs = options.long_runs;
  settings.options = options.plugin_options;
  settings.plugin = AbsolutePath(options.plugin, CurrentFolder());
  if (::access(settings.plugin.c_str(), R_OK) != 0)
    return cli::Report(InvalidArgument("{} cannot be read.", options.plugin));
  for (const std::string& device : options.devices) {
    if (::access(device.c_str(), R_OK) != 0) return cli::Report(InvalidArgument("{} cannot be read.", device));
  }
  if (!options.devices.empty()) settings.device = AbsolutePath(options.devices[0], CurrentFolder());
  if (!options.perf.empty())
    return cli::Report(ComparePerformance(settings, AbsolutePath(options.perf, CurrentFolder())));
  if (options.repro.empty()) return RunCases(options, settings);
  const Case* which = FindCase(options.repro);
  if (which == nullptr) return cli::Report(InvalidArgument("There is no case '{}'; --list prints all.", options.repro));
  return Reproduce(*which, settings);
}

}  // namespace tenon::conform
