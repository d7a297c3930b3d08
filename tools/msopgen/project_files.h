#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/msopgen/op_file.h"

namespace tenon::msopgen {

// What msopgen.json of a project says.
struct Project {
  struct Entry {
    std::string type, op;
    std::vector<std::string> units;
  };
  std::string name;    // of the library
  std::string domain;  // of its operators
  std::vector<Entry> operators;
};

// Texts by their path in the project.
using Files = std::map<std::string, std::string>;

// The folder of templates: share/tenon/templates/msopgen beside the installed program, or that of the source tree.
std::string TemplateFolder();
// The cmake folder of the plugin interface, found the same way.
std::string PluginApiFolder();

// The files of a new project without operators; and those of one operator.
Result<Files> ProjectFiles(const Project& project);
Result<Files> OperatorFiles(const Operator& op, const std::string& domain, const std::vector<std::string>& units,
                            Findings& findings);

std::string ToText(const Project& project);
// From msopgen.json of a folder.
Result<Project> ReadProject(const std::string& folder);

}  // namespace tenon::msopgen
