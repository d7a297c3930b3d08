#include "tools/msopgen/formula.h"

#include <algorithm>

#include "core/base/text.h"

namespace tenon::msopgen {
namespace {

// $a and $b stand for the operands, x[0] and x[1] in what the tests expect.
struct Elementary {
  const char* name;
  int operands;
  const char* value;
  const char* slope_a;
  const char* slope_b;
  const char* expected;
  double low = -2, high = 2;
};

constexpr Elementary kElementary[] = {
    {"Identity", 1, "$a", "T(1)", "", "x[0]"},
    {"Abs", 1, "support::Real([](double v) { return std::fabs(v); }, $a)", "$a > T(0) ? T(1) : T(-1)", "",
     "std::fabs(x[0])"},
    {"Neg", 1, "T(0) - $a", "T(-1)", "", "-x[0]"},
    {"Square", 1, "$a * $a", "T(2) * $a", "", "x[0] * x[0]"},
    {"Relu", 1, "$a > T(0) ? $a : T(0)", "$a > T(0) ? T(1) : T(0)", "", "std::max(x[0], 0.0)"},
    {"Exp", 1, "support::Real([](double v) { return std::exp(v); }, $a)",
     "support::Real([](double v) { return std::exp(v); }, $a)", "", "std::exp(x[0])"},
    {"Log", 1, "support::Real([](double v) { return std::log(v); }, $a)", "support::Quotient(T(1), $a)", "",
     "std::log(x[0])", 1, 4},
    {"Sqrt", 1, "support::Real([](double v) { return std::sqrt(v); }, $a)",
     "support::Real([](double v) { return 0.5 / std::sqrt(v); }, $a)", "", "std::sqrt(x[0])", 1, 4},
    {"Rsqrt", 1, "support::Real([](double v) { return 1 / std::sqrt(v); }, $a)",
     "support::Real([](double v) { return -0.5 / (v * std::sqrt(v)); }, $a)", "", "1 / std::sqrt(x[0])", 1, 4},
    {"Reciprocal", 1, "support::Quotient(T(1), $a)", "T(0) - support::Quotient(T(1), $a * $a)", "", "1 / x[0]", 1, 4},
    {"Sin", 1, "support::Real([](double v) { return std::sin(v); }, $a)",
     "support::Real([](double v) { return std::cos(v); }, $a)", "", "std::sin(x[0])"},
    {"Cos", 1, "support::Real([](double v) { return std::cos(v); }, $a)",
     "support::Real([](double v) { return -std::sin(v); }, $a)", "", "std::cos(x[0])"},
    {"Tanh", 1, "support::Real([](double v) { return std::tanh(v); }, $a)",
     "support::Real([](double v) { return 1 - std::tanh(v) * std::tanh(v); }, $a)", "", "std::tanh(x[0])"},
    {"Sigmoid", 1, "support::Real([](double v) { return 1 / (1 + std::exp(-v)); }, $a)",
     "support::Real([](double v) { return 0.25 / (std::cosh(v / 2) * std::cosh(v / 2)); }, $a)", "",
     "1 / (1 + std::exp(-x[0]))"},
    {"Softplus", 1, "support::Real([](double v) { return std::log1p(std::exp(v)); }, $a)",
     "support::Real([](double v) { return 1 / (1 + std::exp(-v)); }, $a)", "", "std::log(1 + std::exp(x[0]))"},
    {"Add", 2, "$a + $b", "T(1)", "T(1)", "x[0] + x[1]"},
    {"Sub", 2, "$a - $b", "T(1)", "T(-1)", "x[0] - x[1]"},
    {"Mul", 2, "$a * $b", "$b", "$a", "x[0] * x[1]"},
    {"Div", 2, "support::Quotient($a, $b)", "support::Quotient(T(1), $b)", "T(0) - support::Quotient($a, $b * $b)",
     "x[0] / x[1]", 1, 4},
    {"Maximum", 2, "$a < $b ? $b : $a", "$a < $b ? T(0) : T(1)", "$a < $b ? T(1) : T(0)", "std::max(x[0], x[1])"},
    {"Minimum", 2, "$b < $a ? $b : $a", "$b < $a ? T(0) : T(1)", "$b < $a ? T(1) : T(0)", "std::min(x[0], x[1])"},
    {"SquaredDifference", 2, "($a - $b) * ($a - $b)", "T(2) * ($a - $b)", "T(2) * ($b - $a)",
     "(x[0] - x[1]) * (x[0] - x[1])"},
};

struct Reducing {
  const char *name, *start, *combine, *finish, *slope, *expected;
  double low = -2, high = 2;
};
constexpr Reducing kReducing[] = {
    {"Sum", "T(0)", "sum + x", "sum", "T(1)", "return std::accumulate(x.begin(), x.end(), 0.0);"},
    {"Mean", "T(0)", "sum + x", "support::Quotient(sum, static_cast<T>(count))",
     "support::Quotient(T(1), static_cast<T>(count))",
     "return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());"},
    {"Max", "support::Lowest<T>()", "sum < x ? x : sum", "sum", "x == y ? T(1) : T(0)",
     "return x.empty() ? -HUGE_VAL : *std::max_element(x.begin(), x.end());"},
    {"Min", "support::Highest<T>()", "x < sum ? x : sum", "sum", "x == y ? T(1) : T(0)",
     "return x.empty() ? HUGE_VAL : *std::min_element(x.begin(), x.end());"},
    {"Prod", "T(1)", "sum * x", "sum", "support::Quotient(y, x)",
     "return std::accumulate(x.begin(), x.end(), 1.0, [](double a, double b) { return a * b; });", 1, 2},
    {"SumSquare", "T(0)", "sum + x * x", "sum", "T(2) * x",
     "return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);"},
    {"L2", "T(0)", "sum + x * x", "support::Real([](double v) { return std::sqrt(v); }, sum)",
     "support::Quotient(x, y)", "return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));", 1, 4},
    {"All", "T(1)", "sum != T(0) && x != T(0) ? T(1) : T(0)", "sum", "T(0)",
     "return std::count(x.begin(), x.end(), 0.0) == 0 ? 1 : 0;"},
    {"Any", "T(0)", "sum != T(0) || x != T(0) ? T(1) : T(0)", "sum", "T(0)",
     "return x.size() - static_cast<size_t>(std::count(x.begin(), x.end(), 0.0)) > 0 ? 1 : 0;"},
};

// Words in names that tell of an operator that looks at more than one place.
constexpr const char* kWholeWords[] = {
    "MatMul",    "Matmul",  "Gemm",      "Conv",    "Pool",   "Gather", "Scatter", "Softmax", "Norm",  "Attention",
    "Transpose", "Reshape", "Concat",    "Split",   "Slice",  "Pad",    "Tile",    "Sort",    "TopK",  "Arg",
    "Cum",       "Loss",    "Embedding", "Stencil", "Resize", "OneHot", "Fft",     "Lstm",    "Gru",   "Flash",
    "Roll",      "Unique",  "Einsum",    "Stack",   "Expand", "Where",  "Range",   "Diag",    "Rotary"};
constexpr const char* kWholeAttributes[] = {
    "axis",         "axes",         "dim",        "dims",     "perm",      "shape",       "size",
    "kernel_size",  "kernel_shape", "ksize",      "stride",   "strides",   "pad",         "pads",
    "padding",      "dilation",     "dilations",  "group",    "groups",    "begin",       "end",
    "multiples",    "num_split",    "block_size", "head_num", "num_heads", "transpose_a", "transpose_b",
    "transpose_x1", "transpose_x2", "adj_x1",     "adj_x2",   "out_shape", "output_size"};
constexpr const char* kAxesNames[] = {"axes", "axis", "dims", "dim"};
constexpr const char* kKeepNames[] = {"keepdims", "keep_dims", "keepdim"};

template <std::size_t kSize>
bool IsOneOf(const std::string& word, const char* const (&list)[kSize]) {
  return std::any_of(std::begin(list), std::end(list), [&](const char* one) { return word == one; });
}

// "MyAddCustom" -> "Add"
std::string Stripped(std::string name) {
  for (const std::string prefix : {"My", "Custom"}) {
    if (name.size() > prefix.size() && name.rfind(prefix, 0) == 0 && name[prefix.size()] >= 'A' &&
        name[prefix.size()] <= 'Z')
      name.erase(0, prefix.size());
  }
  for (const std::string suffix : {"Custom", "V2", "V1"}) {
    if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      name.erase(name.size() - suffix.size());
  }
  return name;
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

class Chooser {
 public:
  Chooser(const Operator& op, const Layout& layout, Findings& findings)
      : op_(op), layout_(layout), findings_(findings), name_(Stripped(op.type)) {}

  Formula Choose() {
    ChooseKind();
    if (formula_.kind == "elementwise") Elements();
    if (formula_.kind == "reduction") Reduces();
    if (formula_.kind == "generic") Whole();
    return formula_;
  }

 private:
  // ---- kind ----

  const Attribute* Find(bool (*wanted)(const Attribute&)) const {
    const auto found = std::find_if(op_.attributes.begin(), op_.attributes.end(), wanted);
    return found == op_.attributes.end() ? nullptr : &*found;
  }
  const Reducing* Reducer() const {
    std::string name = name_;
    const bool reduce = name.rfind("Reduce", 0) == 0;
    if (reduce) name.erase(0, 6);
    if (reduce && name.size() > 1 && name.back() == 'D') name.pop_back();
    for (const Reducing& one : kReducing) {
      if (name == one.name) return &one;
    }
    return nullptr;
  }
  bool MayReduce() const {
    return layout_.inputs.size() == 1 && layout_.inputs[0].presence == Presence::kRequired &&
           layout_.outputs.size() == 1 && layout_.outputs[0].presence == Presence::kRequired;
  }
  bool MayBeElementwise() const {
    if (layout_.inputs.empty()) return false;
    return layout_.dynamic_outputs() == 0 || (layout_.fixed_outputs == 0 && layout_.dynamic_inputs() > 0);
  }

  void ChooseKind() {
    axes_ = Find([](const Attribute& a) {
      return IsOneOf(a.field, kAxesNames) && (a.type == AttributeType::kInt || a.type == AttributeType::kInts);
    });
    keep_ = Find([](const Attribute& a) {
      return IsOneOf(a.field, kKeepNames) && (a.type == AttributeType::kBool || a.type == AttributeType::kInt);
    });
    if (!op_.kind.empty()) {
      Kind(op_.kind, "\"kind\" says so");
      if (op_.kind == "reduction" && !MayReduce())
        findings_.Error(op_.place,
                        fmt::format("'{}' cannot be a reduction: that has one required input and one required "
                                    "output.",
                                    op_.type));
      if (op_.kind == "elementwise" && !MayBeElementwise())
        findings_.Error(op_.place,
                        fmt::format("'{}' cannot be elementwise: that has inputs, and dynamic outputs only if all "
                                    "outputs and some input are dynamic.",
                                    op_.type));
      return;
    }
    if (MayReduce() && name_.rfind("Reduce", 0) == 0) return Kind("reduction", "its name starts with Reduce");
    if (MayReduce() && keep_ != nullptr)
      return Kind("reduction", fmt::format("it has the attribute '{}'", keep_->name));
    if (MayReduce() && axes_ != nullptr && Reducer() != nullptr)
      return Kind("reduction", fmt::format("its name and its attribute '{}' say so", axes_->name));
    if (layout_.inputs.empty()) return Kind("generic", "it has no input");
    if (!MayBeElementwise()) return Kind("generic", "it has dynamic outputs beside others");
    if (Known() != nullptr) return Kind("elementwise", "its name says so");
    for (const char* word : kWholeWords) {
      if (name_.find(word) != std::string::npos) return Kind("generic", fmt::format("its name holds '{}'", word));
    }
    if (const Attribute* found = Find([](const Attribute& a) { return IsOneOf(a.field, kWholeAttributes); }))
      return Kind("generic", fmt::format("it has the attribute '{}'", found->name));
    for (const Operand& input : layout_.inputs) {
      const Operand& first = layout_.inputs[0];
      if (!input.formats.empty() && !first.formats.empty() && input.formats[0] != first.formats[0])
        return Kind("generic",
                    fmt::format("its inputs have the formats {} and {}", first.formats[0], input.formats[0]));
    }
    Kind("elementwise", "nothing in the file speaks against it");
  }
  void Kind(std::string kind, std::string reason) {
    formula_.kind = std::move(kind);
    formula_.kind_reason = std::move(reason);
  }

  // ---- elementwise ----

  const Elementary* Known() const {
    const bool plain = std::all_of(layout_.inputs.begin(), layout_.inputs.end(),
                                   [](const Operand& input) { return input.presence == Presence::kRequired; }) &&
                       layout_.outputs.size() == 1 && layout_.outputs[0].presence == Presence::kRequired;
    if (!plain) return nullptr;
    for (const Elementary& one : kElementary) {
      if (name_ == one.name && layout_.inputs.size() == static_cast<std::size_t>(one.operands)) return &one;
    }
    return nullptr;
  }

  void SayUnknown(bool known) {
    std::vector<std::string> unused;
    for (const Attribute& attribute : op_.attributes) {
      if (&attribute != axes_ && &attribute != keep_) unused.push_back("'" + attribute.name + "'");
    }
    if (known && unused.empty()) return;
    formula_.fill_in = true;
    formula_.reason =
        known ? fmt::format("The file does not say what the attribute{} {} {}.", unused.size() > 1 ? "s" : "",
                            JoinAnd(unused), unused.size() > 1 ? "do" : "does")
              : fmt::format("The file does not say what {} computes.", op_.type);
  }

  void Elements() {
    const Elementary* known = Known();
    axes_ = keep_ = nullptr;
    SayUnknown(known != nullptr);
    if (known != nullptr) return KnownElements(*known);
    const bool foreach = layout_.dynamic_outputs() > 0;
    std::vector<std::string> terms;
    std::string sum_of_lists;
    for (const Operand& input : layout_.inputs) {
      if (input.presence == Presence::kDynamic && !foreach) {
        sum_of_lists += fmt::format("for (const T value : in.{}) sum = sum + value;\n", input.field);
      } else {
        terms.push_back("in." + input.field + (input.presence == Presence::kOptional ? ".value" : ""));
      }
    }
    formula_.element.push_back(fmt::format("T sum = {};", terms.empty() ? "T(0)" : Join(terms, " + ")));
    for (const std::string& line : Split(sum_of_lists, '\n')) {
      if (!line.empty()) formula_.element.push_back(line);
    }
    if (sum_of_lists.empty()) formula_.element[0].insert(0, "const ");
    std::vector<std::string> incoming;
    for (const Operand& output : layout_.outputs) {
      formula_.element.push_back(fmt::format("out.{} = sum;", output.field));
      incoming.push_back("dout." + output.field);
    }
    formula_.element_gradient.push_back(fmt::format("const T slope = {};", Join(incoming, " + ")));
    for (const Operand& input : layout_.inputs) {
      if (input.presence == Presence::kDynamic && !foreach) {
        formula_.element_gradient.push_back(fmt::format("for (T& value : din.{}) value = slope;", input.field));
      } else {
        formula_.element_gradient.push_back(
            fmt::format("din.{}{} = slope;", input.field, input.presence == Presence::kOptional ? ".value" : ""));
      }
    }
    formula_.default_words =
        layout_.inputs.size() == 1 && layout_.dynamic_inputs() == 0 ? "the input as it is" : "the sum of all inputs";
    formula_.expected = {
        fmt::format("return testing::Numbers({}, std::accumulate(x.begin(), x.end(), 0.0));", layout_.outputs.size())};
  }

  void KnownElements(const Elementary& known) {
    const std::string a = "in." + layout_.inputs[0].field;
    const std::string b = known.operands > 1 ? "in." + layout_.inputs[1].field : "";
    const auto spelled = [&](const char* text) { return Replaced(Replaced(text, "$a", a), "$b", b); };
    const std::string out = layout_.outputs[0].field;
    formula_.element = {fmt::format("out.{} = {};", out, spelled(known.value))};
    const char* slopes[] = {known.slope_a, known.slope_b};
    for (std::size_t i = 0; i < layout_.inputs.size(); ++i)
      formula_.element_gradient.push_back(
          fmt::format("din.{} = dout.{} * ({});", layout_.inputs[i].field, out, spelled(slopes[i])));
    formula_.expected = {fmt::format("return {{{}}};", known.expected)};
    formula_.default_words = fmt::format("{} of the inputs, after its name", known.name);
    formula_.low = known.low;
    formula_.high = known.high;
  }

  // ---- reduction ----

  void Reduces() {
    const Reducing* known = Reducer();
    SayUnknown(known != nullptr);
    if (known == nullptr) known = &kReducing[0];
    formula_.start = known->start;
    formula_.combine = known->combine;
    formula_.finish = known->finish;
    formula_.slope = known->slope;
    formula_.expected = {known->expected};
    formula_.default_words = fmt::format("the {} along the axes", known->name);
    formula_.low = known->low;
    formula_.high = known->high;
    if (axes_ != nullptr) formula_.axes = axes_->name;
    if (keep_ != nullptr) formula_.keepdims = keep_->name;
  }

  // ---- generic ----

  void Whole() {
    axes_ = keep_ = nullptr;
    SayUnknown(false);
    formula_.default_words = layout_.inputs.empty() ? "zeros" : "a copy of the first input";
    const auto required = std::find_if(layout_.inputs.begin(), layout_.inputs.end(),
                                       [](const Operand& input) { return input.presence == Presence::kRequired; });
    std::string source;
    if (required != layout_.inputs.end()) {
      source = required->field;
    } else if (layout_.dynamic_inputs() > 0) {
      source = layout_.inputs[layout_.fixed_inputs].field + "[0]";
    } else if (!layout_.inputs.empty()) {
      source = layout_.inputs[0].field;
    }
    if (source.empty()) return Expect("{}");
    for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
      const std::string out = layout_.outputs[i].field;
      if (i < layout_.fixed_outputs) {
        formula_.compute.push_back(fmt::format("support::Copy(in.{}, out.{});", source, out));
        formula_.compute_gradient.push_back(fmt::format("support::AddBack(dout.{}, din.{});", out, source));
      } else {
        const std::string from =
            layout_.dynamic_inputs() > 0 ? layout_.inputs[layout_.fixed_inputs].field + "[i]" : source;
        formula_.compute.push_back(
            fmt::format("for (size_t i = 0; i < out.{}.size(); ++i) support::Copy(in.{}, out.{}[i]);", out, from, out));
        formula_.compute_gradient.push_back(fmt::format(
            "for (size_t i = 0; i < dout.{}.size(); ++i) support::AddBack(dout.{}[i], din.{});", out, out, from));
      }
    }
    const std::size_t place = required != layout_.inputs.end()
                                  ? static_cast<std::size_t>(required - layout_.inputs.begin())
                                  : layout_.fixed_inputs * (layout_.dynamic_inputs() > 0 ? 1 : 0);
    Expect(fmt::format("std::vector<size_t>(call.outputs.size(), {})", place));
  }

  void Expect(const std::string& sources) {
    formula_.expected = {fmt::format("std::vector<size_t> sources = {};", sources)};
    if (layout_.dynamic_outputs() > 0 && layout_.dynamic_inputs() > 0) {
      formula_.expected.push_back(fmt::format("const size_t members = (call.inputs.size() - {}) / {};",
                                              layout_.fixed_inputs, layout_.dynamic_inputs()));
      formula_.expected.push_back(
          fmt::format("for (size_t k = {}; k < sources.size(); ++k) sources[k] = {} + (k - {}) % members;",
                      layout_.fixed_outputs, layout_.fixed_inputs, layout_.fixed_outputs));
    }
    formula_.expected.push_back("return testing::CopiesOf(call, sources);");
  }

  const Operator& op_;
  const Layout& layout_;
  Findings& findings_;
  const std::string name_;
  const Attribute* axes_ = nullptr;
  const Attribute* keep_ = nullptr;
  Formula formula_;
};

}  // namespace

Layout LayoutOf(const Operator& op) {
  Layout layout;
  const auto dynamic = [](const Operand& operand) { return operand.presence == Presence::kDynamic; };
  layout.inputs = op.inputs;
  layout.outputs = op.outputs;
  std::stable_partition(layout.inputs.begin(), layout.inputs.end(), [&](const Operand& o) { return !dynamic(o); });
  std::stable_sort(layout.outputs.begin(), layout.outputs.end(),
                   [](const Operand& a, const Operand& b) { return a.presence < b.presence; });
  layout.fixed_inputs =
      layout.inputs.size() - static_cast<std::size_t>(std::count_if(op.inputs.begin(), op.inputs.end(), dynamic));
  layout.fixed_outputs =
      layout.outputs.size() - static_cast<std::size_t>(std::count_if(op.outputs.begin(), op.outputs.end(), dynamic));
  const auto same = [](const Operand& a, const Operand& b) { return a.name == b.name; };
  layout.reordered = !std::equal(op.inputs.begin(), op.inputs.end(), layout.inputs.begin(), same) ||
                     !std::equal(op.outputs.begin(), op.outputs.end(), layout.outputs.begin(), same);
  return layout;
}

Formula ChooseFormula(const Operator& op, const Layout& layout, Findings& findings) {
  return Chooser(op, layout, findings).Choose();
}

}  // namespace tenon::msopgen
