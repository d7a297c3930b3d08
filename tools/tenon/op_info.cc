#include "tools/tenon/op_info.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/ops/op_def.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

std::string_view NameOf(Arity arity) {
  switch (arity) {
    case Arity::kRequired:
      return "required";
    case Arity::kOptional:
      return "optional";
    case Arity::kVariadic:
      return "any number";
  }
  return "";
}

// "Slice(data, starts, ends[, axes][, steps]) -> output"
std::string ListOf(const std::vector<ArgDef>& args) {
  std::string text;
  for (const ArgDef& arg : args) {
    const std::string before = text.empty() ? "" : ", ";
    switch (arg.arity) {
      case Arity::kRequired:
        text += before + arg.name;
        break;
      case Arity::kOptional:
        text += "[" + before + arg.name + "]";
        break;
      case Arity::kVariadic:
        text += before + arg.name + ", ..";
        break;
    }
  }
  return text;
}

std::string DescribeGradient(const OpDef& def) {
  if (def.differentiable()) return "yes";
  return def.no_gradient() ? "none: the results do not depend differentiably on the inputs" : "no";
}

void PrintDefinition(const OpDef& def) {
  std::printf("%s\n", SignatureOf(def).c_str());
  std::printf("  since     opset %d\n", def.since());
  std::printf("  gradient  %s\n", DescribeGradient(def).c_str());
  for (const ArgDef& input : def.inputs()) {
    const std::string group = input.group.empty() ? "" : fmt::format("; same dtype: {}", input.group);
    std::printf("  input     %s: %s; %s%s\n", input.name.c_str(), std::string(NameOf(input.arity)).c_str(),
                input.types.ToString().c_str(), group.c_str());
  }
  for (const ArgDef& output : def.outputs())
    std::printf("  output    %s: %s\n", output.name.c_str(), std::string(NameOf(output.arity)).c_str());
  for (const AttrDef& attr : def.attrs()) {
    const std::string fallback = attr.fallback   ? fmt::format("default {}", ToString(*attr.fallback))
                                 : attr.required ? std::string("required")
                                                 : std::string("optional");
    std::printf("  attribute %s: %s; %s\n", attr.name.c_str(), std::string(NameOf(attr.type)).c_str(),
                fallback.c_str());
  }
}

nlohmann::json JsonOf(const std::vector<ArgDef>& args) {
  nlohmann::json out = nlohmann::json::array();
  for (const ArgDef& arg : args)
    out.push_back(
        {{"name", arg.name}, {"arity", NameOf(arg.arity)}, {"types", arg.types.ToString()}, {"group", arg.group}});
  return out;
}

nlohmann::json JsonOf(const OpDef& def) {
  nlohmann::json attrs = nlohmann::json::array();
  for (const AttrDef& attr : def.attrs()) {
    attrs.push_back({{"name", attr.name},
                     {"type", NameOf(attr.type)},
                     {"required", attr.required},
                     {"default", attr.fallback ? nlohmann::json(ToString(*attr.fallback)) : nlohmann::json()}});
  }
  return {{"domain", def.domain()},
          {"type", def.type()},
          {"since", def.since()},
          {"signature", SignatureOf(def)},
          {"gradient", def.differentiable()},
          {"inputs", JsonOf(def.inputs())},
          {"outputs", JsonOf(def.outputs())},
          {"attributes", attrs}};
}

// "Slice", "tenon::SliceGrad" and "tenon.SliceGrad"; every version of it.
Result<std::vector<const OpDef*>> Versions(const std::string& name) {
  const std::size_t colons = name.find("::");
  const std::size_t end = colons != std::string::npos ? colons : name.rfind('.');
  const std::string domain = end == std::string::npos ? "" : name.substr(0, end);
  const std::string type = end == std::string::npos ? name : name.substr(end + (colons == end ? 2 : 1));
  TENON_TRY(BuiltinOps().Find(domain, type));
  std::vector<const OpDef*> versions;
  for (const OpDef* def : BuiltinOps().All()) {
    if (def->domain() == domain && def->type() == type) versions.push_back(def);
  }
  std::sort(versions.begin(), versions.end(), [](const OpDef* a, const OpDef* b) { return a->since() < b->since(); });
  return versions;
}

Status Info(const OpInfoOptions& options) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& name : options.names) {
    TENON_ASSIGN(const std::vector<const OpDef*> versions, Versions(name));
    for (const OpDef* def : versions) {
      if (options.json) {
        all.push_back(JsonOf(*def));
      } else {
        PrintDefinition(*def);
      }
    }
  }
  if (options.json) std::printf("%s\n", all.dump(1).c_str());
  return {};
}

}  // namespace

std::string SignatureOf(const OpDef& def) {
  std::vector<std::string> attrs;
  for (const AttrDef& attr : def.attrs())
    attrs.push_back(attr.fallback ? fmt::format("{} = {}", attr.name, ToString(*attr.fallback)) : attr.name);
  const std::string name = def.domain().empty() ? def.type() : def.domain() + "::" + def.type();
  return fmt::format("{}({}{}{}) -> {}", name, ListOf(def.inputs()), attrs.empty() ? "" : "; ", Join(attrs, ", "),
                     ListOf(def.outputs()));
}

int RunOpInfo(const OpInfoOptions& options) { return cli::Report(Info(options)); }

}  // namespace tenon
