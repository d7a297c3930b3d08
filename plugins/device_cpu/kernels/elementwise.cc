// Unary operators, binary operators with broadcasting, and the gradients of activations.
#include "plugins/device_cpu/kernels/broadcast.h"
#include "plugins/device_cpu/kernels/channel_last.h"

namespace tenon::cpu {
namespace {

// Both elementwise families run in any layout that their operands share; only equal shapes may leave the strided one.
constexpr uint32_t kSharedLayouts[] = {TENON_LAYOUT_STRIDED, kNhwc};

double Elements(sdk::Value value) { return value.dims().Known() ? static_cast<double>(value.elements()) : 1000; }

struct UnaryName {
  std::string_view op_type;
  UnaryOp op;
  double alpha = 0, beta = 0;  // defaults of the attributes
};
constexpr UnaryName kUnary[] = {{"Relu", UnaryOp::kRelu},
                                {"LeakyRelu", UnaryOp::kLeakyRelu, 0.01},
                                {"Sigmoid", UnaryOp::kSigmoid},
                                {"Tanh", UnaryOp::kTanh},
                                {"Exp", UnaryOp::kExp},
                                {"Log", UnaryOp::kLog},
                                {"Sqrt", UnaryOp::kSqrt},
                                {"Neg", UnaryOp::kNeg},
                                {"Abs", UnaryOp::kAbs},
                                {"Reciprocal", UnaryOp::kReciprocal},
                                {"Elu", UnaryOp::kElu, 1},
                                {"HardSigmoid", UnaryOp::kHardSigmoid, 0.2, 0.5},
                                {"HardSwish", UnaryOp::kHardSwish},
                                {"Softplus", UnaryOp::kSoftplus},
                                {"Swish", UnaryOp::kSwish, 1},
                                {"Erf", UnaryOp::kErf},
                                {"Sin", UnaryOp::kSin},
                                {"Cos", UnaryOp::kCos},
                                {"Floor", UnaryOp::kFloor},
                                {"Ceil", UnaryOp::kCeil},
                                {"Round", UnaryOp::kRound},
                                {"Sign", UnaryOp::kSign}};

// Takes the operator and its attributes from the table entry of the query's operator.
template <class Names, class Args>
void SetOperator(const Names& names, const sdk::Query& query, Args& args) {
  for (const auto& name : names) {
    if (name.op_type != query.op_type()) continue;
    args.op = name.op;
    args.alpha = static_cast<float>(query.attributes().Float("alpha", name.alpha));
    args.beta = static_cast<float>(query.attributes().Float("beta", name.beta));
  }
}

template <class T>
class UnaryKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllOf<T>(query, reason); }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const double cost = 0.3 * Elements(query.input(0));
    for (const uint32_t layout : kSharedLayouts)
      if (layout == TENON_LAYOUT_STRIDED || query.input(0).rank() == 4) emitter.Emit(cost, {layout}, {layout});
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    SetOperator(kUnary, query, args_);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    args_.count = args.input(0).elements();
    SetThreads(args);
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    UnaryArgsOf<T> a = args_;
    a.x = call.in<T>(0);
    a.y = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().unary(a, pool.parallel());
    return pool.code();
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  UnaryArgsOf<T> args_;
};

struct BinaryName {
  std::string_view domain, op_type;
  BinaryOp op;
  double alpha = 0, beta = 0;
};
constexpr BinaryName kBinary[] = {{"", "Add", BinaryOp::kAdd},
                                  {"", "Sub", BinaryOp::kSub},
                                  {"", "Mul", BinaryOp::kMul},
                                  {"", "Div", BinaryOp::kDiv},
                                  {"", "Max", BinaryOp::kMax},
                                  {"", "Min", BinaryOp::kMin},
                                  {"tenon", "ReluGrad", BinaryOp::kReluGrad},
                                  {"tenon", "LeakyReluGrad", BinaryOp::kLeakyReluGrad, 0.01},
                                  {"tenon", "SigmoidGrad", BinaryOp::kSigmoidGrad},
                                  {"tenon", "TanhGrad", BinaryOp::kTanhGrad},
                                  {"tenon", "EluGrad", BinaryOp::kEluGrad, 1},
                                  {"tenon", "HardSigmoidGrad", BinaryOp::kHardSigmoidGrad, 0.2, 0.5},
                                  {"tenon", "HardSwishGrad", BinaryOp::kHardSwishGrad},
                                  {"tenon", "SoftplusGrad", BinaryOp::kSoftplusGrad},
                                  {"tenon", "SwishGrad", BinaryOp::kSwishGrad, 1},
                                  {"tenon", "ErfGrad", BinaryOp::kErfGrad},
                                  {"tenon", "AbsGrad", BinaryOp::kAbsGrad},
                                  {"", "PRelu", BinaryOp::kPRelu}};

// Lies a broadcast operand of images the same channel-last and not? With one value per sample and channel, or fewer.
bool HasNoSpace(sdk::Dims d) {
  return (d.size() < 1 || d[d.size() - 1] == 1) && (d.size() < 2 || d[d.size() - 2] == 1);
}

template <class T>
class BinaryKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.input_count() != 2)
      return reason.No("There are ", query.input_count(), " operands; this kernel takes 2.");
    return AllOf<T>(query, reason);
  }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const double cost = 0.3 * Elements(query.output(0));
    emitter.Emit(cost, {0, 0}, {0});
    const sdk::Dims a = query.input(0).dims(), b = query.input(1).dims(), out = query.output(0).dims();
    if (out.size() != 4) return;
    if (a == b) emitter.Emit(cost, {kNhwc, kNhwc}, {kNhwc});
    if (a == out && HasNoSpace(b)) emitter.Emit(cost, {kNhwc, 0}, {kNhwc});
    if (b == out && HasNoSpace(a)) emitter.Emit(cost, {0, kNhwc}, {kNhwc});
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    SetOperator(kBinary, query, args_);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    const sdk::Dims a = args.input(0).dims(), b = args.input(1).dims(), out = args.output(0).dims();
    const bool fits = args.output(0).layout() == kNhwc
                          ? Collapse<T>(ChannelLastDims(a), ChannelLastDims(b), ChannelLastDims(out), args_)
                          : Collapse(a, b, out, args_);
    if (!fits)
      return error.Fail(TENON_UNIMPLEMENTED, "Shapes ", a, " and ", b, " need more than ", BinaryArgs::kMaxRank,
                        " loops to broadcast.");
    SetThreads(args);
    // An operand of the full shape may be overwritten.
    uint64_t pairs = 0;
    if (a == out) in_place_[pairs++] = {0, 0, TENON_ALIAS_MAY, 0};
    if (b == out) in_place_[pairs++] = {1, 0, TENON_ALIAS_MAY, 0};
    result.Aliases(in_place_, pairs);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    BinaryArgsOf<T> p = args_;
    p.a = call.in<T>(0);
    p.b = call.in<T>(1);
    p.out = call.out<T>(0);
    KernelPool pool(host(), error, threads_);
    routines_of<T>().binary(p, pool.parallel());
    return pool.code();
  }

 private:
  BinaryArgsOf<T> args_;
  tenon_alias_pair in_place_[2] = {};
};

}  // namespace

void AddElementwiseKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | TENON_TRAIT_ELEMENTWISE};
  for (const UnaryName& name : kUnary) AddOfBoth<UnaryKernel>(kernels, "", name.op_type, "unary_bf16", options);
  for (const BinaryName& name : kBinary)
    AddOfBoth<BinaryKernel>(kernels, name.domain, name.op_type, "binary_bf16", options);
}

}  // namespace tenon::cpu
