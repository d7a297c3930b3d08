#include "core/ops/plugin_infer.h"

#include <vector>

#include "core/ops/abi_attributes.h"
#include "core/ops/abi_tensor.h"
#include "core/plugin/error_sink.h"

// One run of a rule. Symbolic dims cross the ABI as their place in `symbols`, counted from 1.
struct tenon_infer {
  tenon::InferContext& context;
  const tenon::AbiAttributes& attributes;
  std::string subject;
  std::vector<tenon::Dim> symbols;
  tenon::Status failure;
  std::vector<bool> set;  // per output
};

namespace tenon {
namespace {

tenon_dim ToAbi(tenon_infer& infer, Dim dim) {
  if (dim.known()) return {dim.value(), 0, TENON_DIM_KNOWN};
  for (std::size_t i = 0; i < infer.symbols.size(); ++i) {
    if (infer.symbols[i] == dim) return {0, static_cast<std::uint32_t>(i + 1), 0};
  }
  infer.symbols.push_back(dim);
  return {0, static_cast<std::uint32_t>(infer.symbols.size()), 0};
}

Result<Dim> FromAbi(const tenon_infer& infer, tenon_dim dim) {
  if ((dim.flags & TENON_DIM_KNOWN) != 0) return Dim(dim.value);
  TENON_INVALID_IF(dim.symbol == 0 || dim.symbol > infer.symbols.size(),
                   "The rule uses the dim symbol {}, which nobody gave it.", dim.symbol);
  return infer.symbols[dim.symbol - 1];
}

// Keeps the first failure, which says why, and gives its code to the rule.
std::int32_t Keep(tenon_infer* infer, Status status) {
  const auto code = static_cast<std::int32_t>(status.code());
  if (infer->failure.ok()) infer->failure = std::move(status);
  return code;
}

std::uint32_t InputCount(tenon_infer* infer) { return static_cast<std::uint32_t>(infer->context.num_inputs()); }
std::uint32_t OutputCount(tenon_infer* infer) { return static_cast<std::uint32_t>(infer->context.num_outputs()); }

bool HasInput(const tenon_infer* infer, std::uint32_t index) {
  return index < static_cast<std::uint32_t>(infer->context.num_inputs()) &&
         infer->context.has_input(static_cast<int>(index));
}
std::uint32_t InputDType(tenon_infer* infer, std::uint32_t index) {
  return HasInput(infer, index) ? static_cast<std::uint32_t>(infer->context.dtype(static_cast<int>(index))) : 0;
}
std::int32_t InputRank(tenon_infer* infer, std::uint32_t index) {
  return HasInput(infer, index) ? infer->context.shape(static_cast<int>(index)).rank() : -2;
}
std::int32_t InputDim(tenon_infer* infer, std::uint32_t index, std::uint32_t axis, tenon_dim* out) {
  if (!HasInput(infer, index))
    return Keep(infer, Error(Code::kOutOfRange, "The rule asks for the shape of input {}, which is absent.", index));
  const SymShape& shape = infer->context.shape(static_cast<int>(index));
  if (axis >= static_cast<std::uint32_t>(shape.rank()))
    return Keep(infer, Error(Code::kOutOfRange, "Input {} has shape {}; there is no axis {}.", index, shape,
                             static_cast<std::int32_t>(axis)));
  *out = ToAbi(*infer, shape[static_cast<int>(axis)]);
  return TENON_OK;
}

std::int32_t ConstInput(tenon_infer* infer, std::uint32_t index, tenon_tensor* out) {
  const Tensor* content = HasInput(infer, index) ? infer->context.constant(static_cast<int>(index)) : nullptr;
  if (content == nullptr) return TENON_NOT_FOUND;
  tenon_tensor view = ViewOfContent(*content);
  view.struct_size = std::min(out->struct_size, view.struct_size);
  std::memcpy(out, &view, view.struct_size);
  return TENON_OK;
}

std::int32_t Attribute(tenon_infer* infer, tenon_str name, const tenon_attribute** out) {
  *out = infer->attributes.Find(View(name));
  return *out == nullptr ? TENON_NOT_FOUND : TENON_OK;
}

Result<Dim> Compute(std::uint32_t op, Dim a, Dim b) {
  const bool divides = op == TENON_DIM_FLOOR_DIV || op == TENON_DIM_CEIL_DIV || op == TENON_DIM_MOD;
  TENON_INVALID_IF(divides && b.Is(0), "The rule divides {} by 0.", a);
  std::int64_t unused = 0;
  const bool overflows = a.known() && b.known() &&
                         ((op == TENON_DIM_MUL && __builtin_mul_overflow(a.value(), b.value(), &unused)) ||
                          (op == TENON_DIM_ADD && __builtin_add_overflow(a.value(), b.value(), &unused)) ||
                          (op == TENON_DIM_SUB && __builtin_sub_overflow(a.value(), b.value(), &unused)));
  TENON_INVALID_IF(overflows, "The rule computes with {} and {}, and the result is beyond 64 bits.", a, b);
  switch (op) {
    case TENON_DIM_ADD:
      return a + b;
    case TENON_DIM_SUB:
      return a - b;
    case TENON_DIM_MUL:
      return a * b;
    case TENON_DIM_FLOOR_DIV:
      return FloorDiv(a, b);
    case TENON_DIM_CEIL_DIV:
      return CeilDiv(a, b);
    case TENON_DIM_MOD:
      return Mod(a, b);
    case TENON_DIM_MIN:
      return Min(a, b);
    case TENON_DIM_MAX:
      return Max(a, b);
    case TENON_DIM_BROADCAST: {
      TENON_ASSIGN(const SymShape shape, Broadcast(SymShape({a}), SymShape({b})));
      return shape[0];
    }
    default:
      return InvalidArgument("The rule asks for the dim operation {}, which this host does not know.", op);
  }
}

std::int32_t DimOp(tenon_infer* infer, std::uint32_t op, tenon_dim a, tenon_dim b, tenon_dim* out) {
  const Result<Dim> left = FromAbi(*infer, a);
  if (!left.ok()) return Keep(infer, left.status());
  const Result<Dim> right = FromAbi(*infer, b);
  if (!right.ok()) return Keep(infer, right.status());
  const Result<Dim> result = Compute(op, *left, *right);
  if (!result.ok()) return Keep(infer, result.status());
  *out = ToAbi(*infer, *result);
  return TENON_OK;
}

// The bounds say nothing to a core that gives every such extent a name of its own.
std::int32_t DimFresh(tenon_infer* infer, std::int64_t lower, tenon_dim, tenon_dim* out) {
  if (lower < 0) return Keep(infer, InvalidArgument("The rule gives {} as the lower bound of an extent.", lower));
  infer->symbols.push_back(Dim::Unknown());
  *out = {0, static_cast<std::uint32_t>(infer->symbols.size()), 0};
  return TENON_OK;
}

// What cannot be decided with symbols is asked again when they are known.
std::int32_t RequireEqual(tenon_infer* infer, tenon_dim a, tenon_dim b, tenon_str message) {
  const Result<Dim> left = FromAbi(*infer, a);
  if (!left.ok()) return Keep(infer, left.status());
  const Result<Dim> right = FromAbi(*infer, b);
  if (!right.ok()) return Keep(infer, right.status());
  if (!left->known() || !right->known() || left->value() == right->value()) return TENON_OK;
  return Keep(infer, InvalidArgument("{} ({} and {})", View(message), *left, *right));
}
std::int32_t RequireDivisible(tenon_infer* infer, tenon_dim a, std::int64_t divisor, tenon_str message) {
  const Result<Dim> dim = FromAbi(*infer, a);
  if (!dim.ok()) return Keep(infer, dim.status());
  if (divisor == 0) return Keep(infer, InvalidArgument("The rule demands divisibility by 0."));
  if (!dim->known() || dim->value() % divisor == 0) return TENON_OK;
  return Keep(infer, InvalidArgument("{} ({} by {})", View(message), *dim, divisor));
}

std::int32_t SetOutput(tenon_infer* infer, std::uint32_t index, std::uint32_t dtype, std::int32_t rank,
                       const tenon_dim* dims) {
  if (index >= OutputCount(infer))
    return Keep(infer, Error(Code::kOutOfRange, "The rule sets output {} of {}.", index, OutputCount(infer)));
  if (rank < 0 || rank > kMaxRank || (rank > 0 && dims == nullptr))
    return Keep(infer,
                InvalidArgument("The rule gives output {} the rank {}; it must be 0 to {}.", index, rank, kMaxRank));
  const std::optional<DType> type = DTypeFromAbi(dtype);
  if (!type) return Keep(infer, InvalidArgument("The rule gives output {} the dtype number {}.", index, dtype));
  SymShape shape;
  for (std::int32_t axis = 0; axis < rank; ++axis) {
    const Result<Dim> dim = FromAbi(*infer, dims[axis]);
    if (!dim.ok()) return Keep(infer, dim.status());
    shape.push_back(*dim);
  }
  infer->context.SetOutput(static_cast<int>(index), *type, shape);
  infer->set[index] = true;
  return TENON_OK;
}

void FailRule(tenon_infer* infer, std::int32_t code, tenon_str message) {
  infer->failure = Status(CodeFromAbi(code), std::string(View(message)));  // the last call wins
}
tenon_str NodeName(tenon_infer* infer) { return ToStr(infer->subject); }

const tenon_infer_api& Table() {
  static const tenon_infer_api api = [] {
    tenon_infer_api table = TENON_INIT(tenon_infer_api);
    table.input_count = &InputCount;
    table.output_count = &OutputCount;
    table.input_dtype = &InputDType;
    table.input_rank = &InputRank;
    table.input_dim = &InputDim;
    table.const_input = &ConstInput;
    table.attribute = &Attribute;
    table.dim_op = &DimOp;
    table.dim_fresh = &DimFresh;
    table.require_equal = &RequireEqual;
    table.require_divisible = &RequireDivisible;
    table.set_output = &SetOutput;
    table.fail = &FailRule;
    table.node_name = &NodeName;
    return table;
  }();
  return api;
}

Status RunRule(const tenon_operator_def* def, const OpDef& op, InferContext& context) {
  const AbiAttributes attributes(context.attrs(), &op);
  tenon_infer infer{context, attributes, op.FullName(), {}, {}, {}};
  infer.set.resize(static_cast<std::size_t>(context.num_outputs()));
  const std::int32_t code = def->infer(def, &Table(), &infer);
  if (code != TENON_OK) {
    if (!infer.failure.ok()) return infer.failure;
    return Status(CodeFromAbi(code), fmt::format("The rule gives the code {} and no reason.", code));
  }
  for (std::size_t i = 0; i < infer.set.size(); ++i) {
    if (!infer.set[i])
      return Error(Code::kInternal, "The rule says nothing about output {} ('{}').", i,
                   op.outputs()[std::min(i, op.outputs().size() - 1)].name);
  }
  return {};
}

}  // namespace

InferFn PluginInfer(const tenon_operator_def* def, const OpDef* op, std::string file) {
  return [def, op, file = std::move(file)](InferContext& context) -> Status {
    TENON_TRY_WHILE(RunRule(def, *op, context), "running the shape rule of {} of {}", op->FullName(), file);
    return {};
  };
}

}  // namespace tenon
