// BatchNormalization, inference and training, and its gradient.
#include <cmath>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// [N, C, ...] as [outer][channels][inner]; a vector is one channel.
BatchNormShape ShapeOf(sdk::Value x) {
  const sdk::Dims d = x.dims();
  BatchNormShape s;
  s.channels = d.size() > 1 ? d[1] : 1;
  s.outer = d.size() > 0 ? d[0] : 1;
  for (uint32_t axis = 2; axis < d.size(); ++axis) s.inner *= d[axis];
  if (x.layout() == kNhwc || s.inner == 1) s.outer *= s.inner, s.inner = 1;
  return s;
}

double Cost(sdk::Value x) { return x.dims().Known() ? 1.0 * static_cast<double>(x.elements()) : 1000; }

class BatchNorm : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && query.input(0).rank() != 4) continue;
      const uint32_t inputs[] = {layout, 0, 0, 0, 0}, outputs[] = {layout, 0, 0, 0, 0};
      emitter.Emit(Cost(query.input(0)), inputs, query.input_count(), outputs, query.output_count());
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    training_ = query.attributes().Int("training_mode", 0) != 0;
    epsilon_ = static_cast<float>(query.attributes().Float("epsilon", 1e-5));
    momentum_ = static_cast<float>(query.attributes().Float("momentum", 0.9));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    shape_ = ShapeOf(args.input(0));
    if (training_ && shape_.outer * shape_.inner == 1)
      return error.Fail(TENON_INVALID_ARGUMENT, "A single value per channel cannot be normalised; X has shape ",
                        args.input(0).dims(), ".");
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(3 * shape_.channels) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    const int64_t channels = shape_.channels;
    float* const space = call.workspace<float>();
    float* mean = call.has_output(3) ? call.out<float>(3) : space;
    float* inv_std = call.has_output(4) ? call.out<float>(4) : space + channels;
    float* var = space + 2 * channels;
    const float *old_mean = call.in<float>(3), *old_var = call.in<float>(4);
    KernelPool pool(host(), error, threads_);
    if (training_) {
      routines().batch_norm_stats({shape_, call.in<float>(0), mean, var}, pool.parallel());
    } else {
      for (int64_t c = 0; c < channels; ++c) mean[c] = old_mean[c], var[c] = old_var[c];
    }
    for (int64_t c = 0; c < channels; ++c) inv_std[c] = 1.0f / std::sqrt(var[c] + epsilon_);
    if (training_) {
      const auto blend = [&](uint32_t output, const float* old, const float* now) {
        if (!call.has_output(output)) return;
        float* to = call.out<float>(output);
        for (int64_t c = 0; c < channels; ++c) to[c] = old[c] * momentum_ + now[c] * (1.0f - momentum_);
      };
      blend(1, old_mean, mean);
      blend(2, old_var, var);
    }
    routines().batch_norm_apply(
        {shape_, call.in<float>(0), mean, inv_std, call.in<float>(1), call.in<float>(2), false, call.out<float>(0)},
        pool.parallel());
    return pool.code();
  }

 private:
  bool training_ = false;
  float epsilon_ = 1e-5f, momentum_ = 0.9f;
  BatchNormShape shape_;
};

// tenon.BatchNormalizationGrad(dY, X, scale, saved_mean, saved_inv_std) -> dX, dscale, dB.
class BatchNormGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return AllF32(query, reason); }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && query.input(0).rank() != 4) continue;
      const uint32_t inputs[] = {layout, layout, 0, 0, 0}, outputs[] = {query.has_output(0) ? layout : 0, 0, 0};
      emitter.Emit(2 * Cost(query.input(0)), inputs, query.input_count(), outputs, query.output_count());
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    training_ = query.attributes().Int("training_mode", 1) != 0;
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    shape_ = ShapeOf(args.input(0));
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(2 * shape_.channels) * sizeof(float));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    float* const space = call.workspace<float>();
    BatchNormGradArgs a;
    a.shape = shape_, a.training = training_;
    a.dy = call.in<float>(0), a.x = call.in<float>(1), a.scale = call.in<float>(2);
    a.mean = call.in<float>(3), a.inv_std = call.in<float>(4);
    a.dx = call.has_output(0) ? call.out<float>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : space;
    a.d_bias = call.has_output(2) ? call.out<float>(2) : space + shape_.channels;
    KernelPool pool(host(), error, threads_);
    routines().batch_norm_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  bool training_ = true;
  BatchNormShape shape_;
};

}  // namespace

void AddBatchNormKernels(KernelList& kernels) {
  kernels.push_back(Def<BatchNorm>("", "BatchNormalization", "batch_norm"));
  kernels.push_back(Def<BatchNormGrad>("tenon", "BatchNormalizationGrad", "batch_norm_grad"));
}

}  // namespace tenon::cpu
