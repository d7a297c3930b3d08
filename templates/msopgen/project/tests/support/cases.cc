#include "tests/support/cases.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/numbers.h"

namespace testing {
namespace {

// Numbers that are the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  double Uniform() {  // in (0, 1)
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }
  double Normal() { return std::sqrt(-2 * std::log(Uniform())) * std::cos(6.283185307179586 * Uniform()); }

 private:
  uint64_t state_;
};

// A number of the distribution, spread over [low, high].
double Draw(Random& random, const std::string& kind, double low, double high) {
  const double middle = (low + high) / 2, half = (high - low) / 2;
  double part = 0;  // in [-1, 1]
  if (kind == "uniform") {
    part = 2 * random.Uniform() - 1;
  } else if (kind == "normal" || kind == "truncated_normal") {
    part = random.Normal() / 3;
  } else if (kind == "triangular") {
    part = random.Uniform() + random.Uniform() - 1;
  } else if (kind == "beta") {  // beta(2, 2)
    double three[3] = {random.Uniform(), random.Uniform(), random.Uniform()};
    std::sort(three, three + 3);
    part = 2 * three[1] - 1;
  } else if (kind == "laplace") {
    const double u = random.Uniform() - 0.5;
    part = (u < 0 ? 1 : -1) * std::log(1 - 2 * std::fabs(u)) / 5;
  } else if (kind == "sigmoid") {
    part = 2 / (1 + std::exp(-random.Normal())) - 1;
  } else if (kind == "tanh") {
    part = std::tanh(random.Normal());
  } else if (kind == "relu") {
    part = std::max(0.0, random.Normal() / 3);
  } else {
    throw std::runtime_error("the distribution '" + kind +
                             "' is not known; uniform, normal, truncated_normal, triangular, beta, laplace, sigmoid, "
                             "tanh and relu are");
  }
  return middle + half * std::max(-1.0, std::min(1.0, part));
}

void Fill(Tensor& tensor, Random& random, const std::string& kind, double low, double high) {
  const bool floating = support::IsFloating(tensor.dtype);
  for (double& value : tensor.values) {
    value = Draw(random, kind, low, high);
    if (!floating) value = std::floor(value);
    if (tensor.dtype == TENON_DTYPE_BOOL) value = random.Uniform() < 0.5 ? 0 : 1;
    const bool negative_allowed = tensor.dtype != TENON_DTYPE_U8 && tensor.dtype != TENON_DTYPE_U16 &&
                                  tensor.dtype != TENON_DTYPE_U32 && tensor.dtype != TENON_DTYPE_U64;
    if (!negative_allowed) value = std::fabs(value);
  }
  tensor.SetBytes(tensor.Bytes());  // rounded to the type
}

// A scalar stands for a list of one.
std::vector<Json> ListOf(const Json* value) {
  if (value == nullptr) return {};
  if (value->is_list()) return value->items;
  return {*value};
}

// "shape": [3,4] is one shape, [[3,4],[5]] are two.
std::vector<std::vector<int64_t>> ShapesOf(const Json* value) {
  std::vector<std::vector<int64_t>> shapes;
  if (value == nullptr || !value->is_list()) throw std::runtime_error("an input needs a list 'shape'");
  const bool nested = !value->items.empty() && value->items[0].is_list();
  std::vector<Json> lists = value->items;
  if (!nested) lists.assign(1, *value);
  for (const Json& list : lists) {
    shapes.emplace_back();
    for (const Json& dim : list.items) shapes.back().push_back(dim.whole);
  }
  return shapes;
}

// What one operand of a case may be.
struct Desc {
  bool absent = false;
  std::vector<uint32_t> types;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> distributions;
  std::vector<std::pair<double, double>> ranges;
};

Desc ReadDesc(const Json& json, bool input) {
  Desc desc;
  for (const Json& type : ListOf(json.Find("type"))) {
    desc.absent = desc.absent || type.text == "UNDEFINED";
    desc.types.push_back(DTypeOf(type.text));
    if (!desc.absent && desc.types.back() == 0) throw std::runtime_error("the type '" + type.text + "' is not known");
  }
  if (desc.absent || !input) return desc;
  if (desc.types.empty()) throw std::runtime_error("an input needs a list 'type'");
  desc.shapes = ShapesOf(json.Find("shape"));
  for (const Json& kind : ListOf(json.Find("data_distribute"))) desc.distributions.push_back(kind.text);
  if (desc.distributions.empty()) desc.distributions = {"uniform"};
  for (const Json& range : ListOf(json.Find("value_range"))) {
    if (range.items.size() != 2) throw std::runtime_error("a value_range is a pair [low, high]");
    desc.ranges.emplace_back(range.items[0].number, range.items[1].number);
  }
  if (desc.ranges.empty()) desc.ranges = {{-1, 1}};
  return desc;
}

// Entries that run in step: all lists have that length, or 1.
template <class List>
size_t StepsOf(const std::vector<Desc>& descs, List Desc::*list, const char* what) {
  size_t steps = 1;
  for (const Desc& desc : descs) {
    const size_t size = (desc.*list).size();
    if (size <= 1) continue;
    if (steps != 1 && size != steps)
      throw std::runtime_error(std::string("the operands list ") + std::to_string(steps) + " and " +
                               std::to_string(size) + " " + what + "; it must be as many, or one");
    steps = size;
  }
  return steps;
}
template <class T>
const T& Step(const std::vector<T>& list, size_t step) {
  return list[list.size() == 1 ? 0 : step];
}

void Expand(const Json& json, const std::string& name, std::vector<Case>& cases) {
  std::vector<Desc> inputs, outputs;
  for (const Json& desc : ListOf(json.Find("input_desc"))) inputs.push_back(ReadDesc(desc, true));
  for (const Json& desc : ListOf(json.Find("output_desc"))) outputs.push_back(ReadDesc(desc, false));
  std::vector<Desc> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  const size_t types = StepsOf(all, &Desc::types, "types"), shapes = StepsOf(inputs, &Desc::shapes, "shapes");
  const size_t kinds = StepsOf(inputs, &Desc::distributions, "distributions");
  const size_t ranges = StepsOf(inputs, &Desc::ranges, "value ranges");
  for (size_t at = 0; at < types * shapes * kinds * ranges; ++at) {
    const size_t type = at / (shapes * kinds * ranges), shape = at / (kinds * ranges) % shapes;
    const size_t kind = at / ranges % kinds, range = at % ranges;
    Case made;
    made.name = name + "/";
    made.attributes = json.Find("attr");
    Random random(at + 17);
    for (const Desc& desc : inputs) {
      Tensor tensor;
      if (!desc.absent) {
        const auto& limits = Step(desc.ranges, range);
        tensor = MakeTensor(Step(desc.types, type), Step(desc.shapes, shape));
        Fill(tensor, random, Step(desc.distributions, kind), limits.first, limits.second);
        made.name += std::string(tenon::sdk::DTypeName(tensor.dtype)) + ToText(tensor.dims) + " ";
      } else {
        made.name += "- ";
      }
      made.inputs.push_back(std::move(tensor));
    }
    for (const Desc& desc : outputs) made.output_types.push_back(desc.types.empty() ? 0 : Step(desc.types, type));
    made.output_count = static_cast<uint32_t>(outputs.size());
    made.name += inputs.empty()
                     ? "no input"
                     : Step(inputs[0].absent ? std::vector<std::string>{"uniform"} : inputs[0].distributions, kind);
    cases.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Case> ReadCases(const Json& document, const std::string& type) {
  std::vector<Case> cases;
  std::vector<Json> one;
  if (!document.is_list()) throw std::runtime_error("the file is not a list of cases");
  for (const Json& json : document.items) {
    const Json *name = json.Find("case_name"), *op = json.Find("op");
    if (name == nullptr || op == nullptr) throw std::runtime_error("a case needs case_name and op");
    if (op->text != type) continue;
    try {
      Expand(json, name->text, cases);
    } catch (const std::exception& error) {
      throw std::runtime_error(name->text + ": " + error.what());
    }
  }
  return cases;
}

}  // namespace testing
