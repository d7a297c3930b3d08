// What the parts of the embedding interface share. Not installed.
#pragma once

#include "core/api/tenon.h"
#include "core/base/status.h"
#include "core/exec/eager.h"
#include "core/exec/runtime.h"

namespace tenon::api {

[[noreturn]] void Throw(const Status& status);

inline void Check(const Status& status) {
  if (!status.ok()) [[unlikely]]
    Throw(status);
}
template <class T>
T Value(Result<T> result) {
  if (!result.ok()) [[unlikely]]
    Throw(result.status());
  return std::move(result).value();
}

struct Runtime::Core {
  std::unique_ptr<exec::Runtime> runtime;
  std::unique_ptr<exec::EagerEngine> engine;
  std::uint64_t seed = 1;
  bool math_high = false;  // of the run file that RuntimeOptions names
  std::uint64_t random_calls = 0;
  static constexpr int kShortcuts = 16;
  exec::EagerOp* shortcuts[kShortcuts] = {};  // of ops::Add and the like

  ~Core() {
    engine.reset();
    runtime.reset();
  }
  static Core* Of(exec::EagerEngine* engine);
};

// A tensor of the interface is a handle of the eager engine, held as its address.
struct Tensor::Access {
  static Tensor Wrap(exec::EagerTensor tensor) {
    Tensor made;
    made.value_ = tensor.Detach();
    return made;
  }
  static exec::EagerValue* ValueOf(const Tensor& tensor) { return static_cast<exec::EagerValue*>(tensor.value_); }
  static exec::EagerTensor Handle(const Tensor& tensor) {
    return tensor.value_ == nullptr ? exec::EagerTensor() : exec::EagerTensor(ValueOf(tensor));
  }
  static exec::EagerEngine& EngineOf(const Tensor& tensor) { return *ValueOf(tensor)->block->engine; }
  // Throws for an empty tensor.
  static const exec::EagerValue& Required(const Tensor& tensor);
};

tenon::Tensor HostView(DType dtype, const tenon::Shape& shape, const void* values);
tenon::Shape ToShape(const Shape& shape);

}  // namespace tenon::api
