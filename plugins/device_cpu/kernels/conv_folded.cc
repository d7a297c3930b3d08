// Conv and BatchNormalization in inference as one convolution, alone and with Relu, through every kernel for Conv and
// ConvRelu: with f = scale / sqrt(var + epsilon) the weights are multiplied by f and the bias becomes (bias - mean) f + B.
// Both are computed again in every call, as parameters may change between two; that pays where an output has many elements
// for each weight.
#include <array>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "plugins/device_cpu/kernels/inner_kernel.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kFolded = "ConvBatchNorm", kFoldedRelu = "ConvBatchNormRelu";
// Fewer output elements for each weight than this, and a pass over the outputs costs less than one over the weights.
constexpr int64_t kFewestOutputs = 2;

// Inputs of the fused operators; the bias is that of the convolution.
enum Input : uint32_t { kX, kWeights, kScale, kShift, kMean, kVar, kBias, kInputs };

// x, weights and a bias: what the convolution reads.
struct ConvValues {
  std::array<tenon_value_desc, 3> values;
  int64_t channels = 0;

  ConvValues(const tenon_value_desc* first, uint32_t stride) {
    values[0] = CopyOf(sdk::AtStride(first, stride, kX));
    values[1] = CopyOf(sdk::AtStride(first, stride, kWeights));
    values[1].constant = nullptr;
    channels = sdk::Value(values[1]).dims().size() > 0 ? sdk::Value(values[1]).dim(0) : 0;
    values[2] = TENON_INIT(tenon_value_desc);
    values[2].dtype = TENON_DTYPE_F32;
    values[2].rank = 1;
    values[2].dims = &channels;
  }
  ConvValues(const ConvValues&) = delete;
  ConvValues& operator=(const ConvValues&) = delete;
};

// The query as a kernel for the convolution sees it. ConvRelu names its convolution %c as the patterns here do.
struct ConvQuery {
  tenon_kernel_query query;
  ConvValues inputs;
  std::vector<tenon_attribute> attributes;

  ConvQuery(const tenon_kernel_query& from, const tenon_kernel_def& inner)
      : query(CopyOf(from)), inputs(from.inputs, from.input_stride) {
    query.domain = inner.domain;
    query.op_type = inner.op_type;
    query.inputs = inputs.values.data();
    query.input_count = 3;
    query.input_stride = sizeof(tenon_value_desc);
    if (sdk::Text(inner.domain) == kDomain) return;
    query.version = 22;  // of Conv
    for (uint32_t i = 0; i < from.attribute_count; ++i) {
      tenon_attribute attribute = CopyOf(sdk::AtStride(from.attributes, from.attribute_stride, i));
      const std::string_view name = sdk::Text(attribute.name);
      if (!name.starts_with("c.")) continue;
      attribute.name = sdk::Str(name.substr(2));
      attributes.push_back(attribute);
    }
    query.attributes = attributes.data();
    query.attribute_count = static_cast<uint32_t>(attributes.size());
    query.attribute_stride = sizeof(tenon_attribute);
  }
};

// An instance: the kernel of the convolution, and where folded weights and bias lie in the workspace.
class FoldedConv : public InnerKernel {
 public:
  using InnerKernel::InnerKernel;

  int32_t Create(tenon_plugin* handle, const tenon_kernel_query& query, tenon_error* sink) {
    const ConvQuery conv(query, inner_);
    epsilon_ = static_cast<float>(
        sdk::Attributes(query.attributes, query.attribute_count, query.attribute_stride).Float("n.epsilon", 1e-5));
    return inner_.vtable->create(handle, &inner_, &conv.query, &kernel_, sink);
  }

  int32_t Plan(const tenon_plan_args& args, tenon_plan_result& out, tenon_error* sink) {
    const ConvValues inputs(args.inputs, args.input_stride);
    tenon_plan_args conv = CopyOf(args);
    conv.inputs = inputs.values.data();
    conv.input_count = 3;
    conv.input_stride = sizeof(tenon_value_desc);
    const int32_t code = inner_.vtable->plan(kernel_, &conv, &out, sink);
    if (code != TENON_OK) return code;
    out.aliases = nullptr;
    out.alias_count = 0;
    channels_ = inputs.channels;
    of_channel_ = channels_ > 0 ? sdk::Value(inputs.values[1]).elements() / channels_ : 0;
    inner_bytes_ = out.workspace_bytes;
    weights_at_ = RoundUp(inner_bytes_);
    bias_at_ = weights_at_ + RoundUp(static_cast<uint64_t>(channels_ * of_channel_) * sizeof(float));
    out.workspace_bytes = bias_at_ + RoundUp(static_cast<uint64_t>(channels_) * sizeof(float));
    out.workspace_align = std::max(out.workspace_align, kWorkspaceAlign);
    return TENON_OK;
  }

  int32_t Execute(const tenon_kernel_call& call, tenon_error* sink) const {
    Fold(sdk::Call(call));
    std::array<tenon_tensor, 3> inputs;
    for (tenon_tensor& tensor : inputs) tensor = CopyOf(sdk::AtStride(call.inputs, call.input_stride, kWeights));
    inputs[0] = CopyOf(sdk::AtStride(call.inputs, call.input_stride, kX));
    const uint64_t at[] = {0, weights_at_, bias_at_};
    for (uint32_t i = 1; i < 3; ++i) {
      inputs[i].address = call.workspace + at[i];
      inputs[i].byte_offset = inputs[i].storage_id = inputs[i].storage_bytes = 0;
    }
    inputs[2].rank = 1;
    inputs[2].dims = &channels_;
    tenon_kernel_call conv = CopyOf(call);
    conv.inputs = inputs.data();
    conv.input_count = 3;
    conv.input_stride = sizeof(tenon_tensor);
    conv.workspace_bytes = inner_bytes_;
    return inner_.vtable->execute(kernel_, &conv, sink);
  }

 private:
  void Fold(const sdk::Call& call) const {
    const float *weights = call.in<float>(kWeights), *scale = call.in<float>(kScale), *shift = call.in<float>(kShift);
    const float *mean = call.in<float>(kMean), *var = call.in<float>(kVar);
    const float* bias = call.has_input(kBias) ? call.in<float>(kBias) : nullptr;
    char* const space = call.workspace<char>();
    float* const to = reinterpret_cast<float*>(space + weights_at_);
    float* const to_bias = reinterpret_cast<float*>(space + bias_at_);
    for (int64_t c = 0; c < channels_; ++c) {
      const float factor = scale[c] / std::sqrt(var[c] + epsilon_);
      to_bias[c] = ((bias != nullptr ? bias[c] : 0.0f) - mean[c]) * factor + shift[c];
      for (int64_t i = c * of_channel_; i < (c + 1) * of_channel_; ++i) to[i] = weights[i] * factor;
    }
  }

  float epsilon_ = 1e-5f;
  int64_t channels_ = 0, of_channel_ = 0;  // filters, and weights of each
  uint64_t inner_bytes_ = 0, weights_at_ = 0, bias_at_ = 0;
};

// ---- the slots

bool Pays(const sdk::Query& query, sdk::Reason& reason) {
  const sdk::Value w = query.input(kWeights), y = query.output(0);
  if (!w.dims().Known() || !y.dims().Known()) return reason.No("A dim is not known.");
  return y.elements() >= kFewestOutputs * w.elements() ||
         reason.No("There are ", w.elements(), " weights for ", y.elements(), " outputs; folding pays from ",
                   kFewestOutputs, " outputs for each weight on.");
}

int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query, uint32_t* verdict,
                 const tenon_reason_sink* sink) noexcept {
  *verdict = TENON_VERDICT_NO;
  return sdk::Guard(nullptr, nullptr, [&](sdk::Error&) -> int32_t {
    sdk::Reason reason(sink);
    const sdk::Query folded(plugin, def, *query);
    if (!AllF32(folded, reason) || !Pays(folded, reason)) return TENON_OK;
    const ConvQuery conv(*query, InnerOf(*def));
    return InnerOf(*def).vtable->supports(plugin, &InnerOf(*def), &conv.query, verdict, sink);
  });
}

// Parameters are row-major, whatever the layout of the images.
int32_t EmitFolded(void* user, const tenon_layout_signature* signature) {
  const tenon_layout_sink& sink = *static_cast<const tenon_layout_sink*>(user);
  tenon_layout_signature folded = CopyOf(*signature);
  const uint32_t inputs[kInputs] = {signature->inputs[0], signature->inputs[1]};
  folded.inputs = inputs;
  folded.input_count = kInputs;
  return sink.emit(sink.user, &folded);
}

int32_t QueryLayouts(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                     const tenon_layout_sink* sink, tenon_error* error) noexcept {
  const ConvQuery conv(*query, InnerOf(*def));
  tenon_layout_sink folded = TENON_INIT(tenon_layout_sink);
  folded.user = const_cast<tenon_layout_sink*>(sink);
  folded.emit = &EmitFolded;
  return InnerOf(*def).vtable->query_layouts(plugin, &InnerOf(*def), &conv.query, &folded, error);
}

using Slots = InnerKernelSlots<FoldedConv>;
constexpr tenon_kernel_vtable kVtable = Slots::Vtable(&Supports, nullptr),
                              kVtableWithLayouts = Slots::Vtable(&Supports, &QueryLayouts);

}  // namespace

void AddFoldedConvKernels(KernelList& kernels) {
  static const KernelList originals = kernels;
  static std::deque<std::string> names;
  for (const tenon_kernel_def& original : originals) {
    const bool relu = sdk::Text(original.domain) == kDomain && sdk::Text(original.op_type) == "ConvRelu";
    if (sdk::Text(original.name).ends_with(kBf16Ending)) continue;
    if (!relu && !(sdk::Text(original.domain).empty() && sdk::Text(original.op_type) == "Conv")) continue;
    tenon_kernel_def folded = original;
    names.push_back(std::string(sdk::Text(original.name)) + "_folded");
    folded.name = sdk::Str(names.back());
    folded.domain = sdk::Str(kDomain);
    folded.op_type = sdk::Str(relu ? kFoldedRelu : kFolded);
    folded.vtable = original.vtable->query_layouts == nullptr ? &kVtable : &kVtableWithLayouts;
    folded.user = &original;
    kernels.push_back(folded);
  }
}

void AddFoldedConvFused(FusedList& fused) {
  fused.push_back(sdk::FusedBuilder("conv_batch_norm_relu",
                                    "pattern(%x, %w, %s, %b, %m, %v, %k?) { %c = Conv(%x, %w, %k) "
                                    "%n = BatchNormalization(%c, %s, %b, %m, %v) {training_mode=0} "
                                    "%r = Relu(%n) return %r }",
                                    kDomain, kFoldedRelu, kDeviceKind)
                      .Priority(15));
  fused.push_back(sdk::FusedBuilder("conv_batch_norm",
                                    "pattern(%x, %w, %s, %b, %m, %v, %k?) { %c = Conv(%x, %w, %k) "
                                    "%n = BatchNormalization(%c, %s, %b, %m, %v) {training_mode=0} return %n }",
                                    kDomain, kFolded, kDeviceKind)
                      .Priority(5));
}

}  // namespace tenon::cpu
