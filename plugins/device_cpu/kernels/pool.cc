// MaxPool, AveragePool and GlobalAveragePool of lines, images and volumes, and their gradients. The fused MaxPool is the same operator with
// winners of one byte instead of 64-bit indices.
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kFusedMaxPool = "MaxPool", kFusedMaxPoolGrad = "MaxPoolGrad";

bool IsFused(const sdk::Query& query) { return query.domain() == kDomain; }

PoolShape ReadPool(const sdk::Attributes& attributes, bool fused, uint32_t rank) {
  const std::string p(fused ? "p." : "");
  PoolShape s;
  const uint32_t axes = rank - 2;
  const auto at = [&](const char* name, uint32_t i, int64_t absent) { return attributes.IntAt(p + name, i, absent); };
  // The axis that is `from_last` before the last one, where there is one.
  const auto read = [&](uint32_t from_last, int64_t& kernel, int64_t& stride, int64_t& dilation, int64_t& before,
                        int64_t& behind) {
    if (from_last >= axes) return;
    const uint32_t i = axes - 1 - from_last;
    kernel = at("kernel_shape", i, 1), stride = at("strides", i, 1), dilation = at("dilations", i, 1);
    before = at("pads", i, 0), behind = at("pads", axes + i, 0);
  };
  read(0, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.pad_right);
  read(1, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.pad_bottom);
  read(2, s.kernel_d, s.stride_d, s.dilation_d, s.pad_front, s.pad_back);
  s.count_padding = attributes.Int(p + "count_include_pad", 0) != 0;
  return s;
}

bool SupportsPool(const sdk::Query& query, bool fused, sdk::Value images, sdk::Reason& reason) {
  const std::string p(fused ? "p." : "");
  const sdk::Attributes a = query.attributes();
  if (images.dtype() != TENON_DTYPE_F32)
    return reason.No("The data is ", sdk::DTypeName(images.dtype()), "; this kernel takes f32.");
  if (images.rank() < 3 || images.rank() > 5)
    return reason.No("The rank is ", images.rank(), "; this kernel pools lines, images and volumes (rank 3 to 5).");
  const std::string_view mode = a.String(p + "auto_pad", "NOTSET");
  if (mode != "NOTSET") return reason.No("auto_pad is ", mode, "; this kernel takes explicit pads.");
  if (a.Int(p + "storage_order", 0) != 0) return reason.No("storage_order is 1; this kernel takes 0.");
  int64_t window = 1;
  for (uint32_t i = 0; i + 2 < images.rank(); ++i) window *= a.IntAt(p + "kernel_shape", i, 1);
  if (window > 255) return reason.No("The window has ", window, " positions; this kernel takes up to 255.");
  return true;
}

void SetSizes(PoolShape& s, sdk::Dims x, sdk::Dims y) {
  const uint32_t rank = x.size();
  s.n = x[0], s.c = x[1], s.w = x[rank - 1], s.out_w = y[rank - 1];
  s.h = rank > 3 ? x[rank - 2] : 1, s.out_h = rank > 3 ? y[rank - 2] : 1;
  s.d = rank > 4 ? x[2] : 1, s.out_d = rank > 4 ? y[2] : 1;
}

Strides4 StridesOf(sdk::Value value) {
  const sdk::Dims d = value.dims();
  if (value.layout() == kNhwc) return NhwcStrides(d[1], d[2], d[3]);
  int64_t rows = 1;
  for (uint32_t axis = 2; axis + 1 < d.size(); ++axis) rows *= d[axis];
  return NchwStrides(d[1], rows, d[d.size() - 1]);
}

// Calls emit(layout) for each layout that these images can have.
template <class Fn>
void ForLayouts(sdk::Value images, const Fn& emit) {
  emit(0u);
  if (images.rank() == 4) emit(uint32_t{kNhwc});
}

// Nanoseconds: vectors of channels need no shuffling.
double PoolCost(sdk::Value value, uint32_t layout) {
  const double elements = value.dims().Known() ? static_cast<double>(value.elements()) : 1000;
  return elements * (layout == kNhwc ? 0.2 : 0.5);
}

class MaxPoolKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsPool(query, IsFused(query), query.input(0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const bool indices = !IsFused(query) && query.has_output(1);
    ForLayouts(query.input(0), [&](uint32_t layout) {
      const uint32_t outputs[] = {layout, indices ? 0 : layout};
      emitter.Emit(PoolCost(query.input(0), layout) + (indices ? PoolCost(query.output(0), 0) : 0), &layout, 1, outputs,
                   query.output_count());
    });
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    fused_ = IsFused(query);
    args_.shape = ReadPool(query.attributes(), fused_, query.input(0).rank());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    SetSizes(args_.shape, args.input(0).dims(), args.output(0).dims());
    args_.x_strides = StridesOf(args.input(0));
    args_.y_strides = StridesOf(args.output(0));
    SetThreads(args);
    if (!fused_ && args.has_output(1)) result.Workspace(static_cast<uint64_t>(args.output(0).elements()));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    MaxPoolArgs a = args_;
    a.x = call.in<float>(0);
    a.y = call.out<float>(0);
    if (call.has_output(1)) a.winners = fused_ ? call.out<uint8_t>(1) : call.workspace<uint8_t>();
    KernelPool pool(host(), error, threads_);
    routines().max_pool(a, pool.parallel());
    if (!fused_ && call.has_output(1)) WriteIndices(a, call.out<int64_t>(1));
    return pool.code();
  }

 private:
  // Positions in the whole of x as ONNX counts them, whatever the layout.
  static void WriteIndices(const MaxPoolArgs& a, int64_t* indices) {
    const PoolShape& s = a.shape;
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t od = 0; od < s.out_d; ++od)
          for (int64_t oh = 0; oh < s.out_h; ++oh)
            for (int64_t ow = 0; ow < s.out_w; ++ow) {
              const int64_t row = (od * s.out_h + oh) * a.y_strides.h;
              const int64_t winner = a.winners[n * a.y_strides.n + c * a.y_strides.c + row + ow * a.y_strides.w];
              const int64_t slice = winner / s.kernel_w;
              const int64_t d = od * s.stride_d - s.pad_front + slice / s.kernel_h * s.dilation_d;
              const int64_t h = oh * s.stride_h - s.pad_top + slice % s.kernel_h * s.dilation_h;
              const int64_t w = ow * s.stride_w - s.pad_left + winner % s.kernel_w * s.dilation_w;
              *indices++ = winner == 255 ? -1 : (((n * s.c + c) * s.d + d) * s.h + h) * s.w + w;
            }
  }

  bool fused_ = false;
  MaxPoolArgs args_;
};

// org.tenon.cpu.MaxPoolGrad(winners, dy) -> dx.
class FusedMaxPoolGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsPool(query, true, query.input(1), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    ForLayouts(query.output(0), [&](uint32_t layout) {
      emitter.Emit(PoolCost(query.output(0), layout), {layout, layout}, {layout});
    });
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.shape = ReadPool(query.attributes(), true, query.input(1).rank());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    SetSizes(args_.shape, args.output(0).dims(), args.input(1).dims());
    args_.dy_strides = StridesOf(args.input(1));
    args_.dx_strides = StridesOf(args.output(0));
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    MaxPoolGradArgs a = args_;
    a.winners = call.in<uint8_t>(0);
    a.dy = call.in<float>(1);
    a.dx = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    routines().max_pool_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  MaxPoolGradArgs args_;
};

// tenon.MaxPoolGrad(dY, Indices) -> dX.
class IndexedMaxPoolGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const uint32_t dtype = query.input(0).dtype();
    return dtype == TENON_DTYPE_F32 || reason.No("The gradient is ", sdk::DTypeName(dtype), "; this kernel takes f32.");
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    count_ = args.input(0).elements();
    size_ = args.output(0).elements();
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const float* dy = call.in<float>(0);
    const int64_t* indices = call.in<int64_t>(1);
    float* dx = call.out<float>(0);
    for (int64_t i = 0; i < size_; ++i) dx[i] = 0.0f;
    for (int64_t i = 0; i < count_; ++i) {
      if (indices[i] == -1) continue;
      if (indices[i] < 0 || indices[i] >= size_)
        return error.Fail(TENON_INVALID_ARGUMENT, "Index ", indices[i], " of element ", i, " is outside [0, ", size_,
                          "), the elements of dX.");
      dx[indices[i]] += dy[i];
    }
    return TENON_OK;
  }

 private:
  int64_t count_ = 0, size_ = 0;
};

// AveragePool, GlobalAveragePool and, with operands exchanged, AveragePoolGrad.
class AveragePoolKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SupportsPool(query, false, query.input(0), reason);
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const sdk::Value images = query.op_type() == "AveragePoolGrad" ? query.output(0) : query.input(0);
    ForLayouts(images, [&](uint32_t layout) { emitter.Emit(PoolCost(images, layout), {layout}, {layout}); });
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    args_.shape = ReadPool(query.attributes(), false, query.input(0).rank());
    gradient_ = query.op_type() == "AveragePoolGrad";
    global_ = query.op_type() == "GlobalAveragePool";
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    const sdk::Value x = args.input(0), y = args.output(0);
    SetSizes(args_.shape, gradient_ ? y.dims() : x.dims(), gradient_ ? x.dims() : y.dims());
    PoolShape& s = args_.shape;
    if (global_) s.kernel_d = s.d, s.kernel_h = s.h, s.kernel_w = s.w;
    args_.x_strides = StridesOf(x);
    args_.y_strides = StridesOf(y);
    SetThreads(args);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    AveragePoolArgs a = args_;
    a.x = call.in<float>(0);
    a.y = call.out<float>(0);
    KernelPool pool(host(), error, threads_);
    const PoolShape& s = a.shape;
    if (global_ && a.x_strides.w == 1)
      routines().f32.reduce({ReduceOp::kMean, 1, 1, s.n * s.c, s.d * s.h * s.w, a.x, a.y}, pool.parallel());
    else if (gradient_)
      routines().average_pool_grad(a, pool.parallel());
    else
      routines().average_pool(a, pool.parallel());
    return pool.code();
  }

 private:
  bool gradient_ = false, global_ = false;
  AveragePoolArgs args_;
};

constexpr tenon_gradient_source kSources[] = {{TENON_SOURCE_SAVED, 0}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr uint32_t kGradInputs[] = {0};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, kFusedMaxPoolGrad, 1, kSources, kGradInputs);
constexpr tenon_saved_def kWinners[] = {sdk::SavedValue("winners", TENON_DTYPE_U8, "p")};

}  // namespace

void AddPoolKernels(KernelList& kernels) {
  kernels.push_back(Def<MaxPoolKernel>("", "MaxPool", "max_pool"));
  kernels.push_back(Def<IndexedMaxPoolGrad>("tenon", "MaxPoolGrad", "max_pool_grad"));
  kernels.push_back(Def<MaxPoolKernel>(kDomain, kFusedMaxPool, "max_pool_bytes"));
  kernels.push_back(Def<FusedMaxPoolGrad>(kDomain, kFusedMaxPoolGrad, "max_pool_bytes_grad"));
  for (const std::string_view op_type : {"AveragePool", "GlobalAveragePool"})
    kernels.push_back(Def<AveragePoolKernel>("", op_type, "average_pool"));
  kernels.push_back(Def<AveragePoolKernel>("tenon", "AveragePoolGrad", "average_pool_grad"));
}

void AddPoolFused(FusedList& fused) {
  fused.push_back(
      sdk::FusedBuilder("max_pool", "pattern(%x) { %p = MaxPool(%x) return %p }", kDomain, kFusedMaxPool, kDeviceKind)
          .Priority(1)
          .Saved(kWinners)
          .Gradient(&kGradient));
}

}  // namespace tenon::cpu
