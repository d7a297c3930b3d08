// Test cases for a generated operator: every combination of types in several shapes.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/msopgen/attribute_value.h"
#include "tools/msopgen/operator_model.h"

namespace tenon::msopgen {
namespace {

using Json = nlohmann::ordered_json;
using Shape = std::vector<std::int64_t>;

Json ToJson(AttributeType type, const JsonNode& value) {
  switch (value.kind) {
    case JsonNode::Kind::kBool:
      return value.truth;
    case JsonNode::Kind::kInteger:
      return value.whole;
    case JsonNode::Kind::kReal:
      return value.number;
    case JsonNode::Kind::kText:
      if (type == AttributeType::kType || type == AttributeType::kTypes) return ShortName(value.text);
      return value.text;
    default: {
      Json list = Json::array();
      for (const JsonNode& item : value.items) list.push_back(ToJson(type, item));
      return list;
    }
  }
}

class CaseWriter {
 public:
  CaseWriter(const Operator& op, const Layout& layout, const Formula& formula)
      : op_(op), layout_(layout), formula_(formula), deciding_(DecidingAttribute(op, layout)) {}

  Json Write() {
    if (deciding_.empty()) {
      AddFamily(0, op_.combinations());
    } else {
      for (std::size_t i = 0; i < op_.combinations(); ++i) AddFamily(i, 1);
    }
    return cases_;
  }

 private:
  // Cases for some combinations in a row.
  void AddFamily(std::size_t first, std::size_t count) {
    first_ = first;
    count_ = count;
    const bool optional = std::any_of(layout_.inputs.begin(), layout_.inputs.end(),
                                      [](const Operand& input) { return input.presence == Presence::kOptional; });
    Add(PlainShapes(), false);
    if (formula_.kind == "elementwise" && layout_.inputs.size() > 1) Add(BroadcastShapes(), false);
    if (optional) Add({PlainShapes()[0]}, true);
  }

  // Highest axis that an attribute names, so that shapes are deep enough.
  std::int64_t AxesNeeded() const {
    std::int64_t most = 1;
    const auto look = [&](const JsonNode& value) {
      if (value.is(JsonNode::Kind::kInteger)) most = std::max(most, value.whole < 0 ? -value.whole - 1 : value.whole);
    };
    for (const Attribute& attribute : op_.attributes) {
      if (attribute.name != formula_.axes) continue;
      const JsonNode value = attribute.fallback ? *attribute.fallback : SampleValue(attribute.type);
      look(value);
      for (const JsonNode& item : value.items) look(item);
    }
    return most;
  }

  std::vector<std::vector<Shape>> PlainShapes() const {
    std::vector<Shape> shapes = {{3, 4}, {}, {0, 3}, {33}};
    if (formula_.kind == "generic") shapes = {{3, 4}, {2, 3, 4}, {5}};
    if (formula_.kind == "reduction") {
      const auto rank = static_cast<std::size_t>(std::min<std::int64_t>(AxesNeeded(), 12) + 1);
      shapes = {Shape(rank, 2), Shape(rank, 1)};
      for (std::size_t axis = 0; axis < std::min<std::size_t>(rank, 3); ++axis)
        shapes[0][axis] = static_cast<std::int64_t>(3 + axis);
      shapes.push_back(shapes[0]);
      shapes.back()[0] = 0;
    }
    std::vector<std::vector<Shape>> steps;
    for (const Shape& shape : shapes) steps.emplace_back(layout_.inputs.size(), shape);
    if (formula_.kind == "generic") FollowFormats(steps);
    return steps;
  }

  // An input whose format names its axes, such as NCHW, has that many in every step.
  void FollowFormats(std::vector<std::vector<Shape>>& steps) const {
    for (std::size_t i = 0; i < layout_.inputs.size(); ++i) {
      const std::string format = layout_.inputs[i].formats.empty() ? "" : layout_.inputs[i].formats[0];
      if (format.size() < 3 || format.find_first_not_of("NCDHW") != std::string::npos) continue;
      const Shape sizes = {2, 3, 4, 5, 4};
      for (std::size_t k = 0; k < steps.size(); ++k) {
        steps[k][i] = Shape(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(format.size()));
        steps[k][i][0] = static_cast<std::int64_t>(1 + k);
      }
    }
  }

  // The first input has the full shape, the others parts of it; then the other way round.
  std::vector<std::vector<Shape>> BroadcastShapes() const {
    std::vector<std::vector<Shape>> steps = {{{2, 3, 4}}, {{4}}};
    while (steps[0].size() < layout_.inputs.size()) {
      const bool odd = steps[0].size() % 2 == 1;
      steps[0].push_back(odd ? Shape{4} : Shape{3, 1});
      steps[1].push_back(odd ? Shape{2, 3, 4} : Shape{1, 1, 1});
    }
    return steps;
  }

  void Add(const std::vector<std::vector<Shape>>& steps, bool without_optional) {
    Json one = {{"case_name", fmt::format("Test_{}_{:03}", op_.type, cases_.size() + 1)}, {"op", op_.type}};
    one["input_desc"] = Json::array();
    for (std::size_t i = 0; i < layout_.inputs.size(); ++i) {
      const Operand& input = layout_.inputs[i];
      const std::size_t members = i < layout_.fixed_inputs ? 1 : 2;
      for (std::size_t k = 0; k < members; ++k) {
        const bool absent = without_optional && input.presence == Presence::kOptional;
        one["input_desc"].push_back(absent ? Json{{"name", input.name}, {"type", "UNDEFINED"}} : Input(i, steps));
      }
    }
    one["output_desc"] = Json::array();
    for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
      const bool list = i >= layout_.fixed_outputs;
      Json output = {{"name", layout_.outputs[i].name}};
      if (!without_optional) output["type"] = Types(layout_.outputs[i]);
      one["output_desc"].push_back(output);
      if (list) one["output_desc"].push_back(output);
    }
    one["attr"] = Json::array();
    for (const Attribute& attribute : op_.attributes) {
      Json value = ToJson(attribute.type, attribute.fallback ? *attribute.fallback : SampleValue(attribute.type));
      if (attribute.field == deciding_) value = ShortName(layout_.outputs[0].types[first_]);
      one["attr"].push_back({{"name", attribute.name}, {"type", NameOf(attribute.type)}, {"value", value}});
    }
    cases_.push_back(one);
  }

  Json Types(const Operand& operand) const {
    Json types = Json::array();
    for (std::size_t k = first_; k < first_ + count_; ++k) types.push_back(CaseName(operand.types[k]));
    return types;
  }

  Json Input(std::size_t index, const std::vector<std::vector<Shape>>& steps) const {
    const Operand& input = layout_.inputs[index];
    Json shapes = Json::array();
    for (const std::vector<Shape>& step : steps) shapes.push_back(step[index]);
    const bool whole = std::none_of(input.types.begin(), input.types.end(), IsFloating);
    // Whole numbers are rounded down, so the range is wider.
    const double low = whole && formula_.low < 0 ? -5 : formula_.low,
                 high = whole && formula_.low < 0 ? 6 : formula_.high;
    Json desc = {{"name", input.name}};
    if (!input.formats.empty()) desc["format"] = {input.formats[0]};
    desc["type"] = Types(input);
    desc["shape"] = shapes;
    desc["data_distribute"] = {"uniform"};
    desc["value_range"] = {{low, high}};
    return desc;
  }

  const Operator& op_;
  const Layout& layout_;
  const Formula& formula_;
  const std::string deciding_;
  std::size_t first_ = 0, count_ = 0;
  Json cases_ = Json::array();
};

}  // namespace

Json OperatorCases(const Operator& op, const Layout& layout, const Formula& formula) {
  return CaseWriter(op, layout, formula).Write();
}

}  // namespace tenon::msopgen
