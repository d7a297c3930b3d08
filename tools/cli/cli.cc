#include "tools/cli/cli.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/text.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

bool Has(int argc, const char* const* argv, std::string_view flag) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--")) return false;
    if (argv[i] == flag) return true;
  }
  return false;
}

// The command that the words before the first flag name.
const CLI::App* NamedCommand(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* current = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const CLI::App* next = nullptr;
    for (const CLI::App* child : current->get_subcommands(nullptr)) {
      if (child->get_name() == argv[i]) next = child;
    }
    if (next == nullptr) break;
    current = next;
  }
  return current;
}

bool TakesList(const CLI::Option& option) { return option.get_expected_max() > 1; }

std::string TypeOf(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return "flag";
  std::string type = option.get_type_name();
  if (type.rfind("TEXT", 0) == 0) type = "text" + type.substr(4);
  if (type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0) type = "integer";
  if (type.rfind("FLOAT", 0) == 0) type = "number";
  return TakesList(option) ? "list of " + type : type;
}

Json DefaultOf(const CLI::Option& option) {
  const std::string text = option.get_default_str();
  const std::string type = TypeOf(option);
  if (type == "flag") return false;
  if (TakesList(option)) return Json::array();
  if (text.empty()) return nullptr;
  if (type == "integer" || type == "number") {
    Json number = Json::parse(text, nullptr, false);
    if (number.is_number()) return number;
  }
  return text;
}

std::string NameOf(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  const std::vector<std::string>& longs = option.get_lnames();
  return longs.empty() ? "-" + option.get_snames()[0] : "--" + longs[0];
}

Json DescribeOption(const CLI::Option& option) {
  Json flag = {{"name", NameOf(option)},
               {"type", TypeOf(option)},
               {"default", DefaultOf(option)},
               {"sentence", option.get_description()}};
  if (!option.get_positional() && !option.get_snames().empty() && !option.get_lnames().empty()) {
    flag["short"] = "-" + option.get_snames()[0];
  }
  if (option.get_required()) flag["required"] = true;
  return flag;
}

Json StandardFlag(const char* name, const char* sentence) {
  return {{"name", name}, {"type", "flag"}, {"default", false}, {"sentence", sentence}};
}

Json Describe(const CLI::App& app, const std::string& name, const std::string& sentence, bool is_root) {
  Json node = {{"name", name}, {"sentence", sentence}};
  Json arguments = Json::array();
  Json flags = Json::array({StandardFlag("--help", "Print this help; with --json as JSON.")});
  if (is_root) flags.push_back(StandardFlag("--version", "Print the version; with --json as JSON."));
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? arguments : flags).push_back(DescribeOption(*option));
  }
  if (!arguments.empty()) node["arguments"] = arguments;
  node["flags"] = flags;
  Json commands = Json::array();
  for (const CLI::App* child : app.get_subcommands(nullptr)) {
    commands.push_back(Describe(*child, child->get_name(), child->get_description(), false));
  }
  if (!commands.empty()) node["commands"] = commands;
  return node;
}

std::string FullName(const CLI::App& command, const Program& program) {
  std::string name;
  for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent())
    name = " " + app->get_name() + name;
  return program.name + name;
}

// "-x, --name TYPE  sentence" lines under a heading, the sentences in one column.
void PrintRows(const char* heading, const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return;
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::printf("\n%s\n", heading);
  for (const auto& row : rows)
    std::printf("  %-*s  %s\n", static_cast<int>(width), row.first.c_str(), row.second.c_str());
}

void PrintHelp(const CLI::App& app, const Program& program) {
  const bool is_root = app.get_parent() == nullptr;
  std::string usage = FullName(app, program);
  std::vector<std::pair<std::string, std::string>> arguments, flags, commands;
  for (const CLI::App* child : app.get_subcommands(nullptr))
    commands.emplace_back(child->get_name(), child->get_description());
  if (!commands.empty()) usage += " COMMAND";
  for (const CLI::Option* option : app.get_options()) {
    const Json described = DescribeOption(*option);
    std::string sentence = described["sentence"];
    if (!described["default"].is_null() && described["default"] != false && !TakesList(*option)) {
      sentence += fmt::format(" [{}]", option->get_default_str());
    }
    if (option->get_positional()) {
      std::string name = NameOf(*option);
      if (TakesList(*option)) name += "...";
      usage += option->get_required() ? " " + name : " [" + name + "]";
      arguments.emplace_back(NameOf(*option), sentence);
    } else {
      std::string name = described.contains("short") ? std::string(described["short"]) + ", " : "";
      name += NameOf(*option);
      if (TypeOf(*option) != "flag") name += " " + option->get_type_name();
      flags.emplace_back(name, sentence);
    }
  }
  flags.emplace_back("-h, --help", "Print this help; with --json as JSON.");
  if (is_root) flags.emplace_back("--version", "Print the version; with --json as JSON.");
  std::printf("%s\n\nUsage: %s [FLAGS]\n", (is_root ? program.sentence : app.get_description()).c_str(), usage.c_str());
  PrintRows("Commands:", commands);
  PrintRows("Arguments:", arguments);
  PrintRows("Flags:", flags);
  if (!commands.empty()) std::printf("\n`%s COMMAND --help` tells more.\n", FullName(app, program).c_str());
}

// For a flag that nobody knows: the nearest one that the command has.
std::string NearestFlag(const CLI::App& command, int argc, const char* const* argv) {
  std::vector<std::string> known{"--help"};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) known.push_back(NameOf(*option));
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.size() < 3 || word.compare(0, 2, "--") != 0) continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (std::string near = NearestName(word, known); !near.empty()) return near;
  }
  return "";
}

// What is wrong when a word stands where a command should: nothing when the words so far are fine.
std::string MissingCommand(const CLI::App& command, int argc, const char* const* argv) {
  std::vector<std::string> known;
  for (const CLI::App* child : command.get_subcommands(nullptr)) known.push_back(child->get_name());
  if (known.empty()) return "";
  int depth = 1;
  for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent()) ++depth;
  const bool has_word = depth < argc && argv[depth][0] != '-';
  if (!has_word) return depth < argc ? "" : fmt::format("A command is missing. Known commands: {}.", JoinAnd(known));
  const std::string near = NearestName(argv[depth], known);
  return fmt::format(
      "Unknown command '{}'. {}", argv[depth],
      near.empty() ? fmt::format("Known commands: {}.", JoinAnd(known)) : fmt::format("Did you mean '{}'?", near));
}

int TellUsage(const Program& program, const CLI::App& app, const std::string& reason, int argc,
              const char* const* argv) {
  const CLI::App& command = *NamedCommand(app, argc, argv);
  std::string text = MissingCommand(command, argc, argv);
  if (!text.empty()) {
    std::fprintf(stderr, "error: %s\nSee %s --help.\n", text.c_str(), FullName(command, program).c_str());
    return 2;
  }
  text = reason;
  if (!text.empty() && text.back() != '.') text += '.';
  if (const std::string near = NearestFlag(command, argc, argv); !near.empty())
    text += fmt::format(" Did you mean {}?", near);
  std::fprintf(stderr, "error: %s\nSee %s --help.\n", text.c_str(), FullName(command, program).c_str());
  return 2;
}

int TellNoMemory(const char* what) {
  const bool said = std::strcmp(what, std::bad_alloc().what()) != 0;
  std::fprintf(stderr, "error: There is not enough memory%s%s.\n", said ? ": " : "", said ? what : "");
  return 1;
}

// Half an answer must not pass for a whole one.
int FinishOutput(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "error: The standard output cannot be written%s%s.\n", errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  return code == 0 ? 1 : code;
}

int RunCommand(const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::bad_alloc& error) {
    return TellNoMemory(error.what());
  } catch (const std::length_error&) {  // a container beyond what can be addressed
    return TellNoMemory(std::bad_alloc().what());
  } catch (const std::system_error&) {
    if (std::ferror(stdout) == 0) throw;
    return 1;  // FinishOutput says why
  }
}

}  // namespace

std::optional<int> AnswerVersion(const Program& program, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] != '-' || !Has(argc, argv, "--version")) return std::nullopt;
  if (Has(argc, argv, "--json")) {
    std::printf("{\"name\": \"%s\", \"version\": \"%s\"}\n", program.name.c_str(), program.version.c_str());
  } else {
    std::printf("%s %s\n", program.name.c_str(), program.version.c_str());
  }
  return FinishOutput(0);
}

int Run(const Program& program, CLI::App& app, int argc, char** argv, const std::function<int()>& command) {
  app.name(program.name);
  app.description(program.sentence);
  app.set_help_flag("");
  for (CLI::App* child : app.get_subcommands(nullptr)) {
    child->set_help_flag("");
    for (CLI::App* grandchild : child->get_subcommands(nullptr)) grandchild->set_help_flag("");
  }
  if (Has(argc, argv, "--help") || Has(argc, argv, "-h")) {
    const CLI::App& named = *NamedCommand(app, argc, argv);
    if (Has(argc, argv, "--json")) {
      const bool is_root = named.get_parent() == nullptr;
      std::printf("%s\n", Describe(named, is_root ? program.name : named.get_name(),
                                   is_root ? program.sentence : named.get_description(), is_root)
                              .dump(2)
                              .c_str());
    } else {
      PrintHelp(named, program);
    }
    return FinishOutput(0);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return TellUsage(program, app, error.what(), argc, argv);
  }
  if (!command) return TellUsage(program, app, "A command is missing.", argc, argv);
  return FinishOutput(RunCommand(command));
}

int ExitCode(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return 0;
    case Code::kUnavailable:
    case Code::kAbiMismatch:
      return 3;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kDataLoss:
    case Code::kOutOfRange:
      return 2;
    default:
      return 1;
  }
}

int Report(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return ExitCode(status);
}

}  // namespace tenon::cli
