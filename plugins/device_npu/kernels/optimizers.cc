// Optimisers and what goes with them, over lists of tensors: input `scalars + group * count + k` is tensor k of a group.
// Each works on flat memory and keeps 0 where all operands are 0, so that tiled parameters stay padded with zeros.
#include <cmath>

#include "kernels/map.h"

namespace tenon::npu {
namespace {

// The lists of one optimiser, all of one type.
struct Lists {
  uint32_t scalars = 0, count = 0;
  std::vector<int64_t> sizes;  // by k, padding included

  uint32_t at(uint32_t group, uint32_t k) const { return scalars + group * count + k; }
};

Lists ListsOf(const Request& request, uint32_t scalars, uint32_t groups) {
  Lists lists;
  lists.scalars = scalars;
  lists.count = static_cast<uint32_t>(request.attributes().Int("count", 0));
  if (request.input_count() != scalars + groups * lists.count)
    Refuse("there are ", request.input_count(), " inputs for ", lists.count, " parameters");
  for (uint32_t k = 0; k < lists.count; ++k) {
    request.RequireFloat(lists.at(0, k));
    for (uint32_t group = 0; group < groups; ++group)
      request.RequireType(lists.at(group, k), request.input(lists.at(0, 0)).dtype());
    lists.sizes.push_back(request.stored(lists.at(0, k)));
  }
  return lists;
}

// fn(T{}, k, size) for each tensor, on the worker.
template <class Prepare>
Work EachTensor(const Request& request, const Lists& lists, uint64_t weight, Prepare prepare) {
  uint64_t elements = 0;
  for (const int64_t size : lists.sizes) elements += static_cast<uint64_t>(size);
  Work work;
  work.cost = {0, weight * elements, request.bytes()};
  ForFloat(request.input(lists.at(0, 0)).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [lists, prepare](const Operands& o) {
      const auto update = prepare(o, T{});
      for (uint32_t k = 0; k < lists.count; ++k) {
        o.Each(lists.sizes[k], kGrain, [&](int64_t begin, int64_t end) { update(k, begin, end); });
      }
    };
  });
  return work;
}

Work MakeSgd(const Request& request) {
  const auto momentum = FloatAttribute(request, "momentum", 0), decay = FloatAttribute(request, "weight_decay", 0);
  const bool nesterov = request.attributes().Int("nesterov", 0) != 0, buffered = momentum != 0;
  const uint32_t updated = buffered ? 2 : 1;
  const Lists lists = ListsOf(request, 1, updated + 1);
  return EachTensor(request, lists, 4, [=](const Operands& o, auto type) {
    using T = decltype(type);
    const float rate = *o.in<float>(0);
    return [=, &o](uint32_t k, int64_t begin, int64_t end) {
      const T *w = o.in<T>(lists.at(0, k)), *g = o.in<T>(lists.at(updated, k));
      const T* v = buffered ? o.in<T>(lists.at(1, k)) : nullptr;
      T *w_out = o.out<T>(k), *v_out = buffered ? o.out<T>(lists.count + k) : nullptr;
      for (int64_t i = begin; i < end; ++i) {
        float step = Widen(g[i]) + decay * Widen(w[i]);
        if (buffered) {
          const float buffer = momentum * Widen(v[i]) + step;
          v_out[i] = Narrow<T>(buffer);
          step = nesterov ? step + momentum * buffer : buffer;
        }
        w_out[i] = Narrow<T>(Widen(w[i]) - rate * step);
      }
    };
  });
}

// Inputs: rate, step, parameters, first and second moments, gradients.
template <bool kDecoupled>
Work MakeAdam(const Request& request) {
  const sdk::Attributes& a = request.attributes();
  const double beta1 = a.Float("beta1", 0.9), beta2 = a.Float("beta2", 0.999);
  const double decay = a.Float("weight_decay", kDecoupled ? 0.01 : 0.0);
  const auto epsilon = static_cast<float>(a.Float("epsilon", 1e-8));
  const Lists lists = ListsOf(request, 2, 4);
  return EachTensor(request, lists, 12, [=](const Operands& o, auto type) {
    using T = decltype(type);
    const auto rate = static_cast<double>(*o.in<float>(0));
    const int64_t step = *o.in<int64_t>(1);
    if (step < 1)
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "The step of an optimiser counts from 1; it is ", step, ".");
    const auto t = static_cast<double>(step);
    const auto length = static_cast<float>(rate / (1 - std::pow(beta1, t)));
    const auto correction = static_cast<float>(std::sqrt(1 - std::pow(beta2, t)));
    const auto shrink = static_cast<float>(1 - rate * decay), added = static_cast<float>(decay);
    const auto keep1 = static_cast<float>(beta1), take1 = static_cast<float>(1 - beta1);
    const auto keep2 = static_cast<float>(beta2), take2 = static_cast<float>(1 - beta2);
    return [=, &o](uint32_t k, int64_t begin, int64_t end) {
      const T *w = o.in<T>(lists.at(0, k)), *m = o.in<T>(lists.at(1, k)), *v = o.in<T>(lists.at(2, k)),
              *g = o.in<T>(lists.at(3, k));
      T *w_out = o.out<T>(k), *m_out = o.out<T>(lists.count + k), *v_out = o.out<T>(2 * lists.count + k);
      for (int64_t i = begin; i < end; ++i) {
        const float old = Widen(w[i]);
        const float weight = kDecoupled ? old * shrink : old, grad = Widen(g[i]) + (kDecoupled ? 0 : added * old);
        const float first = keep1 * Widen(m[i]) + take1 * grad, second = keep2 * Widen(v[i]) + take2 * grad * grad;
        m_out[i] = Narrow<T>(first);
        v_out[i] = Narrow<T>(second);
        w_out[i] = Narrow<T>(weight - length * first / (std::sqrt(second) / correction + epsilon));
      }
    };
  });
}

Work MakeMovingAverage(const Request& request) {
  const double decay = request.attributes().Float("decay", 0);
  const auto keep = static_cast<float>(decay), take = static_cast<float>(1 - decay);
  const Lists lists = ListsOf(request, 0, 2);
  return EachTensor(request, lists, 2, [=](const Operands& o, auto type) {
    using T = decltype(type);
    return [=, &o](uint32_t k, int64_t begin, int64_t end) {
      const T *average = o.in<T>(lists.at(0, k)), *w = o.in<T>(lists.at(1, k));
      T* y = o.out<T>(k);
      for (int64_t i = begin; i < end; ++i) y[i] = Narrow<T>(keep * Widen(average[i]) + take * Widen(w[i]));
    };
  });
}

// Inputs: weight, start, sums, gradients.
Work MakeAccumulate(const Request& request) {
  const Lists lists = ListsOf(request, 2, 2);
  return EachTensor(request, lists, 2, [=](const Operands& o, auto type) {
    using T = decltype(type);
    const float weight = *o.in<float>(0);
    const bool start = *o.in<int64_t>(1) != 0;
    return [=, &o](uint32_t k, int64_t begin, int64_t end) {
      const T *sum = o.in<T>(lists.at(0, k)), *g = o.in<T>(lists.at(1, k));
      T* y = o.out<T>(k);
      for (int64_t i = begin; i < end; ++i) {
        const float part = weight * Widen(g[i]);
        y[i] = Narrow<T>(start ? part : Widen(sum[i]) + part);
      }
    };
  });
}

// Reads every element of every input, whatever their types: fn(value) -> go on?
template <class Fn>
void EachElement(const Operands& o, const std::vector<std::pair<uint32_t, int64_t>>& inputs, Fn fn) {
  for (uint32_t k = 0; k < inputs.size(); ++k) {
    ForFloat(inputs[k].first, [&](auto type) {
      const auto* x = o.in<decltype(type)>(k);
      for (int64_t i = 0; i < inputs[k].second; ++i) fn(Widen(x[i]));
    });
  }
}

std::vector<std::pair<uint32_t, int64_t>> InputsOf(const Request& request, Work& work) {
  std::vector<std::pair<uint32_t, int64_t>> inputs;
  for (uint32_t i = 0; i < request.input_count(); ++i) {
    request.RequireFloat(i);
    inputs.emplace_back(request.input(i).dtype(), request.input(i).elements());
    work.cost.vector_ops += static_cast<uint64_t>(inputs.back().second);
  }
  work.cost.bytes = request.bytes();
  return inputs;
}

Work MakeAllFinite(const Request& request) {
  Work work;
  const auto inputs = InputsOf(request, work);
  work.run = [inputs](const Operands& o) {
    bool finite = true;
    EachElement(o, inputs, [&](float x) { finite = finite && std::isfinite(x); });
    *o.out<uint8_t>(0) = finite ? 1 : 0;
  };
  return work;
}

Work MakeClipFactor(const Request& request) {
  Work work;
  const auto inputs = InputsOf(request, work);
  const double limit = request.attributes().Float("max_norm", 1);
  work.run = [inputs, limit](const Operands& o) {
    double sum = 0;
    EachElement(o, inputs, [&](float x) { sum += static_cast<double>(x) * static_cast<double>(x); });
    const double norm = std::sqrt(sum);
    if (o.has_out(0)) *o.out<float>(0) = static_cast<float>(limit / (norm > limit ? norm : limit));
    if (o.has_out(1)) *o.out<float>(1) = static_cast<float>(norm);
  };
  return work;
}

}  // namespace

void AddOptimizers(EntryList& entries) {
  const auto add = [&](std::string_view op, MakeFn make) {
    entries.push_back({"tenon", op, "vector_update", make, nullptr, TENON_TRAIT_LAYOUT_BLIND});
  };
  add("SGD", MakeSgd);
  add("Adam", MakeAdam<false>);
  add("AdamW", MakeAdam<true>);
  add("MovingAverage", MakeMovingAverage);
  add("Accumulate", MakeAccumulate);
  entries.push_back({"tenon", "AllFinite", "vector_all_finite", MakeAllFinite});
  entries.push_back({"tenon", "ClipFactor", "vector_norm", MakeClipFactor});
}

}  // namespace tenon::npu
