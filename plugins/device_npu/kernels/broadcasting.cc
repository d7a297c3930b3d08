// Functions of two and more operands with numpy broadcasting.
#include "kernels/map.h"
#include "kernels/walk.h"

namespace tenon::npu {
namespace {

Walk<2> PairWalk(const Request& request, uint32_t a, uint32_t b) {
  const sdk::Dims out = request.output(0).dims();
  const auto sa = BroadcastStrides(request.input(a).dims(), out), sb = BroadcastStrides(request.input(b).dims(), out);
  Walk<2> walk;
  for (uint32_t axis = 0; axis < out.size(); ++axis) walk.Add(out[axis], {sa[axis], sb[axis]});
  return walk;
}

// y = fn(a, b) over a walk. Rows in which one side stands still or both advance are loops that the compiler widens.
template <class In, class Out, class Fn>
void Pairs(const Operands& o, const Walk<2>& walk, Fn fn) {
  const In *a = o.in<In>(0), *b = o.in<In>(1);
  Out* y = o.out<Out>(0);
  const int64_t row = walk.row(), sa = walk.step()[0], sb = walk.step()[1];
  const auto over = [&](int64_t begin, int64_t end, const In* x, const In* z, Out* to) {
    if (sa == 1 && sb == 1) {
      for (int64_t i = begin; i < end; ++i) to[i] = fn(x[i], z[i]);
    } else if (sa == 1 && sb == 0) {
      const In one = *z;
      for (int64_t i = begin; i < end; ++i) to[i] = fn(x[i], one);
    } else if (sa == 0 && sb == 1) {
      const In one = *x;
      for (int64_t i = begin; i < end; ++i) to[i] = fn(one, z[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = fn(x[i * sa], z[i * sb]);
    }
  };
  if (walk.rows() == 1) {
    o.Each(row, kGrain, [&](int64_t begin, int64_t end) { over(begin, end, a, b, y); });
    return;
  }
  o.Each(walk.rows(), 1 + kGrain / row, [&](int64_t begin, int64_t end) {
    Out* to = y + begin * row;
    walk.Rows(begin, end, [&](const Walk<2>::Places& at) {
      over(0, row, a + at[0], b + at[1], to);
      to += row;
    });
  });
}

// fn on floats, or on integers of 32 and 64 bits, which wrap.
template <class Fn>
Work Combine(const Request& request, uint64_t weight, Fn fn) {
  const uint32_t dtype = request.input(0).dtype();
  request.RequireType(1, dtype);
  const Walk<2> walk = PairWalk(request, 0, 1);
  Work work;
  work.cost = {0, weight * static_cast<uint64_t>(walk.elements()), request.bytes()};
  const auto whole = [&](auto type) {
    using T = decltype(type);
    work.run = [walk, fn](const Operands& o) {
      Pairs<T, T>(o, walk, [fn](T a, T b) {
        return static_cast<T>(fn(static_cast<std::make_unsigned_t<T>>(a), static_cast<std::make_unsigned_t<T>>(b)));
      });
    };
  };
  if (dtype == TENON_DTYPE_I32) {
    whole(int32_t{});
  } else if (dtype == TENON_DTYPE_I64) {
    whole(int64_t{});
  } else {
    request.RequireFloat(0);
    ForFloat(dtype, [&](auto type) {
      using T = decltype(type);
      work.run = [walk, fn](const Operands& o) {
        Pairs<T, T>(o, walk, [fn](T a, T b) { return Narrow<T>(fn(Widen(a), Widen(b))); });
      };
    });
  }
  return work;
}

// fn on floats only.
template <class Fn>
Work CombineFloats(const Request& request, uint64_t weight, Fn fn) {
  request.RequireFloat(0);
  request.RequireType(1, request.input(0).dtype());
  const Walk<2> walk = PairWalk(request, 0, 1);
  Work work;
  work.cost = {0, weight * static_cast<uint64_t>(walk.elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [walk, fn](const Operands& o) {
      Pairs<T, T>(o, walk, [fn](T a, T b) { return Narrow<T>(fn(Widen(a), Widen(b))); });
    };
  });
  return work;
}

template <class Fn>
Work Compare(const Request& request, Fn fn) {
  const uint32_t dtype = request.input(0).dtype();
  request.RequireType(1, dtype);
  const Walk<2> walk = PairWalk(request, 0, 1);
  Work work;
  work.cost = {0, static_cast<uint64_t>(walk.elements()), request.bytes()};
  const auto whole = [&](auto type) {
    using T = decltype(type);
    work.run = [walk, fn](const Operands& o) { Pairs<T, uint8_t>(o, walk, fn); };
  };
  switch (dtype) {
    case TENON_DTYPE_BOOL:
      whole(uint8_t{});
      break;
    case TENON_DTYPE_I32:
      whole(int32_t{});
      break;
    case TENON_DTYPE_I64:
      whole(int64_t{});
      break;
    default:
      request.RequireFloat(0);
      ForFloat(dtype, [&](auto type) {
        using T = decltype(type);
        work.run = [walk, fn](const Operands& o) {
          Pairs<T, uint8_t>(o, walk, [fn](T a, T b) { return fn(Widen(a), Widen(b)); });
        };
      });
  }
  return work;
}

// y = finish(fold(.. fold(x0, x1) .., xn)) over operands that broadcast.
template <class Fold, class Finish>
Work FoldAll(const Request& request, Fold fold, Finish finish) {
  request.RequireFloat(0);
  const sdk::Dims out = request.output(0).dims();
  std::vector<Walk<1>> walks(request.input_count());
  for (uint32_t i = 0; i < request.input_count(); ++i) {
    request.RequireType(i, request.input(0).dtype());
    const auto strides = BroadcastStrides(request.input(i).dims(), out);
    for (uint32_t axis = 0; axis < out.size(); ++axis) walks[i].Add(out[axis], {strides[axis]});
  }
  const int64_t count = out.Elements();
  Work work;
  work.workspace = static_cast<uint64_t>(count) * sizeof(float);
  work.cost = {0, static_cast<uint64_t>(count) * request.input_count(), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [walks, count, fold, finish](const Operands& o) {
      float* sums = o.workspace<float>();
      for (uint32_t k = 0; k < walks.size(); ++k) {
        const Walk<1>& walk = walks[k];
        const T* x = o.in<T>(k);
        const int64_t step = walk.step()[0];
        float* to = sums;
        walk.Rows(0, walk.rows(), [&](const Walk<1>::Places& at) {
          for (int64_t i = 0; i < walk.row(); ++i) {
            const float next = Widen(x[at[0] + i * step]);
            to[i] = k == 0 ? next : fold(to[i], next);
          }
          to += walk.row();
        });
      }
      for (int64_t i = 0; i < count; ++i) o.out<T>(0)[i] = Narrow<T>(finish(sums[i], walks.size()));
    };
  });
  return work;
}

constexpr auto kKeep = [](float value, size_t) { return value; };

// Elements of 1, 2, 4 or 8 bytes; the condition and both sides broadcast.
Work MakeWhere(const Request& request) {
  const sdk::Dims out = request.output(0).dims();
  std::vector<int64_t> strides[3];
  for (uint32_t i = 0; i < 3; ++i) strides[i] = BroadcastStrides(request.input(i).dims(), out);
  Walk<3> walk;
  for (uint32_t axis = 0; axis < out.size(); ++axis)
    walk.Add(out[axis], {strides[0][axis], strides[1][axis], strides[2][axis]});
  Work work;
  work.cost = {0, static_cast<uint64_t>(walk.elements()), request.bytes()};
  const auto of = [&](auto type) {
    using T = decltype(type);
    work.run = [walk](const Operands& o) {
      const uint8_t* condition = o.in<uint8_t>(0);
      const T *a = o.in<T>(1), *b = o.in<T>(2);
      T* y = o.out<T>(0);
      const auto step = walk.step();
      walk.Rows(0, walk.rows(), [&](const Walk<3>::Places& at) {
        for (int64_t i = 0; i < walk.row(); ++i)
          y[i] = condition[at[0] + i * step[0]] != 0 ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
        y += walk.row();
      });
    };
  };
  switch (sdk::DTypeBits(request.output(0).dtype())) {
    case 8:
      of(uint8_t{});
      break;
    case 16:
      of(uint16_t{});
      break;
    case 32:
      of(uint32_t{});
      break;
    case 64:
      of(uint64_t{});
      break;
    default:
      Refuse("elements are ", sdk::DTypeName(request.output(0).dtype()));
  }
  return work;
}

float Greater(float a, float b) { return a > b || a != a ? a : b; }
float Less(float a, float b) { return a < b || a != a ? a : b; }

}  // namespace

void AddBroadcasting(EntryList& entries) {
  constexpr uint64_t kElementwise = TENON_TRAIT_ELEMENTWISE;
  const auto add = [&](std::string_view op, MakeFn make) {
    entries.push_back({"", op, "vector_broadcast", make, nullptr, kElementwise});
  };
  add("Add", [](const Request& r) { return Combine(r, kSimple, [](auto a, auto b) { return a + b; }); });
  add("Sub", [](const Request& r) { return Combine(r, kSimple, [](auto a, auto b) { return a - b; }); });
  add("Mul", [](const Request& r) { return Combine(r, kSimple, [](auto a, auto b) { return a * b; }); });
  add("Div", [](const Request& r) { return CombineFloats(r, 4, [](float a, float b) { return a / b; }); });
  add("Pow", [](const Request& r) {
    return CombineFloats(r, 2 * kTranscendental, [](float a, float b) { return std::pow(a, b); });
  });
  add("Equal", [](const Request& r) { return Compare(r, [](auto a, auto b) -> uint8_t { return a == b; }); });
  add("Less", [](const Request& r) { return Compare(r, [](auto a, auto b) -> uint8_t { return a < b; }); });
  add("LessOrEqual", [](const Request& r) { return Compare(r, [](auto a, auto b) -> uint8_t { return a <= b; }); });
  add("Greater", [](const Request& r) { return Compare(r, [](auto a, auto b) -> uint8_t { return a > b; }); });
  add("GreaterOrEqual", [](const Request& r) { return Compare(r, [](auto a, auto b) -> uint8_t { return a >= b; }); });
  add("Sum", [](const Request& r) {
    return FoldAll(
        r, [](float a, float b) { return a + b; }, kKeep);
  });
  add("Mean", [](const Request& r) {
    return FoldAll(
        r, [](float a, float b) { return a + b; },
        [](float sum, size_t count) { return sum / static_cast<float>(count); });
  });
  add("Max", [](const Request& r) { return FoldAll(r, Greater, kKeep); });
  add("Min", [](const Request& r) { return FoldAll(r, Less, kKeep); });
  add("Where", MakeWhere);
}

}  // namespace tenon::npu
