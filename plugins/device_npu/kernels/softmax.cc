// Softmax, LogSoftmax and their gradients. A tensor is seen as [outer, extent, inner]; groups lie along the middle.
#include "kernels/map.h"

namespace tenon::npu {
namespace {

struct Groups {
  int64_t outer = 1, extent = 1, inner = 1;
};

// flattened: all dims from the axis on are one group, as before opset 13.
Groups GroupsOf(const Request& request, bool flattened) {
  const sdk::Dims dims = request.input(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t given = request.attributes().Int("axis", flattened ? 1 : -1), axis = given < 0 ? given + rank : given;
  Groups groups;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<uint32_t>(i)];
    (i < axis ? groups.outer : flattened || i == axis ? groups.extent : groups.inner) *= size;
  }
  return groups;
}

// fn(row of a, row of b, row of y) on every group, gathered into f32 rows; b may be a itself.
template <class Fn>
Work EachGroup(const Request& request, const Groups& g, bool paired, Fn fn) {
  request.RequireFloat(0);
  if (paired) request.RequireType(1, request.input(0).dtype());
  const int64_t groups = g.outer * g.inner;
  Work work;
  work.workspace = static_cast<uint64_t>(2 * groups * g.extent) * sizeof(float);
  work.cost = {0, 2 * kTranscendental * static_cast<uint64_t>(groups * g.extent), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [g, groups, paired, fn](const Operands& o) {
      const T *a = o.in<T>(0), *b = paired ? o.in<T>(1) : a;
      T* y = o.out<T>(0);
      o.Each(groups, 1 + kGrain / 8 / g.extent, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          float *row = o.workspace<float>() + 2 * k * g.extent, *other = row + g.extent;
          const int64_t base = k / g.inner * g.extent * g.inner + k % g.inner;
          for (int64_t i = 0; i < g.extent; ++i) row[i] = Widen(a[base + i * g.inner]);
          for (int64_t i = 0; paired && i < g.extent; ++i) other[i] = Widen(b[base + i * g.inner]);
          fn(row, other, g.extent);
          for (int64_t i = 0; i < g.extent; ++i) y[base + i * g.inner] = Narrow<T>(row[i]);
        }
      });
    };
  });
  return work;
}

float Greatest(const float* row, int64_t count) {
  float top = row[0];
  for (int64_t i = 0; i < count; ++i) top = row[i] > top || row[i] != row[i] ? row[i] : top;
  return top;
}

void Softmax(float* row, const float*, int64_t count) {
  const float top = Greatest(row, count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += row[i] = std::exp(row[i] - top);
  for (int64_t i = 0; i < count; ++i) row[i] /= sum;
}
void LogSoftmax(float* row, const float*, int64_t count) {
  const float top = Greatest(row, count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(row[i] - top);
  const float log_sum = std::log(sum);
  for (int64_t i = 0; i < count; ++i) row[i] = row[i] - top - log_sum;
}
// Y * (dY - sum of dY * Y)
void SoftmaxGrad(float* dy, const float* y, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += dy[i] * y[i];
  for (int64_t i = 0; i < count; ++i) dy[i] = y[i] * (dy[i] - sum);
}
// dY - exp(Y) * sum of dY
void LogSoftmaxGrad(float* dy, const float* y, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += dy[i];
  for (int64_t i = 0; i < count; ++i) dy[i] -= std::exp(y[i]) * sum;
}

bool Flattened(const Request& request) { return request.attributes().Int("flattened", 0) != 0; }

}  // namespace

void AddSoftmax(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn flattened, MakeFn make) {
    entries.push_back({"", op, "vector_softmax_flattened", flattened, nullptr, 0, 1, 12});
    entries.push_back({"", op, "vector_softmax", make, nullptr, 0, 13});
  };
  add(
      "Softmax", [](const Request& r) { return EachGroup(r, GroupsOf(r, true), false, Softmax); },
      [](const Request& r) { return EachGroup(r, GroupsOf(r, false), false, Softmax); });
  add(
      "LogSoftmax", [](const Request& r) { return EachGroup(r, GroupsOf(r, true), false, LogSoftmax); },
      [](const Request& r) { return EachGroup(r, GroupsOf(r, false), false, LogSoftmax); });
  entries.push_back({"tenon", "SoftmaxGrad", "vector_softmax",
                     [](const Request& r) { return EachGroup(r, GroupsOf(r, Flattened(r)), true, SoftmaxGrad); }});
  entries.push_back({"tenon", "LogSoftmaxGrad", "vector_softmax",
                     [](const Request& r) { return EachGroup(r, GroupsOf(r, Flattened(r)), true, LogSoftmaxGrad); }});
}

}  // namespace tenon::npu
