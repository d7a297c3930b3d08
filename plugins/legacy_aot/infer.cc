#include <vector>

#include "plugins/legacy_aot/operator.h"

namespace tenon::aot {
namespace {

// The numbers of dtypes in the legacy interface.
struct LegacyType {
  int number;
  uint32_t dtype;
};
constexpr LegacyType kTypes[] = {
    {30, TENON_DTYPE_BOOL}, {32, TENON_DTYPE_I8},  {33, TENON_DTYPE_I16}, {34, TENON_DTYPE_I32}, {35, TENON_DTYPE_I64},
    {37, TENON_DTYPE_U8},   {38, TENON_DTYPE_U16}, {39, TENON_DTYPE_U32}, {40, TENON_DTYPE_U64}, {42, TENON_DTYPE_F16},
    {43, TENON_DTYPE_F32},  {44, TENON_DTYPE_F64}, {45, TENON_DTYPE_BF16}};

int NumberOf(uint32_t dtype) {
  for (const LegacyType& type : kTypes) {
    if (type.dtype == dtype) return type.number;
  }
  return 0;
}
uint32_t DTypeOf(int number, const Operator& op) {
  for (const LegacyType& type : kTypes) {
    if (type.number == number) return type.dtype;
  }
  throw sdk::Failure(TENON_INVALID_ARGUMENT, op.name(), "InferType of ", op.file(), " gives the type number ", number,
                     ", which stands for no dtype that is known here.");
}

// Inputs in the form of the legacy interface: -1 stands for an extent that is not known yet.
struct Inputs {
  explicit Inputs(const sdk::Infer& node) {
    const uint32_t count = node.input_count();
    dims.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      const int32_t rank = node.InputRank(i);
      for (int32_t axis = 0; axis < rank; ++axis) {
        const tenon_dim dim = node.InputDim(i, axis);
        dims[i].push_back(sdk::IsKnown(dim) ? dim.value : -1);
      }
      ndims.push_back(rank);
      shapes.push_back(dims[i].data());
      dtypes.push_back(LegacyName(node.InputDType(i)));
      numbers.push_back(NumberOf(node.InputDType(i)));
    }
  }
  std::vector<std::vector<int64_t>> dims;
  std::vector<int> ndims;
  std::vector<int64_t*> shapes;
  std::vector<const char*> dtypes;
  std::vector<int> numbers;
};

using Shapes = std::vector<std::vector<int64_t>>;

Shapes CallInferShape(const Operator& op, Inputs& inputs, Extra& extra) {
  using OneShape = std::vector<int64_t> (*)(int*, int64_t**, void*);
  using SeveralShapes = Shapes (*)(int*, int64_t**, void*);
  const AnyFunction function = op.functions().infer_shape;
  if (op.signature().outputs.size() == 1) {
    return {reinterpret_cast<OneShape>(function)(inputs.ndims.data(), inputs.shapes.data(), extra.object())};
  }
  Shapes shapes = reinterpret_cast<SeveralShapes>(function)(inputs.ndims.data(), inputs.shapes.data(), extra.object());
  if (shapes.size() != op.signature().outputs.size())
    throw sdk::Failure(TENON_INVALID_ARGUMENT, op.name(), "InferShape of ", op.file(), " gives ",
                       static_cast<uint64_t>(shapes.size()), " shapes; the signature has ",
                       static_cast<uint64_t>(op.signature().outputs.size()), " outputs.");
  return shapes;
}

std::vector<int> CallInferType(const Operator& op, Inputs& inputs, Extra& extra) {
  using OneType = int (*)(std::vector<int>, void*);
  using SeveralTypes = std::vector<int> (*)(std::vector<int>, void*);
  const AnyFunction function = op.functions().infer_type;
  if (op.signature().outputs.size() == 1) return {reinterpret_cast<OneType>(function)(inputs.numbers, extra.object())};
  std::vector<int> types = reinterpret_cast<SeveralTypes>(function)(inputs.numbers, extra.object());
  if (types.size() != op.signature().outputs.size())
    throw sdk::Failure(TENON_INVALID_ARGUMENT, op.name(), "InferType of ", op.file(), " gives ",
                       static_cast<uint64_t>(types.size()), " types; the signature has ",
                       static_cast<uint64_t>(op.signature().outputs.size()), " outputs.");
  return types;
}

void SetOutput(const sdk::Infer& node, const Operator& op, uint32_t index, uint32_t dtype,
               const std::vector<int64_t>& shape) {
  if (shape.size() > static_cast<size_t>(sdk::kMaxRank) || (shape.size() == 1 && shape[0] == -2))
    node.Fail(TENON_INVALID_ARGUMENT, op.name(), "InferShape of ", op.file(), " does not know the rank of output ",
              index, "; it is needed here.");
  tenon_dim dims[sdk::kMaxRank] = {};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    dims[axis] = shape[axis] < 0 ? node.Fresh(0, sdk::Known(-1)) : sdk::Known(shape[axis]);
  }
  node.SetOutput(index, dtype, static_cast<int32_t>(shape.size()), dims);
}

void Rule(const Operator& op, const sdk::Infer& node) {
  const NodeAttributes attributes(op.signature().attributes,
                                  [&](std::string_view name) { return node.Attribute(name); });
  const std::unique_ptr<Extra> extra = Extra::Make(op.string_abi(), attributes);
  Inputs inputs(node);
  const bool shapes_told = op.functions().infer_shape != nullptr, types_told = op.functions().infer_type != nullptr;
  // In the order of the original: shapes first.
  const Shapes shapes = shapes_told ? CallInferShape(op, inputs, *extra) : Shapes();
  const std::vector<int> types = types_told ? CallInferType(op, inputs, *extra) : std::vector<int>();
  for (uint32_t i = 0; i < node.output_count(); ++i) {
    const int like = std::max(op.signature().like[i], 0);
    if (static_cast<uint32_t>(like) >= node.input_count())
      node.Fail(TENON_INVALID_ARGUMENT, "Nothing says the shape of output ", i, " of ", op.name(), " of ", op.file(),
                ".");
    const uint32_t dtype = types_told ? DTypeOf(types[i], op) : node.InputDType(static_cast<uint32_t>(like));
    if (shapes_told) {
      SetOutput(node, op, i, dtype, shapes[i]);
      continue;
    }
    const int32_t rank = node.InputRank(static_cast<uint32_t>(like));
    tenon_dim dims[sdk::kMaxRank] = {};
    for (int32_t axis = 0; axis < rank; ++axis) dims[axis] = node.InputDim(static_cast<uint32_t>(like), axis);
    node.SetOutput(i, dtype, rank, dims);
  }
}

}  // namespace

int32_t InferLegacy(const tenon_operator_def* def, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [def](sdk::Infer& node) { Rule(*static_cast<const Operator*>(def->user), node); });
}

}  // namespace tenon::aot
