#include "core/exec/abi_query.h"

#include "core/ops/abi_tensor.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {

AbiValues::AbiValues(std::span<const ValueType> types, const std::vector<bool>& constant,
                     std::span<const graph::LayoutId> layouts, std::span<const Tensor> content) {
  shapes_.resize(types.size());
  content_.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    tenon_value_desc record = TENON_INIT(tenon_value_desc);
    if (!types[i].defined()) {
      record.flags = TENON_TENSOR_ABSENT;
    } else {
      shapes_[i] = types[i].shape.Concrete();
      record.dtype = static_cast<std::uint32_t>(types[i].dtype);
      record.rank = static_cast<std::uint32_t>(shapes_[i].rank());
      record.dims = shapes_[i].data();
      if (shapes_[i].elements() == 0) record.flags |= TENON_TENSOR_EMPTY;
      if (i < constant.size() && constant[i]) record.flags |= TENON_TENSOR_CONSTANT;
      if (i < layouts.size()) record.layout = layouts[i];
      if (i < content.size() && content[i].defined()) {
        content_[i] = ViewOfContent(content[i]);
        record.flags |= TENON_TENSOR_CONSTANT;
        record.constant = &content_[i];
      }
    }
    records_.push_back(record);
  }
}

std::uint32_t MathFlags(const QueryOptions& options) {
  std::uint32_t flags = TENON_MATH_DETERMINISTIC | TENON_MATH_ACCUMULATE_F32;
  if (options.training) flags |= TENON_MATH_TRAINING;
  if (options.math_high) flags |= TENON_MATH_HIGH;
  return flags;
}

AbiQuery::AbiQuery(const graph::KernelQuery& query, const Device& device, const PluginHandle& asked,
                   const QueryOptions& options)
    : attributes_(*query.attrs, query.def),
      inputs_(query.inputs, {}, {}, query.content),
      outputs_(query.outputs, {}, {}),
      record_(TENON_INIT(tenon_kernel_query)) {
  record_.math_flags = MathFlags(options);
  record_.domain = ToStr(query.domain);
  record_.op_type = ToStr(query.type);
  const int version = query.version == 0 && query.def != nullptr ? query.def->since() : query.version;
  record_.version = static_cast<std::uint32_t>(version);
  record_.thread_budget = options.thread_budget;
  record_.attributes = attributes_.data();
  record_.attribute_count = attributes_.size();
  record_.attribute_stride = sizeof(tenon_attribute);
  record_.inputs = inputs_.data();
  record_.input_count = inputs_.size();
  record_.input_stride = sizeof(tenon_value_desc);
  record_.outputs = outputs_.data();
  record_.output_count = outputs_.size();
  record_.output_stride = sizeof(tenon_value_desc);
  record_.device_kind = ToStr(device.kind());
  record_.device = asked.instance == device.plugin().instance ? device.handle() : nullptr;
  record_.native_stream_kind = ToStr(device.native_stream_kind());
}

ReasonCatcher::ReasonCatcher() : sink_(TENON_INIT(tenon_reason_sink)) {
  sink_.user = this;
  sink_.reason = &ReasonCatcher::Take;
}

void ReasonCatcher::Take(void* user, std::int32_t, tenon_str text) {
  static_cast<ReasonCatcher*>(user)->text_ = View(text);
}

}  // namespace tenon::exec
