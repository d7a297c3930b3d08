// Comparisons of numbers and operators on truth values, with broadcasting; the results are truth values.
#include <string_view>

#include "plugins/device_cpu/kernels/broadcast.h"

namespace tenon::cpu {
namespace {

enum class CompareOp { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual, kAnd, kOr, kXor };

struct CompareName {
  std::string_view op_type;
  CompareOp op;
};
constexpr CompareName kNames[] = {{"Equal", CompareOp::kEqual},
                                  {"Greater", CompareOp::kGreater},
                                  {"GreaterOrEqual", CompareOp::kGreaterOrEqual},
                                  {"Less", CompareOp::kLess},
                                  {"LessOrEqual", CompareOp::kLessOrEqual},
                                  {"And", CompareOp::kAnd},
                                  {"Or", CompareOp::kOr},
                                  {"Xor", CompareOp::kXor}};

// Calls fn with the operator as a function.
template <class Fn>
void WithOperator(CompareOp op, const Fn& fn) {
  switch (op) {
    case CompareOp::kEqual:
      return fn([](auto a, auto b) { return a == b; });
    case CompareOp::kGreater:
      return fn([](auto a, auto b) { return a > b; });
    case CompareOp::kGreaterOrEqual:
      return fn([](auto a, auto b) { return a >= b; });
    case CompareOp::kLess:
      return fn([](auto a, auto b) { return a < b; });
    case CompareOp::kLessOrEqual:
      return fn([](auto a, auto b) { return a <= b; });
    case CompareOp::kAnd:
      return fn([](auto a, auto b) { return (a != 0) & (b != 0); });
    case CompareOp::kOr:
      return fn([](auto a, auto b) { return (a != 0) | (b != 0); });
    case CompareOp::kXor:
      return fn([](auto a, auto b) { return (a != 0) != (b != 0); });
  }
}

// Calls fn with a number of the dtype, of those that are compared; false: of another dtype.
template <class Fn>
bool OfType(uint32_t dtype, const Fn& fn) {
  switch (dtype) {
    case TENON_DTYPE_F32:
      return fn(float{}), true;
    case TENON_DTYPE_I64:
      return fn(int64_t{}), true;
    case TENON_DTYPE_I32:
      return fn(int32_t{}), true;
    case TENON_DTYPE_BOOL:
    case TENON_DTYPE_U8:
      return fn(uint8_t{}), true;
    default:
      return false;
  }
}

class CompareKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const uint32_t dtype = query.input(0).dtype();
    return OfType(dtype, [](auto) {}) ||
           reason.No("The operands are ", sdk::DTypeName(dtype), "; this kernel takes f32, i32, i64, u8 and bool.");
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    for (const CompareName& name : kNames)
      if (name.op_type == query.op_type()) op_ = name.op;
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error& error) {
    const sdk::Dims a = args.input(0).dims(), b = args.input(1).dims(), out = args.output(0).dims();
    dtype_ = args.input(0).dtype();
    empty_ = args.output(0).elements() == 0;
    if (Collapse(a, b, out, shape_)) return TENON_OK;
    return error.Fail(TENON_UNIMPLEMENTED, "Shapes ", a, " and ", b, " need more than ", BinaryArgs::kMaxRank,
                      " loops to broadcast.");
  }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    if (empty_) return TENON_OK;
    uint8_t* out = call.out<uint8_t>(0);
    OfType(dtype_, [&](auto number) {
      using T = decltype(number);
      WithOperator(op_, [&](auto fn) { Rows(0, call.in<T>(0), call.in<T>(1), out, fn); });
    });
    return TENON_OK;
  }

 private:
  template <class T, class Fn>
  void Rows(int d, const T* a, const T* b, uint8_t*& out, const Fn& fn) const {
    if (d + 1 < shape_.rank) {
      for (int64_t i = 0; i < shape_.dims[d]; ++i)
        Rows(d + 1, a + i * shape_.a_strides[d], b + i * shape_.b_strides[d], out, fn);
      return;
    }
    const int64_t count = shape_.dims[d];
    if (shape_.a_strides[d] != 0 && shape_.b_strides[d] != 0) {
      for (int64_t i = 0; i < count; ++i) out[i] = fn(a[i], b[i]) ? 1 : 0;
    } else if (shape_.a_strides[d] != 0) {
      for (int64_t i = 0; i < count; ++i) out[i] = fn(a[i], *b) ? 1 : 0;
    } else {
      const T one = *a;
      const int64_t step = shape_.b_strides[d];
      for (int64_t i = 0; i < count; ++i) out[i] = fn(one, b[i * step]) ? 1 : 0;
    }
    out += count;
  }

  CompareOp op_ = CompareOp::kEqual;
  uint32_t dtype_ = TENON_DTYPE_F32;
  bool empty_ = false;
  BinaryArgs shape_;  // of the operands; its op and pointers are not used
};

class NotKernel : public CpuKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Execute(const sdk::Call& call, sdk::Error&) const {
    const uint8_t* x = call.in<uint8_t>(0);
    uint8_t* y = call.out<uint8_t>(0);
    const int64_t count = call.output(0).elements();
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] == 0 ? 1 : 0;
    return TENON_OK;
  }
};

}  // namespace

void AddCompareKernels(KernelList& kernels) {
  for (const CompareName& name : kNames) kernels.push_back(Def<CompareKernel>("", name.op_type, "compare"));
  kernels.push_back(Def<NotKernel>("", "Not", "not"));
}

}  // namespace tenon::cpu
