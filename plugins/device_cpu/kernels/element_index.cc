// GatherElements, its gradient, and ScatterElements, where indices have the extents of the data in all axes but one.
#include <algorithm>
#include <cstring>

#include "plugins/device_cpu/kernels/axis.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

// What the kernels share: `indices` is input 1, `data` the tensor that they point into.
class ElementIndexKernel : public CpuKernel {
 public:
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    axis_ = query.attributes().Int("axis", 0);
    name_ = std::string(query.op_type());
    return TENON_OK;
  }

 protected:
  static bool SameBesideAxis(const sdk::Query& query, sdk::Dims data, sdk::Reason& reason) {
    const sdk::Dims indices = query.input(1).dims();
    int64_t axis = query.attributes().Int("axis", 0);
    if (axis < 0) axis += data.size();
    for (uint32_t i = 0; i < data.size(); ++i)
      if (i != axis && indices[i] != data[i])
        return reason.No("The indices ", indices, " leave out parts of the data ", data, " beside axis ", axis, ".");
    return true;
  }
  void PlanViews(sdk::Dims data, sdk::Dims indices) {
    data_ = ViewFrom(data, axis_);
    count_ = ViewFrom(indices, axis_).extent;
  }

  // Calls fn(i, at) for every element i of the indices in row-major order with the element `at` of the data.
  template <class Fn>
  int32_t ForEach(const sdk::Call& call, sdk::Error& error, const Fn& fn) const {
    const sdk::Tensor indices = call.input(1);
    if (indices.dtype() == TENON_DTYPE_I32) return ForEachOf(indices.data<const int32_t>(), error, fn);
    return ForEachOf(indices.data<const int64_t>(), error, fn);
  }

  AxisView data_;
  int64_t count_ = 0;  // indices along the axis

 private:
  template <class I, class Fn>
  int32_t ForEachOf(const I* indices, sdk::Error& error, const Fn& fn) const {
    const int64_t extent = data_.extent, inner = data_.inner;
    for (int64_t i = 0; i < data_.outer * count_ * inner; ++i)
      if (indices[i] < -extent || indices[i] >= extent)
        return error.Fail(TENON_INVALID_ARGUMENT, name_, " index ", int64_t{indices[i]}, " is outside [", -extent, ", ",
                          extent, "), the limits of axis ", axis_, ".");
    int64_t i = 0;
    for (int64_t o = 0; o < data_.outer; ++o) {
      for (int64_t k = 0; k < count_; ++k) {
        for (int64_t c = 0; c < inner; ++c, ++i) {
          const int64_t index = indices[i];
          fn(i, (o * extent + (index < 0 ? index + extent : index)) * inner + c);
        }
      }
    }
    return TENON_OK;
  }

  int64_t axis_ = 0;
  std::string name_;
};

// (data, indices) -> elements.
class GatherElementsKernel : public ElementIndexKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SameBesideAxis(query, query.input(0).dims(), reason) && HasBytes(query.input(0), reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    PlanViews(args.input(0).dims(), args.input(1).dims());
    bytes_ = BytesOf(args.input(0).dtype());
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    return OfBytes(bytes_, [&](auto element) { return Take<decltype(element)>(call, error); });
  }

 private:
  template <class T>
  int32_t Take(const sdk::Call& call, sdk::Error& error) const {
    const T* x = call.in<T>(0);
    T* y = call.out<T>(0);
    return ForEach(call, error, [=](int64_t i, int64_t at) { y[i] = x[at]; });
  }
  int64_t bytes_ = 4;
};

// (dY, indices) -> dX.
class GatherElementsGradKernel : public ElementIndexKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return SameBesideAxis(query, query.attributes().Ints("x_shape"), reason) && IsOf<float>(query, 0, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    PlanViews(args.output(0).dims(), args.input(1).dims());
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const float* dy = call.in<float>(0);
    float* dx = call.out<float>(0);
    std::fill_n(dx, data_.outer * data_.extent * data_.inner, 0.0f);
    return ForEach(call, error, [=](int64_t i, int64_t at) { dx[at] += dy[i]; });
  }
};

// (data, indices, updates) -> data with them.
class ScatterElementsKernel : public ElementIndexKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const std::string_view join = query.attributes().String("reduction", "none");
    if (join != "none" && join != "add")
      return reason.No("The reduction is ", join, "; this kernel takes none and add.");
    return SameBesideAxis(query, query.input(0).dims(), reason) && IsOf<float>(query, 0, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error& error) {
    adds_ = query.attributes().String("reduction", "none") == "add";
    return ElementIndexKernel::Create(query, error);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanViews(args.input(0).dims(), args.input(1).dims());
    result.Aliases(&kInPlace, 1);
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const float *x = call.in<float>(0), *updates = call.in<float>(2);
    float* y = call.out<float>(0);
    if (x != y) std::memcpy(y, x, static_cast<size_t>(data_.outer * data_.extent * data_.inner) * sizeof(float));
    if (adds_) return ForEach(call, error, [=](int64_t i, int64_t at) { y[at] += updates[i]; });
    return ForEach(call, error, [=](int64_t i, int64_t at) { y[at] = updates[i]; });
  }

 private:
  static constexpr tenon_alias_pair kInPlace = {0, 0, TENON_ALIAS_MAY, 0};
  bool adds_ = false;
};

}  // namespace

void AddElementIndexKernels(KernelList& kernels) {
  kernels.push_back(Def<GatherElementsGradKernel>("tenon", "GatherElementsGrad", "gather_elements_grad"));
  kernels.push_back(Def<ScatterElementsKernel>("", "ScatterElements", "scatter_elements"));
}
void AddGatherElementsKernels(KernelList& kernels) {
  kernels.push_back(Def<GatherElementsKernel>("", "GatherElements", "gather_elements"));
}

}  // namespace tenon::cpu
