// Program that tries one operator of the library on the cases of a file: numbers, shapes, types and gradients.
//
//   add_custom_test LIBRARY CASES [--only TEXT] [--report FILE]
//
// Exit code 0: all passed; 1: some failed; 2: the library or the file cannot be used.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/numbers.h"
#include "tests/support/cases.h"
#include "tests/support/crash.h"
#include "tests/support/expectation.h"
#include "tests/support/gradient.h"

namespace testing {
namespace {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// Rounds to the type as the library does; whole numbers wrap around.
Tensor Rounded(const Tensor& tensor) {
  Tensor rounded = tensor;
  if (support::IsFloating(tensor.dtype)) {
    rounded.SetBytes(tensor.Bytes());
    return rounded;
  }
  std::vector<int64_t> whole;
  for (const double value : tensor.values)
    whole.push_back(tensor.dtype == TENON_DTYPE_BOOL ? (value != 0 ? 1 : 0) : support::Convert<int64_t>(value));
  std::vector<char> bytes(tenon::sdk::DTypeBytes(tensor.dtype, tensor.size()) + 1);
  support::Store(tensor.dtype, whole.data(), tensor.size(), bytes.data());
  rounded.SetBytes(bytes);
  return rounded;
}

bool Near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

void Compare(const Tensor& got, const Tensor& wanted, const std::string& what) {
  if (got.dims != wanted.dims)
    throw Failed(what + " has shape " + ToText(got.dims) + "; expected is " + ToText(wanted.dims));
  const Tensor expected = Rounded(wanted);
  for (size_t i = 0; i < got.values.size(); ++i) {
    if (!Near(got.values[i], expected.values[i], ToleranceOf(got.dtype)))
      throw Failed(what + " element " + std::to_string(i) + " is " + Text(got.values[i]) + "; expected is " +
                   Text(expected.values[i]));
  }
}

class Runner {
 public:
  Runner(const Library& library, const Expectation& expectation)
      : library_(library),
        expectation_(expectation),
        operator_(library.Operator(expectation.domain, expectation.type)) {
    if (operator_ == nullptr)
      throw std::runtime_error("the library has no operator " + expectation.domain + "." + expectation.type);
  }

  // Throws Failed or std::runtime_error.
  void Try(const Case& one) {
    const AttributeList attributes(*operator_, one.attributes);
    const std::vector<InferredOutput> inferred =
        InferOutputs(*operator_, attributes, one.inputs, one.output_count, false);
    CheckShapes(one, attributes, inferred);
    std::vector<Tensor> outputs = MakeOutputs(inferred);
    library_.Run(expectation_.domain, expectation_.type, attributes, one.inputs, outputs);
    const std::vector<Tensor> expected = expectation_.compute({attributes, one.inputs, inferred});
    for (size_t k = 0; k < outputs.size(); ++k) Compare(outputs[k], expected[k], "output " + std::to_string(k));
    if (operator_->gradient_form == TENON_GRADIENT_BUILDER) CheckGradient(one, attributes, inferred, outputs);
  }

  // Types that the operator does not take must be refused.
  void TryWrongTypes(const Case& one) {
    if (one.inputs.empty() || !one.inputs[0].present) return;
    const AttributeList attributes(*operator_, one.attributes);
    std::vector<Tensor> inputs = one.inputs;
    inputs[0].dtype = TENON_DTYPE_C64;
    try {
      InferOutputs(*operator_, attributes, inputs, one.output_count, false);
    } catch (const std::exception&) {
      return;
    }
    throw Failed("the shape rule takes an input of type c64, which the operator does not list");
  }

  int kinks() const { return kinks_; }
  const std::string& gradient_note() const { return gradient_note_; }

 private:
  void CheckShapes(const Case& one, const AttributeList& attributes, const std::vector<InferredOutput>& inferred) {
    for (size_t k = 0; k < inferred.size(); ++k) {
      if (k < one.output_types.size() && one.output_types[k] != 0 && one.output_types[k] != inferred[k].dtype)
        throw Failed("output " + std::to_string(k) + " has type " +
                     std::string(tenon::sdk::DTypeName(inferred[k].dtype)) + "; the case says " +
                     std::string(tenon::sdk::DTypeName(one.output_types[k])));
    }
    const std::vector<InferredOutput> symbolic =
        InferOutputs(*operator_, attributes, one.inputs, one.output_count, true);
    for (size_t k = 0; k < inferred.size(); ++k) {
      const InferredOutput &a = inferred[k], &b = symbolic[k];
      if (b.rank < 0) continue;  // not known before the call: allowed
      bool same = a.dtype == b.dtype && a.rank == b.rank;
      for (size_t axis = 0; same && axis < a.dims.size(); ++axis)
        same = b.dims[axis] < 0 || a.dims[axis] == b.dims[axis];
      if (!same)
        throw Failed("output " + std::to_string(k) + " has shape " + ToText(a.dims) +
                     " when sizes are known, and with symbols " + ToText(b.dims));
    }
  }

  // Sum of all outputs with fixed weights, by the expectation.
  double Loss(const AttributeList& attributes, const std::vector<Tensor>& inputs,
              const std::vector<InferredOutput>& inferred, const std::vector<Tensor>& weights) const {
    const std::vector<Tensor> outputs = expectation_.compute({attributes, inputs, inferred});
    double sum = 0;
    for (size_t k = 0; k < outputs.size(); ++k) {
      for (size_t i = 0; i < weights[k].values.size(); ++i) sum += weights[k].values[i] * outputs[k].values[i];
    }
    return sum;
  }

  // The gradient against central differences of the expectation, in double.
  void CheckGradient(const Case& one, const AttributeList& attributes, const std::vector<InferredOutput>& inferred,
                     const std::vector<Tensor>& outputs) {
    std::vector<Tensor> weights;
    bool any = false;
    for (const Tensor& output : outputs) {
      Tensor weight;
      if (support::IsFloating(output.dtype)) {
        any = true;
        weight = MakeTensor(output.dtype, output.dims);
        for (size_t i = 0; i < weight.values.size(); ++i) weight.values[i] = 0.5 + static_cast<double>(i * 7 % 16) / 16;
      }
      weights.push_back(std::move(weight));
    }
    std::vector<bool> needed;
    for (const Tensor& input : one.inputs) needed.push_back(input.present && support::IsFloating(input.dtype));
    if (!any || std::find(needed.begin(), needed.end(), true) == needed.end()) return;
    std::vector<Tensor> gradients;
    try {
      gradients = RunGradient(library_, *operator_, attributes, one.inputs, outputs, weights, needed);
    } catch (const NeedsTenon& reason) {
      gradient_note_ = std::string(reason.what()) + ", which only Tenon has: train with it to check its gradient";
      return;
    }
    TryWrongGradient(one, attributes, weights);
    for (size_t input = 0; input < one.inputs.size(); ++input) {
      if (!needed[input]) continue;
      const std::string what = "the gradient of input " + std::to_string(input);
      if (!gradients[input].present) throw Failed(what + " is missing");
      if (gradients[input].dims != one.inputs[input].dims)
        throw Failed(what + " has shape " + ToText(gradients[input].dims) + "; the input has " +
                     ToText(one.inputs[input].dims));
      CompareWithDifferences(one, attributes, inferred, weights, input, gradients[input], what);
    }
  }

  // The kernel of the gradient trusts its shape rule: gradients of outputs that have another shape must be refused.
  void TryWrongGradient(const Case& one, const AttributeList& attributes, std::vector<Tensor> operands) const {
    const tenon_operator_def* gradient = library_.Operator(expectation_.domain, expectation_.type + "Grad");
    if (gradient == nullptr || gradient->input_count != operands.size() + one.inputs.size()) return;
    const auto wrong =
        std::find_if(operands.begin(), operands.end(), [](const Tensor& tensor) { return tensor.present; });
    wrong->dims.insert(wrong->dims.begin(), 2);
    operands.insert(operands.end(), one.inputs.begin(), one.inputs.end());
    try {
      InferOutputs(*gradient, attributes, operands, gradient->output_count, false);
    } catch (const std::exception&) {
      return;
    }
    throw Failed("the shape rule of the gradient takes gradients of outputs that have another shape");
  }

  void CompareWithDifferences(const Case& one, const AttributeList& attributes,
                              const std::vector<InferredOutput>& inferred, const std::vector<Tensor>& weights,
                              size_t input, const Tensor& gradient, const std::string& what) {
    std::vector<Tensor> moved = one.inputs;
    const double middle = Loss(attributes, moved, inferred, weights);
    const double tolerance = std::max(1e-5, 2 * ToleranceOf(gradient.dtype));
    const size_t count = moved[input].values.size(), step = count / 40 + 1;
    for (size_t i = 0; i < count; i += step) {
      double& value = moved[input].values[i];
      const double was = value, h = 1e-5 * (1 + std::fabs(was));
      value = was + h;
      const double above = Loss(attributes, moved, inferred, weights);
      value = was - h;
      const double below = Loss(attributes, moved, inferred, weights);
      value = was;
      const double slope = (above - below) / (2 * h);
      const double left = (middle - below) / h, right = (above - middle) / h;
      if (std::fabs(left - right) > 1e-2 * (1 + std::fabs(slope))) {
        ++kinks_;  // a corner: there is no slope to compare with
      } else if (!Near(gradient.values[i], slope, tolerance)) {
        throw Failed(what + " at element " + std::to_string(i) + " is " + Text(gradient.values[i]) +
                     "; the difference quotient is " + Text(slope));
      }
    }
  }

  const Library& library_;
  const Expectation& expectation_;
  const tenon_operator_def* operator_;
  int kinks_ = 0;
  std::string gradient_note_;
};

struct Line {
  std::string name, error;  // error empty: passed
};

void WriteReport(const std::string& file, const std::string& type, const std::vector<Line>& lines, int failed) {
  std::ofstream out(file);
  out << "{\"op\": " << Quoted(type) << ", \"passed\": " << static_cast<int>(lines.size()) - failed
      << ", \"failed\": " << failed << ", \"cases\": [";
  for (size_t i = 0; i < lines.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n") << "  {\"name\": " << Quoted(lines[i].name)
        << ", \"passed\": " << (lines[i].error.empty() ? "true" : "false");
    if (!lines[i].error.empty()) out << ", \"error\": " << Quoted(lines[i].error);
    out << "}";
  }
  out << "\n]}\n";
  if (!out.flush()) throw std::runtime_error(file + " cannot be written");
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: %s LIBRARY CASES [--only TEXT] [--report FILE]\n", argv[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was said must stand before a crash
  std::string only, report;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--report") == 0) report = argv[i + 1];
  }
  std::ifstream file(argv[2]);
  if (!file) throw std::runtime_error(std::string(argv[2]) + " cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Expectation expectation = TheExpectation();
  const Json document = ParseJson(text);
  const std::vector<Case> cases = ReadCases(document, expectation.type);
  const Library library(argv[1]);
  Runner runner(library, expectation);
  std::vector<Line> lines;
  int failed = 0;
  for (const Case& one : cases) {
    if (one.name.find(only) == std::string::npos) continue;
    Line line{one.name, ""};
    ExpectCrashesOf(one.name);
    try {
      runner.Try(one);
      runner.TryWrongTypes(one);
    } catch (const std::exception& error) {
      line.error = error.what();
      ++failed;
      std::printf("FAILED  %s: %s\n", line.name.c_str(), line.error.c_str());
    }
    lines.push_back(std::move(line));
  }
  if (!report.empty()) WriteReport(report, expectation.type, lines, failed);
  std::printf("%s: %d of %d cases passed", expectation.type.c_str(), static_cast<int>(lines.size()) - failed,
              static_cast<int>(lines.size()));
  if (runner.kinks() > 0) std::printf(", %d gradient elements lie at a corner and were left out", runner.kinks());
  std::printf("\n");
  if (!runner.gradient_note().empty()) std::printf("NOTE  %s\n", runner.gradient_note().c_str());
  if (!expectation.note.empty()) std::printf("NOTE  %s\n", expectation.note.c_str());
  if (lines.empty()) throw std::runtime_error("no case of " + expectation.type + " was run");
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace testing

int main(int argc, char** argv) {
  try {
    return testing::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
