#include "tools/conform/op_samples.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "core/graph/graph.h"

namespace tenon::conform {
namespace {

// inputs: one word each.
//   f[2,3]   values in (-1, 1) of the dtype under test      p[..]  in (0.5, 2)      u[..]  in (0, 1)      F[..] float32
//   i5[..]   int64 in [0, 5)   j5[..]  int32 in [0, 5)      b[..]  bool             =1,2   the int64 vector 1, 2
//   s0.5     a float32 scalar  t3      an int64 scalar      B1     a bool scalar    -      absent
// attributes: name=value words; a value is an integer, a number with a dot, [a,b] or a text.
struct Row {
  const char* op;  // domain "tenon" is written tenon.Name
  const char* inputs;
  const char* attributes = "";
  int outputs = 1;
};

constexpr Row kRows[] = {
    {"Add", "f[3,5] f[3,5]"},
    {"Add", "f[2,3,4] f[4]"},
    {"Add", "f[2,1,4] f[3,1]"},
    {"Sub", "f[3,5] f[3,5]"},
    {"Sub", "f[2,3,4] f[3,1]"},
    {"Mul", "f[3,5] f[3,5]"},
    {"Mul", "f[2,3,4] f[1]"},
    {"Mul", "f[4] f[2,3,4]"},
    {"Div", "f[3,5] p[3,5]"},
    {"Div", "f[2,3,4] p[4]"},
    {"Pow", "p[3,5] f[3,5]"},
    {"Max", "f[3,5] f[3,5] f[5]"},
    {"Min", "f[3,5] f[3,5]"},
    {"Mean", "f[3,5] f[3,5]"},
    {"Sum", "f[3,5] f[3,5] f[3,5]"},
    {"Log", "p[3,17]"},
    {"Sqrt", "p[3,17]"},
    {"Reciprocal", "p[3,17]"},
    {"PRelu", "f[2,3,4] f[3,1]"},
    {"Clip", "f[3,9] s-0.5 s0.5"},
    {"Relu", "f[2,3,4,5]"},
    {"MatMul", "f[5,7] f[7,3]"},
    {"MatMul", "f[2,5,7] f[2,7,3]"},
    {"MatMul", "f[17,33] f[33,65]"},
    {"MatMul", "f[1,1] f[1,1]"},
    {"Gemm", "f[5,7] f[7,3] f[3]"},
    {"Gemm", "f[7,5] f[3,7] f[5,3]", "transA=1 transB=1 alpha=0.5 beta=2.0"},
    {"Gemm", "f[17,33] f[65,33] f[65]", "transB=1"},
    {"Gemm", "f[4,4] f[4,4]"},
    {"Conv", "f[2,3,9,7] f[4,3,3,3] f[4]", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[1,1] dilations=[1,1]"},
    {"Conv", "f[1,4,8,8] f[6,2,3,3]", "kernel_shape=[3,3] group=2 strides=[2,2] pads=[0,0,0,0] dilations=[1,1]"},
    {"Conv", "f[2,16,6,6] f[16,16,1,1]", "kernel_shape=[1,1] strides=[1,1] pads=[0,0,0,0] dilations=[1,1]"},
    {"Conv", "f[1,8,9,9] f[8,1,3,3]", "kernel_shape=[3,3] group=8 pads=[1,1,1,1] strides=[1,1] dilations=[1,1]"},
    {"Conv", "f[1,2,9,9] f[3,2,3,3]", "kernel_shape=[3,3] dilations=[2,2] pads=[2,1,0,1] strides=[1,2]"},
    {"ConvTranspose", "f[1,3,5,5] f[3,4,3,3]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] dilations=[1,1]"},
    {"tenon.ConvInputGrad", "f[2,4,9,7] f[4,3,3,3]",
     "x_shape=[2,3,9,7] kernel_shape=[3,3] pads=[1,1,1,1] strides=[1,1] dilations=[1,1]"},
    {"tenon.ConvWeightGrad", "f[2,4,9,7] f[2,3,9,7]",
     "kernel_shape=[3,3] pads=[1,1,1,1] strides=[1,1] dilations=[1,1]"},
    {"MaxPool", "f[2,3,8,8]", "kernel_shape=[2,2] strides=[2,2] pads=[0,0,0,0] dilations=[1,1]"},
    {"MaxPool", "f[2,3,9,7]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] dilations=[1,1]", 2},
    {"AveragePool", "f[2,3,8,8]", "kernel_shape=[2,2] strides=[2,2] pads=[0,0,0,0]"},
    {"AveragePool", "f[2,3,9,7]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1"},
    {"GlobalAveragePool", "f[2,3,7,5]"},
    {"tenon.MaxPoolGrad", "f[1,1,2,2] i4[1,1,2,2]",
     "x_shape=[1,1,4,4] kernel_shape=[2,2] strides=[2,2] pads=[0,0,0,0] dilations=[1,1]"},
    {"tenon.AveragePoolGrad", "f[2,3,4,4]", "x_shape=[2,3,8,8] kernel_shape=[2,2] strides=[2,2] pads=[0,0,0,0]"},
    {"Softmax", "f[3,17]"},
    {"Softmax", "f[2,5,9]", "axis=1"},
    {"LogSoftmax", "f[3,17]"},
    {"tenon.SoftmaxGrad", "f[3,17] u[3,17]"},
    {"tenon.LogSoftmaxGrad", "f[3,17] f[3,17]"},
    {"ReduceMean", "f[3,4,5] =1", "keepdims=0"},
    {"ReduceSum", "f[3,4,5] =0,2"},
    {"ReduceSum", "f[7,33] =1", "keepdims=0"},
    {"ReduceMax", "f[3,4,5] =2"},
    {"ReduceMin", "f[3,4,5] =1"},
    {"ReduceProd", "f[3,4,5] =1"},
    {"ReduceL2", "f[3,4,5] =1"},
    {"ReduceSumSquare", "f[3,4,5] =1"},
    {"ReduceLogSumExp", "f[3,4,5] =1"},
    {"ArgMax", "f[3,7]", "axis=1"},
    {"ArgMin", "f[3,7]", "axis=1"},
    {"BatchNormalization", "f[4,3,5,5] p[3] f[3] f[3] p[3]"},
    {"BatchNormalization", "f[4,3,5,5] p[3] f[3] f[3] p[3]", "training_mode=1", 5},
    {"tenon.BatchNormalizationGrad", "f[4,3,5,5] f[4,3,5,5] p[3] F[3] F[3]", "", 3},
    {"LayerNormalization", "f[4,19] p[19] f[19]", "", 1},
    {"LayerNormalization", "f[2,3,16] p[16] f[16]", "", 3},
    {"tenon.LayerNormalizationGrad", "f[4,19] f[4,19] p[19] F[4,1] F[4,1]", "", 3},
    {"RMSNormalization", "f[4,19] p[19]"},
    {"GroupNormalization", "f[2,4,3,3] p[4] f[4]", "num_groups=2"},
    {"InstanceNormalization", "f[2,3,4,4] p[3] f[3]"},
    {"Transpose", "f[3,5]", "perm=[1,0]"},
    {"Transpose", "f[2,3,4,5]", "perm=[0,2,3,1]"},
    {"Reshape", "f[3,8] =4,6"},
    {"Flatten", "f[2,3,4]"},
    {"Squeeze", "f[2,1,4] =1"},
    {"Unsqueeze", "f[2,4] =1"},
    {"Expand", "f[3,1] =2,3,4"},
    {"Concat", "f[2,3] f[2,5]", "axis=1"},
    {"Concat", "f[2,3] f[1,3] f[4,3]", "axis=0"},
    {"Split", "f[6,4] =2,4", "axis=0", 2},
    {"Slice", "f[6,9] =1,2 =5,8 =0,1 =1,2"},
    {"Pad", "f[3,4] =1,0,2,1"},
    {"Tile", "f[2,3] =2,3"},
    {"Gather", "f[7,5] i7[4]"},
    {"Gather", "f[3,7] i7[2,2]", "axis=1"},
    {"tenon.GatherGrad", "f[4,5] i7[4]", "x_shape=[7,5]"},
    {"GatherElements", "f[3,4] i3[2,4]", "axis=0"},
    {"GatherND", "f[3,4,5] i3[2,1]"},
    {"ScatterElements", "f[5] i5[1] f[1]", "axis=0"},
    {"Where", "b[3,5] f[3,5] f[3,5]"},
    {"Where", "b[3,1] f[3,5] f[5]"},
    {"tenon.SliceGrad", "f[4,3] =1,2 =5,8 =0,1 =1,2", "x_shape=[6,9]"},
    {"tenon.PadGrad", "f[6,5] =1,0,2,1", "x_shape=[3,4]"},
    {"tenon.TileGrad", "f[4,9] =2,3", "x_shape=[2,3]"},
    {"OneHot", "i4[3] t4 f[2]"},
    {"CumSum", "f[3,7] t1"},
    {"TopK", "f[3,7] =2", "axis=1", 2},
    {"Trilu", "f[4,4]"},
    {"Resize", "f[1,2,4,4] - F[0] =1,2,8,8", "mode=nearest"},
    {"DepthToSpace", "f[1,8,2,3]", "blocksize=2"},
    {"SpaceToDepth", "f[1,2,4,6]", "blocksize=2"},
    {"Cast", "f[3,17]", "to=1"},
    {"Cast", "f[3,17]", "to=16"},
    {"Cast", "f[3,17]", "to=10"},
    {"Cast", "i100[3,17]", "to=1"},
    {"SoftmaxCrossEntropyLoss", "f[5,7] i7[5]"},
    {"SoftmaxCrossEntropyLoss", "f[5,7] i7[5]", "", 2},
    {"tenon.SoftmaxCrossEntropyLossGrad", "f[] f[5,7] i7[5]"},
    {"NegativeLogLikelihoodLoss", "f[5,7] i7[5]"},
    {"tenon.L1Loss", "f[3,5] f[3,5]"},
    {"tenon.L1LossGrad", "f[] f[3,5] f[3,5]"},
    {"tenon.MeanSquaredErrorLoss", "f[3,5] f[3,5]"},
    {"tenon.MeanSquaredErrorLossGrad", "f[] f[3,5] f[3,5]"},
    {"tenon.SmoothL1Loss", "f[3,5] f[3,5]"},
    {"tenon.SmoothL1LossGrad", "f[] f[3,5] f[3,5]"},
    {"tenon.BinaryCrossEntropyWithLogitsLoss", "f[3,5] u[3,5]"},
    {"tenon.BinaryCrossEntropyWithLogitsLossGrad", "f[] f[3,5] u[3,5]"},
    {"Dropout", "f[8,33] s0.25 B1", "seed=3", 2},
    {"tenon.DropoutGrad", "f[8,33] b[8,33] s0.25 B1"},
    {"tenon.SGD", "s0.1 f[7,5] f[3] f[7,5] f[3]", "count=2", 2},
    {"tenon.SGD", "s0.1 f[7,5] f[3] f[7,5] f[3] f[7,5] f[3]", "count=2 momentum=0.9 weight_decay=0.01", 4},
    {"tenon.Adam", "s0.1 t3 f[7,5] f[7,5] u[7,5] f[7,5]", "count=1", 3},
    {"tenon.AdamW", "s0.1 t3 f[7,5] f[7,5] u[7,5] f[7,5]", "count=1 weight_decay=0.01", 3},
    {"tenon.Lamb", "s0.1 t3 f[7,5] f[7,5] u[7,5] f[7,5]", "count=1", 3},
    {"tenon.ScaledDotProductAttention", "f[2,5,8] f[2,7,8] f[2,7,8]", "heads=2", 2},
    {"tenon.AllFinite", "f[3,5] f[4]"},
    {"tenon.MaxGrad", "f[3,5] f[3,5] f[3,5] f[3,5]", "", 2},
    {"tenon.Accumulate", "s0.5 t1 f[3,5] f[3,5]", "count=1"},
    {"tenon.PReluGrad", "f[2,3,4] f[2,3,4] f[3,1]", "", 2},
    {"tenon.ReduceMaxGrad", "f[3,1] f[3,5] f[3,1]"},
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<std::int64_t> Numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    numbers.push_back(number);
    text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
  }
  return numbers;
}

double Number(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

// What stands between the first letter and the bracket, and the dims in the bracket.
struct Spec {
  char kind;
  double bound;
  Shape shape;
};
Spec Split(std::string_view word) {
  const std::size_t open = word.find('[');
  Spec spec{word[0], kNone, Shape()};
  if (open > 1) spec.bound = Number(word.substr(1, open - 1));
  if (open != std::string_view::npos)
    spec.shape = Shape(std::span<const std::int64_t>(Numbers(word.substr(open + 1, word.size() - open - 2))));
  return spec;
}

void AddSpecials(Tensor* tensor, std::uint64_t seed) {
  if (!IsFloating(tensor->dtype()) || tensor->elements() == 0) return;
  Tensor wide = Cast(*tensor, DType::kF64);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto place = static_cast<std::int64_t>((i * 7 + seed * 3) % static_cast<std::uint64_t>(wide.elements()));
    wide.data<double>()[place] = specials[i];
  }
  *tensor = Cast(wide, tensor->dtype());
}

Tensor MakeInput(std::string_view word, DType dtype, std::uint64_t seed, Values values) {
  if (word == "-") return {};
  if (word[0] == '=') {
    const std::vector<std::int64_t> numbers = Numbers(word.substr(1));
    return Tensor::Of<std::int64_t>(Shape{static_cast<std::int64_t>(numbers.size())},
                                    std::span<const std::int64_t>(numbers));
  }
  if (word[0] == 's') return Cast(Tensor::Scalar<float>(static_cast<float>(Number(word.substr(1)))), DType::kF32);
  if (word[0] == 't') return Tensor::Scalar<std::int64_t>(static_cast<std::int64_t>(Number(word.substr(1))));
  if (word[0] == 'B') return Cast(Tensor::Scalar<std::int64_t>(word[1] == '1' ? 1 : 0), DType::kBool);
  const Spec spec = Split(word);
  Tensor tensor;
  switch (spec.kind) {
    case 'i':
      return RandomTensor(DType::kI64, spec.shape, 0, spec.bound, seed);
    case 'j':
      return RandomTensor(DType::kI32, spec.shape, 0, spec.bound, seed);
    case 'b':
      return Cast(RandomTensor(DType::kI64, spec.shape, 0, 2, seed), DType::kBool);
    case 'p':
      tensor = RandomTensor(dtype, spec.shape, 0.5, 2, seed);
      break;
    case 'u':
      tensor = RandomTensor(dtype, spec.shape, 0.01, 1, seed);
      break;
    case 'F':
      tensor = RandomTensor(DType::kF32, spec.shape, 0.5, 2, seed);
      break;
    default:
      tensor = RandomTensor(dtype, spec.shape, IsUnsignedInteger(dtype) ? 0 : -1, 1, seed);
  }
  if (values == Values::kSpecial) AddSpecials(&tensor, seed);
  return tensor;
}

AttrValue ParseValue(std::string_view text) {
  if (text[0] == '[') return Numbers(text.substr(1, text.size() - 2));
  const bool digit = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';
  if (!digit) return std::string(text);
  if (text.find('.') != std::string_view::npos) return Number(text);
  return Numbers(text)[0];
}

Attributes ParseAttributes(std::string_view text) {
  Attributes attrs;
  for (const std::string_view word : Words(text)) {
    const std::size_t equals = word.find('=');
    attrs.Set(word.substr(0, equals), ParseValue(word.substr(equals + 1)));
  }
  return attrs;
}

std::string NameOf(const OpDef& def) { return def.domain().empty() ? def.type() : def.domain() + "." + def.type(); }

}  // namespace

std::vector<Shape> OpCall::output_shapes() const {
  std::vector<Shape> shapes;
  for (const ValueType& type : types) shapes.push_back(type.shape.Concrete());
  return shapes;
}

Tensor RandomTensor(DType dtype, const Shape& shape, double low, double high, std::uint64_t seed) {
  Tensor wide(DType::kF64, shape);
  const bool whole = IsInteger(dtype);
  if (whole && high - low < 3 && low <= 0) high = 9, low = IsUnsignedInteger(dtype) ? 0 : -9;
  std::uint64_t state = seed * 6364136223846793005u + 1442695040888963407u;
  for (double& value : wide.values<double>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
    if (whole) value = std::floor(value);
  }
  return dtype == DType::kF64 ? wide : Cast(wide, dtype);
}

Result<OpCall> MakeCall(const OpDef& def, Attributes attrs, std::vector<Tensor> inputs, int outputs) {
  OpCall call;
  call.def = &def;
  call.text = NameOf(def);
  for (const Tensor& input : inputs) call.text += input.defined() ? " " + input.Describe() : " -";
  call.text += " {";
  for (const auto& item : attrs.items())
    call.text += (call.text.back() == '{' ? "" : ", ") + item.first + "=" + ToString(item.second);
  call.text += "}";
  call.attrs = std::move(attrs);
  TENON_TRY(def.Complete(call.attrs));
  std::vector<ValueType> types;
  std::vector<const Tensor*> constants;
  for (const Tensor& input : inputs) {
    types.push_back(input.defined() ? ValueType{input.dtype(), input.shape()} : ValueType{});
    constants.push_back(input.defined() ? &input : nullptr);
  }
  TENON_ASSIGN(call.types, def.InferOutputs(call.attrs, types, constants, static_cast<std::size_t>(outputs)));
  call.inputs = std::move(inputs);
  call.random = {0x1234567, 42};
  return call;
}

std::vector<OpCall> SameShapeCall(const OpDef& def, DType dtype, const Shape& shape, Values values) {
  std::vector<Tensor> inputs;
  std::uint64_t seed = 1;
  for (const ArgDef& argument : def.inputs()) {
    if (argument.arity == Arity::kOptional) continue;
    if (!argument.types.Has(dtype)) return {};
    const bool positive =
        def.type() == "Log" || def.type() == "Sqrt" || def.type() == "Reciprocal" || def.type() == "Pow";
    const double low = IsUnsignedInteger(dtype) || positive ? 0.25 : -1;
    inputs.push_back(RandomTensor(dtype, shape, low, 1, ++seed));
    if (values == Values::kSpecial) AddSpecials(&inputs.back(), seed);
    if (argument.arity == Arity::kVariadic) inputs.push_back(RandomTensor(dtype, shape, low, 1, ++seed));
  }
  auto call = MakeCall(def, {}, std::move(inputs), 1);
  if (!call.ok()) return {};
  return {std::move(call).value()};
}

std::vector<OpCall> SampleCalls(const OpDef& def, DType dtype, Values values) {
  std::vector<OpCall> calls;
  const std::string name = NameOf(def);
  bool listed = false;
  for (const Row& row : kRows) {
    if (name != row.op) continue;
    listed = true;
    std::vector<Tensor> inputs;
    std::uint64_t seed = 1;
    for (const std::string_view word : Words(row.inputs)) inputs.push_back(MakeInput(word, dtype, ++seed, values));
    auto call = MakeCall(def, ParseAttributes(row.attributes), std::move(inputs), row.outputs);
    if (call.ok()) calls.push_back(std::move(call).value());
  }
  if (!listed) return SameShapeCall(def, dtype, Shape{3, 37}, values);
  return calls;
}

Result<std::vector<Tensor>> RunReference(const OpCall& call) {
  std::vector<Tensor> outputs;
  for (const ValueType& type : call.types) outputs.emplace_back(type.dtype, type.shape.Concrete());
  if (!call.has_reference()) return Error(Code::kUnimplemented, "Operator {} has no reference.", NameOf(*call.def));
  TENON_TRY(call.def->reference()(ReferenceArgs{call.attrs, call.inputs, outputs, call.random}));
  return outputs;
}

}  // namespace tenon::conform
