#include "tools/conform/kernel_run.h"

#include <algorithm>
#include <cstring>

namespace tenon::conform {
namespace {

const char* TextOf(Fence fence) {
  switch (fence) {
    case Fence::kBehind:
      return ", whose operands end at pages that cannot be touched";
    case Fence::kBefore:
      return ", whose operands start behind pages that cannot be touched";
    case Fence::kNone:
      break;
  }
  return "";
}

std::uint32_t LayoutAt(const std::vector<std::uint32_t>& layouts, std::size_t i) {
  return i < layouts.size() ? layouts[i] : std::uint32_t{TENON_LAYOUT_STRIDED};
}

bool HasBit(std::uint64_t mask, std::size_t i) { return i < 64 && ((mask >> i) & 1) != 0; }

// Rows with three elements between them; with `step` 2 also elements with one between them.
std::vector<std::int64_t> StridesWithGaps(const Shape& shape, std::int64_t step) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step = step * shape[axis] + 3;
  }
  return strides;
}

}  // namespace

std::string KernelOf::name() const {
  return fmt::format("kernel {} of {}{}{}", View(def->name), View(def->domain), def->domain.size > 0 ? "." : "",
                     View(def->op_type));
}

std::string Signature::text() const {
  std::string text;
  const auto strided = [](std::uint32_t layout) { return layout == TENON_LAYOUT_STRIDED; };
  if (std::all_of(inputs.begin(), inputs.end(), strided) && std::all_of(outputs.begin(), outputs.end(), strided))
    return text;
  text = " in layouts";
  for (const std::uint32_t layout : inputs) text += fmt::format(" {}", layout);
  text += " ->";
  for (const std::uint32_t layout : outputs) text += fmt::format(" {}", layout);
  return text;
}

KernelRun::KernelRun(Session& session, const KernelOf& kernel, const OpCall& call, RunWay way)
    : session_(session),
      kernel_of_(kernel),
      call_(call),
      way_(std::move(way)),
      text_(fmt::format("{} on {}{}{}", kernel.name(), call.text, way_.signature.text(), TextOf(way_.fence))),
      attributes_(call.attrs) {
  const Status negotiated =
      NegotiateTable(LayoutOf<tenon_kernel_vtable>(), kernel.def->vtable, TENON_ABI_MINOR, kernel.name(), &table_);
  if (!negotiated.ok()) session.context().Fail(negotiated.message());
  if (way_.stream == nullptr) way_.stream = session.stream();
  DescribeOperands();
  DescribeCall();
}

KernelRun::~KernelRun() {
  if (kernel_ != nullptr) TENON_CALL(tenon.op.kernel, &table_, destroy, kernel_);
  for (Operand& operand : inputs_) session_.Free(operand.block);
  for (Operand& operand : outputs_) session_.Free(operand.block);
  session_.Free(workspace_.block);
}

template <class T>
void KernelRun::Spread(const std::vector<T>& records, std::vector<std::uint8_t>* out, std::uint32_t* stride) const {
  *stride = static_cast<std::uint32_t>(sizeof(T) + way_.extra_stride);
  out->assign(records.size() * *stride + 8, 0xEE);
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::memcpy(out->data() + i * *stride, &records[i], sizeof(T));
    const auto size = *stride;
    std::memcpy(out->data() + i * *stride, &size, sizeof(size));  // a newer host's records are larger
  }
}

tenon_value_desc KernelRun::Operand::description() const {
  tenon_value_desc desc = TENON_INIT(tenon_value_desc);
  if (absent) {
    desc.flags = TENON_TENSOR_ABSENT;
    return desc;
  }
  if (shape.elements() == 0) desc.flags |= TENON_TENSOR_EMPTY;
  desc.dtype = static_cast<std::uint32_t>(dtype);
  desc.rank = static_cast<std::uint32_t>(shape.rank());
  desc.dims = shape.data();
  desc.layout = layout;
  desc.strides = strides.empty() ? nullptr : strides.data();
  return desc;
}

void KernelRun::DescribeOperands() {
  const tenon_kernel_def& def = *kernel_of_.def;
  inputs_.resize(call_.inputs.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Operand& operand = inputs_[i];
    operand.content = call_.inputs[i];
    operand.absent = !operand.content.defined();
    if (!operand.absent) operand.dtype = operand.content.dtype(), operand.shape = operand.content.shape();
    operand.layout = LayoutAt(way_.signature.inputs, i);
    operand.on_host = HasBit(def.host_inputs, i);
    const bool gaps = way_.strided_inputs && !operand.absent && operand.shape.rank() > 0 && operand.layout == 0;
    if (gaps) operand.strides = StridesWithGaps(operand.shape, def.stride_pattern == TENON_STRIDES_ANY ? 2 : 1);
    input_descs_.push_back(operand.description());
  }
  const std::vector<Shape> shapes = call_.output_shapes();
  outputs_.resize(call_.types.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Operand& operand = outputs_[i];
    operand.absent = !call_.types[i].defined();
    operand.dtype = call_.types[i].dtype;
    operand.shape = shapes[i];
    operand.layout = LayoutAt(way_.signature.outputs, i);
    operand.on_host = HasBit(def.host_outputs, i);
    output_descs_.push_back(operand.description());
  }
  Spread(input_descs_, &input_bytes_, &query_.input_stride);
  Spread(output_descs_, &output_bytes_, &query_.output_stride);
}

void KernelRun::DescribeCall() {
  const tenon_kernel_def& def = *kernel_of_.def;
  query_.math_flags = TENON_MATH_DETERMINISTIC | TENON_MATH_ACCUMULATE_F32;
  query_.domain = def.domain;
  query_.op_type = def.op_type;
  query_.version = call_.def == nullptr ? 1 : static_cast<std::uint32_t>(std::max(1, call_.def->since()));
  query_.thread_budget = way_.thread_budget;
  query_.node_name = TENON_STR("conform");
  query_.attributes = attributes_.data();
  query_.attribute_count = attributes_.size();
  query_.attribute_stride = sizeof(tenon_attribute);
  query_.inputs = reinterpret_cast<const tenon_value_desc*>(input_bytes_.data());
  query_.input_count = static_cast<std::uint32_t>(inputs_.size());
  query_.outputs = reinterpret_cast<const tenon_value_desc*>(output_bytes_.data());
  query_.output_count = static_cast<std::uint32_t>(outputs_.size());
  query_.device_kind = def.device_kind;
  query_.device = session_.lent() ? nullptr : session_.device();
  query_.native_stream_kind = session_.info().native_stream_kind;
  plan_args_.math_flags = query_.math_flags;
  plan_args_.inputs = query_.inputs;
  plan_args_.input_count = query_.input_count;
  plan_args_.input_stride = query_.input_stride;
  plan_args_.outputs = query_.outputs;
  plan_args_.output_count = query_.output_count;
  plan_args_.output_stride = query_.output_stride;
  plan_args_.form_stride = sizeof(tenon_layout_form);
  plan_args_.thread_budget = way_.thread_budget;
  plan_args_.layout_tag = way_.signature.tag;
}

std::uint32_t KernelRun::Supports(std::string* reason) {
  exec::ReasonCatcher catcher;
  std::uint32_t verdict = 0;
  const std::int32_t code = TENON_CALL(tenon.op.kernel, &table_, supports, session_.plugin(), kernel_of_.def, &query_,
                                       &verdict, catcher.sink());
  session_.context().Require(code == TENON_OK, "{}: supports answers {}.", text_, code);
  session_.context().Require(verdict >= TENON_VERDICT_YES && verdict <= TENON_VERDICT_NO,
                             "{}: supports gives the verdict {}.", text_, verdict);
  if (reason != nullptr) *reason = catcher.text();
  return verdict;
}

std::vector<Signature> KernelRun::Signatures() {
  std::vector<Signature> found;
  if (table_.query_layouts == nullptr) return {Signature{}};
  tenon_layout_sink sink = TENON_INIT(tenon_layout_sink);
  sink.user = &found;
  sink.emit = [](void* user, const tenon_layout_signature* given) -> std::int32_t {
    Signature signature;
    signature.inputs.assign(given->inputs, given->inputs + given->input_count);
    signature.outputs.assign(given->outputs, given->outputs + given->output_count);
    signature.cost = given->cost;
    if (TENON_HAS_FIELD(given, tenon_layout_signature, tag)) signature.tag = given->tag;
    static_cast<std::vector<Signature>*>(user)->push_back(std::move(signature));
    return TENON_OK;
  };
  const std::int32_t code =
      TENON_CALL(tenon.op.kernel, &table_, query_layouts, session_.plugin(), kernel_of_.def, &query_, &sink, &error_);
  session_.Ok(code, error_, "offer layouts for " + text_);
  for (const Signature& signature : found) {
    session_.context().Require(signature.inputs.size() == inputs_.size() && signature.outputs.size() == outputs_.size(),
                               "{}: a signature names {} inputs and {} outputs; the call has {} and {}.", text_,
                               signature.inputs.size(), signature.outputs.size(), inputs_.size(), outputs_.size());
  }
  if (found.empty()) found.push_back({});
  return found;
}

// A call in no particular way is made in strided layouts, or if the kernel does not offer these in the first ones that it does.
void KernelRun::ChooseLayouts() {
  if (!way_.signature.inputs.empty() || !way_.signature.outputs.empty()) return;
  const std::vector<Signature> offered = Signatures();
  const bool strided = std::any_of(offered.begin(), offered.end(), [](const Signature& s) { return s.text().empty(); });
  if (strided) return;
  way_.signature = offered.front();
  input_descs_.clear(), output_descs_.clear();
  DescribeOperands();
  DescribeCall();
}

void KernelRun::Create() {
  ChooseLayouts();
  const std::int32_t code =
      TENON_CALL(tenon.op.kernel, &table_, create, session_.plugin(), kernel_of_.def, &query_, &kernel_, &error_);
  session_.Ok(code, error_, "create what it supports, " + text_);
  session_.context().Require(kernel_ != nullptr, "{}: create answers OK but gives no kernel.", text_);
}

void KernelRun::Plan() {
  if (table_.plan == nullptr) return;
  const std::int32_t code = TENON_CALL(tenon.op.kernel, &table_, plan, kernel_, &plan_args_, &plan_, &error_);
  session_.Ok(code, error_, "plan what it supports, " + text_);
  const std::uint64_t align = plan_.workspace_align;
  session_.context().Require((align & (align - 1)) == 0, "{}: plan asks for workspace aligned to {}.", text_, align);
}

std::int32_t KernelRun::Execute(bool may_fail) { return ExecuteOn(*this, may_fail); }

std::int32_t KernelRun::ExecuteOn(KernelRun& operands, bool may_fail) {
  const Doing doing(text_);
  const std::int32_t code = EnqueueOn(operands, may_fail);
  if (!may_fail) {
    session_.Synchronize(operands.way_.stream);
    return code;
  }
  // A call that failed has nothing in flight, but the transfers of its operands may be; its error is the one to tell.
  tenon_error later;
  const std::int32_t ended = TENON_CALL(tenon.stream, &session_.streams(), stream_synchronize, operands.way_.stream,
                                        kForever, code == TENON_OK ? &operands.error_ : &later);
  return code == TENON_OK ? ended : code;
}

void KernelRun::Enqueue() { EnqueueOn(*this, false); }

std::int32_t KernelRun::EnqueueOn(KernelRun& operands, bool may_fail) {
  std::vector<tenon_tensor> in, out;
  for (const Operand& operand : operands.inputs_) in.push_back(View(operand));
  for (std::size_t i = 0; i < operands.outputs_.size(); ++i) {
    const bool over = i == 0 && way_.in_place_input >= 0;
    tenon_tensor view =
        View(over ? operands.inputs_[static_cast<std::size_t>(way_.in_place_input)] : operands.outputs_[i]);
    if (over) {
      view.dims = operands.outputs_[0].shape.data();
      view.rank = static_cast<std::uint32_t>(operands.outputs_[0].shape.rank());
    }
    out.push_back(view);
  }
  tenon_kernel_call record = TENON_INIT(tenon_kernel_call);
  std::vector<std::uint8_t> in_bytes, out_bytes;
  Spread(in, &in_bytes, &record.input_stride);
  Spread(out, &out_bytes, &record.output_stride);
  // A kernel of another plugin than the device's gets the native handle of the stream alone.
  record.stream = session_.lent() ? nullptr : operands.way_.stream;
  if (session_.lent() && session_.streams().native != nullptr) {
    const std::int32_t given = TENON_CALL(tenon.stream, &session_.streams(), native, operands.way_.stream,
                                          &record.native_stream, &operands.error_);
    if (given != TENON_OK) record.native_stream = 0;
  }
  record.inputs = reinterpret_cast<const tenon_tensor*>(in_bytes.data());
  record.input_count = static_cast<std::uint32_t>(in.size());
  record.outputs = reinterpret_cast<const tenon_tensor*>(out_bytes.data());
  record.output_count = static_cast<std::uint32_t>(out.size());
  record.workspace = operands.workspace_.bytes == 0 ? 0 : operands.workspace_.start();
  record.workspace_bytes = operands.workspace_.bytes;
  record.math_flags = query_.math_flags;
  const RandomState random = way_.use_random ? way_.random : call_.random;
  record.rng_key = random.key;
  record.rng_offset = random.offset;
  record.thread_budget = way_.thread_budget;
  record.correlation_id = way_.correlation_id;
  if (way_.correlation_id != 0) record.flags |= TENON_CALL_PROFILING;
  record.cancel = way_.cancel;
  tenon_token* token = nullptr;
  if ((kernel_of_.def->traits & TENON_TRAIT_ASYNC_HOST) != 0)
    record.completion = token = session_.host().completions().Start(nullptr);
  std::int32_t code = TENON_CALL(tenon.op.kernel, &table_, execute, kernel_, &record, &operands.error_);
  if (code == TENON_PENDING && token != nullptr) {
    tenon_token* done = session_.host().completions().Wait();
    code = done->code;
    session_.host().completions().Recycle(done);
  }
  if (!may_fail) session_.Ok(code, operands.error_, "execute what it supports, " + text_);
  return code;
}

std::vector<Tensor> KernelRun::Results() {
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (i == 0 && way_.in_place_input >= 0) {
      Operand& over = inputs_[static_cast<std::size_t>(way_.in_place_input)];
      Operand seen = over;
      seen.shape = outputs_[0].shape;
      seen.dtype = outputs_[0].dtype;
      results.push_back(Download(seen));
      continue;
    }
    results.push_back(Download(outputs_[i]));
    CheckGuards(outputs_[i], fmt::format("output {}", i));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    CheckGuards(inputs_[i], fmt::format("input {}", i));
    if (inputs_[i].absent || inputs_[i].bytes == 0 || static_cast<int>(i) == way_.in_place_input) continue;
    session_.context().Require(Raw(inputs_[i]) == inputs_[i].before, "{}: it changed input {}.", text_, i);
  }
  if (workspace_.bytes > 0) CheckGuards(workspace_, "its workspace");
  return results;
}

std::vector<Tensor> KernelRun::Run() {
  Create();
  Plan();
  PutOperands();
  Execute();
  return Results();
}

std::vector<Tensor> KernelRun::RunAgain(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].absent) continue;
    inputs_[i].content = inputs[i];
    Upload(&inputs_[i]);
  }
  Execute();
  return Results();
}

}  // namespace tenon::conform
