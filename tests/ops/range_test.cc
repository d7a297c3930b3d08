// Range. The first two cases are the examples of ONNX's operator definition; the others from numpy.arange.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Counted(const Tensor& start, const Tensor& limit, const Tensor& delta, const Tensor& expected) {
  return {.op = "Range", .inputs = {start, limit, delta}, .expect = {expected}, .other_floats = false};
}
Tensor Int(std::int64_t value) { return I64({}, {value}); }
Tensor Real(double value) { return F32({}, {value}); }

TEST(Range, Counts) {
  CheckCase(Counted(Int(3), Int(9), Int(3), I64({2}, {3, 6})));
  CheckCase(Counted(Int(10), Int(4), Int(-2), I64({3}, {10, 8, 6})));
  CheckCase(Counted(Real(1), Real(5), Real(2), F32({2}, {1, 3})));
  CheckCase(Counted(Real(0), Real(1), Real(0.3), F32({4}, {0, 0.3, 0.6, 0.9})));
  CheckCase(Counted(Real(1), Real(0), Real(-0.5), F32({2}, {1, 0.5})));
  CheckCase(Counted(Int(5), Int(5), Int(1), I64({0}, {})));
  CheckCase(Counted(Int(5), Int(2), Int(1), I64({0}, {})));
  CheckCase(Counted(Of(DType::kI16, {}, {-2}), Of(DType::kI16, {}, {3}), Of(DType::kI16, {}, {2}),
                    Of(DType::kI16, {3}, {-2, 0, 2})));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  CheckCase(Counted(Int(least), Int(most), Int(most), I64({3}, {least, -1, most - 1})));
}

TEST(Range, NamesWhatIsWrong) {
  const auto fails = [](const Tensor& start, const Tensor& limit, const Tensor& delta, const std::string& message) {
    CheckFails({.op = "Range", .inputs = {start, limit, delta}, .expect = {}}, message);
  };
  fails(Int(0), Int(3), Int(0), "Range from 0 to 3 has delta 0.");
  fails(Real(0), Real(3), Real(0), "Range from 0 to 3 with delta 0 has no end.");
  fails(Real(0), Real(std::numeric_limits<double>::infinity()), Real(1),
        "Range from 0 to inf with delta 1 has no end.");
  fails(Int(0), I64({1}, {3}), Int(1), "Range limit is a scalar; it has shape [1].");
}

}  // namespace
}  // namespace tenon::testing
