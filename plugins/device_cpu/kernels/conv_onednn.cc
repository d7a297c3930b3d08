// Convolutions through oneDNN: Conv, ConvInputGrad, ConvWeightGrad and ConvTranspose of lines, images and volumes, in f32 and
// bf16, where the library is faster than the direct routine.
#include <algorithm>
#include <optional>

#include "plugins/device_cpu/kernels/support.h"
#include "plugins/device_cpu/onednn/known_faults.h"

namespace tenon::cpu {
namespace {

using onednn::Direction;

// Which operand of a node is x, the weights, the bias and y of the convolution; results are counted from kResult.
constexpr int kNone = -1, kResult = 100;
struct Roles {
  Direction direction;
  int x, weights, bias, y;
};
Roles RolesOf(std::string_view op_type) {
  if (op_type == "Conv") return {Direction::kForward, 0, 1, 2, kResult};
  if (op_type == "ConvInputGrad") return {Direction::kData, kResult, 1, kNone, 0};
  if (op_type == "ConvTranspose") return {Direction::kData, kResult, 1, kNone, 0};
  return {Direction::kWeights, 0, kResult, kResult + 1, 1};
}

// An operand of a query, a plan or a call, by its role.
template <class T>
auto At(const T& operands, int role) {
  return role >= kResult ? operands.output(static_cast<uint32_t>(role - kResult))
                         : operands.input(static_cast<uint32_t>(role));
}
template <class T>
bool Has(const T& operands, int role) {
  if (role == kNone) return false;
  return role >= kResult ? operands.has_output(static_cast<uint32_t>(role - kResult))
                         : operands.has_input(static_cast<uint32_t>(role));
}

std::vector<int64_t> List(sdk::Dims dims) { return {dims.begin(), dims.end()}; }

// Channels of one group, and what else decides who is faster.
struct Facts {
  int64_t group, in, out;  // per group
  bool strided;
};
Facts FactsOf(const sdk::Query& query, const Roles& roles) {
  const sdk::Dims w = At(query, roles.weights).dims();
  Facts facts{query.attributes().Int("group", 1), w[1], w[0], false};
  facts.out /= facts.group;
  for (const int64_t stride : query.attributes().Ints("strides")) facts.strided = facts.strided || stride > 1;
  return facts;
}

bool IsDepthwise(const Facts& f) { return f.in == 1 && f.out == 1 && f.group >= 8; }

// Measured once per direction and shape (README.md, "Direct or library"); never timed in a run.
bool LibraryIsFaster(std::string_view isa, Direction direction, const Facts& f) {
  if (isa == "sse2") return false;
  if (IsDepthwise(f)) return true;
  if (isa == "avx512") {
    if (f.group > 1 || (f.in >= 8 && f.out >= 8)) return true;
    return direction == Direction::kWeights && f.in >= 3 && f.out >= 16;
  }
  return f.in >= 16 && f.out >= 16 && direction == Direction::kData;
}

bool Known(const sdk::Query& query, const Roles& roles) {
  return At(query, roles.x).dims().Known() && At(query, roles.weights).dims().Known() &&
         At(query, roles.y).dims().Known();
}

dnnl_data_type_t TypeOf(uint32_t dtype) { return dtype == TENON_DTYPE_BF16 ? dnnl_bf16 : dnnl_f32; }

bool SupportsTypes(const sdk::Query& query, const Roles& roles, std::string_view isa, sdk::Reason& reason) {
  bool narrow = false;
  const int operands[] = {roles.x, roles.weights, roles.y};
  for (const int role : operands) {
    const uint32_t dtype = At(query, role).dtype();
    if (dtype != TENON_DTYPE_F32 && dtype != TENON_DTYPE_BF16)
      return reason.No("An operand is ", sdk::DTypeName(dtype), "; this kernel takes f32 and bf16.");
    narrow = narrow || dtype == TENON_DTYPE_BF16;
  }
  if (!narrow) return true;
  if (isa != "avx512") return reason.No("The instruction set is ", isa, "; bf16 needs avx512.");
  const bool forward = roles.direction == Direction::kForward, data = roles.direction == Direction::kData;
  const uint32_t first = At(query, data ? roles.y : roles.x).dtype();
  const uint32_t second = At(query, forward || data ? roles.weights : roles.y).dtype();
  if (first != TENON_DTYPE_BF16 || second != TENON_DTYPE_BF16)
    return reason.No("The inputs are ", sdk::DTypeName(first), " and ", sdk::DTypeName(second),
                     "; the library multiplies bf16 by bf16.");
  if (!Has(query, roles.bias)) return true;
  const uint32_t bias = At(query, roles.bias).dtype();
  return bias == TENON_DTYPE_F32 || bias == TENON_DTYPE_BF16 ||
         reason.No("The bias is ", sdk::DTypeName(bias), "; this kernel takes f32 and bf16.");
}

// All but types of the bias and strides of memory. The dims are known.
template <class T>
void SetOperands(const T& operands, const Roles& roles, onednn::ConvProblem& p) {
  const sdk::Value x = At(operands, roles.x), w = At(operands, roles.weights), y = At(operands, roles.y);
  p.x = List(x.dims()), p.weights = List(w.dims()), p.y = List(y.dims());
  p.x_type = TypeOf(x.dtype()), p.weights_type = TypeOf(w.dtype()), p.y_type = TypeOf(y.dtype());
}
void SetAttributes(const sdk::Query& query, const Roles& roles, onednn::ConvProblem& p) {
  const sdk::Attributes attributes = query.attributes();
  const uint32_t axes = At(query, roles.x).rank() - 2;
  p.direction = roles.direction;
  p.group = attributes.Int("group", 1);
  for (uint32_t i = 0; i < axes; ++i) {
    p.strides.push_back(attributes.IntAt("strides", i, 1));
    p.dilations.push_back(attributes.IntAt("dilations", i, 1));
    p.pads_begin.push_back(attributes.IntAt("pads", i, 0));
    p.pads_end.push_back(attributes.IntAt("pads", axes + i, 0));
  }
}

double ElementsOf(sdk::Value value) { return static_cast<double>(value.elements()); }

class OneDnnConv : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const Roles roles = RolesOf(query.op_type());
    const sdk::Value x = At(query, roles.x), w = At(query, roles.weights);
    const std::string_view isa = IsaOf(query);
    if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank())
      return reason.No("The ranks are ", x.rank(), " and ", w.rank(), "; this kernel takes equal ones from 3 to 5.");
    if (!Known(query, roles)) return reason.No("A dim is not known.");
    if (!SupportsTypes(query, roles, isa, reason)) return false;
    const std::string_view mode = query.attributes().String("auto_pad", "NOTSET");
    if (mode != "NOTSET") return reason.No("auto_pad is ", mode, "; this kernel takes explicit pads.");
    if (query.op_type() == "ConvTranspose") {
      if (query.attributes().Ints("output_shape").size() > 0)
        return reason.No("The output shape is stated; this kernel takes pads.");
      if (query.has_input(2) && At(query, roles.x).dtype() != TENON_DTYPE_F32)
        return reason.No("There is a bias and the result is ", sdk::DTypeName(x.dtype()), "; this kernel adds to f32.");
    }
    for (const int64_t pad : query.attributes().Ints("pads"))
      if (pad < 0) return reason.No("A pad is ", pad, "; this kernel takes pads from 0 on.");
    const bool direct = x.rank() < 5 && x.dtype() == TENON_DTYPE_F32 && w.dtype() == TENON_DTYPE_F32 &&
                        query.op_type() != "ConvTranspose";
    const Facts f = FactsOf(query, roles);
    if (x.dtype() == TENON_DTYPE_BF16 && roles.direction == Direction::kWeights && IsDepthwise(f))
      return reason.No("The library sums gradients of depthwise weights faster in f32, widened.");
    onednn::ConvProblem problem;
    SetAttributes(query, roles, problem);
    SetOperands(query, roles, problem);
    if (const char* const fault = onednn::KnownFault(problem)) return reason.No(std::string_view(fault));
    if (direct && !LibraryIsFaster(isa, roles.direction, f))
      return reason.No("The direct routine is faster for ", f.in, " to ", f.out, " channels in ", f.group, " groups.");
    const std::string& missing = onednn::Library::Get(isa).problem();
    return missing.empty() || reason.No(std::string_view(missing));
  }

  // The library reads channel-last; anything else is converted in the workspace.
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const Roles roles = RolesOf(query.op_type());
    const sdk::Value x = At(query, roles.x), y = At(query, roles.y), w = At(query, roles.weights);
    const double cost = ElementsOf(y) * ElementsOf(w) / static_cast<double>(w.dim(0)) / 80.0 + 4000;
    for (uint32_t x_layout : {0u, uint32_t{kNhwc}})
      for (uint32_t y_layout : {0u, uint32_t{kNhwc}}) {
        if ((x_layout != 0 || y_layout != 0) && x.rank() != 4) continue;
        const double moves = (x_layout == 0 ? 0.8 * ElementsOf(x) : 0) + (y_layout == 0 ? 0.8 * ElementsOf(y) : 0);
        uint32_t inputs[3] = {}, outputs[2] = {};
        const auto set = [&](int role, uint32_t layout) {
          (role >= kResult ? outputs[role - kResult] : inputs[role]) = layout;
        };
        set(roles.x, x_layout);
        set(roles.y, y_layout);
        emitter.Emit(cost + moves, inputs, query.input_count(), outputs, query.output_count());
      }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    roles_ = RolesOf(query.op_type());
    SetAttributes(query, roles_, problem_);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetOperands(args, roles_, problem_);
    const sdk::Value x = At(args, roles_.x), w = At(args, roles_.weights), y = At(args, roles_.y);
    problem_.x_strides = StridesOf(x), problem_.y_strides = StridesOf(y);
    if (Has(args, roles_.bias)) problem_.bias_type = TypeOf(At(args, roles_.bias).dtype());
    SetThreads(args);
    const double products = ElementsOf(y) * ElementsOf(w) / static_cast<double>(w.dim(0));
    convolution_.emplace(onednn::Library::Get(routines().isa), problem_, TeamFor(products));
    result.Workspace(convolution_->workspace_bytes());
    result.Algorithm(2, convolution_->implementation());
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    onednn::Convolution::Operands operands;
    operands.x = Pointer(call, roles_.x);
    operands.weights = Pointer(call, roles_.weights);
    operands.y = Pointer(call, roles_.y);
    if (Has(call, roles_.bias)) operands.bias = Pointer(call, roles_.bias);
    convolution_->Execute(operands, call.workspace<char>());
    if (problem_.direction == Direction::kData && call.has_input(2))
      AddBias(call.in<float>(2), static_cast<float*>(operands.x));
    return TENON_OK;
  }

 private:
  // Members of a team wait for each other, which costs more than little work gains, and much where cores are taken.
  int TeamFor(double products) const {
    constexpr double kWorthAThread = 2e6;
    return static_cast<int>(std::clamp(products / kWorthAThread, 1.0, static_cast<double>(threads_)));
  }
  static std::vector<int64_t> StridesOf(sdk::Value value) {
    const std::vector<int64_t> dims = List(value.dims());
    return value.layout() == kNhwc ? onednn::ChannelLastStrides(dims) : onednn::RowMajorStrides(dims);
  }
  // ConvTranspose is the gradient of a convolution, which has no bias.
  void AddBias(const float* bias, float* x) const {
    const int64_t channels = problem_.x[1], images = problem_.x[0];
    int64_t area = 1;
    for (size_t i = 2; i < problem_.x.size(); ++i) area *= problem_.x[i];
    const bool channel_last = problem_.x_strides[1] == 1;
    const int64_t rows = channel_last ? images * area : images * channels, row = channel_last ? channels : area;
    for (int64_t r = 0; r < rows; ++r, x += row) {
      const float* const of_row = channel_last ? bias : bias + r % channels;
      for (int64_t i = 0; i < row; ++i) x[i] += channel_last ? of_row[i] : *of_row;
    }
  }
  static void* Pointer(const sdk::Call& call, int role) {
    if (role >= kResult) return call.out<void>(static_cast<uint32_t>(role - kResult));
    return const_cast<void*>(call.in<void>(static_cast<uint32_t>(role)));
  }

  Roles roles_{};
  onednn::ConvProblem problem_;
  std::optional<onednn::Convolution> convolution_;
};

}  // namespace

bool OneDnnIsReady(std::string_view isa) { return onednn::Library::Get(isa).problem().empty(); }

void AddOneDnnConvKernels(KernelList& kernels) {
  kernels.push_back(Def<OneDnnConv>("", "Conv", "conv_onednn"));
  kernels.push_back(Def<OneDnnConv>("", "ConvTranspose", "conv_transpose_onednn"));
  kernels.push_back(Def<OneDnnConv>("tenon", "ConvInputGrad", "conv_input_grad_onednn"));
  kernels.push_back(Def<OneDnnConv>("tenon", "ConvWeightGrad", "conv_weight_grad_onednn"));
}

}  // namespace tenon::cpu
