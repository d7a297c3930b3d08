// Pad and its gradient: along each axis a table tells which element every position shows. The pads are read at every call.
#include <algorithm>
#include <cstring>

#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

enum class Mode { kConstant, kReflect, kEdge };

// Element of an axis that position `o` shows, `begin` positions being added before it; -1: the constant.
int64_t Source(int64_t o, int64_t begin, int64_t extent, Mode mode) {
  const int64_t p = o - begin;
  if (p >= 0 && p < extent) return p;
  if (mode == Mode::kConstant) return -1;
  if (mode == Mode::kEdge) return std::clamp<int64_t>(p, 0, extent - 1);
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1), phase = (p % period + period) % period;
  return std::min(phase, period - phase);
}

// What the two kernels share: the padded tensor is the large one, and the pads are input 1, their axes input `kAxes`.
template <uint32_t kAxes>
class PadBase : public CpuKernel {
 public:
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const std::string_view mode = query.attributes().String("mode", "constant");
    mode_ = mode == "reflect" ? Mode::kReflect : mode == "edge" ? Mode::kEdge : Mode::kConstant;
    return TENON_OK;
  }

 protected:
  void PlanShapes(sdk::Dims small, sdk::Dims large, sdk::PlanResult& result) {
    small_.assign(small.begin(), small.end()), large_.assign(large.begin(), large.end());
    int64_t positions = 0;
    for (const int64_t dim : large_) positions += dim;
    result.Workspace(static_cast<uint64_t>(positions) * sizeof(int64_t));
  }
  // Calls run(small row or -1, large row, sources of the last axis, its begin) for each row of the large tensor, in order.
  template <class Fn>
  void ForRows(const sdk::Call& call, const Fn& run) const {
    const size_t rank = small_.size(), last = rank - 1;
    std::vector<int64_t> begins(rank, 0);
    const int64_t pads = call.input(1).elements() / 2;
    for (int64_t i = 0; i < pads; ++i) begins[Axis(call, i)] = call.in<int64_t>(1)[i];
    std::vector<const int64_t*> sources;
    int64_t* table = call.workspace<int64_t>();
    int64_t rows = 1;
    for (size_t axis = 0; axis < rank; ++axis, table += large_[axis - 1]) {
      for (int64_t o = 0; o < large_[axis]; ++o) table[o] = Source(o, begins[axis], small_[axis], mode_);
      sources.push_back(table);
      if (axis < last) rows *= large_[axis];
    }
    std::vector<int64_t> index(rank, 0);
    for (int64_t row = 0; row < rows && large_[last] > 0; ++row) {
      int64_t from = 0;
      for (size_t axis = 0; axis < last && from >= 0; ++axis) {
        const int64_t source = sources[axis][index[axis]];
        from = source < 0 ? -1 : from * small_[axis] + source;
      }
      run(from, row, sources[last], begins[last]);
      for (size_t axis = last; axis-- > 0;) {
        if (++index[axis] < large_[axis]) break;
        index[axis] = 0;
      }
    }
  }

  std::vector<int64_t> small_, large_;

 private:
  size_t Axis(const sdk::Call& call, int64_t i) const {
    int64_t axis = i;
    if (call.has_input(kAxes))
      axis = call.input(kAxes).dtype() == TENON_DTYPE_I32 ? call.in<int32_t>(kAxes)[i] : call.in<int64_t>(kAxes)[i];
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(small_.size()) : axis);
  }
  Mode mode_ = Mode::kConstant;
};

// (X, pads, constant, axes) -> Y.
class PadKernel : public PadBase<3> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.input_count() < 2) return reason.No("The pads are attributes; this kernel takes inputs.");
    if (query.input(0).rank() == 0) return reason.No("The rank is 0; this kernel takes 1 or more.");
    return HasBytes(query.input(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanShapes(args.input(0).dims(), args.output(0).dims(), result);
    bytes_ = BytesOf(args.input(0).dtype());
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    return OfBytes(bytes_, [&](auto element) { return Fill<decltype(element)>(call); });
  }

 private:
  template <class T>
  int32_t Fill(const sdk::Call& call) const {
    const T constant = call.has_input(2) ? *call.in<T>(2) : T{};
    const T* const x = call.in<T>(0);
    T* const y = call.out<T>(0);
    const int64_t width = small_.back(), large = large_.back();
    ForRows(call, [&](int64_t from, int64_t to, const int64_t* sources, int64_t begin) {
      T* const row = y + to * large;
      if (from < 0) {
        std::fill_n(row, large, constant);
        return;
      }
      const T* const source = x + from * width;
      const int64_t first = std::clamp<int64_t>(begin, 0, large),
                    end = std::clamp<int64_t>(begin + width, first, large);
      const auto border = [&](int64_t o) { row[o] = sources[o] < 0 ? constant : source[sources[o]]; };
      for (int64_t o = 0; o < first; ++o) border(o);
      std::memcpy(row + first, source + (first - begin), static_cast<size_t>(end - first) * sizeof(T));
      for (int64_t o = end; o < large; ++o) border(o);
    });
    return TENON_OK;
  }
  int64_t bytes_ = 4;
};

// (dY, pads, axes) -> dX.
class PadGradKernel : public PadBase<2> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (query.input(0).rank() == 0) return reason.No("The rank is 0; this kernel takes 1 or more.");
    return IsOf<float>(query, 0, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanShapes(args.output(0).dims(), args.input(0).dims(), result);
    elements_ = args.output(0).elements();
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    const float* const dy = call.in<float>(0);
    float* const dx = call.out<float>(0);
    std::fill_n(dx, elements_, 0.0f);
    const int64_t width = small_.back(), large = large_.back();
    ForRows(call, [&](int64_t from, int64_t to, const int64_t* sources, int64_t begin) {
      if (from < 0) return;
      const float* const row = dy + to * large;
      float* const target = dx + from * width;
      const int64_t first = std::clamp<int64_t>(begin, 0, large),
                    end = std::clamp<int64_t>(begin + width, first, large);
      const auto border = [&](int64_t o) {
        if (sources[o] >= 0) target[sources[o]] += row[o];
      };
      for (int64_t o = 0; o < first; ++o) border(o);
      AddRun(row + first, target + (first - begin), end - first);
      for (int64_t o = end; o < large; ++o) border(o);
    });
    return TENON_OK;
  }

 private:
  int64_t elements_ = 0;
};

}  // namespace

void AddPadKernels(KernelList& kernels) { kernels.push_back(Def<PadKernel>("", "Pad", "pad")); }
void AddPadGradKernels(KernelList& kernels) { kernels.push_back(Def<PadGradKernel>("tenon", "PadGrad", "pad_grad")); }

}  // namespace tenon::cpu
