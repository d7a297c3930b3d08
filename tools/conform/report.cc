#include "tools/conform/report.h"

#include <nlohmann/json.hpp>

namespace tenon::conform {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string Dump(const OrderedJson& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string EscapeXml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML 1.0 has no way to write other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

int Count(std::span<const CaseResult> results, Outcome outcome) {
  int count = 0;
  for (const CaseResult& result : results) count += result.outcome == outcome ? 1 : 0;
  return count;
}

}  // namespace

std::string TextLine(const CaseResult& result) {
  const bool plain = result.outcome == Outcome::kPassed && result.message.empty();
  const std::string on = result.device.empty() ? "" : fmt::format(" [on {}]", result.device);
  return fmt::format("{:<34} {:<8} {:>6.0f} ms  {:<5} {}{}\n", result.which->id(), OutcomeName(result.outcome),
                     result.ms, result.which->clause, plain ? result.which->checks : result.message, on);
}

std::string TextSummary(std::span<const CaseResult> results) {
  return fmt::format("{} cases: {} passed, {} failed, {} skipped, {} excepted\n", results.size(),
                     Count(results, Outcome::kPassed), Count(results, Outcome::kFailed),
                     Count(results, Outcome::kSkipped), Count(results, Outcome::kExcepted));
}

std::string Json(std::span<const CaseResult> results) {
  OrderedJson list = OrderedJson::array();
  for (const CaseResult& result : results) {
    list.push_back({{"id", result.which->id()},
                    {"level", result.which->level},
                    {"name", result.which->name},
                    {"clause", result.which->clause},
                    {"result", OutcomeName(result.outcome)},
                    {"message", result.message},
                    {"ms", result.ms}});
    if (!result.device.empty()) list.back()["device"] = result.device;
  }
  return Dump(list);
}

std::string Junit(const std::string& plugin, std::span<const CaseResult> results) {
  double seconds = 0;
  for (const CaseResult& result : results) seconds += result.ms * 1e-3;
  const int skipped = Count(results, Outcome::kSkipped) + Count(results, Outcome::kExcepted);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n",
      EscapeXml(plugin), results.size(), Count(results, Outcome::kFailed), skipped, seconds);
  for (const CaseResult& result : results) {
    const std::string on = result.device.empty() ? "" : " on " + EscapeXml(result.device);
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}{}\" time=\"{:.3f}\"", result.which->level,
                        result.which->id(), on, result.ms * 1e-3);
    switch (result.outcome) {
      case Outcome::kPassed:
        text += "/>\n";
        break;
      case Outcome::kFailed:
        text += fmt::format("><failure message=\"{}\">{}</failure></testcase>\n", EscapeXml(result.which->checks),
                            EscapeXml(result.message));
        break;
      default:
        text += fmt::format("><skipped message=\"{}\"/></testcase>\n", EscapeXml(result.message));
    }
  }
  return text + "</testsuite>\n</testsuites>\n";
}

std::string ListText() {
  std::string text;
  for (const Case& row : Cases()) text += fmt::format("{:<34} {:<5} {}\n", row.id(), row.clause, row.checks);
  return text;
}

std::string ListJson() {
  OrderedJson list = OrderedJson::array();
  for (const Case& row : Cases()) {
    list.push_back({{"id", row.id()},
                    {"number", row.number},
                    {"level", row.level},
                    {"name", row.name},
                    {"clause", row.clause},
                    {"checks", row.checks}});
  }
  return Dump(list);
}

std::string ListMarkdown() {
  std::string page = R"(# Conformance cases

`tenon-conform PLUGIN.so` runs these cases against a plugin file, each in a process of its own. Levels: L0 the file and
its entry, L1 device, L2 operators, L3 collectives, L4 profiler, L5 stress. A case that cannot be run says why and is
skipped. The clause is the section of the contract that the case enforces. This page is printed by
`tenon-conform --list --markdown`.

| flag | what for |
|---|---|
| `--only CASE` | this case or level: `L1.43_destroy_pending`, `43` or `L1`; may be repeated |
| `--repro CASE` | one case, and the calls that lead to its result |
| `--device OTHER.so` | cases of kernels (L2) of a plugin without a device, on the device of another; L2 runs on each that is named |
| `--option KEY=VALUE` | an option of the plugin; may be repeated |
| `--exceptions FILE` | declared exceptions, see below |
| `--json`, `--junit FILE` | results for programs |
| `--perf OTHER.so` | the speed of kernels and copies against another plugin, no cases |
| `--long` | also what takes hours or many gigabytes |
| `--list` | the cases, none is run; as JSON with `--json`, as this page with `--markdown` |

Exit codes: 0 no case failed, 1 a case failed, 2 wrong usage, 3 an ordinary host would not load the file. A case whose
process does not end with exit code 0 has failed, whatever its checks said: a sanitizer has reported.

Exceptions stand in `<plugin file without .so>.conformance.yaml` beside the plugin, or in the file of `--exceptions`: a
map `exceptions:` from case to reason. A case that is declared and passes is a failure.

| case | clause | what must hold |
|---|---|---|
)";
  for (const Case& row : Cases()) page += fmt::format("| `{}` | {} | {} |\n", row.id(), row.clause, row.checks);
  return page;
}

}  // namespace tenon::conform
