#include "tools/msopgen/gen.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "msopgen_builtin_operators.h"
#include "tools/cli/cli.h"
#include "tools/msopgen/names.h"
#include "tools/msopgen/operator_model.h"
#include "tools/msopgen/write_files.h"

namespace tenon::msopgen {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void Say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

// What was found goes to standard error; false when there is an error in it.
bool Report(const Findings& findings) {
  for (const std::string& line : findings.Lines()) Say(line);
  if (!findings.good())
    Say(fmt::format("{}: {} error{}, nothing was written.", findings.file(), findings.errors(),
                    findings.errors() == 1 ? "" : "s"));
  return findings.good();
}

Status CheckInputName(const std::string& input) {
  const std::string ending = Lower(std::filesystem::path(input).extension().string());
  TENON_INVALID_IF(ending == ".xlsx" || ending == ".xls" || ending == ".txt",
                   "{}: files {} are not read; write the operators as .json (see `msopgen check --help`).", input,
                   ending);
  return {};
}

Status CheckFramework(const std::string& framework) {
  if (framework.empty()) return {};
  const std::vector<std::string> known = {"tf", "tensorflow", "caffe", "pytorch", "ms", "mindspore", "onnx", "aclnn"};
  TENON_INVALID_IF(std::find(known.begin(), known.end(), Lower(framework)) == known.end(),
                   "The framework '{}' is not known; known are {}.", framework, JoinAnd(known));
  Say(fmt::format("note: the project is one for Tenon, whatever the framework; '{}' changes nothing.", framework));
  return {};
}

// cpu first, then the others that were named.
Result<std::vector<std::string>> UnitsOf(const std::string& text) {
  std::vector<std::string> units;
  const auto add = [&](const std::string& unit) {
    if (std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
  };
  add("cpu");
  bool cpu = false;
  for (const std::string& word : Split(text, ',')) {
    const std::string unit = Lower(std::string(Trim(word)));
    if (unit == "aicpu") {
      Say("note: the compute unit aicpu is taken as cpu.");
      cpu = true;
    } else if (unit.rfind("ai_core", 0) == 0 || unit.rfind("vector_core", 0) == 0) {
      Say(fmt::format("note: the compute unit {} is taken as npu.", Trim(word)));
      add("npu");
    } else if (unit == "cpu" || unit == "npu" || unit == "cuda") {
      cpu = cpu || unit == "cpu";
      add(unit);
    } else {
      return InvalidArgument(
          "The compute unit '{}' is not known; known are cpu, npu and cuda, and ai_core-<soc>, "
          "vector_core-<soc> and aicpu, which are taken as npu and cpu.",
          Trim(word));
    }
  }
  if (!cpu) Say("note: kernels for cpu are made too; the tests run them.");
  return units;
}

// A stated kind that the operands do not allow.
void CheckKinds(const std::vector<Operator>& operators, Findings& findings) {
  for (const Operator& op : operators) ChooseFormula(op, LayoutOf(op), findings);
}

// Combinations whose inputs are those of an earlier one can never be chosen.
void DropUnreachable(Operator& op, Findings& findings) {
  const Layout layout = LayoutOf(op);
  const bool decided = !DecidingAttribute(op, layout).empty();
  for (std::size_t b = op.combinations(); b-- > 1;) {
    for (std::size_t a = 0; a < b; ++a) {
      const bool same_inputs = std::all_of(layout.inputs.begin(), layout.inputs.end(),
                                           [&](const Operand& input) { return input.types[a] == input.types[b]; });
      if (!same_inputs || (decided && layout.outputs[0].types[a] != layout.outputs[0].types[b])) continue;
      findings.Note(op.place,
                    fmt::format("{}: the types number {} of the inputs are those of number {}; they are left out.",
                                op.type, b + 1, a + 1));
      for (auto* operands : {&op.inputs, &op.outputs}) {
        for (Operand& operand : *operands) operand.types.erase(operand.types.begin() + static_cast<std::ptrdiff_t>(b));
      }
      return DropUnreachable(op, findings);
    }
  }
}

void NoteBuiltin(const Operator& op, const std::string& domain, Findings& findings) {
  for (const std::string_view known : kBuiltinOperators) {
    if (op.op != known) continue;
    findings.Note(op.place,
                  fmt::format("Tenon has an operator of the name {} too; yours is {}.{}, told apart by its domain.",
                              op.type, domain, op.type));
  }
}

// The operators that are wanted.
Status Select(std::vector<Operator>& operators, const std::string& wanted, const std::string& file) {
  if (wanted.empty()) return {};
  std::vector<std::string> names;
  for (const Operator& op : operators) names.push_back(op.type);
  TENON_INVALID_IF(std::find(names.begin(), names.end(), wanted) == names.end(), "{} has no operator '{}'; it has {}.",
                   file, wanted, JoinAnd(names));
  operators.erase(
      std::remove_if(operators.begin(), operators.end(), [&](const Operator& op) { return op.type != wanted; }),
      operators.end());
  return {};
}

Status CheckAgainst(const Project& project, const std::vector<Operator>& operators, Findings& findings) {
  for (const Operator& op : operators) {
    for (const Project::Entry& entry : project.operators) {
      if (entry.op == op.op)
        findings.Error(op.place, fmt::format("The project has files called '{}' already, of operator '{}'.", entry.op,
                                             entry.type));
      if (entry.type == op.type + "Grad" || op.type == entry.type + "Grad")
        findings.Error(op.place,
                       fmt::format("'{}' of the project and '{}' would have operators of one name: a gradient is "
                                   "called <operator>Grad.",
                                   entry.type, op.type));
    }
  }
  return {};
}

// Names that targets of the generated project, or of CMake itself, have.
bool IsTargetName(const std::string& name) {
  const std::vector<std::string> taken = {"all",        "clean",         "conformance", "depend",
                                          "edit_cache", "help",          "install",     "package",
                                          "preinstall", "rebuild_cache", "test",        "test_support"};
  return std::find(taken.begin(), taken.end(), name) != taken.end() ||
         (name.size() > 5 && name.compare(name.size() - 5, 5, "_test") == 0);
}

// CMake and make build nowhere else.
Status CheckFolder(const std::string& folder) {
  const auto breaks = [](char c) {
    return std::string_view("\";\\:[]|?").find(c) != std::string_view::npos || (c >= 0 && c < ' ');
  };
  const auto found = std::find_if(folder.begin(), folder.end(), breaks);
  TENON_INVALID_IF(found != folder.end(), "-out {}: CMake cannot build in a folder whose path holds '{}'.",
                   Printable(folder), Printable(std::string(1, *found)));
  return {};
}

Result<Project> NewProject(const GenOptions& options) {
  const std::filesystem::path folder = std::filesystem::absolute(options.output).lexically_normal() / "";
  TENON_TRY(CheckFolder(folder.string()));
  Project project;
  project.domain = options.domain;
  project.name = folder.parent_path().filename().string();
  std::string safe = SnakeCase(project.name);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) || byte > 0x7f) c = '_';
  }
  if (safe.empty() || safe[0] < 'a' || safe[0] > 'z' || IsTargetName(safe)) safe.insert(0, "ops_");
  if (safe != project.name)
    Say(fmt::format(
        "note: the library is called '{}', after the folder '{}': lower-case letters, digits and '_', a letter "
        "first, and no name of a build target.",
        safe, project.name));
  project.name = safe;
  const std::string why = WhyNoProjectName(project.name);
  TENON_INVALID_IF(!why.empty(), "{}", why);
  return project;
}

Status Gen(const GenOptions& options, bool* found) {
  TENON_TRY(CheckInputName(options.input));
  TENON_TRY(CheckFramework(options.framework));
  const std::string language = Lower(options.language);
  TENON_INVALID_IF(language != "cpp", "-lan {}: projects are in C++; -lan cpp alone is possible.", options.language);
  const std::string why = WhyNoDomain(options.domain);
  TENON_INVALID_IF(!why.empty(), "--domain: {}", why);
  TENON_ASSIGN(const std::vector<std::string> units, UnitsOf(options.compute_unit));
  TENON_ASSIGN(const JsonNode root, ReadJsonFile(options.input));
  Findings findings(options.input);
  std::vector<Operator> operators = ReadOperators(root, findings);
  CheckKinds(operators, findings);
  if (findings.good()) TENON_TRY(Select(operators, options.op, options.input));
  const bool add = options.mode == 1;
  Project project;
  if (add) {
    TENON_ASSIGN(project, ReadProject(options.output));
    TENON_TRY(CheckAgainst(project, operators, findings));
  } else {
    TENON_ASSIGN(project, NewProject(options));
  }
  Files files;
  if (findings.good() && !add) {
    TENON_ASSIGN(files, ProjectFiles(project));
  }
  for (Operator& op : operators) {
    if (!findings.good()) break;
    DropUnreachable(op, findings);
    NoteBuiltin(op, project.domain, findings);
    TENON_ASSIGN(Files own, OperatorFiles(op, project.domain, units, findings));
    files.merge(own);
    project.operators.push_back({op.type, op.op, units});
  }
  *found = Report(findings);
  if (!*found) return {};
  files["msopgen.json"] = ToText(project);
  TENON_TRY(
      WriteFiles(options.output, files, add ? std::vector<std::string>{"msopgen.json"} : std::vector<std::string>()));
  std::printf("%zu files of project %s are in %s. Build and test it: %s\n", files.size(), project.name.c_str(),
              options.output.c_str(), ShellWord((std::filesystem::path(options.output) / "build.sh").string()).c_str());
  return {};
}

}  // namespace

int RunGen(const GenOptions& options) {
  bool found = true;
  const Status status = Gen(options, &found);
  if (!status.ok()) return cli::Report(status);
  return found ? 0 : 2;
}

int RunCheck(const std::string& input, bool json) {
  if (const Status status = CheckInputName(input); !status.ok()) return cli::Report(status);
  Result<JsonNode> root = ReadJsonFile(input);
  if (!root.ok()) return cli::Report(root.status());
  Findings findings(input);
  std::vector<Operator> operators = ReadOperators(*root, findings);
  CheckKinds(operators, findings);
  nlohmann::ordered_json described = nlohmann::ordered_json::array();
  for (Operator& op : operators) {
    if (!findings.good()) break;
    DropUnreachable(op, findings);
    const Layout layout = LayoutOf(op);
    const Formula formula = ChooseFormula(op, layout, findings);
    described.push_back({{"op", op.type},
                         {"kind", formula.kind},
                         {"computes", formula.default_words},
                         {"fill_in", formula.fill_in},
                         {"combinations", op.combinations()}});
    if (!json && findings.good())
      std::printf("%s: %s, %zu combination%s of types; computes %s%s\n", op.type.c_str(), formula.kind.c_str(),
                  op.combinations(), op.combinations() == 1 ? "" : "s", formula.default_words.c_str(),
                  formula.fill_in ? ", to be filled in" : "");
  }
  for (const std::string& line : findings.Lines()) Say(line);
  if (json)
    std::printf(
        "%s\n",
        nlohmann::ordered_json{{"good", findings.good()}, {"operators", described}, {"messages", findings.Lines()}}
            .dump(2)
            .c_str());
  return findings.good() ? 0 : 2;
}

}  // namespace tenon::msopgen
