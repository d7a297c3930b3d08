// Kernels for bf16 and f16 operands made from those for f32: operands are widened into the workspace, the f32 kernel
// runs, results are rounded once. Everything between is computed in f32.
#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "plugins/device_cpu/kernels/inner_kernel.h"
#include "plugins/device_cpu/kernels/number_format.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kMostOperands = 12;  // on each side

// Descriptions of one side of a node as the f32 kernel sees them.
struct WidenedValues {
  std::array<tenon_value_desc, kMostOperands> values;
  bool any = false;  // is an operand short?

  void Fill(const tenon_value_desc* first, uint32_t count, uint32_t stride) {
    for (uint32_t i = 0; i < count; ++i) {
      values[i] = CopyOf(sdk::AtStride(first, stride, i));
      if (sdk::Value(values[i]).absent() || !IsShortFloat(values[i].dtype)) continue;
      values[i].dtype = TENON_DTYPE_F32;
      values[i].constant = nullptr;  // its content is not f32
      any = true;
    }
  }
};

struct WidenedQuery {
  tenon_kernel_query query;
  WidenedValues inputs, outputs;

  explicit WidenedQuery(const tenon_kernel_query& from) : query(CopyOf(from)) {
    if (TooMany()) return;
    inputs.Fill(from.inputs, from.input_count, from.input_stride);
    outputs.Fill(from.outputs, from.output_count, from.output_stride);
    query.inputs = inputs.values.data();
    query.outputs = outputs.values.data();
    query.input_stride = query.output_stride = sizeof(tenon_value_desc);
  }
  bool TooMany() const { return query.input_count > kMostOperands || query.output_count > kMostOperands; }
};

// An instance: the f32 kernel and where each short operand lies in the workspace.
class WidenedKernel : public InnerKernel {
 public:
  using InnerKernel::InnerKernel;

  int32_t Create(tenon_plugin* handle, const tenon_kernel_query& query, tenon_error* sink) {
    const WidenedQuery widened(query);
    return inner_.vtable->create(handle, &inner_, &widened.query, &kernel_, sink);
  }

  int32_t Plan(const tenon_plan_args& args, tenon_plan_result& out, tenon_error* sink) {
    WidenedValues inputs, outputs;
    inputs.Fill(args.inputs, args.input_count, args.input_stride);
    outputs.Fill(args.outputs, args.output_count, args.output_stride);
    tenon_plan_args widened = CopyOf(args);
    widened.inputs = inputs.values.data();
    widened.outputs = outputs.values.data();
    widened.input_stride = widened.output_stride = sizeof(tenon_value_desc);
    if (inner_.vtable->plan != nullptr) {
      const int32_t code = inner_.vtable->plan(kernel_, &widened, &out, sink);
      if (code != TENON_OK) return code;
    }
    out.aliases = nullptr;  // results are written after all operands were read
    out.alias_count = 0;
    inner_bytes_ = out.workspace_bytes;
    uint64_t end = RoundUp(inner_bytes_);
    Place(args.inputs, args.input_count, args.input_stride, inputs_, end);
    Place(args.outputs, args.output_count, args.output_stride, outputs_, end);
    out.workspace_bytes = end;
    out.workspace_align = std::max(out.workspace_align, kWorkspaceAlign);
    threads_ = args.thread_budget > 0 ? args.thread_budget : 1;
    return TENON_OK;
  }

  int32_t Execute(const tenon_kernel_call& call, tenon_error* sink) const {
    sdk::Error error(host().api(), sink);
    KernelPool pool(host(), error, threads_);
    std::array<tenon_tensor, kMostOperands> inputs, outputs;
    for (uint32_t i = 0; i < call.input_count; ++i) {
      inputs[i] = Widened(sdk::AtStride(call.inputs, call.input_stride, i), inputs_[i], call.workspace);
      if (inputs_[i].is_short) Widen(sdk::AtStride(call.inputs, call.input_stride, i), inputs_[i], inputs[i], pool);
    }
    for (uint32_t i = 0; i < call.output_count; ++i)
      outputs[i] = Widened(sdk::AtStride(call.outputs, call.output_stride, i), outputs_[i], call.workspace);
    tenon_kernel_call inner = CopyOf(call);
    inner.inputs = inputs.data();
    inner.outputs = outputs.data();
    inner.input_stride = inner.output_stride = sizeof(tenon_tensor);
    inner.workspace_bytes = inner_bytes_;
    const int32_t code = inner_.vtable->execute(kernel_, &inner, sink);
    if (code != TENON_OK) return code;
    for (uint32_t i = 0; i < call.output_count; ++i) {
      if (outputs_[i].is_short)
        Narrow(outputs[i], outputs_[i], sdk::AtStride(call.outputs, call.output_stride, i), pool);
    }
    return pool.code();
  }

 private:
  struct Operand {
    bool is_short = false;
    NumberFormat format = NumberFormat::kF32;
    int64_t count = 0;
    uint64_t offset = 0;  // in the workspace
  };
  using Operands = std::array<Operand, kMostOperands>;

  static void Place(const tenon_value_desc* first, uint32_t count, uint32_t stride, Operands& operands, uint64_t& end) {
    for (uint32_t i = 0; i < count; ++i) {
      const tenon_value_desc& desc = sdk::AtStride(first, stride, i);
      const sdk::Value value(desc);
      operands[i] = {};
      if (value.absent() || !IsShortFloat(desc.dtype)) continue;
      operands[i] = {true, FormatOf(desc.dtype), value.elements(), end};
      end += RoundUp(static_cast<uint64_t>(value.elements()) * sizeof(float));
    }
  }

  static tenon_tensor Widened(const tenon_tensor& from, const Operand& operand, uint64_t workspace) {
    tenon_tensor tensor = CopyOf(from);
    if (!operand.is_short) return tensor;
    tensor.address = workspace + operand.offset;
    tensor.byte_offset = 0;
    tensor.dtype = TENON_DTYPE_F32;
    tensor.storage_id = tensor.storage_bytes = 0;
    return tensor;
  }

  void Widen(const tenon_tensor& from, const Operand& operand, const tenon_tensor& to, const KernelPool& pool) const {
    plugin_.routines().convert({operand.count, operand.format, NumberFormat::kF32, sdk::Tensor(from).data<const char>(),
                                sdk::Tensor(to).data<char>()},
                               pool.parallel());
  }
  void Narrow(const tenon_tensor& from, const Operand& operand, const tenon_tensor& to, const KernelPool& pool) const {
    plugin_.routines().convert({operand.count, NumberFormat::kF32, operand.format, sdk::Tensor(from).data<const char>(),
                                sdk::Tensor(to).data<char>()},
                               pool.parallel());
  }

  Operands inputs_{}, outputs_{};
  uint64_t inner_bytes_ = 0;
  int64_t threads_ = 1;
};

// ---- the slots

int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query, uint32_t* verdict,
                 const tenon_reason_sink* sink) noexcept {
  *verdict = TENON_VERDICT_NO;
  sdk::Reason reason(sink);
  const WidenedQuery widened(*query);
  if (widened.TooMany()) {
    reason.No("There are more than ", kMostOperands, " operands.");
    return TENON_OK;
  }
  if (!widened.inputs.any && !widened.outputs.any) {
    reason.No("No operand is bf16 or f16.");
    return TENON_OK;
  }
  return InnerOf(*def).vtable->supports(plugin, &InnerOf(*def), &widened.query, verdict, sink);
}

int32_t QueryLayouts(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                     const tenon_layout_sink* sink, tenon_error* error) noexcept {
  const WidenedQuery widened(*query);
  return InnerOf(*def).vtable->query_layouts(plugin, &InnerOf(*def), &widened.query, sink, error);
}

using Slots = InnerKernelSlots<WidenedKernel>;
constexpr tenon_kernel_vtable kVtable = Slots::Vtable(&Supports, nullptr),
                              kVtableWithLayouts = Slots::Vtable(&Supports, &QueryLayouts);

}  // namespace

void AddWidenedKernels(KernelList& kernels) {
  static const KernelList originals = kernels;
  static std::deque<std::string> names;
  for (const tenon_kernel_def& original : originals) {
    if (sdk::Text(original.name).ends_with(kBf16Ending)) continue;
    tenon_kernel_def widened = original;
    names.push_back(std::string(sdk::Text(original.name)) + "_widened");
    widened.name = sdk::Str(names.back());
    widened.traits &= ~uint64_t{TENON_TRAIT_ACCUMULATES};
    widened.vtable = original.vtable->query_layouts == nullptr ? &kVtable : &kVtableWithLayouts;
    widened.user = &original;
    kernels.push_back(widened);
  }
}

}  // namespace tenon::cpu
