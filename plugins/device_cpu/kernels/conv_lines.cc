// Convolutions of lines of f32 as matrix products: every tap of the window adds the product of its weights with lines shifted by
// its place, which are read where they lie.
#include "plugins/device_cpu/kernels/conv_lines.h"

namespace tenon::cpu {
namespace {

class LinesF32 : public LinesKernel<float> {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanSizes(args);
    int64_t bytes = 0;
    ForParts([&, this](int64_t, int64_t begin, int64_t end) {
      for (const GemmArgs& g : {ForwardProduct(end - begin), DataProduct(end - begin), WeightsProduct(end - begin)})
        bytes = std::max(bytes, routines().gemm_workspace(g, threads_));
    });
    taps_at_ = (bytes + 63) / 64 * 16;
    masked_at_ = taps_at_ + (lines_.Weights() + 15) / 16 * 16;
    const int64_t masked = op_ == LinesOp::kReluGrad ? lines_.Outputs() : 0;
    result.Workspace(static_cast<uint64_t>(masked_at_ + masked) * sizeof(float));
    result.Algorithm(5, "lines");
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    float* const space = call.workspace<float>();
    if (IsForward()) {
      GiveOutputs(call, space, pool);
    } else if (op_ == LinesOp::kData) {
      GiveData(call.in<float>(0), call.in<float>(1), call.out<float>(0), space, pool);
    } else if (op_ == LinesOp::kWeights) {
      GiveWeights(call, 0, call.in<float>(1), space, pool);
    } else {
      Mask(call.in<float>(3), call.in<float>(2), space + masked_at_, pool);
      if (call.has_output(0)) GiveData(space + masked_at_, call.in<float>(1), call.out<float>(0), space, pool);
      GiveWeights(call, 1, space + masked_at_, space, pool);
    }
    return pool.code();
  }

 private:
  // Calls f(tap, begin, end) for the outputs of each tap in each block.
  template <class F>
  void ForParts(const F& f) const {
    for (int64_t block = 0; block < lines_.out; block += Lines::kBlock)
      for (int64_t t = 0; t < lines_.taps; ++t) {
        const auto [begin, end] = lines_.OutputsOf(t, block, block + Lines::kBlock);
        if (begin < end) f(t, begin, end);
      }
  }
  // Products that add to their results; A of the first two is a tap of the weights.
  GemmArgs ForwardProduct(int64_t count) const {
    GemmArgs g;
    g.m = lines_.o, g.n = count, g.k = lines_.c;
    g.a_row = lines_.c, g.b_row = lines_.in, g.c_row = lines_.out, g.accumulate = true;
    return g;
  }
  GemmArgs DataProduct(int64_t count) const {
    GemmArgs g;
    g.m = lines_.c, g.n = count, g.k = lines_.o;
    g.a_row = 1, g.a_col = lines_.c, g.b_row = lines_.out, g.c_row = lines_.in, g.accumulate = true;
    return g;
  }
  GemmArgs WeightsProduct(int64_t count) const {
    GemmArgs g;
    g.m = lines_.o, g.n = lines_.c, g.k = count;
    g.a_row = lines_.out, g.b_row = 1, g.b_col = lines_.in, g.c_row = lines_.c, g.accumulate = true;
    return g;
  }

  // [o][c][taps] -> [taps][o][c].
  void PackTaps(const float* weights, float* taps) const {
    const int64_t size = lines_.o * lines_.c;
    for (int64_t i = 0; i < size; ++i)
      for (int64_t t = 0; t < lines_.taps; ++t) taps[t * size + i] = weights[i * lines_.taps + t];
  }
  void UnpackTaps(const float* taps, float* weights) const {
    const int64_t size = lines_.o * lines_.c;
    for (int64_t i = 0; i < size; ++i)
      for (int64_t t = 0; t < lines_.taps; ++t) weights[i * lines_.taps + t] = taps[t * size + i];
  }

  void GiveOutputs(const sdk::Call& call, float* space, const KernelPool& pool) const {
    float *const all = call.out<float>(0), *const taps = space + taps_at_;
    const float* const bias = call.has_input(2) ? call.in<float>(2) : nullptr;
    for (int64_t row = 0; row < lines_.n * lines_.o; ++row)
      std::fill_n(all + row * lines_.out, lines_.out, bias == nullptr ? 0.0f : bias[row % lines_.o]);
    PackTaps(call.in<float>(1), taps);
    for (int64_t n = 0; n < lines_.n; ++n) {
      const float* const x = call.in<float>(0) + n * lines_.c * lines_.in;
      float* const y = all + n * lines_.o * lines_.out;
      ForParts([&](int64_t t, int64_t begin, int64_t end) {
        GemmArgs g = ForwardProduct(end - begin);
        g.a = taps + t * lines_.o * lines_.c, g.b = x + begin + lines_.Shift(t), g.c = y + begin;
        routines().gemm(g, space, pool.parallel());
      });
    }
    if (op_ == LinesOp::kForwardRelu)
      routines().f32.unary({UnaryOp::kRelu, lines_.Outputs(), 0, 0, all, all}, pool.parallel());
  }

  void GiveData(const float* dy, const float* weights, float* dx, float* space, const KernelPool& pool) const {
    float* const taps = space + taps_at_;
    PackTaps(weights, taps);
    std::fill_n(dx, lines_.Inputs(), 0.0f);
    for (int64_t n = 0; n < lines_.n; ++n, dx += lines_.c * lines_.in, dy += lines_.o * lines_.out)
      ForParts([&](int64_t t, int64_t begin, int64_t end) {
        GemmArgs g = DataProduct(end - begin);
        g.a = taps + t * lines_.o * lines_.c, g.b = dy + begin, g.c = dx + begin + lines_.Shift(t);
        routines().gemm(g, space, pool.parallel());
      });
  }

  // Of input 0; to the outputs from `first` on.
  void GiveWeights(const sdk::Call& call, uint32_t first, const float* all_dy, float* space,
                   const KernelPool& pool) const {
    float* const taps = space + taps_at_;
    if (call.has_output(first)) {
      std::fill_n(taps, lines_.Weights(), 0.0f);
      for (int64_t n = 0; n < lines_.n; ++n) {
        const float* const x = call.in<float>(0) + n * lines_.c * lines_.in;
        const float* const dy = all_dy + n * lines_.o * lines_.out;
        ForParts([&](int64_t t, int64_t begin, int64_t end) {
          GemmArgs g = WeightsProduct(end - begin);
          g.a = dy + begin, g.b = x + begin + lines_.Shift(t), g.c = taps + t * lines_.o * lines_.c;
          routines().gemm(g, space, pool.parallel());
        });
      }
      UnpackTaps(taps, call.out<float>(first));
    }
    if (call.has_output(first + 1)) SumBias(all_dy, call.out<float>(first + 1), pool);
  }

  int64_t taps_at_ = 0, masked_at_ = 0;  // in the workspace, in floats
};

}  // namespace

void AddLinesConvKernels(KernelList& kernels) {
  kernels.push_back(Def<LinesF32>("", "Conv", "conv_lines"));
  kernels.push_back(Def<LinesF32>(kDomain, "ConvRelu", "conv_relu_lines"));
  kernels.push_back(Def<LinesF32>("tenon", "ConvInputGrad", "conv_input_grad_lines"));
  kernels.push_back(Def<LinesF32>("tenon", "ConvWeightGrad", "conv_weight_grad_lines"));
  kernels.push_back(Def<LinesF32>(kDomain, "ConvReluGrad", "conv_relu_grad_lines"));
}

}  // namespace tenon::cpu
