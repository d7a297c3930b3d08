// Convolutions of lines of bf16 by instructions for bf16: the products of all taps are one, with rows of shifted lines that are
// copied next to each other, so that each result is rounded once. Gradients of weights are summed over samples in f32.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/kernels/conv_lines.h"

namespace tenon::cpu {
namespace {

constexpr uint16_t kOne = 0x3f80;  // 1 in bf16

class LinesBf16 : public LinesKernel<Bf16> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (FindBf16Routines() == nullptr) return reason.No("The processor has no instructions for bf16.");
    return LinesKernel<Bf16>::Supports(query, reason);
  }

  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    PlanSizes(args);
    const Side forward = ForwardSide(), data = DataSide();
    int64_t bytes = 0, packed = 0, rows = 0;
    ForBlocks(std::max(forward.positions, data.positions), [&, this](int64_t, int64_t count) {
      for (const Side& side : {forward, data})
        bytes = std::max(bytes, bf16().products.gemm_workspace(Product(side, count), threads_));
    });
    ForBlocks(lines_.out, [&, this](int64_t begin, int64_t count) {
      for (int64_t t = 0; t < lines_.taps; ++t) {
        const auto [first, end] = lines_.OutputsOf(t, begin, begin + count);
        if (first < end)
          bytes = std::max(bytes, routines().gemm_workspace(WeightsProduct(count, end - first), threads_));
      }
    });
    for (const Side& side : {forward, data}) {
      packed = std::max(packed, side.channels_out * side.Rows());
      rows = std::max(rows, side.Rows() * Lines::kBlock);
    }
    // Weights need room for a block of both lines in f32, and for the sums, twice.
    const int64_t wide = (lines_.o * Lines::kBlock + lines_.c * Span() + 2 * lines_.Weights()) * 4;
    packed_at_ = RoundUp(bytes);
    rows_at_ = packed_at_ + RoundUp(packed * 2);
    const int64_t end = std::max(rows_at_ + RoundUp(rows * 2), packed_at_ + RoundUp(wide));
    masked_at_ = end;
    result.Workspace(static_cast<uint64_t>(end + (op_ == LinesOp::kReluGrad ? RoundUp(lines_.Outputs() * 2) : 0)));
    result.Algorithm(6, "lines");
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    char* const space = call.workspace<char>();
    if (IsForward()) {
      const uint16_t* const bias = call.has_input(2) ? call.in<uint16_t>(2) : nullptr;
      Convolve(ForwardSide(), call.in<uint16_t>(0), call.in<uint16_t>(1), bias, call.out<uint16_t>(0), space, pool);
    } else if (op_ == LinesOp::kData) {
      Convolve(DataSide(), call.in<uint16_t>(0), call.in<uint16_t>(1), nullptr, call.out<uint16_t>(0), space, pool);
    } else if (op_ == LinesOp::kWeights) {
      GiveWeights(call, 0, call.in<Bf16>(1), space, pool);
    } else {
      Bf16* const dy = reinterpret_cast<Bf16*>(space + masked_at_);
      Mask(call.in<Bf16>(3), call.in<Bf16>(2), dy, pool);
      if (call.has_output(0))
        Convolve(DataSide(), reinterpret_cast<const uint16_t*>(dy), call.in<uint16_t>(1), nullptr,
                 call.out<uint16_t>(0), space, pool);
      GiveWeights(call, 1, dy, space, pool);
    }
    return pool.code();
  }

 private:
  // A convolution in one direction: forward, or of the gradient with the weights exchanged and the shifts turned.
  struct Side {
    bool forward;
    int64_t channels_in, channels_out, length_in, positions, taps;
    // Rows of one product: a shifted line for each channel and tap, one of ones for the bias, and one to make them even.
    int64_t Rows() const { return channels_in * taps + 2; }
  };
  Side ForwardSide() const { return {true, lines_.c, lines_.o, lines_.in, lines_.out, lines_.taps}; }
  Side DataSide() const { return {false, lines_.o, lines_.c, lines_.out, lines_.in, lines_.taps}; }

  static const Bf16Routines& bf16() { return *FindBf16Routines(); }
  static int64_t RoundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // Calls f(begin, count) for blocks of the positions.
  template <class F>
  static void ForBlocks(int64_t positions, const F& f) {
    for (int64_t begin = 0; begin < positions; begin += Lines::kBlock)
      f(begin, std::min(Lines::kBlock, positions - begin));
  }
  static GemmBf16Args Product(const Side& side, int64_t count) {
    GemmBf16Args g;
    g.m = side.channels_out, g.n = count, g.k = side.Rows();
    g.a_row = side.Rows(), g.b_row = count, g.c_row = side.positions;
    return g;
  }

  // [out][in * taps, bias, 0].
  void PackWeights(const Side& side, const uint16_t* weights, const uint16_t* bias, uint16_t* packed) const {
    for (int64_t o = 0; o < side.channels_out; ++o) {
      for (int64_t i = 0; i < side.channels_in; ++i) {
        const uint16_t* const from = weights + (side.forward ? o * lines_.c + i : i * lines_.c + o) * lines_.taps;
        packed = std::copy_n(from, lines_.taps, packed);
      }
      *packed++ = bias == nullptr ? uint16_t{0} : bias[o];
      *packed++ = 0;
    }
  }
  void CopyRows(const Side& side, const uint16_t* lines, int64_t begin, int64_t count, uint16_t* rows) const {
    for (int64_t i = 0; i < side.channels_in; ++i) {
      for (int64_t t = 0; t < side.taps; ++t, rows += count) {
        const int64_t from = begin + (side.forward ? lines_.Shift(t) : -lines_.Shift(t));
        const int64_t first = std::clamp<int64_t>(-from, 0, count),
                      end = std::clamp<int64_t>(side.length_in - from, first, count);
        std::fill_n(rows, first, uint16_t{0});
        std::copy_n(lines + i * side.length_in + from + first, end - first, rows + first);
        std::fill_n(rows + end, count - end, uint16_t{0});
      }
    }
    rows = std::fill_n(rows, count, kOne);
    std::fill_n(rows, count, uint16_t{0});
  }
  void Convolve(const Side& side, const uint16_t* in, const uint16_t* weights, const uint16_t* bias, uint16_t* out,
                char* space, const KernelPool& pool) const {
    auto* const packed = reinterpret_cast<uint16_t*>(space + packed_at_);
    auto* const rows = reinterpret_cast<uint16_t*>(space + rows_at_);
    PackWeights(side, weights, bias, packed);
    for (int64_t n = 0; n < lines_.n; ++n) {
      ForBlocks(side.positions, [&](int64_t begin, int64_t count) {
        CopyRows(side, in + n * side.channels_in * side.length_in, begin, count, rows);
        GemmBf16Args g = Product(side, count);
        g.a = packed, g.b = rows, g.c = out + n * side.channels_out * side.positions + begin;
        g.relu = op_ == LinesOp::kForwardRelu;
        bf16().products.gemm(g, reinterpret_cast<float*>(space), pool.parallel());
      });
    }
  }

  // Positions of x that a block of outputs reads at most.
  int64_t Span() const { return Lines::kBlock + (lines_.taps - 1) * lines_.dilation; }
  GemmArgs WeightsProduct(int64_t block, int64_t count) const {
    GemmArgs g;
    g.m = lines_.o, g.n = lines_.c, g.k = count;
    g.a_row = block, g.b_row = 1, g.b_col = Span(), g.c_row = lines_.c, g.accumulate = true;
    return g;
  }
  // Positions [begin, begin + count) of each line of `length` as f32, rows `stride` apart.
  void Widen(const Bf16* lines, int64_t channels, int64_t length, int64_t begin, int64_t count, float* to,
             int64_t stride, const KernelPool& pool) const {
    for (int64_t i = 0; i < channels; ++i)
      routines().convert({count, NumberFormat::kBF16, NumberFormat::kF32, lines + i * length + begin, to + i * stride},
                         pool.parallel());
  }
  // Of input 0; to the outputs from `first_result` on.
  void GiveWeights(const sdk::Call& call, uint32_t first_result, const Bf16* all_dy, char* space,
                   const KernelPool& pool) const {
    if (call.has_output(first_result)) {
      SumWeights(call.in<Bf16>(0), all_dy, space, pool);
      Bf16* const dw = call.out<Bf16>(first_result);
      float* const sums = Sums(space);
      float* const ordered = sums + lines_.Weights();
      const int64_t size = lines_.o * lines_.c;
      for (int64_t i = 0; i < size; ++i)
        for (int64_t t = 0; t < lines_.taps; ++t) ordered[i * lines_.taps + t] = sums[t * size + i];
      routines().convert({lines_.Weights(), NumberFormat::kF32, NumberFormat::kBF16, ordered, dw}, pool.parallel());
    }
    if (call.has_output(first_result + 1)) SumBias(all_dy, call.out<Bf16>(first_result + 1), pool);
  }
  // The workspace behind that of the product: dy, x, the sums as [taps][o][c], and as the weights lie.
  float* WideDy(char* space) const { return reinterpret_cast<float*>(space + packed_at_); }
  float* WideX(char* space) const { return WideDy(space) + lines_.o * Lines::kBlock; }
  float* Sums(char* space) const { return WideX(space) + lines_.c * Span(); }

  void SumWeights(const Bf16* x, const Bf16* dy, char* space, const KernelPool& pool) const {
    std::fill_n(Sums(space), lines_.Weights(), 0.0f);
    for (int64_t n = 0; n < lines_.n; ++n, x += lines_.c * lines_.in, dy += lines_.o * lines_.out) {
      ForBlocks(lines_.out, [&](int64_t begin, int64_t count) {
        const int64_t from = std::clamp<int64_t>(begin + lines_.Shift(0), 0, lines_.in),
                      to = std::clamp<int64_t>(begin + count + lines_.Shift(lines_.taps - 1), from, lines_.in);
        Widen(dy, lines_.o, lines_.out, begin, count, WideDy(space), count, pool);
        Widen(x, lines_.c, lines_.in, from, to - from, WideX(space), Span(), pool);
        for (int64_t t = 0; t < lines_.taps; ++t) {
          const auto [first, end] = lines_.OutputsOf(t, begin, begin + count);
          if (first >= end) continue;
          GemmArgs g = WeightsProduct(count, end - first);
          g.a = WideDy(space) + first - begin, g.b = WideX(space) + first + lines_.Shift(t) - from;
          g.c = Sums(space) + t * lines_.o * lines_.c;
          routines().gemm(g, reinterpret_cast<float*>(space), pool.parallel());
        }
      });
    }
  }

  int64_t packed_at_ = 0, rows_at_ = 0, masked_at_ = 0;  // in the workspace, in bytes
};

}  // namespace

void AddBf16LinesConvKernels(KernelList& kernels) {
  kernels.push_back(Def<LinesBf16>("", "Conv", "conv_lines_bf16"));
  kernels.push_back(Def<LinesBf16>(kDomain, "ConvRelu", "conv_relu_lines_bf16"));
  kernels.push_back(Def<LinesBf16>("tenon", "ConvInputGrad", "conv_input_grad_lines_bf16"));
  kernels.push_back(Def<LinesBf16>("tenon", "ConvWeightGrad", "conv_weight_grad_lines_bf16"));
  kernels.push_back(Def<LinesBf16>(kDomain, "ConvReluGrad", "conv_relu_grad_lines_bf16"));
}

}  // namespace tenon::cpu
