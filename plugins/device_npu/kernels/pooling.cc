// Pooling and its gradients.
#include <cstring>
#include <limits>

#include "kernels/map.h"
#include "kernels/window.h"

namespace tenon::npu {
namespace {

Window PoolWindow(const Request& request, sdk::Dims large, sdk::Dims small) {
  return WindowOf(request, large, small, request.attributes().Ints("kernel_shape"));
}

uint64_t Taps(const Window& w) { return static_cast<uint64_t>(w.batch * w.channels * w.outputs() * w.taps()); }

// Indices are positions in the whole of X, of the first greatest element.
Work MakeMaxPool(const Request& request) {
  request.RequireFloat(0);
  if (request.attributes().Int("storage_order", 0) != 0) Refuse("storage_order is not 0");
  const Window w = PoolWindow(request, request.input(0).dims(), request.output(0).dims());
  Work work;
  work.cost = {0, Taps(w), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [w](const Operands& o) {
      const int64_t in = w.inputs(), out = w.outputs();
      o.Each(w.batch * w.channels, 1 + kGrain / in, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
          const T* x = o.in<T>(0) + plane * in;
          ForEachOutput(w, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
            float best = -std::numeric_limits<float>::infinity();
            int64_t place = -1;
            ForEachTap(w, o0, o1, o2, [&](int64_t p) {
              const float value = Widen(x[p]);
              if (place >= 0 && !(value > best) && !(value != value && best == best)) return;
              best = value;
              place = plane * in + p;
            });
            o.out<T>(0)[plane * out + at] = Narrow<T>(best);
            if (o.has_out(1)) o.out<int64_t>(1)[plane * out + at] = place;
          });
        }
      });
    };
  });
  return work;
}

// Inputs: dY, Indices.
Work MakeMaxPoolGrad(const Request& request) {
  request.RequireFloat(0);
  const int64_t small = request.input(0).elements(), large = request.output(0).elements();
  Work work;
  work.workspace = static_cast<uint64_t>(large) * sizeof(float);
  work.cost = {0, static_cast<uint64_t>(small), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [small, large](const Operands& o) {
      float* sums = o.workspace<float>();
      std::memset(sums, 0, static_cast<size_t>(large) * sizeof(float));
      for (int64_t i = 0; i < small; ++i) {
        const int64_t at = o.in<int64_t>(1)[i];
        if (at == -1) continue;
        if (at < 0 || at >= large) {
          throw sdk::Failure(TENON_INVALID_ARGUMENT, "Index ", at, " of element ", i, " is outside [0, ", large,
                             "), the elements of dX.");
        }
        sums[at] += Widen(o.in<T>(0)[i]);
      }
      for (int64_t i = 0; i < large; ++i) o.out<T>(0)[i] = Narrow<T>(sums[i]);
    };
  });
  return work;
}

// What the sum over a window is divided by.
float Divisor(const Window& w, bool include_pad, int64_t o0, int64_t o1, int64_t o2) {
  const int64_t at[] = {o0, o1, o2};
  int64_t count = 1;
  for (size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = w.axis[i];
    int64_t along = 0;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t p = axis.position(at[i], k);
      if (axis.inside(p) || (include_pad && p < axis.input + axis.pad_end)) ++along;
    }
    count *= along;
  }
  return static_cast<float>(count < 1 ? 1 : count);
}

Work MakeAveragePool(const Request& request) {
  request.RequireFloat(0);
  const Window w = PoolWindow(request, request.input(0).dims(), request.output(0).dims());
  const bool include_pad = request.attributes().Int("count_include_pad", 0) != 0;
  Work work;
  work.cost = {0, Taps(w), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [w, include_pad](const Operands& o) {
      const int64_t in = w.inputs(), out = w.outputs();
      o.Each(w.batch * w.channels, 1 + kGrain / in, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
          ForEachOutput(w, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
            float sum = 0;
            ForEachTap(w, o0, o1, o2, [&](int64_t p) { sum += Widen(o.in<T>(0)[plane * in + p]); });
            o.out<T>(0)[plane * out + at] = Narrow<T>(sum / Divisor(w, include_pad, o0, o1, o2));
          });
        }
      });
    };
  });
  return work;
}

Work MakeAveragePoolGrad(const Request& request) {
  request.RequireFloat(0);
  const Window w = PoolWindow(request, request.output(0).dims(), request.input(0).dims());
  const bool include_pad = request.attributes().Int("count_include_pad", 0) != 0;
  const int64_t planes = w.batch * w.channels;
  Work work;
  work.workspace = static_cast<uint64_t>(planes * w.inputs()) * sizeof(float);
  work.cost = {0, Taps(w), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [w, include_pad, planes](const Operands& o) {
      const int64_t in = w.inputs(), out = w.outputs();
      float* sums = o.workspace<float>();
      std::memset(sums, 0, static_cast<size_t>(planes * in) * sizeof(float));
      for (int64_t plane = 0; plane < planes; ++plane) {
        ForEachOutput(w, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
          const float share = Widen(o.in<T>(0)[plane * out + at]) / Divisor(w, include_pad, o0, o1, o2);
          ForEachTap(w, o0, o1, o2, [&](int64_t p) { sums[plane * in + p] += share; });
        });
      }
      for (int64_t i = 0; i < planes * in; ++i) o.out<T>(0)[i] = Narrow<T>(sums[i]);
    };
  });
  return work;
}

Work MakeGlobalAveragePool(const Request& request) {
  request.RequireFloat(0);
  const int64_t results = request.output(0).elements(), area = request.input(0).elements() / results;
  Work work;
  work.cost = {0, static_cast<uint64_t>(request.input(0).elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [results, area](const Operands& o) {
      for (int64_t k = 0; k < results; ++k) {
        float sum = 0;
        for (int64_t i = 0; i < area; ++i) sum += Widen(o.in<T>(0)[k * area + i]);
        o.out<T>(0)[k] = Narrow<T>(sum / static_cast<float>(area));
      }
    };
  });
  return work;
}

}  // namespace

void AddPooling(EntryList& entries) {
  entries.push_back({"", "MaxPool", "vector_pool", MakeMaxPool});
  entries.push_back({"", "AveragePool", "vector_pool", MakeAveragePool});
  entries.push_back({"", "GlobalAveragePool", "vector_pool", MakeGlobalAveragePool});
  entries.push_back({"tenon", "MaxPoolGrad", "vector_pool", MakeMaxPoolGrad});
  entries.push_back({"tenon", "AveragePoolGrad", "vector_pool", MakeAveragePoolGrad});
}

}  // namespace tenon::npu
