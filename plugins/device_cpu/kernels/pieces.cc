// Split and Concat of any dtype: pieces of rows copied from one stride to another.
#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/channel_last.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

// The dims before the axis, and elements of one row of a piece.
struct Piece {
  int64_t rows, width;
};
Piece PieceOf(sdk::Value value, int64_t axis) {
  const sdk::Dims dims = value.dims();
  if (axis < 0) axis += dims.size();
  const bool last = value.layout() == kNhwc;
  const AxisView view = last ? ViewFrom(ChannelLastDims(dims), kChannelLastPlace[axis]) : ViewFrom(dims, axis);
  return {view.outer, view.extent * view.inner};
}

class PieceKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return HasBytes(query.input(0), reason); }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value whole = query.op_type() == "Split" ? query.input(0) : query.output(0);
    const double cost = 0.2 * (whole.dims().Known() ? static_cast<double>(whole.elements()) : 1000);
    EmitSharedLayouts(query, query.op_type() == "Split" ? 1 : query.input_count(), cost, emitter);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    split_ = query.op_type() == "Split";
    axis_ = query.attributes().Int("axis", 0);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const int64_t bytes = BytesOf(args.input(0).dtype());
    const Piece whole = PieceOf(split_ ? args.input(0) : args.output(0), axis_);
    rows_ = whole.rows, whole_ = whole.width * bytes;
    widths_.clear();
    const uint32_t count = split_ ? args.output_count() : args.input_count();
    for (uint32_t i = 0; i < count; ++i) {
      const bool present = !split_ || args.has_output(i);
      widths_.push_back(present ? PieceOf(split_ ? args.output(i) : args.input(i), axis_).width * bytes : -1);
    }
    // One part of a split that nobody reads is what the others leave; two cannot be told apart.
    int64_t rest = whole_;
    for (const int64_t width : widths_) rest -= width > 0 ? width : 0;
    for (int64_t& width : widths_) width = width < 0 ? -rest : width;
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    int64_t at = 0;
    for (uint32_t i = 0; i < widths_.size(); ++i) {
      const int64_t width = widths_[i];
      if (width > 0 && split_)
        routines().copy_rows({rows_, width, call.in<char>(0) + at, whole_, call.out<char>(i), width}, pool.parallel());
      if (width > 0 && !split_)
        routines().copy_rows({rows_, width, call.in<char>(i), width, call.out<char>(0) + at, whole_}, pool.parallel());
      at += width < 0 ? -width : width;
    }
    return pool.code();
  }

 private:
  bool split_ = false;
  int64_t axis_ = 0, rows_ = 0, whole_ = 0;
  std::vector<int64_t> widths_;  // in bytes; negative: not wanted
};

}  // namespace

void AddPieceKernels(KernelList& kernels) {
  kernels.push_back(Def<PieceKernel>("", "Split", "split"));
  kernels.push_back(Def<PieceKernel>("", "Concat", "concat"));
}

}  // namespace tenon::cpu
