// BatchNormalization and LayerNormalization with their gradients. Statistics are summed in double precision. Parameters and
// statistics may be of another floating type than the data.
#include <cstring>

#include "kernels/map.h"

namespace tenon::npu {
namespace {

// A vector of f32, bf16 or f16 on the device.
struct Vector {
  uint32_t dtype = TENON_DTYPE_F32;

  static Vector Of(const Request& request, uint32_t input) {
    request.RequireFloat(input);
    return {request.input(input).dtype()};
  }
  float At(const void* data, int64_t i) const {
    return ForFloat(dtype, [&](auto type) { return Widen(static_cast<const decltype(type)*>(data)[i]); });
  }
  void Put(void* data, int64_t i, double value) const {
    ForFloat(dtype, [&](auto type) {
      using T = decltype(type);
      static_cast<T*>(data)[i] = Narrow<T>(static_cast<float>(value));
    });
  }
};
Vector OutputVector(const Request& request, uint32_t output) {
  return {request.has_output(output) ? request.output(output).dtype() : uint32_t{TENON_DTYPE_F32}};
}

// [N, C, D1 ..] as batch, channel, area; [N] has one channel.
struct Channels {
  int64_t batch = 1, channels = 1, area = 1;

  static Channels Of(sdk::Dims dims) {
    Channels out;
    out.batch = dims[0];
    if (dims.size() > 1) out.channels = dims[1];
    for (uint32_t axis = 2; axis < dims.size(); ++axis) out.area *= dims[axis];
    return out;
  }
  double count() const { return static_cast<double>(batch * area); }
  // fn(begin of a run of `area` elements) for each run of a channel.
  template <class Fn>
  void Runs(int64_t channel, Fn fn) const {
    for (int64_t n = 0; n < batch; ++n) fn((n * channels + channel) * area);
  }
};

// Inputs: X, scale, B, mean, var. Outputs: Y, running mean and var, saved mean and inverse deviation.
template <bool kCanTrain>
Work MakeBatchNorm(const Request& request) {
  request.RequireFloat(0);
  const Channels at = Channels::Of(request.input(0).dims());
  const sdk::Attributes& attributes = request.attributes();
  const bool training = kCanTrain && attributes.Int("training_mode", 0) != 0;
  const double epsilon = attributes.Float("epsilon", 1e-5);
  const double keep = training ? attributes.Float("momentum", 0.9) : 1.0;
  const Vector scale = Vector::Of(request, 1), bias = Vector::Of(request, 2), old_mean = Vector::Of(request, 3),
               old_var = Vector::Of(request, 4);
  Vector outs[5];
  for (uint32_t i = 1; i < 5; ++i) {
    outs[i] = OutputVector(request, i);
    if (outs[i].dtype == TENON_DTYPE_F64) Refuse("output ", i, " is f64");
  }
  const std::array<Vector, 5> out = {outs[0], outs[1], outs[2], outs[3], outs[4]};
  Work work;
  work.cost = {0, 6 * static_cast<uint64_t>(request.input(0).elements()), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T* x = o.in<T>(0);
      T* y = o.out<T>(0);
      o.Each(at.channels, 1 + kGrain / (at.batch * at.area), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          double mean = static_cast<double>(old_mean.At(o.in<void>(3), c));
          double variance = static_cast<double>(old_var.At(o.in<void>(4), c));
          const double before[] = {mean, variance};
          if (training) {
            double sum = 0, squares = 0;
            at.Runs(c, [&](int64_t run) {
              for (int64_t i = run; i < run + at.area; ++i) sum += static_cast<double>(Widen(x[i]));
            });
            mean = sum / at.count();
            at.Runs(c, [&](int64_t run) {
              for (int64_t i = run; i < run + at.area; ++i) {
                const double distance = static_cast<double>(Widen(x[i])) - mean;
                squares += distance * distance;
              }
            });
            variance = squares / at.count();
          }
          const double inverse = 1.0 / std::sqrt(variance + epsilon);
          const auto factor = static_cast<float>(inverse * static_cast<double>(scale.At(o.in<void>(1), c)));
          const auto centre = static_cast<float>(mean);
          const float shift = bias.At(o.in<void>(2), c);
          at.Runs(c, [&](int64_t run) {
            for (int64_t i = run; i < run + at.area; ++i) y[i] = Narrow<T>((Widen(x[i]) - centre) * factor + shift);
          });
          const double now[] = {before[0] * keep + mean * (1 - keep), before[1] * keep + variance * (1 - keep), mean,
                                inverse};
          for (uint32_t k = 1; k < 5; ++k)
            if (o.has_out(k)) out[k].Put(o.out<void>(k), c, now[k - 1]);
        }
      });
    };
  });
  return work;
}

// Inputs: dY, X, scale, saved mean, saved inverse deviation. Outputs: dX, dscale, dB.
Work MakeBatchNormGrad(const Request& request) {
  request.RequireFloat(1);
  request.RequireType(0, request.input(1).dtype());
  const Channels at = Channels::Of(request.input(1).dims());
  const bool training = request.attributes().Int("training_mode", 1) != 0;
  const Vector scale = Vector::Of(request, 2), means = Vector::Of(request, 3), inverses = Vector::Of(request, 4);
  const Vector dscale = OutputVector(request, 1), dbias = OutputVector(request, 2);
  Work work;
  work.cost = {0, 8 * static_cast<uint64_t>(request.input(1).elements()), request.bytes()};
  ForFloat(request.input(1).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T *dy = o.in<T>(0), *x = o.in<T>(1);
      o.Each(at.channels, 1 + kGrain / (at.batch * at.area), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const auto mean = static_cast<double>(means.At(o.in<void>(3), c));
          const auto inverse = static_cast<double>(inverses.At(o.in<void>(4), c));
          double sum = 0, dot = 0;
          at.Runs(c, [&](int64_t run) {
            for (int64_t i = run; i < run + at.area; ++i) {
              const auto g = static_cast<double>(Widen(dy[i]));
              sum += g;
              dot += g * (static_cast<double>(Widen(x[i])) - mean) * inverse;
            }
          });
          if (o.has_out(1)) dscale.Put(o.out<void>(1), c, dot);
          if (o.has_out(2)) dbias.Put(o.out<void>(2), c, sum);
          if (!o.has_out(0)) continue;
          const double factor = static_cast<double>(scale.At(o.in<void>(2), c)) * inverse;
          const double level = training ? sum / at.count() : 0, slope = training ? dot / at.count() : 0;
          T* dx = o.out<T>(0);
          at.Runs(c, [&](int64_t run) {
            for (int64_t i = run; i < run + at.area; ++i) {
              const double xhat = (static_cast<double>(Widen(x[i])) - mean) * inverse;
              dx[i] =
                  Narrow<T>(static_cast<float>(factor * (static_cast<double>(Widen(dy[i])) - level - xhat * slope)));
            }
          });
        }
      });
    };
  });
  return work;
}

struct Rows {
  int64_t count = 1, extent = 1;
};
Rows RowsOf(const Request& request, uint32_t input) {
  const sdk::Dims dims = request.input(input).dims();
  const int64_t given = request.attributes().Int("axis", -1), rank = static_cast<int64_t>(dims.size());
  Rows rows;
  for (int64_t i = 0; i < rank; ++i)
    (i < (given < 0 ? given + rank : given) ? rows.count : rows.extent) *= dims[static_cast<uint32_t>(i)];
  return rows;
}

// Inputs: X, Scale, B. Outputs: Y, Mean, InvStdDev, both f32.
Work MakeLayerNorm(const Request& request) {
  request.RequireFloat(0);
  request.RequireType(1, request.input(0).dtype());
  if (request.has_input(2)) request.RequireType(2, request.input(0).dtype());
  const Rows rows = RowsOf(request, 0);
  const double epsilon = request.attributes().Float("epsilon", 1e-5);
  Work work;
  work.cost = {0, 6 * static_cast<uint64_t>(rows.count * rows.extent), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T* scale = o.in<T>(1);
      const T* bias = o.has_in(2) ? o.in<T>(2) : nullptr;
      const auto n = static_cast<double>(rows.extent);
      o.Each(rows.count, 1 + kGrain / rows.extent, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* x = o.in<T>(0) + r * rows.extent;
          T* y = o.out<T>(0) + r * rows.extent;
          double sum = 0, squares = 0;
          for (int64_t i = 0; i < rows.extent; ++i) sum += static_cast<double>(Widen(x[i]));
          const double mean = sum / n;
          for (int64_t i = 0; i < rows.extent; ++i) {
            const double distance = static_cast<double>(Widen(x[i])) - mean;
            squares += distance * distance;
          }
          const double inverse = 1.0 / std::sqrt(squares / n + epsilon);
          const auto centre = static_cast<float>(mean), factor = static_cast<float>(inverse);
          for (int64_t i = 0; i < rows.extent; ++i) {
            const float shift = bias != nullptr ? Widen(bias[i]) : 0.0f;
            y[i] = Narrow<T>((Widen(x[i]) - centre) * factor * Widen(scale[i]) + shift);
          }
          if (o.has_out(1)) o.out<float>(1)[r] = centre;
          if (o.has_out(2)) o.out<float>(2)[r] = factor;
        }
      });
    };
  });
  return work;
}

// Inputs: dY, X, Scale, Mean, InvStdDev. Outputs: dX, dScale, dB.
Work MakeLayerNormGrad(const Request& request) {
  request.RequireFloat(1);
  for (const uint32_t i : {0u, 2u}) request.RequireType(i, request.input(1).dtype());
  for (const uint32_t i : {3u, 4u}) request.RequireType(i, TENON_DTYPE_F32);
  const Rows rows = RowsOf(request, 1);
  Work work;
  work.workspace = static_cast<uint64_t>(2 * rows.extent) * sizeof(double);
  work.cost = {0, 10 * static_cast<uint64_t>(rows.count * rows.extent), request.bytes()};
  ForFloat(request.input(1).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [=](const Operands& o) {
      const T* scale = o.in<T>(2);
      double *dscale = o.workspace<double>(), *dbias = dscale + rows.extent;
      std::memset(dscale, 0, static_cast<size_t>(2 * rows.extent) * sizeof(double));
      const auto n = static_cast<float>(rows.extent);
      for (int64_t r = 0; r < rows.count; ++r) {
        const T *dy = o.in<T>(0) + r * rows.extent, *x = o.in<T>(1) + r * rows.extent;
        const float mean = o.in<float>(3)[r], inverse = o.in<float>(4)[r];
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < rows.extent; ++i) {
          const float xhat = (Widen(x[i]) - mean) * inverse, g = Widen(dy[i]) * Widen(scale[i]);
          sum += static_cast<double>(g);
          dot += static_cast<double>(g * xhat);
          dscale[i] += static_cast<double>(Widen(dy[i]) * xhat);
          dbias[i] += static_cast<double>(Widen(dy[i]));
        }
        if (!o.has_out(0)) continue;
        const float level = static_cast<float>(sum) / n, slope = static_cast<float>(dot) / n;
        for (int64_t i = 0; i < rows.extent; ++i) {
          const float xhat = (Widen(x[i]) - mean) * inverse, g = Widen(dy[i]) * Widen(scale[i]);
          o.out<T>(0)[r * rows.extent + i] = Narrow<T>(inverse * (g - level - xhat * slope));
        }
      }
      for (int64_t i = 0; i < rows.extent; ++i) {
        if (o.has_out(1)) o.out<T>(1)[i] = Narrow<T>(static_cast<float>(dscale[i]));
        if (o.has_out(2)) o.out<T>(2)[i] = Narrow<T>(static_cast<float>(dbias[i]));
      }
    };
  });
  return work;
}

}  // namespace

void AddNormalisations(EntryList& entries) {
  entries.push_back({"", "BatchNormalization", "vector_batch_norm_inference", MakeBatchNorm<false>, nullptr, 0, 7, 13});
  entries.push_back({"", "BatchNormalization", "vector_batch_norm", MakeBatchNorm<true>, nullptr, 0, 14});
  entries.push_back({"tenon", "BatchNormalizationGrad", "vector_batch_norm", MakeBatchNormGrad});
  entries.push_back({"", "LayerNormalization", "vector_layer_norm", MakeLayerNorm, nullptr, 0, 17});
  entries.push_back({"tenon", "LayerNormalizationGrad", "vector_layer_norm", MakeLayerNormGrad});
}

}  // namespace tenon::npu
