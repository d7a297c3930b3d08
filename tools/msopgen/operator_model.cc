#include "tools/msopgen/operator_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "tools/msopgen/attribute_code.h"

namespace tenon::msopgen {
namespace {

using Json = nlohmann::json;

std::string Constant(const Type& type) { return "TENON_DTYPE_" + type; }

std::vector<Type> Distinct(const std::vector<Type>& types) {
  std::vector<Type> distinct;
  for (const Type& type : types) {
    if (std::find(distinct.begin(), distinct.end(), type) == distinct.end()) distinct.push_back(type);
  }
  return distinct;
}

bool CanHaveGradient(const Operand& input) {
  return std::any_of(input.types.begin(), input.types.end(), [](const Type& type) { return IsFloating(type); });
}

class Model {
 public:
  Model(const Operator& op, const Layout& layout, const Formula& formula)
      : op_(op), layout_(layout), formula_(formula) {
    const bool differentiable_output =
        std::any_of(layout.outputs.begin(), layout.outputs.end(), [](const Operand& o) { return CanHaveGradient(o); });
    for (std::size_t i = 0; i < layout.inputs.size(); ++i) {
      if (differentiable_output && CanHaveGradient(layout.inputs[i])) differentiable_.push_back(i);
    }
  }

  Json Values(const std::string& domain, const std::vector<std::string>& units) {
    Json values = {{"domain", domain},
                   {"type", op_.type},
                   {"op", op_.op},
                   {"gradient", !differentiable_.empty()},
                   {"elementwise", formula_.kind == "elementwise"},
                   {"reduction", formula_.kind == "reduction"},
                   {"generic", formula_.kind == "generic"},
                   {"fixed_inputs", layout_.fixed_inputs},
                   {"dynamic_inputs", layout_.dynamic_inputs()},
                   {"fixed_outputs", layout_.fixed_outputs},
                   {"dynamic_outputs", layout_.dynamic_outputs()},
                   {"foreach", layout_.dynamic_outputs() > 0 ? "true" : "false"},
                   {"computed_in", AllFloating() ? "double" : "double, int64_t or uint64_t"},
                   {"has_lists", HasLists()}};
    AddUnits(units, values);
    AddAttributes(values);
    AddTypes(values);
    AddOperands(values);
    AddParams(values);
    AddFormula(values);
    return values;
  }

 private:
  bool Foreach() const { return formula_.kind == "elementwise" && layout_.dynamic_outputs() > 0; }
  bool AllFloating() const {
    const auto floating = [](const Operand& operand) {
      return std::all_of(operand.types.begin(), operand.types.end(), IsFloating);
    };
    return std::all_of(layout_.inputs.begin(), layout_.inputs.end(), floating) &&
           std::all_of(layout_.outputs.begin(), layout_.outputs.end(), floating);
  }
  bool HasLists() const { return layout_.dynamic_inputs() > 0 && !Foreach(); }

  static void AddUnits(const std::vector<std::string>& units, Json& values) {
    values["units"] = Json::array();
    for (const std::string& unit : units) {
      std::string function = unit + "Kernels";
      function[0] = static_cast<char>(function[0] - 'a' + 'A');
      values["units"].push_back({{"unit_function", function}});
    }
  }

  void AddAttributes(Json& values) {
    values["attributes"] = Json::array();
    std::vector<const Attribute*> sorted;
    for (const Attribute& attribute : op_.attributes) {
      const JsonNode* fallback = attribute.fallback ? &*attribute.fallback : nullptr;
      values["attributes"].push_back(
          {{"name", attribute.name},
           {"field", attribute.field},
           {"cpp_type", CppType(attribute.type)},
           {"initial", InitialCode(attribute.type, attribute.required ? nullptr : fallback)},
           {"comment", attribute.type == AttributeType::kType || attribute.type == AttributeType::kTypes
                           ? "  // of tenon_dtype"
                           : ""},
           {"reader", attribute.type == AttributeType::kTypes ? "ReadTypes" : "Read"}});
      sorted.push_back(&attribute);
    }
    std::sort(sorted.begin(), sorted.end(), [](const Attribute* a, const Attribute* b) { return a->name < b->name; });
    values["has_attributes"] = !sorted.empty();
    values["attribute_definitions"] = Json::array();
    std::vector<std::string> names;
    for (const Attribute* attribute : sorted) {
      const std::string name = fmt::format("kDefault{}", names.size());
      const bool given = !attribute->required && attribute->fallback;
      values["attribute_definitions"].push_back(
          {{"name", attribute->name},
           {"kind", KindOf(attribute->type)},
           {"flags", attribute->required ? "TENON_ATTRIBUTE_REQUIRED" : "0"},
           {"default_name", given ? "&" + name : "nullptr"},
           {"default_lines", given ? Json(DefaultCode(attribute->type, *attribute->fallback, name)) : Json::array()}});
      names.push_back("\"" + attribute->name + "\"");
    }
    values["attribute_names"] = Join(names, ", ");
    values["type_attribute"] = DecidingAttribute(op_, layout_);
  }

  // ---- combinations ----

  void AddTypes(Json& values) {
    const std::vector<Operand>& in = layout_.inputs;
    const std::vector<Operand>& out = layout_.outputs;
    const std::size_t fo = layout_.fixed_outputs, fi = layout_.fixed_inputs;
    std::vector<const Operand*> forward, backward;
    std::vector<std::string> words;
    for (const Operand& input : in) forward.push_back(&input), words.push_back(input.name);
    std::string forward_words = Join(words, ", ") + (words.empty() ? "" : " and ") + "the results ";
    words.clear();
    for (const Operand& output : out) forward.push_back(&output), words.push_back(output.name);
    values["operand_words"] = forward_words + Join(words, ", ");
    values["gradient_operand_words"] = "gradients of the results, then the inputs, then gradients of the inputs";
    for (std::size_t i = 0; i < fo; ++i) backward.push_back(&out[i]);
    for (std::size_t i = 0; i < fi; ++i) backward.push_back(&in[i]);
    for (std::size_t i = fo; i < out.size(); ++i) backward.push_back(&out[i]);
    for (std::size_t i = fi; i < in.size(); ++i) backward.push_back(&in[i]);
    for (const std::size_t i : differentiable_) backward.push_back(&in[i]);
    values["combination_count"] = op_.combinations();
    const auto rows = [&](const std::vector<const Operand*>& operands) {
      Json list = Json::array();
      for (std::size_t k = 0; k < op_.combinations(); ++k) {
        std::vector<std::string> row;
        for (const Operand* operand : operands) row.push_back(Constant(operand->types[k]));
        list.push_back({{"row", Join(row, ", ")}});
      }
      return list;
    };
    values["combinations"] = rows(forward);
    values["gradient_combinations"] = rows(backward);
    values["signature"] = fmt::format("{}, {}, {}, {}", fi, layout_.dynamic_inputs(), fo, layout_.dynamic_outputs());
    const auto fixed_gradients = static_cast<std::size_t>(
        std::count_if(differentiable_.begin(), differentiable_.end(), [&](std::size_t i) { return i < fi; }));
    values["gradient_signature"] =
        fmt::format("{}, {}, {}, {}", fo + fi, layout_.dynamic_outputs() + layout_.dynamic_inputs(), fixed_gradients,
                    differentiable_.size() - fixed_gradients);
    std::vector<std::string> places;
    for (const std::size_t i : differentiable_) places.push_back(std::to_string(i));
    values["differentiable"] = Join(places, ", ");
  }

  // ---- operands in the formula ----

  void AddOperands(Json& values) {
    values["inputs"] = Json::array();
    values["outputs"] = Json::array();
    for (std::size_t i = 0; i < layout_.inputs.size(); ++i) {
      const Operand& input = layout_.inputs[i];
      const bool list = input.presence == Presence::kDynamic && !Foreach();
      values["inputs"].push_back({{"field", input.field},
                                  {"position", i},
                                  {"list_number", i < layout_.fixed_inputs ? 0 : i - layout_.fixed_inputs},
                                  {"list", list},
                                  {"optional", input.presence == Presence::kOptional},
                                  {"scalar", !list && input.presence != Presence::kOptional}});
    }
    for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
      const Operand& output = layout_.outputs[i];
      values["outputs"].push_back({{"field", output.field},
                                   {"position", i},
                                   {"list_number", i < layout_.fixed_outputs ? 0 : i - layout_.fixed_outputs},
                                   {"list", output.presence == Presence::kDynamic && !Foreach()}});
    }
  }

  // ---- parameters of the definition ----

  // Name of the list of types that holds these; equal lists are made once.
  std::string TypeList(const std::vector<Type>& types) {
    std::vector<std::string> constants;
    for (const Type& type : Distinct(types)) constants.push_back(Constant(type));
    const std::string text = Join(constants, ", ");
    for (const Json& list : type_lists_) {
      if (list.at("types") == text) return list.at("list_name");
    }
    const std::string name = fmt::format("kTypes{}", type_lists_.size());
    type_lists_.push_back({{"list_name", name}, {"types", text}});
    return name;
  }
  Json Param(const std::string& name, const std::string& flags, const std::vector<Type>& types) {
    return {{"name", name}, {"flags", flags}, {"list_name", TypeList(types)}};
  }
  static std::string Flags(Presence presence) { return presence == Presence::kOptional ? "TENON_PARAM_OPTIONAL" : "0"; }

  // Dynamic operands are one variadic parameter.
  Json Params(const std::vector<Operand>& operands, std::size_t fixed) {
    Json params = Json::array();
    for (std::size_t i = 0; i < fixed; ++i)
      params.push_back(Param(operands[i].name, Flags(operands[i].presence), operands[i].types));
    std::vector<std::string> names;
    std::vector<Type> types;
    for (std::size_t i = fixed; i < operands.size(); ++i) {
      names.push_back(operands[i].name);
      types.insert(types.end(), operands[i].types.begin(), operands[i].types.end());
    }
    if (!names.empty()) params.push_back(Param(Join(names, "_"), "TENON_PARAM_VARIADIC", types));
    return params;
  }

  void AddParams(Json& values) {
    values["input_params"] = Params(layout_.inputs, layout_.fixed_inputs);
    values["has_input_params"] = !layout_.inputs.empty();
    values["output_params"] = Params(layout_.outputs, layout_.fixed_outputs);
    Json in = Json::array(), out = Json::array();
    std::vector<Type> lists, gradients;
    const bool several = layout_.outputs.size() > 1;
    for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
      const Operand& output = layout_.outputs[i];
      if (i < layout_.fixed_outputs) {
        in.push_back(Param("d_" + output.name, several ? "TENON_PARAM_OPTIONAL" : "0", output.types));
      } else {
        lists.insert(lists.end(), output.types.begin(), output.types.end());
      }
    }
    for (std::size_t i = 0; i < layout_.inputs.size(); ++i) {
      const Operand& input = layout_.inputs[i];
      if (i < layout_.fixed_inputs) {
        in.push_back(Param(input.name, Flags(input.presence), input.types));
      } else {
        lists.insert(lists.end(), input.types.begin(), input.types.end());
      }
    }
    if (!lists.empty()) in.push_back(Param("lists", "TENON_PARAM_VARIADIC", lists));
    for (const std::size_t i : differentiable_) {
      const Operand& input = layout_.inputs[i];
      if (i < layout_.fixed_inputs) {
        out.push_back(Param("d_" + input.name, "0", input.types));
      } else {
        gradients.insert(gradients.end(), input.types.begin(), input.types.end());
      }
    }
    if (!gradients.empty()) out.push_back(Param("d_lists", "TENON_PARAM_VARIADIC", gradients));
    values["gradient_input_params"] = in;
    values["gradient_output_params"] = out;
    values["type_lists"] = type_lists_;
  }

  // ---- formula ----

  void AddFormula(Json& values) {
    values["fill_in"] = formula_.fill_in;
    values["reason"] = formula_.reason;
    values["default_words"] = formula_.default_words;
    values["note"] = fmt::format("{} computes {}: a default to fill in, see op_kernel/{}.h", op_.type,
                                 formula_.default_words, op_.op);
    values["element"] = formula_.element;
    values["element_gradient"] = formula_.element_gradient;
    values["start"] = formula_.start;
    values["combine"] = formula_.combine;
    values["finish"] = formula_.finish;
    values["slope"] = formula_.slope;
    values["compute"] = formula_.compute;
    values["compute_gradient"] = formula_.compute_gradient;
    values["expected"] = formula_.expected;
    AddAxes(values);
    AddShape(values);
  }

  const Attribute* Find(const std::string& name) const {
    const auto found = std::find_if(op_.attributes.begin(), op_.attributes.end(),
                                    [&](const Attribute& attribute) { return attribute.name == name; });
    return found == op_.attributes.end() ? nullptr : &*found;
  }

  void AddAxes(Json& values) const {
    const Attribute *axes = Find(formula_.axes), *keep = Find(formula_.keepdims);
    values["axes"] = "std::vector<int64_t>()";
    values["expected_axes"] = "{}";
    if (axes != nullptr) {
      values["axes"] = axes->type == AttributeType::kInts ? "attrs." + axes->field
                                                          : "std::vector<int64_t>{attrs." + axes->field + "}";
      values["expected_axes"] = fmt::format("call.attributes.Ints(\"{}\")", axes->name);
    }
    values["keepdims"] = "false";
    values["expected_keepdims"] = "false";
    if (keep != nullptr) {
      values["keepdims"] = "attrs." + keep->field + (keep->type == AttributeType::kInt ? " != 0" : "");
      values["expected_keepdims"] = fmt::format("call.attributes.Number(\"{}\", 0) != 0", keep->name);
    }
  }

  // Where a generic operator takes the shape of its outputs from.
  void AddShape(Json& values) const {
    values["shape_by_attribute"] = values["shape_by_input"] = values["shape_of_one"] = false;
    const std::vector<Operand>& in = layout_.inputs;
    const auto required =
        std::find_if(in.begin(), in.end(), [](const Operand& input) { return input.presence == Presence::kRequired; });
    const std::size_t fi = layout_.fixed_inputs, fo = layout_.fixed_outputs;
    std::size_t first = static_cast<std::size_t>(required - in.begin());
    if (required == in.end() && layout_.dynamic_inputs() > 0) first = fi;
    if (first < in.size()) {
      values["shape_by_input"] = true;
      values["shape_source_words"] = fmt::format("'{}'", in[first].name);
      values["shape_input"] =
          layout_.dynamic_inputs() > 0 && layout_.dynamic_outputs() > 0
              ? fmt::format("output < {} ? {} : {} + (output - {}) % support::Share(node.input_count(), {}, {})", fo,
                            first, fi, fo, fi, layout_.dynamic_inputs())
              : std::to_string(first);
      return;
    }
    for (const Attribute& attribute : op_.attributes) {
      const std::string& name = attribute.field;
      if (attribute.type != AttributeType::kInts ||
          (name != "shape" && name != "size" && name != "out_shape" && name != "dims"))
        continue;
      values["shape_by_attribute"] = name;
      values["shape_source_words"] = fmt::format("the attribute '{}'", attribute.name);
      return;
    }
    values["shape_of_one"] = true;
    values["shape_source_words"] = "[1]";
  }

  const Operator& op_;
  const Layout& layout_;
  const Formula& formula_;
  std::vector<std::size_t> differentiable_;
  Json type_lists_ = Json::array();
};

}  // namespace

Json OperatorValues(const Operator& op, const Layout& layout, const Formula& formula, const std::string& domain,
                    const std::vector<std::string>& units) {
  return Model(op, layout, formula).Values(domain, units);
}

std::string DecidingAttribute(const Operator& op, const Layout& layout) {
  std::string name;
  for (const Attribute& attribute : op.attributes) {
    if (attribute.type == AttributeType::kType) name = name.empty() ? attribute.field : "-";
  }
  if (name.empty() || name == "-") return "";
  for (std::size_t a = 0; a < op.combinations(); ++a) {
    for (std::size_t b = a + 1; b < op.combinations(); ++b) {
      const bool same = std::all_of(layout.inputs.begin(), layout.inputs.end(),
                                    [&](const Operand& input) { return input.types[a] == input.types[b]; });
      if (same && layout.outputs[0].types[a] != layout.outputs[0].types[b]) return name;
    }
  }
  return "";
}

}  // namespace tenon::msopgen
