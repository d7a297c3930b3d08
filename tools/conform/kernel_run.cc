#include "tools/conform/kernel_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::conform {
namespace {

constexpr std::uint64_t kGuard = 256;
constexpr std::uint8_t kGuardByte = 0xA5;

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

std::uint64_t AlignDown(std::uint64_t value, std::uint64_t align) { return value / align * align; }

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

std::uint64_t KernelRun::Operand::start() const {
  if (fence != nullptr) return fence->address() + shift;
  const std::uint64_t base = on_host ? reinterpret_cast<std::uintptr_t>(host.data()) : block.address;
  // Host vectors may lie anywhere; the guard before the data takes what alignment needs.
  const std::uint64_t aligned = on_host ? (base + 63) / 64 * 64 : base;
  return aligned + kGuard;
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
  Describe();
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

void KernelRun::Describe() {
  inputs_.resize(call_.inputs.size());
  outputs_.resize(call_.types.size());
  const std::vector<Shape> shapes = call_.output_shapes();
  const auto layout_of = [](const std::vector<std::uint32_t>& layouts, std::size_t i) {
    return i < layouts.size() ? layouts[i] : std::uint32_t{TENON_LAYOUT_STRIDED};
  };
  const auto describe = [](const Operand& operand) {
    tenon_value_desc desc = TENON_INIT(tenon_value_desc);
    if (operand.absent) {
      desc.flags = TENON_TENSOR_ABSENT;
      return desc;
    }
    if (operand.shape.elements() == 0) desc.flags |= TENON_TENSOR_EMPTY;
    desc.dtype = static_cast<std::uint32_t>(operand.dtype);
    desc.rank = static_cast<std::uint32_t>(operand.shape.rank());
    desc.dims = operand.shape.data();
    desc.layout = operand.layout;
    desc.strides = operand.strides.empty() ? nullptr : operand.strides.data();
    return desc;
  };
  const tenon_kernel_def& def = *kernel_of_.def;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Operand& operand = inputs_[i];
    operand.content = call_.inputs[i];
    operand.absent = !operand.content.defined();
    if (!operand.absent) operand.dtype = operand.content.dtype(), operand.shape = operand.content.shape();
    operand.layout = layout_of(way_.signature.inputs, i);
    operand.on_host = i < 64 && ((def.host_inputs >> i) & 1) != 0;
    const bool gaps = way_.strided_inputs && !operand.absent && operand.shape.rank() > 0 && operand.layout == 0;
    if (gaps) {
      // Rows with three elements between them; with "any" strides also elements with one between them.
      std::int64_t next = def.stride_pattern == TENON_STRIDES_ANY ? 2 : 1;
      operand.strides.resize(static_cast<std::size_t>(operand.shape.rank()));
      for (int axis = operand.shape.rank() - 1; axis >= 0; --axis) {
        operand.strides[static_cast<std::size_t>(axis)] = next;
        next = next * operand.shape[axis] + 3;
      }
    }
    input_descs_.push_back(describe(operand));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Operand& operand = outputs_[i];
    operand.absent = !call_.types[i].defined();
    operand.dtype = call_.types[i].dtype;
    operand.shape = shapes[i];
    operand.layout = layout_of(way_.signature.outputs, i);
    operand.on_host = i < 64 && ((def.host_outputs >> i) & 1) != 0;
    output_descs_.push_back(describe(operand));
  }
  Spread(input_descs_, &input_bytes_, &query_.input_stride);
  Spread(output_descs_, &output_bytes_, &query_.output_stride);
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

const tenon_kernel_query& KernelRun::query() { return query_; }

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

void KernelRun::Create() {
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

void KernelRun::Measure(Operand* operand, const char* what, std::uint64_t* align) {
  if (operand->layout == TENON_LAYOUT_STRIDED) {
    std::int64_t count = operand->shape.elements();
    if (!operand->strides.empty() && count > 0) {
      count = 1;
      for (int axis = 0; axis < operand->shape.rank(); ++axis)
        count += (operand->shape[axis] - 1) * operand->strides[static_cast<std::size_t>(axis)];
    }
    operand->bytes = static_cast<std::uint64_t>(count * SizeOf(operand->dtype));
    *align = static_cast<std::uint64_t>(SizeOf(operand->dtype));
    return;
  }
  tenon_layout_info info = TENON_INIT(tenon_layout_info);
  session_.context().Require(session_.devices().layout_info != nullptr,
                             "{}: layout {} is offered, but the device describes no layouts.", text_, operand->layout);
  const std::int32_t code =
      TENON_CALL(tenon.device, &session_.devices(), layout_info, session_.device(), operand->layout,
                 static_cast<std::uint32_t>(operand->dtype), static_cast<std::uint32_t>(operand->shape.rank()),
                 operand->shape.data(), &info, &error_);
  session_.Ok(code, error_, fmt::format("describe layout {} of {} {}", operand->layout, what, text_));
  operand->bytes = info.bytes;
  *align = std::max<std::uint64_t>(1, info.align);
}

// The block is memory of the host's own, wrapped for the device.
void KernelRun::PlaceAtFence(Operand* operand, std::uint64_t align) {
  operand->fence = std::make_shared<FencedBytes>(operand->bytes + align);
  FencedBytes& fence = *operand->fence;
  operand->shift = way_.fence == Fence::kBehind ? AlignDown(fence.bytes() - operand->bytes, align) : 0;
  std::memset(fence.begin(), kGuardByte, fence.bytes());
  std::memset(fence.begin() + operand->shift, way_.poison, operand->bytes);
  if (operand->on_host) return;
  operand->block.address = fence.address();
  operand->block.bytes = fence.bytes();
  const std::int32_t code =
      TENON_CALL(tenon.memory, &session_.memory(), wrap_external, session_.space(), fence.address(), fence.bytes(),
                 nullptr, nullptr, &operand->block.buffer, &error_);
  session_.Ok(code, error_, "wrap host memory");
}

void KernelRun::Place(Operand* operand, const char* what) {
  if (operand->absent) return;
  std::uint64_t align = 1;
  Measure(operand, what, &align);
  session_.context().Require(align <= kGuard, "{}: the layout wants alignment {}.", text_, align);
  if (way_.fence != Fence::kNone) return PlaceAtFence(operand, align);
  const std::uint64_t whole = operand->bytes + 2 * kGuard;
  if (operand->on_host) {
    operand->host.assign(whole + 64, std::byte{kGuardByte});
    return;
  }
  operand->block = session_.Allocate(whole);
  session_.context().Require(operand->block.address % 64 == 0 || session_.space_info().min_align < 64,
                             "{}: memory is aligned to less than the space says.", text_);
  session_.Fill(operand->block, kGuardByte, way_.stream);
  std::vector<std::uint8_t> poison(operand->bytes, way_.poison);
  session_.Upload(poison.data(), operand->start(), operand->bytes, way_.stream, TENON_HOST_SOURCE_DURING_CALL);
}

tenon_tensor KernelRun::View(const Operand& operand) const {
  tenon_tensor view = TENON_INIT(tenon_tensor);
  if (operand.absent) {
    view.flags = TENON_TENSOR_ABSENT;
    return view;
  }
  if (operand.on_host || session_.host_accessible()) view.flags |= TENON_TENSOR_HOST_ACCESSIBLE;
  if (operand.shape.elements() == 0) view.flags |= TENON_TENSOR_EMPTY;
  view.address = operand.start();
  // Addresses are aligned as allocations are; offsets are whole elements.
  if (operand.fence != nullptr) {
    view.byte_offset = view.address % 64;
  } else if (way_.byte_offset) {
    view.byte_offset = kGuard;
  }
  view.address -= view.byte_offset;
  view.dtype = static_cast<std::uint32_t>(operand.dtype);
  view.rank = static_cast<std::uint32_t>(operand.shape.rank());
  view.dims = operand.shape.data();
  view.strides = operand.strides.empty() ? nullptr : operand.strides.data();
  view.layout = operand.layout;
  if (!operand.on_host) {
    view.device = session_.device();
    view.space = session_.space();
  }
  return view;
}

void KernelRun::Upload(Operand* operand) {
  if (operand->absent || operand->bytes == 0) return;
  const Tensor& content = operand->content;
  const auto width = static_cast<std::size_t>(SizeOf(operand->dtype));
  const auto* from = static_cast<const std::uint8_t*>(content.raw());
  std::vector<std::uint8_t> bytes(from, from + content.bytes());
  if (!operand->strides.empty()) {
    bytes.assign(operand->bytes, way_.poison);
    std::vector<std::int64_t> index(operand->strides.size(), 0);
    for (std::int64_t element = 0; element < content.elements(); ++element) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * operand->strides[axis];
      std::memcpy(bytes.data() + static_cast<std::size_t>(place) * width,
                  from + static_cast<std::size_t>(element) * width, width);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < operand->shape[static_cast<int>(axis)]) break;
        index[axis] = 0;
      }
    }
  }
  if (operand->on_host) {
    std::memcpy(reinterpret_cast<void*>(operand->start()), bytes.data(), bytes.size());
  } else if (operand->layout == TENON_LAYOUT_STRIDED) {
    session_.Upload(bytes.data(), operand->start(), bytes.size(), way_.stream, TENON_HOST_SOURCE_DURING_CALL);
  } else {
    Operand plain;
    plain.dtype = operand->dtype, plain.shape = operand->shape;
    Place(&plain, "a plain copy of");
    session_.Upload(bytes.data(), plain.start(), bytes.size(), way_.stream, TENON_HOST_SOURCE_DURING_CALL);
    const tenon_tensor source = View(plain), target = View(*operand);
    session_.context().Require(session_.devices().reorder != nullptr, "{}: the device has layouts but no reorder.",
                               text_);
    const std::int32_t code = TENON_CALL(tenon.device, &session_.devices(), reorder, session_.device(), &source,
                                         &target, way_.stream, &error_);
    session_.Ok(code, error_, "reorder an input of " + text_);
    session_.Synchronize(way_.stream);
    session_.Free(plain.block);
  }
  operand->before = Raw(*operand);
}

std::vector<std::uint8_t> KernelRun::Raw(Operand& operand) {
  std::vector<std::uint8_t> bytes(operand.bytes);
  if (operand.on_host) {
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(operand.start()), bytes.size());
    return bytes;
  }
  session_.Download(operand.start(), bytes.data(), bytes.size(), way_.stream);
  session_.Synchronize(way_.stream);
  return bytes;
}

Tensor KernelRun::Download(Operand& operand) {
  if (operand.absent) return {};
  Tensor tensor(operand.dtype, operand.shape);
  if (operand.layout == TENON_LAYOUT_STRIDED) {
    const auto bytes = Raw(operand);
    if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
    return tensor;
  }
  Operand plain;
  plain.dtype = operand.dtype, plain.shape = operand.shape;
  Place(&plain, "a plain copy of");
  const tenon_tensor source = View(operand), target = View(plain);
  const std::int32_t code =
      TENON_CALL(tenon.device, &session_.devices(), reorder, session_.device(), &source, &target, way_.stream, &error_);
  session_.Ok(code, error_, "reorder an output of " + text_);
  const auto bytes = Raw(plain);
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  CheckGuards(plain, "a reordered output");
  session_.Free(plain.block);
  return tensor;
}

void KernelRun::CheckGuards(Operand& operand, const std::string& what) {
  if (operand.absent) return;
  std::vector<std::uint8_t> bytes;
  std::uint64_t begin = kGuard;
  if (operand.fence != nullptr) {
    bytes.assign(operand.fence->begin(), operand.fence->end());
    begin = operand.shift;
  } else if (operand.on_host) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(operand.start() - kGuard);
    bytes.assign(first, first + operand.bytes + 2 * kGuard);
  } else {
    bytes = session_.Read(operand.block, way_.stream);
  }
  const std::uint64_t end = begin + operand.bytes;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    if (i >= begin && i < end) continue;
    const bool intact = bytes[i] == kGuardByte;
    if (intact) continue;
    session_.context().Require(false, "{}: it wrote {} bytes {} {} ({} bytes).", text_,
                               i < begin ? begin - i : i - end + 1, i < begin ? "before" : "past the end of", what,
                               operand.bytes);
  }
  session_.context().Require(true, "{}", text_);
}

void KernelRun::PutOperands() {
  for (Operand& operand : inputs_) {
    Place(&operand, "an input of");
    Upload(&operand);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (i == 0 && way_.in_place_input >= 0) continue;
    Place(&outputs_[i], "an output of");
  }
  workspace_.dtype = DType::kU8;
  workspace_.shape = Shape{static_cast<std::int64_t>(plan_.workspace_bytes)};
  workspace_.bytes = plan_.workspace_bytes;
  if (workspace_.bytes == 0) return;
  if (way_.fence != Fence::kNone) return PlaceAtFence(&workspace_, std::max<std::uint64_t>(1, plan_.workspace_align));
  workspace_.block = session_.Allocate(workspace_.bytes + 2 * kGuard);
  session_.Fill(workspace_.block, kGuardByte, way_.stream);
  // Exactly the size asked for, poisoned, between guards.
  std::vector<std::uint8_t> poison(workspace_.bytes, way_.poison);
  session_.Upload(poison.data(), workspace_.start(), workspace_.bytes, way_.stream, TENON_HOST_SOURCE_DURING_CALL);
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
