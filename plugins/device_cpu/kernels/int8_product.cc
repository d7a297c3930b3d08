// Products of quantised operands: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv.
#include "plugins/device_cpu/compute/gemm_int8.h"
#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/gemm_plan.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kAbsent = ~uint32_t{0};

// Where an operator has its operands. Scales: kAbsent for the operators that give sums.
struct Roles {
  uint32_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
constexpr Roles kIntegerRoles{0, kAbsent, 2, 1, kAbsent, 3, kAbsent, kAbsent, kAbsent};
constexpr Roles kLinearRoles{0, 1, 2, 3, 4, 5, 6, 7, 8};

// Base of both: operands as bytes, quantities by name.
class Int8Kernel : public CpuKernel {
 protected:
  static Roles RolesOf(const sdk::Query& query) {
    return query.op_type().starts_with("QLinear") ? kLinearRoles : kIntegerRoles;
  }
  const Int8Routines& int8() const { return *FindInt8Routines(routines().isa); }

  static bool IsByte(sdk::Value value) { return value.dtype() == TENON_DTYPE_I8 || value.dtype() == TENON_DTYPE_U8; }
  static bool Supported(const sdk::Query& query, sdk::Reason& reason) {
    const Roles roles = RolesOf(query);
    for (const uint32_t i : {roles.a, roles.b})
      if (!IsByte(query.input(i)))
        return reason.No("Input ", i, " is ", sdk::DTypeName(query.input(i).dtype()), "; this kernel takes bytes.");
    for (const uint32_t i : {roles.a_scale, roles.b_scale, roles.y_scale})
      if (i != kAbsent && query.input(i).dtype() != TENON_DTYPE_F32)
        return reason.No("Input ", i, " is ", sdk::DTypeName(query.input(i).dtype()),
                         "; this kernel takes f32 scales.");
    return true;
  }

  static bool HasMany(const sdk::PlanArgs& args, uint32_t i) {
    return i != kAbsent && args.has_input(i) && args.input(i).elements() > 1;
  }
  static bool IsSigned(sdk::Value value) { return value.dtype() == TENON_DTYPE_I8; }
  void PlanQuantities(const sdk::PlanArgs& args) {
    const Roles& r = roles_;
    a_signed_ = IsSigned(args.input(r.a)), b_signed_ = IsSigned(args.input(r.b)), y_signed_ = IsSigned(args.output(0));
    a_scales_ = HasMany(args, r.a_scale), a_zeros_ = HasMany(args, r.a_zero);
    b_scales_ = HasMany(args, r.b_scale), b_zeros_ = HasMany(args, r.b_zero);
  }

  template <class T>
  static Quantity<T> Read(const sdk::Call& call, uint32_t i, bool many) {
    if (i == kAbsent || !call.has_input(i)) return {};
    return {call.in<T>(i), many ? 1 : 0};
  }
  // Operands of a call, except where matrices begin.
  GemmInt8Args Quantities(const sdk::Call& call) const {
    const Roles& r = roles_;
    GemmInt8Args g;
    g.a.is_signed = a_signed_, g.a.zero = Read<uint8_t>(call, r.a_zero, a_zeros_);
    g.b.is_signed = b_signed_, g.b.zero = Read<uint8_t>(call, r.b_zero, b_zeros_);
    if (r.y_scale == kAbsent) return g;
    g.a_scale = Read<float>(call, r.a_scale, a_scales_);
    g.b_scale = Read<float>(call, r.b_scale, b_scales_);
    g.c_scale = *call.in<float>(r.y_scale);
    g.c_signed = y_signed_;
    const uint8_t zero = *call.in<uint8_t>(r.y_zero);
    g.c_zero = y_signed_ ? static_cast<int8_t>(zero) : zero;
    return g;
  }
  // The result from element `at` on.
  void Into(const sdk::Call& call, int64_t at, GemmInt8Args& g) const {
    if (roles_.y_scale == kAbsent)
      g.sums = call.out<int32_t>(0) + at;
    else
      g.quantized = call.out<uint8_t>(0) + at;
  }

  Roles roles_ = kIntegerRoles;
  bool a_signed_ = false, b_signed_ = false, y_signed_ = false;
  bool a_scales_ = false, a_zeros_ = false, b_scales_ = false, b_zeros_ = false;
};

class MatMulInt8 : public Int8Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const Roles roles = RolesOf(query);
    return SupportsBatches(query.input(roles.a).dims(), query.input(roles.b).dims(), reason) &&
           Supported(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    roles_ = RolesOf(query);
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanQuantities(args);
    const sdk::Dims a = args.input(roles_.a).dims(), b = args.input(roles_.b).dims();
    m_ = a[a.size() - 2], k_ = a[a.size() - 1], n_ = b[b.size() - 1];
    batches_ = 1;
    for (uint32_t axis = 0; axis + 2 < a.size(); ++axis) batches_ *= a[axis];
    one_matrix_ = b.size() == 2;
    if (one_matrix_ && !a_scales_ && !a_zeros_) {  // one product over the rows of all batches
      m_ *= batches_;
      batches_ = 1;
    }
    SetThreads(args);
    GemmInt8Args g;
    g.m = m_, g.n = n_, g.k = k_;
    result.Workspace(static_cast<uint64_t>(int8().gemm_workspace(g, threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    GemmInt8Args g = Quantities(call);
    g.m = m_, g.n = n_, g.k = k_;
    g.a.row = k_, g.b.row = n_, g.c_row = n_;
    for (int64_t i = 0; i < batches_; ++i) {
      g.a.data = call.in<uint8_t>(roles_.a) + i * m_ * k_;
      g.b.data = call.in<uint8_t>(roles_.b) + (one_matrix_ ? 0 : i * k_ * n_);
      Into(call, i * m_ * n_, g);
      int8().gemm(g, call.workspace<char>(), pool.parallel());
    }
    return pool.code();
  }

 private:
  int64_t m_ = 0, n_ = 0, k_ = 0, batches_ = 1;
  bool one_matrix_ = false;
};

// The weights are the matrix on the left, windows of the image the columns of that on the right.
class ConvInt8 : public Int8Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const Roles roles = RolesOf(query);
    return SupportsConv(query.attributes(), "", query.input(roles.a), query.input(roles.b), reason) &&
           Supported(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    roles_ = RolesOf(query);
    windows_ = ReadWindows(query.attributes(), "", nullptr, query.input(roles_.a).rank());
    return TENON_OK;
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanQuantities(args);
    shape_ = ShapeOf(windows_, args.input(roles_.a).dims(), args.input(roles_.b).dims());
    const sdk::Dims y = args.output(0).dims();
    out_h_ = y.size() == 4 ? y[2] : 1, out_w_ = y[y.size() - 1];
    const ConvPoolShape& s = shape_;
    planes_ = s.kh == 1 && s.kw == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 && s.pad_left == 0 &&
              out_h_ == s.h && out_w_ == s.w;
    SetThreads(args);
    columns_bytes_ = planes_ ? 0 : (Inner() * Pixels() + 63) / 64 * 64;
    result.Workspace(static_cast<uint64_t>(columns_bytes_ + int8().gemm_workspace(Sizes({}), threads_)));
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    const GemmInt8Args quantities = Quantities(call);
    const ConvPoolShape& s = shape_;
    const int64_t channels = s.c * windows_.group, outputs = s.oc * windows_.group;
    for (int64_t image = 0; image < s.n; ++image)
      for (int64_t group = 0; group < windows_.group; ++group) {
        GemmInt8Args g = Sizes(OfWeights(quantities, group * s.oc));
        g.a.data = call.in<uint8_t>(roles_.b) + group * s.oc * Inner();
        g.b.data = Columns(call, (image * channels + group * s.c) * s.h * s.w, quantities, pool);
        if (roles_.bias != kAbsent && call.has_input(roles_.bias))
          g.bias = {call.in<int32_t>(roles_.bias) + group * s.oc, 1};
        Into(call, (image * outputs + group * s.oc) * Pixels(), g);
        int8().gemm(g, call.workspace<char>() + columns_bytes_, pool.parallel());
      }
    return pool.code();
  }

 private:
  int64_t Inner() const { return shape_.c * shape_.kh * shape_.kw; }
  int64_t Pixels() const { return out_h_ * out_w_; }
  GemmInt8Args Sizes(GemmInt8Args g) const {
    g.m = shape_.oc, g.n = Pixels(), g.k = Inner();
    g.a.row = g.k, g.b.row = g.n, g.c_row = g.n;
    return g;
  }
  // The operator's second operand is the product's first; its quantities from output channel `first` on.
  static GemmInt8Args OfWeights(const GemmInt8Args& q, int64_t first) {
    GemmInt8Args g = q;
    std::swap(g.a, g.b);
    std::swap(g.a_scale, g.b_scale);
    if (g.a.zero.first != nullptr) g.a.zero.first += first * g.a.zero.step;
    if (g.a_scale.first != nullptr) g.a_scale.first += first * g.a_scale.step;
    return g;
  }
  const uint8_t* Columns(const sdk::Call& call, int64_t at, const GemmInt8Args& q, const KernelPool& pool) const {
    const uint8_t* planes = call.in<uint8_t>(roles_.a) + at;
    if (planes_) return planes;
    const ConvPoolShape& s = shape_;
    WindowColumnsArgs w;
    w.planes = planes, w.channels = s.c, w.h = s.h, w.w = s.w, w.out_h = out_h_, w.out_w = out_w_;
    w.kh = s.kh, w.kw = s.kw, w.stride_h = s.stride_h, w.stride_w = s.stride_w;
    w.dilation_h = s.dilation_h, w.dilation_w = s.dilation_w, w.pad_top = s.pad_top, w.pad_left = s.pad_left;
    w.fill = q.a.zero.at(0);
    w.to = call.workspace<uint8_t>();
    int8().window_columns(w, pool.parallel());
    return w.to;
  }

  ConvWindows windows_;
  ConvPoolShape shape_;
  int64_t out_h_ = 0, out_w_ = 0, columns_bytes_ = 0;
  bool planes_ = false;
};

}  // namespace

void AddInt8ProductKernels(KernelList& kernels) {
  kernels.push_back(Def<MatMulInt8>("", "MatMulInteger", "mat_mul_int8"));
  kernels.push_back(Def<MatMulInt8>("", "QLinearMatMul", "q_linear_mat_mul_int8"));
  kernels.push_back(Def<ConvInt8>("", "ConvInteger", "conv_int8"));
  kernels.push_back(Def<ConvInt8>("", "QLinearConv", "q_linear_conv_int8"));
}

}  // namespace tenon::cpu
