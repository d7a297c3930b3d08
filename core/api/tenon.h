// Tenon inside your own program: plugins and a device, tensors, operators with gradients, networks from YAML.
//
//   #include "tenon/tenon.h"
//   namespace tn = tenon::api;
//
//   tn::Runtime runtime;                                        // the CPU, with the plugins beside libtenon.so
//   tn::Tensor w = tn::Tensor::Of<float>(runtime, {2}, {2, 3}).RequireGradient();
//   tn::Tensor loss = tn::ops::ReduceSum(tn::ops::Mul(w, w));
//   std::vector<float> slope = tn::Gradients(loss, {w})[0].Values<float>();   // 4, 6
//
// C++17; link libtenon.so. A failure throws tenon::api::Error, whose text is for people: what is wrong, both values,
// and "While ..." lines that walk outward. Nothing else is thrown but std::bad_alloc. One thread at a time uses a
// runtime with its tensors and networks; different runtimes are independent.
#ifndef TENON_TENON_H_
#define TENON_TENON_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#define TENON_API __attribute__((visibility("default")))

struct DLManagedTensorVersioned;  // of DLPack 1.x, dlpack.h

namespace tenon::api {

// "0.1.0", of the library that is loaded.
TENON_API const char* Version();

class TENON_API Error : public std::runtime_error {
 public:
  // The numbers are fixed; these are the ones worth telling apart.
  enum Code {
    kInvalidArgument = 3,  // can never work: fix the call, the file or the network
    kNotFound = 5,
    kResourceExhausted = 8,   // memory or disk is full
    kFailedPrecondition = 9,  // right call, wrong state
    kOutOfRange = 11,         // a value, such as a loss that is not finite
    kInternal = 13,           // a bug in Tenon or in a plugin
    kUnavailable = 14,        // a plugin or device is not there
    kDataLoss = 15            // a file is damaged
  };
  Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ~Error() override;
  int code() const { return code_; }

 private:
  int code_;
};

// ---- types

// Element types, numbered as in ONNX.
enum class DType : std::uint32_t {
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kBF16 = 16
};
TENON_API const char* NameOf(DType dtype);   // "float32"
TENON_API std::int64_t SizeOf(DType dtype);  // bytes of an element

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::kU64;
};

using Shape = std::vector<std::int64_t>;  // empty: a scalar; at most 8 dims

// Attributes of an operator, named and typed as ONNX has them: {{"group", 2}, {"pads", {1, 1, 1, 1}}}.
using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                    std::vector<std::string>>;
struct Attribute {
  Attribute(std::string key, int number) : name(std::move(key)), value(std::int64_t{number}) {}
  Attribute(std::string key, std::int64_t number) : name(std::move(key)), value(number) {}
  Attribute(std::string key, double number) : name(std::move(key)), value(number) {}
  Attribute(std::string key, const char* text) : name(std::move(key)), value(std::string(text)) {}
  Attribute(std::string key, std::string text) : name(std::move(key)), value(std::move(text)) {}
  Attribute(std::string key, std::vector<std::int64_t> numbers) : name(std::move(key)), value(std::move(numbers)) {}
  Attribute(std::string key, std::initializer_list<std::int64_t> numbers)
      : name(std::move(key)), value(std::vector<std::int64_t>(numbers)) {}
  Attribute(std::string key, std::vector<double> numbers) : name(std::move(key)), value(std::move(numbers)) {}
  Attribute(std::string key, std::vector<std::string> texts) : name(std::move(key)), value(std::move(texts)) {}
  std::string name;
  AttributeValue value;
};
using Attributes = std::vector<Attribute>;

// ---- runtime

struct RuntimeOptions {
  std::string config;  // a run file whose plugins, device, threads, math and fallback count; empty: those below
  std::vector<std::string> plugins;  // to open: names, or paths if they have a slash
  std::vector<std::string> folders;  // searched for plugins, besides <folder of libtenon.so>/tenon/plugins
  std::string device = "cpu";        // kind, or kind:index
  int threads = 1;                   // compute threads; 0: all cores
  std::uint64_t seed = 1;            // of random operators
};

// Plugins and one open device. Tensors and networks may outlive it: it goes with the last of them.
class TENON_API Runtime {
 public:
  Runtime() : Runtime(RuntimeOptions()) {}
  explicit Runtime(const RuntimeOptions& options);
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  std::string device() const;                // "cpu:0"
  std::vector<std::string> plugins() const;  // ids of the plugins in use
  int threads() const;

  // How often operators found their plan ready, and how often one was made.
  struct PlanCounts {
    std::int64_t hits, misses, evictions;
  };
  PlanCounts plan_counts() const;

  struct Core;
  const std::shared_ptr<Core>& core() const { return core_; }

 private:
  std::shared_ptr<Core> core_;
};

// ---- tensors

// A tensor on a runtime's device. Copies share the memory, which no operator changes. Empty by default.
class TENON_API Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Tensor() {
    if (value_ != nullptr) Release();
  }

  // A copy of row-major values in host memory.
  static Tensor FromHost(const Runtime& runtime, DType dtype, const Shape& shape, const void* values);
  template <class T>
  static Tensor Of(const Runtime& runtime, const Shape& shape, const std::vector<T>& values) {
    return OfCounted(runtime, DTypeOf<T>::value, shape, values.data(), values.size());
  }
  // numpy's .npy.
  static Tensor LoadNpy(const Runtime& runtime, const std::string& path);
  void SaveNpy(const std::string& path) const;
  // DLPack 1.x, host memory. FromDLPack takes `tensor` over, also when it throws, and copies nothing where the device
  // reads host memory and the values are row-major and aligned to 64 bytes. ToDLPack gives a read-only view (a copy
  // where the host cannot reach the device's memory); its deleter runs in the thread of this runtime.
  static Tensor FromDLPack(const Runtime& runtime, DLManagedTensorVersioned* tensor);
  DLManagedTensorVersioned* ToDLPack() const;

  explicit operator bool() const { return value_ != nullptr; }
  DType dtype() const;
  Shape shape() const;
  std::int64_t elements() const;
  std::int64_t bytes() const;
  // Row-major values; `bytes` must be bytes().
  void CopyTo(void* target, std::int64_t bytes) const;
  template <class T>
  std::vector<T> Values() const {
    std::vector<T> values(static_cast<std::size_t>(ElementsOf(DTypeOf<T>::value)));
    CopyTo(values.data(), bytes());
    return values;
  }

  // The same values as the start of a tape: what is computed from them is recorded, for Gradients.
  Tensor RequireGradient() const;
  // The same values without the tape that led to them.
  Tensor Detached() const;
  bool requires_gradient() const;

  struct Access;  // of the library

 private:
  static Tensor OfCounted(const Runtime& runtime, DType dtype, const Shape& shape, const void* values,
                          std::size_t count);
  std::int64_t ElementsOf(DType dtype) const;  // throws for another dtype
  void Release();
  void* value_ = nullptr;
};

// ---- operators

// Applies an operator by its ONNX name ("Conv"), or "tenon.SGD"; empty tensors are absent optional inputs.
TENON_API Tensor Op(std::string_view name, const std::vector<Tensor>& inputs, const Attributes& attributes = {});
// The form for several outputs; optional ones in between are made too.
TENON_API std::vector<Tensor> Op(std::string_view name, const std::vector<Tensor>& inputs, const Attributes& attributes,
                                 int outputs);

struct GradientOptions {
  bool retain = false;  // what was recorded can be used again
  bool record = false;  // record the gradients' own operators: second derivatives
};
// d loss / d target for each target, empty where none flows. `loss` has one floating-point element.
TENON_API std::vector<Tensor> Gradients(const Tensor& loss, const std::vector<Tensor>& targets,
                                        const GradientOptions& options = {});

// While one lives, nothing of its runtime is recorded.
class TENON_API NoRecording {
 public:
  explicit NoRecording(const Runtime& runtime);
  ~NoRecording();
  NoRecording(const NoRecording&) = delete;
  NoRecording& operator=(const NoRecording&) = delete;

 private:
  std::shared_ptr<Runtime::Core> core_;
  bool before_;
};

// The usual ones by name; attributes as in ONNX. All others through Op.
namespace ops {
TENON_API Tensor Add(const Tensor& a, const Tensor& b);
TENON_API Tensor Sub(const Tensor& a, const Tensor& b);
TENON_API Tensor Mul(const Tensor& a, const Tensor& b);
TENON_API Tensor Div(const Tensor& a, const Tensor& b);
TENON_API Tensor MatMul(const Tensor& a, const Tensor& b);
TENON_API Tensor Neg(const Tensor& x);
TENON_API Tensor Exp(const Tensor& x);
TENON_API Tensor Log(const Tensor& x);
TENON_API Tensor Sqrt(const Tensor& x);
TENON_API Tensor Relu(const Tensor& x);
TENON_API Tensor Sigmoid(const Tensor& x);
TENON_API Tensor Tanh(const Tensor& x);
inline Tensor Softmax(const Tensor& x, std::int64_t axis = -1) { return Op("Softmax", {x}, {{"axis", axis}}); }
inline Tensor Gemm(const Tensor& a, const Tensor& b, const Tensor& c = {}, const Attributes& attributes = {}) {
  return Op("Gemm", {a, b, c}, attributes);
}
inline Tensor Conv(const Tensor& x, const Tensor& w, const Tensor& b = {}, const Attributes& attributes = {}) {
  return Op("Conv", {x, w, b}, attributes);
}
inline Tensor MaxPool(const Tensor& x, const Attributes& attributes) { return Op("MaxPool", {x}, attributes); }
inline Tensor AveragePool(const Tensor& x, const Attributes& attributes) { return Op("AveragePool", {x}, attributes); }
inline Tensor Flatten(const Tensor& x, std::int64_t axis = 1) { return Op("Flatten", {x}, {{"axis", axis}}); }
inline Tensor Transpose(const Tensor& x, const std::vector<std::int64_t>& perm) {
  return Op("Transpose", {x}, {{"perm", perm}});
}
// Over all elements: a scalar.
inline Tensor ReduceSum(const Tensor& x) { return Op("ReduceSum", {x}, {{"keepdims", 0}}); }
inline Tensor ReduceMean(const Tensor& x) { return Op("ReduceMean", {x}, {{"keepdims", 0}}); }
// Mean over the batch; `labels` are int64 classes.
inline Tensor SoftmaxCrossEntropyLoss(const Tensor& scores, const Tensor& labels) {
  return Op("SoftmaxCrossEntropyLoss", {scores, labels}, {{"reduction", "mean"}});
}
}  // namespace ops

// ---- networks

// A network that a YAML file describes, with its loss and optimiser. All that says what a step computes counts: network,
// init_from, loss, optimizer, amp, mode, seed and passes, of train clip_norm, clip_value, freeze, ema and recompute, of data
// how long lines can be. math: high needs a runtime made with the same file (RuntimeOptions::config). The loop is the
// program's: a schedule is an error unless TrainStep gets the learning rate, train.accumulate above 1 is one too, and keys
// of data, epochs, evaluation, parallel, checkpoints and logs are checked and not used. Made of compiled programs (mode:
// graph) or of operators run one by one (mode: pynative). Shapes come from the first batch.
class TENON_API Network {
 public:
  static Network FromFile(const Runtime& runtime, const std::string& path,
                          const std::vector<std::string>& overrides = {});
  // The text of such a file: "network: {layers: [{linear: {out: 10}}]}\noptimizer: {type: sgd, lr: 0.1}".
  static Network FromText(const Runtime& runtime, const std::string& yaml);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  // Inference: the output for a batch [n, ...].
  Tensor Run(const Tensor& samples);
  // Forward, backward and update; the loss before the update. A negative learning rate: optimizer.lr. `labels` are int64
  // classes [n] for softmax_cross_entropy, float32 values for mse.
  double TrainStep(const Tensor& samples, const Tensor& labels, double learning_rate = -1);
  std::int64_t steps() const;  // done so far

  // Names of parameters and running statistics, and their values; after the first batch or Load.
  std::vector<std::string> ParameterNames() const;
  Tensor Parameter(const std::string& name) const;
  void SetParameter(const std::string& name, const Tensor& value);
  // A checkpoint (.ckpt or .safetensors) with the optimiser's state. Load before the first batch needs the shape of a
  // sample: Prepare.
  void Save(const std::string& path) const;
  void Load(const std::string& path);
  // Makes the parameters for samples of this dtype and shape (without the batch).
  void Prepare(DType dtype, const Shape& sample);

 private:
  struct Impl;
  explicit Network(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::api

#endif  // TENON_TENON_H_
