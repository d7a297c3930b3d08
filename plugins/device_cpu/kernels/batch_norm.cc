// BatchNormalization, inference and training, alone and with what follows it (Relu, Clip, or an addition and Relu), and the
// gradients.
#include <bit>
#include <cmath>
#include <deque>
#include <limits>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kRelu = "BatchNormRelu", kClip = "BatchNormClip", kAddRelu = "BatchNormAddRelu";
constexpr std::string_view kReluGrad = "BatchNormReluGrad", kClipGrad = "BatchNormClipGrad";
constexpr std::string_view kAddReluGrad = "BatchNormAddReluGrad";
// BatchNormalization of bf16 or f16 with statistics and parameters in f32: what mixed precision makes with two Casts.
constexpr std::string_view kMixed = "BatchNormMixed", kMixedGrad = "BatchNormMixedGrad";

// What an operator type of this file means.
struct Variant {
  bool fused, relu, clip, add;
};
Variant VariantOf(std::string_view op_type) {
  const auto is = [&](std::string_view a, std::string_view b) { return op_type == a || op_type == b; };
  const bool clip = is(kClip, kClipGrad), add = is(kAddRelu, kAddReluGrad), relu = add || is(kRelu, kReluGrad);
  return {relu || clip || is(kMixed, kMixedGrad), relu, clip, add};
}

// Attributes of the normalisation in a fused node are those of the pattern's value %n.
std::string Name(const Variant& v, const char* attribute) { return (v.fused ? "n." : "") + std::string(attribute); }

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

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float FloatOf(float x) { return x; }
float FloatOf(Bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

// Images, and what follows them in a fused operator, are of T; inputs `first` to `last` are parameters and statistics.
template <class T>
bool Takes(const sdk::Query& query, uint32_t first, uint32_t last, sdk::Reason& reason) {
  for (uint32_t i = 0; i < query.input_count(); ++i) {
    const bool parameter = i >= first && i <= last;
    if (!(parameter ? IsOf<float>(query, i, reason) : IsOf<T>(query, i, reason))) return false;
  }
  return true;
}

// Bounds of a Clip are inputs `first` and `first + 1`, each of which may be absent.
template <class T>
BatchNormLimits LimitsOf(const Variant& v, const sdk::Call& call, uint32_t first) {
  if (v.relu) return {true, 0.0f, kInfinity};
  if (!v.clip) return {};
  const auto bound = [&](uint32_t input, float absent) {
    return call.has_input(input) ? FloatOf(*call.in<T>(input)) : absent;
  };
  return {true, bound(first, -kInfinity), bound(first + 1, kInfinity)};
}

// Inputs x, scale, bias, mean, var [, min, max | , residual]; outputs y, new mean and var, and the statistics that y used.
template <class T>
class BatchNorm : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) { return Takes<T>(query, 1, 4, reason); }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const bool add = VariantOf(query.op_type()).add;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && query.input(0).rank() != 4) continue;
      const uint32_t inputs[] = {layout, 0, 0, 0, 0, add ? layout : 0, 0}, outputs[] = {layout, 0, 0, 0, 0};
      emitter.Emit(Cost(query.input(0)), inputs, query.input_count(), outputs, query.output_count());
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    variant_ = VariantOf(query.op_type());
    const sdk::Attributes attributes = query.attributes();
    training_ = attributes.Int(Name(variant_, "training_mode"), 0) != 0;
    epsilon_ = static_cast<float>(attributes.Float(Name(variant_, "epsilon"), 1e-5));
    momentum_ = static_cast<float>(attributes.Float(Name(variant_, "momentum"), 0.9));
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
      routines_of<T>().batch_norm_stats({shape_, call.in<T>(0), mean, var}, pool.parallel());
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
    BatchNormApplyArgsOf<T> a;
    a.shape = shape_, a.x = call.in<T>(0), a.mean = mean, a.inv_std = inv_std;
    a.scale = call.in<float>(1), a.bias = call.in<float>(2);
    if (variant_.add) a.residual = call.in<T>(5);
    a.limits = LimitsOf<T>(variant_, call, 5);
    a.y = call.out<T>(0);
    routines_of<T>().batch_norm_apply(a, pool.parallel());
    return pool.code();
  }

 private:
  Variant variant_{};
  bool training_ = false;
  float epsilon_ = 1e-5f, momentum_ = 0.9f;
  BatchNormShape shape_;
};

// Inputs of the gradients: that of the operator alone is tenon.BatchNormalizationGrad(dY, X, scale, saved_mean,
// saved_inv_std); the fused ones take x, scale, bias, mean, inv_std, dy [, min, max | , y]. Outputs dx, d_scale, d_bias
// [, d_residual].
struct GradInputs {
  uint32_t x, scale, mean, inv_std, dy;
};
constexpr GradInputs kPlainInputs = {1, 2, 3, 4, 0}, kFusedInputs = {0, 1, 3, 4, 5};

template <class T>
class BatchNormGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return VariantOf(query.op_type()).fused ? Takes<T>(query, 1, 4, reason) : Takes<T>(query, 2, 4, reason);
  }

  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const Variant v = VariantOf(query.op_type());
    const GradInputs in = v.fused ? kFusedInputs : kPlainInputs;
    for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
      if (layout != 0 && query.input(in.x).rank() != 4) continue;
      uint32_t inputs[8] = {}, outputs[4] = {};
      inputs[in.x] = inputs[in.dy] = layout;
      if (v.add) inputs[6] = layout;
      for (const uint32_t image : {0u, 3u})
        if (query.has_output(image)) outputs[image] = layout;
      emitter.Emit(2 * Cost(query.input(in.x)), inputs, query.input_count(), outputs, query.output_count());
    }
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    variant_ = VariantOf(query.op_type());
    in_ = variant_.fused ? kFusedInputs : kPlainInputs;
    training_ = query.attributes().Int(Name(variant_, "training_mode"), 1) != 0;
    in_place_[0] = {in_.dy, 0, TENON_ALIAS_MAY, 0};
    in_place_[1] = {in_.dy, 3, TENON_ALIAS_MAY, 0};
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    shape_ = ShapeOf(args.input(in_.x));
    SetThreads(args);
    result.Workspace(static_cast<uint64_t>(2 * shape_.channels) * sizeof(float));
    const bool residual = args.has_output(3);
    result.Aliases(in_place_ + (residual ? 1 : 0), 1);  // one of the two results may lie over dy
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    float* const space = call.workspace<float>();
    BatchNormGradArgsOf<T> a;
    a.shape = shape_, a.training = training_;
    a.dy = call.in<T>(in_.dy), a.x = call.in<T>(in_.x), a.scale = call.in<float>(in_.scale);
    a.mean = call.in<float>(in_.mean), a.inv_std = call.in<float>(in_.inv_std);
    if (variant_.fused) a.bias = call.in<float>(2);
    if (variant_.add) a.y = call.in<T>(6);
    a.mask = variant_.add    ? BatchNormMask::kOutputAboveZero
             : variant_.relu ? BatchNormMask::kAboveZero
             : variant_.clip ? BatchNormMask::kInside
                             : BatchNormMask::kNone;
    a.limits = LimitsOf<T>(variant_, call, 6);
    a.dx = call.has_output(0) ? call.out<T>(0) : nullptr;
    a.d_scale = call.has_output(1) ? call.out<float>(1) : space;
    a.d_bias = call.has_output(2) ? call.out<float>(2) : space + shape_.channels;
    a.d_residual = call.has_output(3) ? call.out<T>(3) : nullptr;
    KernelPool pool(host(), error, threads_);
    routines_of<T>().batch_norm_grad(a, pool.parallel());
    return pool.code();
  }

 private:
  Variant variant_{};
  GradInputs in_ = kPlainInputs;
  bool training_ = true;
  BatchNormShape shape_;
  tenon_alias_pair in_place_[2] = {};
};

// ---- fused operators

constexpr tenon_gradient_source kSources[] = {{TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1},
                                              {TENON_SOURCE_INPUT, 2}, {TENON_SOURCE_SAVED, 0},
                                              {TENON_SOURCE_SAVED, 1}, {TENON_SOURCE_OUTPUT_GRAD, 0}};
constexpr tenon_gradient_source kClipSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1},       {TENON_SOURCE_INPUT, 2}, {TENON_SOURCE_SAVED, 0},
    {TENON_SOURCE_SAVED, 1}, {TENON_SOURCE_OUTPUT_GRAD, 0}, {TENON_SOURCE_INPUT, 5}, {TENON_SOURCE_INPUT, 6}};
constexpr tenon_gradient_source kAddSources[] = {
    {TENON_SOURCE_INPUT, 0}, {TENON_SOURCE_INPUT, 1},       {TENON_SOURCE_INPUT, 2}, {TENON_SOURCE_SAVED, 0},
    {TENON_SOURCE_SAVED, 1}, {TENON_SOURCE_OUTPUT_GRAD, 0}, {TENON_SOURCE_OUTPUT, 0}};
constexpr uint32_t kGradInputs[] = {0, 1, 2}, kAddGradInputs[] = {0, 1, 2, 5};

constexpr tenon_paired_gradient kReluGradient = sdk::PairedGradient(kDomain, kReluGrad, 1, kSources, kGradInputs);
constexpr tenon_paired_gradient kMixedGradient = sdk::PairedGradient(kDomain, kMixedGrad, 1, kSources, kGradInputs);
constexpr tenon_paired_gradient kClipGradient = sdk::PairedGradient(kDomain, kClipGrad, 1, kClipSources, kGradInputs);
constexpr tenon_paired_gradient kAddReluGradient =
    sdk::PairedGradient(kDomain, kAddReluGrad, 1, kAddSources, kAddGradInputs);

constexpr tenon_saved_def kStatistics[] = {sdk::SavedValue("mean", TENON_DTYPE_F32, "s"),
                                           sdk::SavedValue("inv_std", TENON_DTYPE_F32, "s")};

// A normalisation %n of %x and what follows it, read from %y.
struct FusedNorm {
  std::string name;
  std::string_view op_type;
  std::string inputs, next, result;
  int32_t priority;
  const tenon_paired_gradient* gradient;
};

// In training the new statistics are results too; in inference there are none, and nobody asks for gradients. Mixed
// precision puts a Cast before the normalisation and one behind it.
std::string PatternOf(const FusedNorm& f, bool mixed, bool training) {
  std::string next = f.next, result = f.result;
  for (std::string* text : {&next, &result})
    if (const size_t at = text->find("%y"); at != std::string::npos) text->replace(at, 2, mixed ? "%c" : "%n");
  return "pattern(%x, %s, %b, %m, %v" + f.inputs + ") { " + (mixed ? "%f = Cast(%x) {to=1} " : "") + "%n" +
         (training ? ", %nm, %nv" : "") + " = BatchNormalization(" + (mixed ? "%f" : "%x") + ", %s, %b, %m, %v) " +
         (training ? "{training_mode=1} " : "{training_mode=0} ") + (mixed ? "%c = Cast(%n) " : "") + next +
         " return " + result + (training ? ", %nm, %nv }" : " }");
}

// Texts live as long as the table that points to them.
std::string_view Kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

}  // namespace

void AddBatchNormKernels(KernelList& kernels) {
  AddOfBoth<BatchNorm>(kernels, "", "BatchNormalization", "batch_norm_bf16");
  AddOfBoth<BatchNormGrad>(kernels, "tenon", "BatchNormalizationGrad", "batch_norm_grad_bf16");
  for (const std::string_view op_type : {kRelu, kClip, kAddRelu, kMixed})
    AddOfBoth<BatchNorm>(kernels, kDomain, op_type, "batch_norm_fused_bf16");
  for (const std::string_view op_type : {kReluGrad, kClipGrad, kAddReluGrad, kMixedGrad})
    AddOfBoth<BatchNormGrad>(kernels, kDomain, op_type, "batch_norm_fused_grad_bf16");
}

void AddBatchNormFused(FusedList& fused) {
  const auto add = [&](const FusedNorm& f, bool mixed, bool training) {
    const std::string name = f.name + (mixed ? "_mixed" : "") + (training ? "" : "_inference");
    sdk::FusedBuilder builder(Kept(name), Kept(PatternOf(f, mixed, training)), kDomain, f.op_type, kDeviceKind);
    builder.Priority(f.priority);
    if (training) builder.Saved(kStatistics).Gradient(f.gradient);
    if (mixed) builder.Match<&KeepsShortFormat>();
    fused.push_back(builder);
  };
  const FusedNorm followed[] = {
      {"batch_norm_add_relu", kAddRelu, ", %z", "%a = Add(%y, %z) %r = Relu(%a)", "%r", 20, &kAddReluGradient},
      {"batch_norm_relu", kRelu, "", "%r = Relu(%y)", "%r", 10, &kReluGradient},
      {"batch_norm_clip", kClip, ", %lo?, %hi?", "%r = Clip(%y, %lo, %hi)", "%r", 10, &kClipGradient}};
  for (const FusedNorm& f : followed)
    for (const bool training : {true, false})
      for (const bool mixed : {false, true}) add(f, mixed, training);
  const FusedNorm alone{"batch_norm", kMixed, "", "", "%y", 5, &kMixedGradient};
  for (const bool training : {true, false}) add(alone, true, training);
}

}  // namespace tenon::cpu
