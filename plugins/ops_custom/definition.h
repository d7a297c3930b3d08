// What the definition of an operator is written with: checks of its shape rule, the base of its kernels, the choice of
// the loops that were compiled for this processor.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/ops_custom/types.h"
#include "tenon/sdk/sdk.h"

namespace tenon::ops {

namespace sdk = tenon::sdk;

constexpr char kDomain[] = "org.tenon.custom";
constexpr char kDeviceKind[] = "cpu";

constexpr uint32_t kF32[] = {TENON_DTYPE_F32};
constexpr uint32_t kI64[] = {TENON_DTYPE_I64};
constexpr uint32_t kF32OrBf16[] = {TENON_DTYPE_F32, TENON_DTYPE_BF16};

// ---- instruction sets ----

enum class Isa { kSse2, kAvx2, kAvx512 };

class CustomOps : public sdk::Plugin {
 public:
  int32_t Start(const tenon_create_args& args, sdk::Error& error) override;
  Isa isa() const { return isa_; }

 private:
  Isa isa_ = Isa::kSse2;
};

// The loops `name` of all instruction sets, of type Loops, and a function of the same name that chooses.
#define TENON_OPS_LOOPS(Loops, name)                    \
  namespace tenon::ops {                                \
  namespace sse2 {                                      \
  extern const Loops name;                              \
  }                                                     \
  namespace avx2 {                                      \
  extern const Loops name;                              \
  }                                                     \
  namespace avx512 {                                    \
  extern const Loops name;                              \
  }                                                     \
  static const Loops& name(Isa isa) {                   \
    if (isa == Isa::kAvx512) return avx512::name;       \
    return isa == Isa::kAvx2 ? avx2::name : sse2::name; \
  }                                                     \
  }                                                     \
  static_assert(true)

// ---- kernels ----

template <class T>
constexpr uint32_t kDType = TENON_DTYPE_F32;
template <>
constexpr uint32_t kDType<Bf16> = TENON_DTYPE_BF16;

class CustomKernel : public sdk::Kernel {
 public:
  Isa isa() const { return plugin_as<CustomOps>().isa(); }

 protected:
  // To be called by Plan: calls then keep to the budget that their workspace was sized for.
  void SetThreads(const sdk::PlanArgs& args) {
    threads_ = args.threads() > 0 ? args.threads() : host().ThreadBudget();
    if (threads_ < 1) threads_ = 1;
  }
  uint32_t threads() const { return threads_; }

  // body(range, worker) over [0, count), each unit taking about so many nanoseconds; short work stays on this thread.
  template <class Body>
  int32_t ForEach(sdk::Error& error, int64_t count, double nanoseconds, const Body& body) const {
    constexpr double kWorthAThread = 15000;
    if (threads_ == 1 || count <= 1 || static_cast<double>(count) * nanoseconds < 2 * kWorthAThread) {
      body(Range{0, count}, uint32_t{0});
      return TENON_OK;
    }
    const int64_t grain = static_cast<int64_t>(kWorthAThread / (nanoseconds + 1e-3)) + 1;
    return host().ParallelFor(count, grain, threads_, error, [&body](int64_t begin, int64_t end, uint32_t worker) {
      body(Range{begin, end}, worker);
    });
  }

 private:
  uint32_t threads_ = 1;
};

template <class T>
bool IsOf(const sdk::Query& query, uint32_t input, sdk::Reason& reason) {
  const uint32_t dtype = query.input(input).dtype();
  return dtype == kDType<T> || reason.No("Input ", input, " is ", sdk::DTypeName(dtype), "; this kernel takes ",
                                         sdk::DTypeName(kDType<T>), ".");
}

// ---- shape rules ----

inline void RequireRank(const sdk::Infer& node, uint32_t input, std::string_view name, int32_t rank) {
  const int32_t found = node.InputRank(input);
  if (found != rank) node.Fail(TENON_INVALID_ARGUMENT, name, " has rank ", found, "; rank ", rank, " is needed.");
}
// Both inputs have one shape; the host's message adds the dims that differ.
inline void RequireSameShape(const sdk::Infer& node, uint32_t a, uint32_t b, std::string_view name_a,
                             std::string_view name_b) {
  const int32_t rank = node.InputRank(a);
  if (node.InputRank(b) != rank)
    node.Fail(TENON_INVALID_ARGUMENT, name_b, " has rank ", node.InputRank(b), ", and ", name_a, " rank ", rank, ".");
  for (int32_t axis = 0; axis < rank; ++axis) {
    const sdk::TextBuffer text(name_a, " and ", name_b, " need the same size on axis ", axis, ".");
    node.RequireEqual(node.InputDim(a, axis), node.InputDim(b, axis), text.View());
  }
}
inline std::string_view TextOf(const sdk::Infer& node, std::string_view name, std::string_view fallback) {
  const tenon_attribute* found = node.Attribute(name);
  return found == nullptr ? fallback : sdk::Text(found->text);
}
constexpr tenon_attribute TextDefault(std::string_view value) {
  tenon_attribute attribute = TENON_INIT(tenon_attribute);
  attribute.kind = TENON_ATTRIBUTE_TEXT;
  attribute.text = sdk::Str(value);
  return attribute;
}

// ---- losses ----

enum class Reduction { kNone, kSum, kMean };
constexpr tenon_attribute kReductionMean = TextDefault("mean"), kReductionNone = TextDefault("none");

// Throws Failure for another word.
inline Reduction ReductionOf(std::string_view word) {
  if (word == "none") return Reduction::kNone;
  if (word == "sum") return Reduction::kSum;
  if (word == "mean") return Reduction::kMean;
  throw sdk::Failure(TENON_INVALID_ARGUMENT, "Attribute reduction is '", word, "'; it can be none, sum or mean.");
}

// ---- the library ----

// What a file adds to.
struct Library {
  std::vector<tenon_operator_def> operators;
  std::vector<tenon_kernel_def> kernels;

  template <class Kernel>
  void AddKernel(std::string_view op_type, std::string_view name) {
    kernels.push_back(
        sdk::MakeKernel<Kernel>(kDomain, op_type, kDeviceKind, name,
                                {0, TENON_TRAIT_PURE | TENON_TRAIT_DETERMINISTIC | TENON_TRAIT_EMPTY_SAFE}));
  }
};

void AddAttention(Library& library);
void AddCtcLoss(Library& library);
void AddDeformConv(Library& library);
void AddEmbeddingBag(Library& library);
void AddFocalLoss(Library& library);
void AddRotaryEmbedding(Library& library);
void AddSoftmaxCrossEntropy(Library& library);
void AddSwiGlu(Library& library);

}  // namespace tenon::ops
