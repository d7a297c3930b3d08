// ScaledDotProductAttention and its gradient; operands stay where they are, heads apart or side by side or packed.
#include <cmath>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

// Sizes and places of the operands; k and v are those of q when it is packed. False: they do not fit the attributes.
template <class T>
struct Layout {
  AttentionArgsOf<T> args;
  bool packed = false;
  int64_t k_start = 0, v_start = 0;  // in q, when packed
};

AttentionOperand Place(int64_t heads_attribute, int64_t heads, int64_t length, int64_t width) {
  if (heads_attribute > 0) return {length * heads * width, width, heads * width};
  return {heads * length * width, length * width, width};
}

// `first` is the number of Q among the inputs.
template <class T>
Layout<T> LayoutOf(const sdk::PlanArgs& args, uint32_t first, int64_t heads, double scale) {
  Layout<T> out;
  AttentionArgsOf<T>& a = out.args;
  const sdk::Dims q = args.input(first).dims();
  out.packed = !args.has_input(first + 1);
  a.batch = q[0];
  if (out.packed) {
    const int64_t all = q[2] / 3;
    a.heads = heads, a.queries = a.keys = q[1], a.width = a.value_width = all / heads;
    a.q_at = a.k_at = a.v_at = {q[1] * q[2], a.width, q[2]};
    out.k_start = all, out.v_start = 2 * all;
  } else {
    const sdk::Dims k = args.input(first + 1).dims(), v = args.input(first + 2).dims();
    const uint32_t last = q.size() - 1;
    a.heads = heads > 0 ? heads : q[1];
    const int64_t parts = heads > 0 ? heads : 1;
    a.queries = q[last - 1], a.keys = k[last - 1], a.width = q[last] / parts, a.value_width = v[last] / parts;
    a.q_at = Place(heads, a.heads, a.queries, a.width);
    a.k_at = Place(heads, a.heads, a.keys, a.width);
    a.v_at = Place(heads, a.heads, a.keys, a.value_width);
  }
  a.y_at = Place(heads, a.heads, a.queries, a.value_width);
  a.scale = static_cast<float>(scale > 0 ? scale : 1.0 / std::sqrt(static_cast<double>(a.width)));
  return out;
}

// Strides of a mask that broadcasts to [batch, heads, queries, keys].
template <class T>
void PlaceMask(sdk::Dims mask, AttentionArgsOf<T>& a) {
  const int64_t full[4] = {a.batch, a.heads, a.queries, a.keys};
  int64_t step = 1;
  for (uint32_t i = 0; i < mask.size(); ++i) {
    const int64_t size = mask[mask.size() - 1 - i];
    a.mask_strides[3 - i] = size == 1 && full[3 - i] != 1 ? 0 : step;
    step *= size;
  }
}

template <class T>
class AttentionBase : public CpuKernel {
 public:
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    heads_ = a.Int("heads", 0);
    causal_ = a.Int("causal", 0) != 0;
    scale_ = a.Float("scale", 0);
    dropout_ = a.Float("dropout", 0);
    return TENON_OK;
  }

 protected:
  static bool Takes(const sdk::Query& query, uint32_t first, sdk::Reason& reason) {
    for (uint32_t i = first; i < first + 3; ++i)
      if (!IsOf<T>(query, i, reason)) return false;
    if (!query.has_input(first + 3)) return true;
    const uint32_t mask = query.input(first + 3).dtype();
    return mask == TENON_DTYPE_F32 || mask == TENON_DTYPE_BOOL ||
           reason.No("The mask is ", sdk::DTypeName(mask), "; this kernel takes f32 and bool.");
  }

  void PlanOperands(const sdk::PlanArgs& args, uint32_t first) {
    layout_ = LayoutOf<T>(args, first, heads_, scale_);
    layout_.args.causal = causal_;
    layout_.args.dropout = dropout_;
    layout_.args.unit = UnitFor<T>();
    first_ = first;
    if (args.has_input(first + 3)) PlaceMask(args.input(first + 3).dims(), layout_.args);
    SetThreads(args);
  }

  AttentionArgsOf<T> Operands(const sdk::Call& call) const {
    AttentionArgsOf<T> a = layout_.args;
    a.q = call.in<T>(first_);
    a.k = layout_.packed ? a.q + layout_.k_start : call.in<T>(first_ + 1);
    a.v = layout_.packed ? a.q + layout_.v_start : call.in<T>(first_ + 2);
    if (call.has_input(first_ + 3)) {
      if (call.input(first_ + 3).dtype() == TENON_DTYPE_F32)
        a.mask = call.in<float>(first_ + 3);
      else
        a.mask_bytes = call.in<uint8_t>(first_ + 3);
    }
    return a;
  }

  Layout<T> layout_;

 private:
  int64_t heads_ = 0;
  bool causal_ = false;
  double scale_ = 0, dropout_ = 0;
  uint32_t first_ = 0;
};

// (Q, K, V, Mask) -> Y, LogSumExp, Random.
template <class T>
class Attention : public AttentionBase<T> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return AttentionBase<T>::Takes(query, 0, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    this->PlanOperands(args, 0);
    result.Workspace(
        static_cast<uint64_t>(this->template routines_of<T>().attention_workspace(this->layout_.args, this->threads_)));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    AttentionForwardArgsOf<T> f{this->Operands(call), call.out<T>(0),
                                call.has_output(1) ? call.out<float>(1) : nullptr};
    f.of.random_key = call.rng_key(), f.of.random_offset = call.rng_offset();
    if (call.has_output(2)) {
      call.out<int64_t>(2)[0] = static_cast<int64_t>(call.rng_key());
      call.out<int64_t>(2)[1] = static_cast<int64_t>(call.rng_offset());
    }
    KernelPool pool(this->host(), error, this->threads_);
    this->template routines_of<T>().attention(f, call.workspace<float>(), pool.parallel());
    return pool.code();
  }
};

// (dY, Y, LogSumExp, Random, Q, K, V, Mask) -> dQ, dK, dV; packed: dQ alone.
template <class T>
class AttentionGrad : public AttentionBase<T> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return AttentionBase<T>::Takes(query, 4, reason);
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    this->PlanOperands(args, 4);
    result.Workspace(static_cast<uint64_t>(
        this->template routines_of<T>().attention_grad_workspace(this->layout_.args, this->threads_)));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    AttentionGradArgsOf<T> g;
    g.of = this->Operands(call);
    g.dy = call.in<T>(0), g.y = call.in<T>(1), g.log_sum = call.in<float>(2);
    g.of.random_key = static_cast<uint64_t>(call.in<int64_t>(3)[0]);
    g.of.random_offset = static_cast<uint64_t>(call.in<int64_t>(3)[1]);
    const auto out = [&](uint32_t i) { return call.has_output(i) ? call.out<T>(i) : nullptr; };
    g.dq = out(0);
    g.dk = this->layout_.packed ? g.dq + this->layout_.k_start : out(1);
    g.dv = this->layout_.packed ? g.dq + this->layout_.v_start : out(2);
    KernelPool pool(this->host(), error, this->threads_);
    this->template routines_of<T>().attention_grad(g, call.workspace<float>(), pool.parallel());
    return pool.code();
  }
};

}  // namespace

void AddAttentionKernels(KernelList& kernels) {
  AddOfBoth<Attention>(kernels, "tenon", "ScaledDotProductAttention", "attention_bf16");
  AddOfBoth<AttentionGrad>(kernels, "tenon", "ScaledDotProductAttentionGrad", "attention_grad_bf16");
}

}  // namespace tenon::cpu
