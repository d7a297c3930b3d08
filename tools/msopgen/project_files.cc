#include "tools/msopgen/project_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/platform/process.h"
#include "tools/msopgen/json_text.h"
#include "tools/msopgen/operator_model.h"
#include "tools/msopgen/text_template.h"

namespace tenon::msopgen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A folder below share/tenon of the installation, or else below the source tree.
std::string SharedFolder(const std::string& installed, const std::string& in_tree) {
  const fs::path beside = fs::path(ExecutableFolder()) / ".." / "share" / "tenon" / installed;
  if (fs::exists(beside)) return beside.lexically_normal().string();
  return (fs::path(TENON_MSOPGEN_SOURCE) / in_tree).string();
}

Result<std::string> ReadText(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) return Error(Code::kNotFound, "{} cannot be read.", file.string());
  return text;
}

// Text of a template file; the holes of one that ends with .tmpl are filled.
Result<std::string> Filled(const std::string& relative, const nlohmann::json& values) {
  TENON_ASSIGN(std::string text, ReadText(fs::path(TemplateFolder()) / relative));
  if (fs::path(relative).extension() != ".tmpl") return text;
  return Render(text, values, relative);
}

}  // namespace

std::string TemplateFolder() { return SharedFolder("templates/msopgen", "templates/msopgen"); }
std::string PluginApiFolder() { return SharedFolder("plugin_api/cmake", "plugin_api/cmake"); }

Result<Files> ProjectFiles(const Project& project) {
  const nlohmann::json values = {{"project", project.name},
                                 {"domain", project.domain},
                                 {"plugin_api", PluginApiFolder()},
                                 {"programs", ExecutableFolder()}};
  const fs::path root = fs::path(TemplateFolder()) / "project";
  std::error_code failed;
  Files files;
  for (fs::recursive_directory_iterator entry(root, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (!entry->is_regular_file()) continue;
    const fs::path relative = entry->path().lexically_relative(root);
    fs::path target = relative;
    if (target.extension() == ".tmpl") target.replace_extension();
    TENON_ASSIGN(files[target.string()], Filled((fs::path("project") / relative).string(), values));
  }
  if (failed || files.empty())
    return Error(Code::kNotFound, "The templates of msopgen are not in {}.", TemplateFolder());
  return files;
}

Result<Files> OperatorFiles(const Operator& op, const std::string& domain, const std::vector<std::string>& units,
                            Findings& findings) {
  const Layout layout = LayoutOf(op);
  const Formula formula = ChooseFormula(op, layout, findings);
  Files files;
  if (!findings.good()) return files;
  findings.Note(op.place,
                fmt::format("{}: {} ({}); its kernels compute {}.{}", op.type, formula.kind, formula.kind_reason,
                            formula.default_words, formula.fill_in ? " " + formula.reason + " Fill it in." : ""));
  if (layout.reordered)
    findings.Note(
        op.place,
        fmt::format("{}: dynamic operands and optional outputs come last in the generated operator.", op.type));
  const nlohmann::json values = OperatorValues(op, layout, formula, domain, units);
  const std::string name = op.op;
  TENON_ASSIGN(files["op_host/" + name + ".h"], Filled("operator/op_host/operator.h.tmpl", values));
  TENON_ASSIGN(files["op_host/" + name + ".cc"], Filled("operator/op_host/operator.cc.tmpl", values));
  TENON_ASSIGN(files["op_kernel/" + name + ".h"], Filled("operator/op_kernel/" + formula.kind + ".h.tmpl", values));
  for (const std::string& unit : units) {
    const std::string ending = unit == "cuda" ? ".cu" : ".cc";
    TENON_ASSIGN(files["op_kernel/" + unit + "/" + name + ending],
                 Filled("operator/op_kernel/" + unit + "/kernel" + ending + ".tmpl", values));
  }
  TENON_ASSIGN(files["tests/" + name + "_expected.cc"], Filled("operator/tests/expected.cc.tmpl", values));
  files["tests/" + name + "_cases.json"] = PrettyText(OperatorCases(op, layout, formula));
  return files;
}

std::string ToText(const Project& project) {
  Json operators = Json::array();
  for (const Project::Entry& entry : project.operators)
    operators.push_back({{"op", entry.type}, {"files", entry.op}, {"units", entry.units}});
  return PrettyText(Json{{"project", project.name}, {"domain", project.domain}, {"operators", operators}});
}

Result<Project> ReadProject(const std::string& folder) {
  const std::string file = folder + "/msopgen.json";
  if (!fs::exists(file))
    return Error(Code::kNotFound, "{} is no project of msopgen: it holds no msopgen.json.", folder);
  TENON_ASSIGN(const JsonNode root, ReadJsonFile(file));
  const JsonNode *name = root.Find("project"), *domain = root.Find("domain"), *operators = root.Find("operators");
  TENON_INVALID_IF(name == nullptr || domain == nullptr || operators == nullptr,
                   "{} lacks project, domain or operators.", file);
  Project project{name->text, domain->text, {}};
  for (const JsonNode& item : operators->items) {
    const JsonNode *type = item.Find("op"), *op = item.Find("files"), *units = item.Find("units");
    TENON_INVALID_IF(type == nullptr || op == nullptr || units == nullptr, "{}: an operator lacks op, files or units.",
                     file);
    Project::Entry entry{type->text, op->text, {}};
    for (const JsonNode& unit : units->items) entry.units.push_back(unit.text);
    project.operators.push_back(std::move(entry));
  }
  return project;
}

}  // namespace tenon::msopgen
