#include "kernels/work.h"

#include <deque>

namespace tenon::npu {

// ---- requests

Request::Request(const sdk::Query& query) : attributes_(query.attributes()), op_type_(query.op_type()) {
  for (uint32_t i = 0; i < query.input_count(); ++i) inputs_.push_back(query.input(i));
  for (uint32_t i = 0; i < query.output_count(); ++i) outputs_.push_back(query.output(i));
  for (const auto* side : {&inputs_, &outputs_}) {
    for (const sdk::Value& value : *side) {
      if (value.present() && !value.dims().Known()) Refuse("sizes must be known; an operand has shape ", value.dims());
      if (value.present() && value.rank() > kMaxRank) Refuse("rank ", value.rank(), " is above ", kMaxRank);
    }
  }
}

Request::Request(const sdk::Attributes& attributes, std::string_view op_type, const sdk::PlanArgs& args)
    : attributes_(attributes), op_type_(op_type) {
  for (uint32_t i = 0; i < args.input_count(); ++i) inputs_.push_back(args.input(i));
  for (uint32_t i = 0; i < args.output_count(); ++i) outputs_.push_back(args.output(i));
}

const tenon_tensor& Request::Content(uint32_t index) const {
  const tenon_tensor* content = inputs_[index].content();
  if (content == nullptr) Refuse("input ", index, " is computed; this kernel takes a constant");
  return *content;
}

std::vector<int64_t> Request::Ints(uint32_t index) const {
  const sdk::Tensor content(Content(index));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < content.elements(); ++i) {
    if (content.dtype() == TENON_DTYPE_I32) {
      values.push_back(content.data<const int32_t>()[i]);
    } else if (content.dtype() == TENON_DTYPE_I64) {
      values.push_back(content.data<const int64_t>()[i]);
    } else {
      Refuse("input ", index, " is ", sdk::DTypeName(content.dtype()), "; this kernel takes i32 and i64");
    }
  }
  return values;
}

void Request::RequireFloat(uint32_t index) const {
  const uint32_t dtype = inputs_[index].dtype();
  if (dtype != TENON_DTYPE_F32 && dtype != TENON_DTYPE_BF16 && dtype != TENON_DTYPE_F16)
    Refuse("input ", index, " is ", sdk::DTypeName(dtype), "; the vector unit takes f32, bf16 and f16");
}

void Request::RequireType(uint32_t index, uint32_t dtype) const {
  if (inputs_[index].dtype() != dtype)
    Refuse("input ", index, " is ", sdk::DTypeName(inputs_[index].dtype()), "; this kernel takes ",
           sdk::DTypeName(dtype));
}

uint64_t Request::bytes() const {
  uint64_t sum = 0;
  for (const auto* side : {&inputs_, &outputs_}) {
    for (const sdk::Value& value : *side)
      if (value.present()) sum += sdk::DTypeBytes(value.dtype(), StoredElements(value.layout(), value.dims()));
  }
  return sum;
}

// ---- the kernel

struct NpuKernel::Attribute {
  std::string name, text;
  std::vector<int64_t> ints;
  std::vector<double> floats;
};

namespace {
const Entry& EntryOf(const tenon_kernel_def& def) { return *static_cast<const Entry*>(def.user); }
}  // namespace

bool NpuKernel::Supports(const sdk::Query& query, sdk::Reason&) {
  EntryOf(query.def()).make(Request(query));  // a Failure is the reason
  return true;
}

void NpuKernel::Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
  const Entry& entry = EntryOf(query.def());
  const Request request(query);
  if (entry.layouts != nullptr) return entry.layouts(request, emitter);
  const std::vector<uint32_t> strided(std::max(request.input_count(), request.output_count()), TENON_LAYOUT_STRIDED);
  emitter.Emit(static_cast<double>(entry.make(request).cost.Cycles()), strided.data(), request.input_count(),
               strided.data(), request.output_count());
}

int32_t NpuKernel::Create(const sdk::Query& query, sdk::Error&) {
  entry_ = &EntryOf(query.def());
  owned_ = std::make_shared<std::vector<Attribute>>(query.attributes().size());
  for (uint32_t i = 0; i < query.attributes().size(); ++i) {
    tenon_attribute record = query.attributes().at(i);
    if (record.kind == TENON_ATTRIBUTE_TENSOR || record.kind == TENON_ATTRIBUTE_TEXTS) continue;
    Attribute& own = (*owned_)[i];
    own.name = sdk::Text(record.name);
    own.text = sdk::Text(record.text);
    if (record.ints != nullptr) own.ints.assign(record.ints, record.ints + record.count);
    if (record.floats != nullptr) own.floats.assign(record.floats, record.floats + record.count);
    record.name = sdk::Str(own.name);
    record.text = sdk::Str(own.text);
    record.ints = own.ints.data();
    record.floats = own.floats.data();
    attributes_.push_back(record);
  }
  return TENON_OK;
}

int32_t NpuKernel::Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
  const sdk::Attributes attributes(attributes_.data(), static_cast<uint32_t>(attributes_.size()),
                                   sizeof(tenon_attribute));
  work_ = std::make_shared<const Work>(entry_->make(Request(attributes, entry_->op_type, args)));
  result.Workspace(work_->workspace, Memory::kAlign);
  result.Cost(static_cast<double>(work_->cost.Cycles()));
  return TENON_OK;
}

int32_t NpuKernel::Resolve(const sdk::Tensor& tensor, Memory& memory, std::byte*& out, sdk::Error& error) const {
  if (tensor.absent() || tensor.empty()) return TENON_OK;
  const uint64_t bytes = sdk::DTypeBytes(tensor.dtype(), StoredElements(tensor.layout(), tensor.dims()));
  out = memory.Resolve(tensor.address(), bytes);
  if (out != nullptr) return TENON_OK;
  return error.Fail(TENON_INVALID_ARGUMENT, "An operand of ", entry_->op_type, ", ", sdk::DTypeName(tensor.dtype()),
                    tensor.dims(), " at address ", tensor.address(), ", does not lie in one allocation of the device.");
}

int32_t NpuKernel::Execute(const sdk::Call& call, sdk::Error& error) {
  if (call.stream() == nullptr) return error.Fail(TENON_INVALID_ARGUMENT, "A call needs a stream of the device.");
  auto& stream = static_cast<NpuStream&>(*sdk::Stream::From(call.stream()));
  NpuDevice& device = stream.device();
  auto operands = std::make_shared<Operands>(host(), call.input_count());
  operands->pointers_.resize(call.input_count() + call.output_count());
  int32_t code = TENON_OK;
  for (uint32_t i = 0; i < call.input_count() && code == TENON_OK; ++i)
    code = Resolve(call.input(i), device.memory(), operands->pointers_[i], error);
  for (uint32_t i = 0; i < call.output_count() && code == TENON_OK; ++i)
    code = Resolve(call.output(i), device.memory(), operands->pointers_[call.input_count() + i], error);
  if (code != TENON_OK) return code;
  if (work_->workspace > 0) {
    operands->workspace_ = device.memory().Resolve(call.raw().workspace, work_->workspace);
    if (operands->workspace_ == nullptr)
      return error.Fail(TENON_INVALID_ARGUMENT, "The workspace of ", entry_->op_type, ", ", work_->workspace,
                        " bytes at address ", call.raw().workspace, ", does not lie in one allocation of the device.");
  }
  operands->rng_key_ = call.rng_key();
  operands->rng_offset_ = call.rng_offset();
  Command command;
  command.name = entry_->op_type;
  command.correlation_id = call.correlation_id();
  if ((call.raw().flags & TENON_CALL_PROFILING) != 0)
    command.recorded = {TENON_RECORD_KERNEL, work_->cost.Cycles(), work_->cost.bytes};
  command.run = [&device, work = work_, operands](uint64_t& cycles) {
    work->run(*operands);
    device.counters().Add(work->cost);
    cycles += work->cost.Cycles();
  };
  return device.Launch(&stream, std::move(command), error);
}

}  // namespace tenon::npu
