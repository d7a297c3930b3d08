// All options of `msopgen`. Each command is a plain function of gen.h or test_project.h.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "tools/cli/cli.h"
#include "tools/msopgen/gen.h"
#include "tools/msopgen/schema.h"
#include "tools/msopgen/test_project.h"

namespace tenon::msopgen {
namespace {

using Command = std::function<int()>;

void AddGen(CLI::App& app, Command& command) {
  CLI::App* gen = app.add_subcommand("gen", "Make a project from a file of operators, or add operators to one.");
  const auto options = std::make_shared<GenOptions>();
  gen->add_option("-i,--input", options->input, "The operators, a .json file as `msopgen check` describes.")
      ->required();
  gen->add_option("-f,--framework", options->framework,
                  "Taken and told to change nothing: tf, caffe, pytorch, ms, onnx, aclnn.");
  gen->add_option("-c,--compute_unit", options->compute_unit,
                  "Devices to make kernels for: cpu, npu, cuda, with commas between.")
      ->required();
  gen->add_option("--language", options->language, "Language of the project: cpp. Also spelled -lan.");
  gen->add_option("--output", options->output, "Folder of the project; made when it is not there. Also spelled -out.");
  gen->add_option("-m,--mode", options->mode, "0 makes a project, 1 adds operators to the project in the folder.")
      ->check(CLI::Range(0, 1));
  gen->add_option("--operator", options->op, "Only this operator of the file. Also spelled -op.");
  gen->add_option("--domain", options->domain, "Domain of the operators in a new project.");
  gen->callback([options, &command] { command = [options] { return RunGen(*options); }; });
}

void AddCheck(CLI::App& app, Command& command) {
  CLI::App* check = app.add_subcommand("check", "Check a file of operators and say what would be made of it.");
  const auto input = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false), schema = std::make_shared<bool>(false);
  check->add_option("FILE", *input, "The file.");
  check->add_flag("--json", *json, "Print JSON.");
  check->add_flag("--schema", *schema, "Print the JSON schema of such files and check none.");
  check->callback([input, json, schema, &command] {
    command = [input, json, schema] {
      if (*schema) return PrintSchema();
      if (!input->empty()) return RunCheck(*input, *json);
      std::fprintf(stderr, "error: FILE is missing.\n");
      return 2;
    };
  });
}

void AddList(CLI::App& app, Command& command) {
  CLI::App* list = app.add_subcommand("list", "Print the operators of a project.");
  const auto project = std::make_shared<std::string>(".");
  const auto json = std::make_shared<bool>(false);
  list->add_option("PROJECT", *project, "Folder of the project.");
  list->add_flag("--json", *json, "Print JSON.");
  list->callback([project, json, &command] { command = [project, json] { return RunList(*project, *json); }; });
}

void AddTest(CLI::App& app, Command& command) {
  CLI::App* test = app.add_subcommand("test", "Run test cases on a built project.");
  const auto options = std::make_shared<TestOptions>();
  test->add_option("PROJECT", options->project, "Folder of the project.");
  test->add_option("-i,--input", options->input, "A .json file of cases, in place of those in the project.");
  test->add_option("-c,--case", options->cases, "Only cases whose name holds this text.");
  test->add_option("--output", options->output, "Folder for st_report.json. Also spelled -out.");
  test->add_option("--build", options->build, "The build folder, in the project.");
  test->callback([options, &command] { command = [options] { return RunTest(*options); }; });
}

// "-out" and its like are long flags with one dash, which the parser would take apart.
std::vector<char*> WithLongFlags(int argc, char** argv, std::vector<std::string>& words) {
  static const std::pair<const char*, const char*> kSpellings[] = {
      {"-out", "--output"}, {"-op", "--operator"}, {"-lan", "--language"}};
  words.assign(argv, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) {
    for (const auto& spelling : kSpellings) {
      if (word == spelling.first) word = spelling.second;
    }
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace
}  // namespace tenon::msopgen

int main(int argc, char** argv) {
  namespace msopgen = tenon::msopgen;
  const tenon::cli::Program program{"msopgen", "Makes projects for operators of your own.", TENON_VERSION_STRING};
  if (const auto code = tenon::cli::AnswerVersion(program, argc, argv)) return *code;
  CLI::App app;
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  msopgen::Command command;
  msopgen::AddGen(app, command);
  msopgen::AddCheck(app, command);
  msopgen::AddList(app, command);
  msopgen::AddTest(app, command);
  std::vector<std::string> words;
  std::vector<char*> pointers = msopgen::WithLongFlags(argc, argv, words);
  return tenon::cli::Run(program, app, argc, pointers.data(), command);
}
