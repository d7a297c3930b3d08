#include "plugins/device_cpu/onednn/convolution.h"

#include <algorithm>

#include "plugins/device_cpu/onednn/known_faults.h"

namespace tenon::cpu::onednn {
namespace {

constexpr uint64_t kAlign = 64;

std::vector<int64_t> WithGroups(const ConvProblem& p) {
  std::vector<int64_t> dims = p.weights;
  if (p.group == 1) return dims;
  dims[0] /= p.group;
  dims.insert(dims.begin(), p.group);
  return dims;
}

}  // namespace

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::vector<int64_t> ChannelLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t next = dims[1];
  for (size_t i = dims.size() - 1; i > 1; --i) {
    strides[i] = next;
    next *= dims[i];
  }
  strides[0] = next;
  return strides;
}

// One memory object of a call.
class Convolution::Memory {
 public:
  Memory(const Library& library, DescArg desc, void* data) : functions_(library.functions()) {
    Check(functions_.dnnl_memory_create(&handle_, desc, library.engine(), data), "creating a memory object");
  }
  ~Memory() { functions_.dnnl_memory_destroy(handle_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  dnnl_memory_t get() const { return handle_; }

 private:
  const Functions& functions_;
  dnnl_memory_t handle_ = nullptr;
};

Convolution::Primitive Convolution::Make(dnnl_primitive_desc_t desc) {
  owned_.primitives.push_back({desc, nullptr});  // owned even if the next line throws
  Primitive& made = owned_.primitives.back();
  Check(library_.functions().dnnl_primitive_create(&made.handle, desc), "creating a primitive");
  const DescArg scratch = library_.functions().dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  if (scratch != nullptr)
    scratch_bytes_ =
        std::max(scratch_bytes_, static_cast<uint64_t>(library_.functions().dnnl_memory_desc_get_size(scratch)));
  return made;
}

DescArg Convolution::Query(dnnl_query_t what) const {
  return library_.functions().dnnl_primitive_desc_query_md(convolution_.desc, what, 0);
}

uint64_t Convolution::Reserve(uint64_t bytes) {
  const uint64_t offset = workspace_bytes_;
  workspace_bytes_ += (bytes + kAlign - 1) / kAlign * kAlign;
  return offset;
}

void Convolution::Add(dnnl_query_t what, int arg, bool result, std::unique_ptr<MemoryDesc> own,
                      void* Operands::*pointer) {
  const Functions& f = library_.functions();
  Operand operand;
  operand.arg = arg;
  operand.desc = Query(what);
  operand.result = result;
  operand.pointer = pointer;
  if (f.dnnl_memory_desc_equal(own->get(), operand.desc) == 0) {
    const DescArg from = result ? operand.desc : own->get(), to = result ? own->get() : operand.desc;
    dnnl_primitive_desc_t desc = nullptr;
    Check(f.dnnl_reorder_primitive_desc_create(&desc, from, library_.engine(), to, library_.engine(), owned_.attr),
          "creating a reorder");
    operand.reorder = Make(desc);
    operand.offset = Reserve(f.dnnl_memory_desc_get_size(operand.desc));
  }
  operand.own = std::move(own);
  operands_.push_back(std::move(operand));
}

Convolution::Convolution(const Library& library, const ConvProblem& p, int threads)
    : library_(library), threads_(threads), owned_{library.functions(), nullptr, {}} {
  const Functions& f = library.functions();
  const ThreadScope scope(f, threads);
  Check(f.dnnl_primitive_attr_create(&owned_.attr), "creating attributes");
  Check(f.dnnl_primitive_attr_set_scratchpad_mode(owned_.attr, dnnl_scratchpad_mode_user),
        "setting the scratchpad mode");
  const std::vector<int64_t> weight_dims = WithGroups(p), bias_dims = {p.y[1]};
  const auto desc = [&](const std::vector<int64_t>& dims, dnnl_data_type_t type, const std::vector<int64_t>& strides) {
    return std::make_unique<MemoryDesc>(f, dims, type, strides);
  };
  const auto x = desc(p.x, p.x_type, ChannelLastStrides(p.x)), y = desc(p.y, p.y_type, ChannelLastStrides(p.y));
  const auto weights = desc(weight_dims, p.weights_type, {});
  auto bias = p.bias_type != dnnl_data_type_undef ? desc(bias_dims, p.bias_type, {1}) : nullptr;
  ConvDescs descs{x->get(), weights->get(), nullptr, y->get(), p.strides, p.dilations, p.pads_begin, p.pads_end};
  const bool forward = p.direction == Direction::kForward, data = p.direction == Direction::kData;
  dnnl_primitive_desc_t hint = nullptr;
  if (!forward) {
    // The hint describes the forward call of the same types as far as that exists: results of gradients may be wider.
    const dnnl_data_type_t type = data ? p.weights_type : p.x_type;
    const auto hint_x = desc(p.x, type, ChannelLastStrides(p.x)), hint_y = desc(p.y, type, ChannelLastStrides(p.y));
    const auto hint_weights = desc(weight_dims, type, {});
    ConvDescs hinted = descs;
    hinted.x = hint_x->get(), hinted.weights = hint_weights->get(), hinted.y = hint_y->get();
    hint = CreateConvolution(library, Direction::kForward, hinted, owned_.attr, nullptr);
    owned_.primitives.push_back({hint, nullptr});
  }
  if (bias != nullptr) descs.bias = bias->get();
  convolution_ = Make(CreateConvolution(library, p.direction, descs, owned_.attr, hint, FaultyImplementation(p)));
  const char* name = nullptr;
  if (f.dnnl_primitive_desc_query(convolution_.desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success)
    implementation_ = name;
  const bool sums = p.direction == Direction::kWeights;
  Add(data ? dnnl_query_diff_src_md : dnnl_query_src_md, data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, data,
      desc(p.x, p.x_type, p.x_strides), &Operands::x);
  Add(sums ? dnnl_query_diff_weights_md : dnnl_query_weights_md, sums ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, sums,
      desc(weight_dims, p.weights_type, RowMajorStrides(weight_dims)), &Operands::weights);
  if (bias != nullptr) {
    operands_.emplace_back();
    Operand& operand = operands_.back();
    operand.arg = sums ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS;
    operand.desc = bias->get();
    operand.own = std::move(bias);
    operand.pointer = &Operands::bias;
  }
  Add(forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md, forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, forward,
      desc(p.y, p.y_type, p.y_strides), &Operands::y);
  scratch_offset_ = Reserve(scratch_bytes_);
}

Convolution::Owned::~Owned() {
  for (const Primitive& primitive : primitives) {
    if (primitive.handle != nullptr) functions.dnnl_primitive_destroy(primitive.handle);
    functions.dnnl_primitive_desc_destroy(primitive.desc);
  }
  if (attr != nullptr) functions.dnnl_primitive_attr_destroy(attr);
}

void Convolution::Run(const Primitive& primitive, dnnl_stream_t stream, std::vector<dnnl_exec_arg_t> args,
                      char* workspace) const {
  const DescArg desc = library_.functions().dnnl_primitive_desc_query_md(primitive.desc, dnnl_query_scratchpad_md, 0);
  const Memory scratch(library_, desc, workspace + scratch_offset_);
  args.push_back({DNNL_ARG_SCRATCHPAD, scratch.get()});
  Check(
      library_.functions().dnnl_primitive_execute(primitive.handle, stream, static_cast<int>(args.size()), args.data()),
      implementation_.data());
}

void Convolution::Execute(const Operands& operands, void* workspace) const {
  const Functions& f = library_.functions();
  const ThreadScope scope(f, threads_);
  char* const space = static_cast<char*>(workspace);
  struct Stream {
    const Functions& functions;
    dnnl_stream_t handle = nullptr;
    ~Stream() { functions.dnnl_stream_destroy(handle); }
  } stream{f};
  Check(f.dnnl_stream_create(&stream.handle, library_.engine(), dnnl_stream_default_flags), "creating a stream");
  std::vector<std::unique_ptr<Memory>> memories;
  const auto memory = [&](DescArg desc, void* data) {
    memories.push_back(std::make_unique<Memory>(library_, desc, data));
    return memories.back()->get();
  };
  std::vector<dnnl_exec_arg_t> args;
  struct Result {
    const Operand* operand;
    dnnl_memory_t converted, own;
  };
  std::vector<Result> results;
  for (const Operand& operand : operands_) {
    void* const data = operands.*operand.pointer;
    if (operand.reorder.handle == nullptr) {
      args.push_back({operand.arg, memory(operand.desc, data)});
      continue;
    }
    const dnnl_memory_t own = memory(operand.own->get(), data),
                        converted = memory(operand.desc, space + operand.offset);
    args.push_back({operand.arg, converted});
    if (operand.result)
      results.push_back({&operand, converted, own});
    else
      Run(operand.reorder, stream.handle, {{DNNL_ARG_FROM, own}, {DNNL_ARG_TO, converted}}, space);
  }
  Run(convolution_, stream.handle, std::move(args), space);
  for (const Result& r : results)
    Run(r.operand->reorder, stream.handle, {{DNNL_ARG_FROM, r.converted}, {DNNL_ARG_TO, r.own}}, space);
}

}  // namespace tenon::cpu::onednn
