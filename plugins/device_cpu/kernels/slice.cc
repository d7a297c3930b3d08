// Slice, with its bounds as inputs, and its gradient: a strided view of the larger tensor is read or written. The bounds are
// read at every call; the shapes are planned.
#include <algorithm>
#include <cstring>

#include "plugins/device_cpu/kernels/channel_last.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

// The part of a tensor of extents `extents` that bounds name: inputs 1 (starts), 3 (axes) and 4 (steps) of both operators.
class SliceView {
 public:
  void Plan(sdk::Value whole, sdk::Value part) {
    channel_last_ = whole.layout() == kNhwc;
    if (channel_last_)
      PlanInMemory(ChannelLastDims(whole.dims()), ChannelLastDims(part.dims()), whole.dtype());
    else
      PlanInMemory(whole.dims(), part.dims(), whole.dtype());
  }

  int64_t whole_bytes() const { return elements_ * view_.element_bytes; }
  bool empty() const { return std::count(view_.dims, view_.dims + view_.rank, int64_t{0}) > 0; }

  // `offset` is in bytes. Requires that the view is not empty.
  StridedCopyArgs At(const sdk::Call& call, int64_t& offset) const {
    StridedCopyArgs p = view_;
    offset = 0;
    const int64_t count = call.input(1).elements();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t given = call.has_input(3) ? Value(call, 3, i) : i, named = given < 0 ? given + p.rank : given;
      const int64_t axis = channel_last_ ? kChannelLastPlace[named] : named;
      const int64_t step = call.has_input(4) ? Value(call, 4, i) : 1;
      offset += Start(Value(call, 1, i), step, extents_[axis]) * p.strides[axis] * p.element_bytes;
      // A step that takes one element has no stride, and may be too large to be one.
      p.strides[axis] = p.dims[axis] > 1 ? p.strides[axis] * step : 0;
    }
    Collapse(p);
    return p;
  }

 private:
  void PlanInMemory(sdk::Dims whole, sdk::Dims part, uint32_t dtype) {
    view_ = {};
    view_.element_bytes = BytesOf(dtype);
    view_.rank = static_cast<int>(part.size());
    DenseStrides(whole, view_.strides);
    elements_ = 1;
    for (uint32_t axis = 0; axis < part.size(); ++axis) {
      view_.dims[axis] = part[axis];
      extents_[axis] = whole[axis];
      elements_ *= whole[axis];
    }
  }

  static int64_t Value(const sdk::Call& call, uint32_t input, int64_t i) {
    return call.input(input).dtype() == TENON_DTYPE_I32 ? int64_t{call.in<int32_t>(input)[i]}
                                                        : call.in<int64_t>(input)[i];
  }
  // ONNX's clamping: 0 to extent going forward, 0 to extent - 1 going back.
  static int64_t Start(int64_t start, int64_t step, int64_t extent) {
    const int64_t from = start < 0 ? start + extent : start;
    return std::clamp<int64_t>(from, 0, std::max<int64_t>(step > 0 ? extent : extent - 1, 0));
  }

  StridedCopyArgs view_;
  int64_t extents_[StridedCopyArgs::kMaxRank] = {};
  int64_t elements_ = 0;
  bool channel_last_ = false;
};

void EmitSliceLayouts(const sdk::Query& query, sdk::Value part, sdk::LayoutEmitter& emitter) {
  EmitSharedLayouts(query, 1, 0.2 * (part.dims().Known() ? static_cast<double>(part.elements()) : 1000), emitter);
}

bool Fits(const sdk::Query& query, sdk::Reason& reason) {
  if (query.input_count() < 3) return reason.No("The bounds are attributes; this kernel takes inputs.");
  if (query.output(0).rank() > StridedCopyArgs::kMaxRank)
    return reason.No("The rank is ", query.output(0).rank(), "; this kernel takes up to 16.");
  return HasBytes(query.input(0), reason);
}

class SliceKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Fits(query, reason); }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    EmitSliceLayouts(query, query.output(0), emitter);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    view_.Plan(args.input(0), args.output(0));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    if (view_.empty()) return TENON_OK;
    int64_t offset = 0;
    StridedCopyArgs p = view_.At(call, offset);
    p.x = call.in<char>(0) + offset;
    p.y = call.out<char>(0);
    StridedCopy(p);
    return TENON_OK;
  }

 private:
  SliceView view_;
};

// Zeros, and dY at the places that Slice took.
class SliceGradKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Fits(query, reason); }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    EmitSliceLayouts(query, query.output(0), emitter);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    view_.Plan(args.output(0), args.input(0));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    if (view_.whole_bytes() == 0) return TENON_OK;
    std::memset(call.out<char>(0), 0, static_cast<size_t>(view_.whole_bytes()));
    if (view_.empty()) return TENON_OK;
    int64_t offset = 0;
    StridedCopyArgs p = view_.At(call, offset);
    p.x = call.in<char>(0);
    p.y = call.out<char>(0) + offset;
    StridedStore(p);
    return TENON_OK;
  }

 private:
  SliceView view_;
};

}  // namespace

void AddSliceKernels(KernelList& kernels) {
  kernels.push_back(Def<SliceKernel>("", "Slice", "slice"));
  kernels.push_back(Def<SliceGradKernel>("tenon", "SliceGrad", "slice_grad"));
}

}  // namespace tenon::cpu
