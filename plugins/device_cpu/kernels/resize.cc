// Resize of the last two axes (images, lines), nearest and linear, and its gradient.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/inner_kernel.h"

namespace tenon::cpu {
namespace {

// What an output position of an axis shows: (1 - weight) * input[low] + weight * input[high].
struct Tap {
  int64_t low, high;
  float weight;
};

struct Grid {
  bool linear = false;
  std::string coordinates, rounding;

  explicit Grid(const sdk::Query& query) {
    const sdk::Attributes a = query.attributes();
    const bool old = query.op_type() == "Resize" && query.version() < 11;  // opset 10 knew one grid
    linear = a.String("mode", "nearest") == "linear";
    coordinates = old ? "asymmetric" : std::string(a.String("coordinate_transformation_mode", "half_pixel"));
    rounding = old ? "floor" : std::string(a.String("nearest_mode", "round_prefer_floor"));
  }
  Grid() = default;

  // Position in the input that output o shows. A scale that is the float nearest to output / input, or 0, is exactly that.
  double Position(int64_t o, int64_t input, int64_t output, float scale) const {
    const auto in = static_cast<double>(input), out = static_cast<double>(output), x = static_cast<double>(o);
    const bool exact = scale == 0 || scale == static_cast<float>(out / in);
    const double step = exact ? in / out : 1 / static_cast<double>(scale);
    const auto unscale = [&](double position) { return exact ? position * in / out : position * step; };
    if (coordinates == "asymmetric") return unscale(x);
    if (coordinates == "align_corners") return output > 1 ? x * (in - 1) / (out - 1) : 0.0;
    if (coordinates == "pytorch_half_pixel" && output == 1) return 0.0;
    const double middle = unscale(x + 0.5) - 0.5;
    if (coordinates != "half_pixel_symmetric" || exact) return middle;
    return in / 2 * (1 - out / (static_cast<double>(scale) * in)) + middle;
  }
  double Rounded(double position) const {
    if (rounding == "floor") return std::floor(position);
    if (rounding == "ceil") return std::ceil(position);
    return rounding == "round_prefer_ceil" ? std::floor(position + 0.5) : std::ceil(position - 0.5);
  }
  void Fill(int64_t input, int64_t output, float scale, Tap* taps) const {
    for (int64_t o = 0; o < output; ++o) {
      if (input == output && (scale == 0 || scale == 1)) {
        taps[o] = {o, o, 0.0f};
        continue;
      }
      const double given = Position(o, input, output, scale), last = static_cast<double>(input - 1);
      const double at = std::clamp(linear ? given : Rounded(given), 0.0, last);
      const auto low = static_cast<int64_t>(std::floor(at));
      taps[o] = {low, std::min(low + 1, input - 1), static_cast<float>(at - static_cast<double>(low))};
    }
  }
};

// The small and the large image of both operators; scales are input `kScales`.
template <class Derived, uint32_t kScales>
class ResizeBase : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const sdk::Dims x = query.input(0).dims(), y = query.output(0).dims();
    if (x.size() < 2) return reason.No("The rank is ", x.size(), "; this kernel takes 2 or more.");
    for (uint32_t i = 0; i + 2 < x.size(); ++i)
      if (x[i] != y[i]) return reason.No("Axis ", i, " changes; this kernel resizes the last two.");
    if (query.has_input(kScales) && query.input(kScales).dtype() != TENON_DTYPE_F32)
      return reason.No("The scales are ", sdk::DTypeName(query.input(kScales).dtype()), "; this kernel takes f32.");
    return IsOf<float>(query, 0, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    grid_ = Grid(query);
    const auto axes = query.attributes().Ints("axes");
    axes_.assign(axes.begin(), axes.end());
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims from = args.input(0).dims(), to = args.output(0).dims();
    const sdk::Dims small = Derived::kBack ? to : from, large = Derived::kBack ? from : to;
    const uint32_t rank = small.size();
    planes_ = 1;
    for (uint32_t i = 0; i + 2 < rank; ++i) planes_ *= small[i];
    rows_ = small[rank - 2], columns_ = small[rank - 1];
    new_rows_ = large[rank - 2], new_columns_ = large[rank - 1];
    rank_ = rank;
    SetThreads(args);
    line_offset_ = RoundUp(static_cast<uint64_t>(new_rows_ + new_columns_) * sizeof(Tap));
    result.Workspace(line_offset_ + static_cast<uint64_t>(planes_ * Line()) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    if (planes_ * rows_ * columns_ == 0) return TENON_OK;
    Tap* const down = call.workspace<Tap>();
    Tap* const along = down + new_rows_;
    grid_.Fill(rows_, new_rows_, ScaleOf(call, rank_ - 2), down);
    grid_.Fill(columns_, new_columns_, ScaleOf(call, rank_ - 1), along);
    float* const lines = reinterpret_cast<float*>(call.workspace<char>() + line_offset_);
    const float* const x = call.in<float>(0);
    float* const y = call.out<float>(0);
    const int64_t small = rows_ * columns_, large = new_rows_ * new_columns_;
    const auto piece = [&](int64_t begin, int64_t end, uint32_t) {
      for (int64_t p = begin; p < end; ++p)
        static_cast<const Derived*>(this)->Plane(down, along, x + p * (Derived::kBack ? large : small),
                                                 lines + p * Line(), y + p * (Derived::kBack ? small : large));
    };
    if (threads_ > 1) return host().ParallelFor(planes_, 1, 0, error, piece);
    piece(0, planes_, 0);
    return TENON_OK;
  }

 protected:
  int64_t rows_ = 0, columns_ = 0, new_rows_ = 0, new_columns_ = 0;

 private:
  int64_t Line() const { return columns_; }  // floats of a line between the two axes
  // 0: none is given.
  float ScaleOf(const sdk::Call& call, uint32_t axis) const {
    if (!call.has_input(kScales) || call.input(kScales).elements() == 0) return 0;
    if (axes_.empty()) return call.in<float>(kScales)[axis];
    for (size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i] == axis || axes_[i] + rank_ == axis) return call.in<float>(kScales)[i];
    return 1;
  }

  Grid grid_;
  std::vector<int64_t> axes_;
  int64_t planes_ = 1;
  uint32_t rank_ = 2;
  uint64_t line_offset_ = 0;
};

// (X, roi, scales, sizes) -> Y; up to opset 10 (X, scales).
template <uint32_t kScales>
class ResizeKernel : public ResizeBase<ResizeKernel<kScales>, kScales> {
 public:
  static constexpr bool kBack = false;
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if ((query.version() < 11) != (kScales == 1)) return reason.No("The operator's version is ", query.version(), ".");
    return ResizeBase<ResizeKernel, kScales>::Supports(query, reason);
  }
  void Plane(const Tap* down, const Tap* along, const float* x, float* line, float* y) const {
    const int64_t columns = this->columns_, new_columns = this->new_columns_;
    for (int64_t r = 0; r < this->new_rows_; ++r, y += new_columns) {
      const Tap tap = down[r];
      if (r > 0 && tap.weight == 0 && down[r - 1].weight == 0 && down[r - 1].low == tap.low) {
        std::memcpy(y, y - new_columns, static_cast<size_t>(new_columns) * sizeof(float));
        continue;
      }
      const float *low = x + tap.low * columns, *high = x + tap.high * columns, *from = low;
      if (tap.weight != 0) {
        for (int64_t c = 0; c < columns; ++c) line[c] = low[c] * (1 - tap.weight) + high[c] * tap.weight;
        from = line;
      }
      for (int64_t c = 0; c < new_columns; ++c) {
        const Tap t = along[c];
        y[c] = t.weight == 0 ? from[t.low] : from[t.low] * (1 - t.weight) + from[t.high] * t.weight;
      }
    }
  }
};

// (dY, scales, sizes) -> dX.
class ResizeGradKernel : public ResizeBase<ResizeGradKernel, 1> {
 public:
  static constexpr bool kBack = true;
  void Plane(const Tap* down, const Tap* along, const float* dy, float* line, float* dx) const {
    std::fill_n(dx, rows_ * columns_, 0.0f);
    for (int64_t r = 0; r < new_rows_; ++r, dy += new_columns_) {
      std::fill_n(line, columns_, 0.0f);
      for (int64_t c = 0; c < new_columns_; ++c) {
        const Tap t = along[c];
        line[t.low] += dy[c] * (1 - t.weight);
        if (t.weight != 0) line[t.high] += dy[c] * t.weight;
      }
      const Tap tap = down[r];
      float *low = dx + tap.low * columns_, *high = dx + tap.high * columns_;
      for (int64_t c = 0; c < columns_; ++c) low[c] += line[c] * (1 - tap.weight);
      for (int64_t c = 0; c < columns_ && tap.weight != 0; ++c) high[c] += line[c] * tap.weight;
    }
  }
};

}  // namespace

void AddResizeKernels(KernelList& kernels) {
  kernels.push_back(Def<ResizeKernel<2>>("", "Resize", "resize"));
  kernels.push_back(Def<ResizeKernel<1>>("", "Resize", "resize_scales"));
  kernels.push_back(Def<ResizeGradKernel>("tenon", "ResizeGrad", "resize_grad"));
}

}  // namespace tenon::cpu
