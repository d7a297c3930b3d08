// Reductions over any set of axes, summed in double precision.
#include <limits>

#include "kernels/map.h"
#include "kernels/walk.h"

namespace tenon::npu {
namespace {

// Which axes are reduced: an attribute, or a constant input; all of them when none is listed.
std::vector<bool> ReducedAxes(const Request& request) {
  const sdk::Attributes& attributes = request.attributes();
  const uint32_t rank = request.input(0).rank();
  const sdk::Dims given = attributes.Ints("axes");
  const std::vector<int64_t> axes =
      request.has_input(1) ? request.Ints(1) : std::vector<int64_t>(given.begin(), given.end());
  std::vector<bool> reduced(rank, axes.empty() && attributes.Int("noop_with_empty_axes", 0) == 0);
  const auto limit = static_cast<int64_t>(rank);
  for (const int64_t axis : axes) {
    if (axis < -limit || axis >= limit) Refuse("axis ", axis, " is outside rank ", rank);
  }
  for (const int64_t axis : axes)
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return reduced;
}

// A walk over the input with the places of the results, which stand still along reduced axes.
Walk<1> ResultWalk(sdk::Dims x, const std::vector<bool>& reduced, int64_t& count) {
  std::vector<int64_t> strides(x.size(), 0);
  count = 1;
  for (uint32_t axis = x.size(); axis-- > 0;) {
    if (reduced[axis]) continue;
    strides[axis] = count;
    count *= x[axis];
  }
  Walk<1> walk;
  for (uint32_t axis = 0; axis < x.size(); ++axis) walk.Add(x[axis], {strides[axis]});
  return walk;
}

// Folds rows into accumulators: result = finish(fold over x of prepare(x)).
template <class T, class Fold>
void FoldRows(const Operands& o, const Walk<1>& walk, double* results, Fold fold) {
  const T* x = o.in<T>(0);
  const int64_t row = walk.row(), step = walk.step()[0];
  walk.Rows(0, walk.rows(), [&](const Walk<1>::Places& at) {
    double* to = results + at[0];
    if (step == 0) {
      double sum = *to;
      for (int64_t i = 0; i < row; ++i) sum = fold(sum, static_cast<double>(Widen(x[i])));
      *to = sum;
    } else {
      for (int64_t i = 0; i < row; ++i) to[i * step] = fold(to[i * step], static_cast<double>(Widen(x[i])));
    }
    x += row;
  });
}

template <class Fold, class Finish>
Work Reduce(const Request& request, double start, Fold fold, Finish finish) {
  request.RequireFloat(0);
  int64_t count = 0;
  const Walk<1> walk = ResultWalk(request.input(0).dims(), ReducedAxes(request), count);
  const auto share = static_cast<double>(count) / static_cast<double>(request.input(0).elements());
  Work work;
  work.workspace = static_cast<uint64_t>(count) * sizeof(double);
  work.cost = {0, static_cast<uint64_t>(request.input(0).elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      double* results = o.workspace<double>();
      for (int64_t i = 0; i < count; ++i) results[i] = start;
      FoldRows<T>(o, walk, results, fold);
      for (int64_t i = 0; i < count; ++i) o.out<T>(0)[i] = Narrow<T>(static_cast<float>(finish(results[i], share)));
    };
  });
  return work;
}

constexpr auto kSum = [](double a, double b) { return a + b; };
constexpr auto kSquares = [](double a, double b) { return a + b * b; };
constexpr auto kSame = [](double value, double) { return value; };
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void AddReductions(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn make) { entries.push_back({"", op, "vector_reduce", make}); };
  add("ReduceSum", [](const Request& r) { return Reduce(r, 0, kSum, kSame); });
  add("ReduceMean",
      [](const Request& r) { return Reduce(r, 0, kSum, [](double sum, double share) { return sum * share; }); });
  add("ReduceSumSquare", [](const Request& r) { return Reduce(r, 0, kSquares, kSame); });
  add("ReduceL2",
      [](const Request& r) { return Reduce(r, 0, kSquares, [](double sum, double) { return std::sqrt(sum); }); });
  add("ReduceMax", [](const Request& r) {
    return Reduce(
        r, -kInfinity, [](double a, double b) { return b > a || b != b ? b : a; }, kSame);
  });
  add("ReduceMin", [](const Request& r) {
    return Reduce(
        r, kInfinity, [](double a, double b) { return b < a || b != b ? b : a; }, kSame);
  });
}

}  // namespace tenon::npu
