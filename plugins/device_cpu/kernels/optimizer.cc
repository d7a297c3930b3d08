// tenon.SGD, tenon.Adam, tenon.AdamW, tenon.Lamb: one node for all parameters, each updated where it lies.
#include <cmath>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

double ScalarOf(const sdk::Tensor& tensor) {
  switch (tensor.dtype()) {
    case TENON_DTYPE_F32:
      return static_cast<double>(*tensor.data<const float>());
    case TENON_DTYPE_F64:
      return *tensor.data<const double>();
    case TENON_DTYPE_I64:
      return static_cast<double>(*tensor.data<const int64_t>());
    case TENON_DTYPE_I32:
      return static_cast<double>(*tensor.data<const int32_t>());
    default:
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "A scalar of an optimiser is ", sdk::DTypeName(tensor.dtype()), ".");
  }
}

bool SupportsUpdate(const sdk::Query& query, uint32_t scalars, sdk::Reason& reason) {
  for (uint32_t i = scalars; i < query.input_count(); ++i)
    if (query.has_input(i) && query.input(i).dtype() != TENON_DTYPE_F32)
      return reason.No("Input ", i, " is ", sdk::DTypeName(query.input(i).dtype()), "; this kernel updates f32.");
  return true;
}

// One signature per layout that all tensors share; what lies in a layout stays there.
class Optimizer : public CpuKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    sizes_.clear();
    for (int64_t k = 0; k < count_; ++k) sizes_.push_back(args.input(static_cast<uint32_t>(scalars_ + k)).elements());
    SetThreads(args);
    return TENON_OK;
  }

 protected:
  int64_t scalars_ = 1, count_ = 0;
  std::vector<int64_t> sizes_;
};

class Sgd : public Optimizer {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsUpdate(query, 1, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    count_ = a.Int("count", 0);
    args_.momentum = static_cast<float>(a.Float("momentum", 0));
    args_.weight_decay = static_cast<float>(a.Float("weight_decay", 0));
    args_.nesterov = a.Int("nesterov", 0) != 0;
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    SgdArgs s = args_;
    s.lr = static_cast<float>(ScalarOf(call.input(0)));
    const bool buffered = s.momentum != 0.0f;
    const int64_t n = count_, gradients = 1 + (buffered ? 2 : 1) * n;
    for (int64_t k = 0; k < n; ++k) {
      s.count = sizes_[static_cast<size_t>(k)];
      s.p = call.in<float>(static_cast<uint32_t>(1 + k));
      s.g = call.in<float>(static_cast<uint32_t>(gradients + k));
      s.p_out = call.out<float>(static_cast<uint32_t>(k));
      if (buffered) {
        s.m = call.in<float>(static_cast<uint32_t>(1 + n + k));
        s.m_out = call.out<float>(static_cast<uint32_t>(n + k));
      }
      routines().sgd(s, pool.parallel());
    }
    return pool.code();
  }

 private:
  SgdArgs args_;
};

// Adam and its kin: two moments a parameter, both corrected by the step. Args are those of the routine.
template <class Args>
class MomentOptimizer : public Optimizer {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsUpdate(query, 2, reason); }

 protected:
  void ReadAttributes(const sdk::Query& query, double epsilon) {
    const sdk::Attributes a = query.attributes();
    scalars_ = 2;
    count_ = a.Int("count", 0);
    beta1_ = a.Float("beta1", 0.9);
    beta2_ = a.Float("beta2", 0.999);
    args_.beta1 = static_cast<float>(beta1_);
    args_.beta2 = static_cast<float>(beta2_);
    args_.epsilon = static_cast<float>(a.Float("epsilon", epsilon));
    args_.weight_decay = static_cast<float>(a.Float("weight_decay", 0));
  }
  // Calls update(args) for each parameter.
  template <class Fn>
  int32_t ForEach(const sdk::Call& call, sdk::Error& error, const Fn& update) const {
    Args s = args_;
    s.lr = static_cast<float>(ScalarOf(call.input(0)));
    const double step = ScalarOf(call.input(1));
    if (step < 1)
      return error.Fail(TENON_INVALID_ARGUMENT, "The step of an optimiser counts from 1; it is ", step, ".");
    s.bias1 = 1 - std::pow(beta1_, step);
    s.bias2 = 1 - std::pow(beta2_, step);
    const int64_t n = count_;
    for (int64_t k = 0; k < n; ++k) {
      const auto in = [&](int64_t group) { return call.in<float>(static_cast<uint32_t>(2 + group * n + k)); };
      const auto out = [&](int64_t group) { return call.out<float>(static_cast<uint32_t>(group * n + k)); };
      s.count = sizes_[static_cast<size_t>(k)];
      s.p = in(0), s.m = in(1), s.v = in(2), s.g = in(3);
      s.p_out = out(0), s.m_out = out(1), s.v_out = out(2);
      update(s);
    }
    return TENON_OK;
  }

  Args args_;

 private:
  double beta1_ = 0.9, beta2_ = 0.999;
};

class Adam : public MomentOptimizer<AdamArgs> {
 public:
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    ReadAttributes(query, 1e-8);
    args_.decoupled = query.op_type() == "AdamW";
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    const int32_t code = ForEach(call, error, [&](const AdamArgs& s) { routines().adam(s, pool.parallel()); });
    return code != TENON_OK ? code : pool.code();
  }
};

class Lamb : public MomentOptimizer<LambArgs> {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    if (!(query.attributes().Float("epsilon", 1e-6) > 0)) return reason.No("epsilon is 0; this kernel divides by it.");
    return MomentOptimizer::Supports(query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    ReadAttributes(query, 1e-6);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    const int32_t code = Optimizer::Plan(args, result, error);
    int64_t most = 0;
    for (const int64_t size : sizes_) most = size > most ? size : most;
    result.Workspace(static_cast<uint64_t>(LambSums(most) + 16) * sizeof(float));
    return code;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    const int32_t code =
        ForEach(call, error, [&](const LambArgs& s) { routines().lamb(s, call.workspace<float>(), pool.parallel()); });
    return code != TENON_OK ? code : pool.code();
  }
};

// (weight, start, sums, gradients) -> sums.
class Accumulate : public Optimizer {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsUpdate(query, 2, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    scalars_ = 2;
    count_ = query.attributes().Int("count", 0);
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    const auto weight = static_cast<float>(ScalarOf(call.input(0)));
    const bool start = ScalarOf(call.input(1)) != 0;
    for (int64_t k = 0; k < count_; ++k) {
      const float* sum = call.in<float>(static_cast<uint32_t>(2 + k));
      const float* gradient = call.in<float>(static_cast<uint32_t>(2 + count_ + k));
      routines().blend({sizes_[static_cast<size_t>(k)], start ? nullptr : sum, gradient,
                        call.out<float>(static_cast<uint32_t>(k)), 1.0f, weight},
                       pool.parallel());
    }
    return pool.code();
  }
};

// (averages, parameters) -> averages.
class MovingAverage : public Optimizer {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return SupportsUpdate(query, 0, reason); }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    scalars_ = 0;
    count_ = query.attributes().Int("count", 0);
    decay_ = query.attributes().Float("decay", 0);
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    KernelPool pool(host(), error, threads_);
    for (int64_t k = 0; k < count_; ++k) {
      const float* average = call.in<float>(static_cast<uint32_t>(k));
      const float* parameter = call.in<float>(static_cast<uint32_t>(count_ + k));
      routines().blend({sizes_[static_cast<size_t>(k)], average, parameter, call.out<float>(static_cast<uint32_t>(k)),
                        static_cast<float>(decay_), static_cast<float>(1 - decay_)},
                       pool.parallel());
    }
    return pool.code();
  }

 private:
  double decay_ = 0;
};

}  // namespace

void AddOptimizerKernels(KernelList& kernels) {
  const sdk::KernelOptions options{0, TENON_TRAIT_STATEFUL | TENON_TRAIT_DETERMINISTIC};
  kernels.push_back(Def<Sgd>("tenon", "SGD", "sgd", options));
  kernels.push_back(Def<Adam>("tenon", "Adam", "adam", options));
  kernels.push_back(Def<Adam>("tenon", "AdamW", "adam_w", options));
  kernels.push_back(Def<Lamb>("tenon", "Lamb", "lamb", options));
  kernels.push_back(Def<Accumulate>("tenon", "Accumulate", "accumulate", options));
  kernels.push_back(Def<MovingAverage>("tenon", "MovingAverage", "moving_average", options));
}

}  // namespace tenon::cpu
