#include "tools/msopgen/test_project.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/platform/process.h"
#include "tools/cli/cli.h"
#include "tools/msopgen/names.h"
#include "tools/msopgen/project_files.h"

namespace tenon::msopgen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// ---- the file of cases ----

void CheckKeys(const JsonNode& object, const std::string& what, const std::vector<std::string>& known,
               Findings& findings) {
  for (const JsonMember& member : object.members) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    const std::string nearest = NearestName(member.name, known);
    findings.Error(member.place, fmt::format("{} has no key '{}'.{}", what, member.name,
                                             nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest)));
  }
}

void CheckDescs(const JsonNode& one, const std::string& key, Findings& findings) {
  const JsonNode* list = one.Find(key);
  if (list == nullptr) return;
  if (!list->is(JsonNode::Kind::kList)) {
    findings.Error(list->place, fmt::format("\"{}\" is a list, and not {}.", key, list->Describe()));
    return;
  }
  for (const JsonNode& desc : list->items) {
    CheckKeys(desc, "An entry of " + key, {"name", "format", "type", "shape", "data_distribute", "value_range"},
              findings);
    const JsonNode* types = desc.Find("type");
    std::vector<JsonNode> words;
    if (types != nullptr) words = types->is(JsonNode::Kind::kList) ? types->items : std::vector<JsonNode>{*types};
    for (const JsonNode& word : words) {
      std::string why;
      if (word.text != "UNDEFINED" && !ReadTypeWord(word.text, &why)) findings.Error(word.place, why);
    }
    const JsonNode* shape = desc.Find("shape");
    if (key == "input_desc" && shape == nullptr && !(words.size() == 1 && words[0].text == "UNDEFINED"))
      findings.Error(desc.place, "An input lacks \"shape\".");
    if (shape != nullptr && !shape->is(JsonNode::Kind::kList))
      findings.Error(shape->place,
                     fmt::format("\"shape\" is a list of sizes or of shapes, and not {}.", shape->Describe()));
  }
}

// Finds what is wrong with a file of cases for the operators of a project.
void CheckCases(const JsonNode& root, const Project& project, Findings& findings) {
  if (!root.is(JsonNode::Kind::kList)) {
    findings.Error(root.place, fmt::format("The file holds {}; it needs a list of cases.", root.Describe()));
    return;
  }
  std::vector<std::string> operators;
  for (const Project::Entry& entry : project.operators) operators.push_back(entry.type);
  for (const JsonNode& one : root.items) {
    if (!one.is(JsonNode::Kind::kObject)) {
      findings.Error(one.place, fmt::format("A case is an object, and not {}.", one.Describe()));
      continue;
    }
    for (const char* key : {"calc_expect_func_file", "fuzz_impl"}) {
      if (const JsonNode* node = one.Find(key))
        findings.Error(node->place,
                       fmt::format("\"{}\" is not read: what is expected stands in tests/<operator>_expected.cc "
                                   "of the project.",
                                   key));
    }
    CheckKeys(one, "A case",
              {"case_name", "op", "input_desc", "output_desc", "attr", "calc_expect_func_file", "fuzz_impl"}, findings);
    for (const char* key : {"case_name", "op"}) {
      const JsonNode* node = one.Find(key);
      if (node == nullptr || !node->is(JsonNode::Kind::kText))
        findings.Error(one.place, fmt::format("A case lacks the text \"{}\".", key));
    }
    if (const JsonNode* op = one.Find("op");
        op != nullptr && std::find(operators.begin(), operators.end(), op->text) == operators.end())
      findings.Error(op->place,
                     fmt::format("The project has no operator '{}'; it has {}.", op->text, JoinAnd(operators)));
    CheckDescs(one, "input_desc", findings);
    CheckDescs(one, "output_desc", findings);
  }
}

bool HasCaseOf(const JsonNode& root, const std::string& type) {
  return std::any_of(root.items.begin(), root.items.end(), [&](const JsonNode& one) {
    const JsonNode* op = one.Find("op");
    return op != nullptr && op->text == type;
  });
}

// ---- programs ----

// Runs a program with the standard streams of this one; its exit code, or 128 + the signal that ended it.
Result<int> RunProgram(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return Error(Code::kResourceExhausted, "A process for {} cannot be made.", words[0]);
  if (child == 0) {
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return Error(Code::kInternal, "The end of {} was not seen.", words[0]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Run {
  const TestOptions& options;
  fs::path project, build;
  Json report = Json::array();
  int worst = 0;
};

Status RunOperator(Run& run, const Project& project, const Project::Entry& entry) {
  const fs::path program = run.build / (entry.op + "_test"), library = run.build / (project.name + ".so");
  for (const fs::path& file : {program, library}) {
    if (!fs::exists(file))
      return Error(Code::kNotFound, "{} is not there. Build the project first: {}.", file.string(),
                   ShellWord((run.project / "build.sh").string()));
  }
  const fs::path cases =
      run.options.input.empty() ? run.project / "tests" / (entry.op + "_cases.json") : fs::path(run.options.input);
  const fs::path report = run.build / (entry.op + "_report.json");
  std::error_code ignored;
  fs::remove(report, ignored);
  std::vector<std::string> words = {program.string(), library.string(), cases.string(), "--report", report.string()};
  if (!run.options.cases.empty() && run.options.cases != "all")
    words.insert(words.end(), {"--only", run.options.cases});
  TENON_ASSIGN(const int code, RunProgram(words));
  run.worst = std::max(run.worst, code);
  std::ifstream stream(report);
  Json own = Json::parse(stream, nullptr, false);
  if (own.is_discarded()) own = {{"op", entry.type}, {"exit_code", code}};
  run.report.push_back(own);
  return {};
}

Status Test(const TestOptions& options, int* worst) {
  TENON_ASSIGN(const Project project, ReadProject(options.project));
  Run run{options, fs::absolute(options.project).lexically_normal(), {}, Json::array(), 0};
  run.build = run.project / options.build;
  std::vector<Project::Entry> operators = project.operators;
  if (!options.input.empty()) {
    TENON_ASSIGN(const JsonNode root, ReadJsonFile(options.input));
    Findings findings(options.input);
    CheckCases(root, project, findings);
    for (const std::string& line : findings.Lines()) std::fprintf(stderr, "%s\n", line.c_str());
    if (!findings.good()) {
      *worst = 2;
      return {};
    }
    operators.erase(std::remove_if(operators.begin(), operators.end(),
                                   [&](const Project::Entry& entry) { return !HasCaseOf(root, entry.type); }),
                    operators.end());
    TENON_INVALID_IF(operators.empty(), "{} holds no case.", options.input);
  }
  for (const Project::Entry& entry : operators) TENON_TRY(RunOperator(run, project, entry));
  *worst = run.worst > 2 ? 1 : run.worst;
  if (options.output.empty()) return {};
  TENON_TRY(MakeFolders(options.output));
  const std::string file = options.output + "/st_report.json";
  std::ofstream stream(file);
  stream << run.report.dump(1) << "\n";
  stream.close();
  TENON_INVALID_IF(!stream, "{} cannot be written.", file);
  std::printf("The report is in %s\n", file.c_str());
  return {};
}

}  // namespace

int RunTest(const TestOptions& options) {
  int worst = 0;
  const Status status = Test(options, &worst);
  return status.ok() ? worst : cli::Report(status);
}

int RunList(const std::string& folder, bool json) {
  const Result<Project> project = ReadProject(folder);
  if (!project.ok()) return cli::Report(project.status());
  if (json) {
    std::printf("%s", ToText(*project).c_str());
    return 0;
  }
  std::printf("project %s, domain %s\n", project->name.c_str(), project->domain.c_str());
  for (const Project::Entry& entry : project->operators)
    std::printf("  %s  op_host/%s.cc, op_kernel/%s.h, kernels for %s\n", entry.type.c_str(), entry.op.c_str(),
                entry.op.c_str(), JoinAnd(entry.units).c_str());
  return 0;
}

}  // namespace tenon::msopgen
