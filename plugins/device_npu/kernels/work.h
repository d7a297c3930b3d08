// How an operator becomes work for a queue. A file of this folder says for its operators, in one function each, whether
// the device can run a node and, if so, what the worker thread will do:
//
//   Work MakeRelu(const Request& request) {
//     request.RequireFloat(0);
//     return Map(request, [](float x) { return x > 0 ? x : 0; });
//   }
//   const bool kAdded = ...  table.push_back(Entry("", "Relu", "relu", MakeRelu));
//
// The function throws sdk::Failure with the reason when it cannot. It runs when the host asks whether the node is
// supported and again when the node is planned.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "tenon/sdk/kernel.h"

namespace tenon::npu {

// Pointers of this side to the operands of one call.
class Operands {
 public:
  Operands(sdk::Host host, uint32_t inputs) : host_(host), inputs_(inputs) {}

  bool has_in(uint32_t index) const { return index < inputs_ && pointers_[index] != nullptr; }
  bool has_out(uint32_t index) const {
    return inputs_ + index < pointers_.size() && pointers_[inputs_ + index] != nullptr;
  }
  template <class T>
  const T* in(uint32_t index) const {
    return reinterpret_cast<const T*>(pointers_[index]);
  }
  template <class T>
  T* out(uint32_t index) const {
    return reinterpret_cast<T*>(pointers_[inputs_ + index]);
  }
  template <class T>
  T* workspace() const {
    return reinterpret_cast<T*>(workspace_);
  }
  uint64_t rng_key() const { return rng_key_; }
  uint64_t rng_offset() const { return rng_offset_; }

  // body(begin, end) over [0, count) in pieces of at least grain, on the threads of the host's budget.
  template <class Body>
  void Each(int64_t count, int64_t grain, Body&& body) const {
    sdk::Error error(host_.api(), nullptr);
    const int32_t code =
        host_.ParallelFor(count, grain, 0, error, [&](int64_t begin, int64_t end, uint32_t) { body(begin, end); });
    if (code != TENON_OK) throw sdk::Failure(code, "A piece of a parallel loop failed.");
  }

 private:
  friend class NpuKernel;
  sdk::Host host_;
  uint32_t inputs_;
  std::vector<std::byte*> pointers_;  // NULL: absent
  std::byte* workspace_ = nullptr;
  uint64_t rng_key_ = 0, rng_offset_ = 0;
};

// What one call does on the worker thread. Shared by the kernel and the calls in flight.
struct Work {
  std::function<void(const Operands&)> run;  // throws sdk::Failure
  Cost cost;
  uint64_t workspace = 0;
};

// What is asked for: attributes, shapes, types, layouts and the content of constant operands. Borrowed for the call.
class Request {
 public:
  Request(const sdk::Query& query);  // NOLINT: implicit on purpose
  Request(const sdk::Attributes& attributes, std::string_view op_type, const sdk::PlanArgs& args);

  std::string_view op_type() const { return op_type_; }
  const sdk::Attributes& attributes() const { return attributes_; }
  uint32_t input_count() const { return static_cast<uint32_t>(inputs_.size()); }
  uint32_t output_count() const { return static_cast<uint32_t>(outputs_.size()); }
  bool has_input(uint32_t index) const { return index < inputs_.size() && inputs_[index].present(); }
  bool has_output(uint32_t index) const { return index < outputs_.size() && outputs_[index].present(); }
  sdk::Value input(uint32_t index) const { return inputs_[index]; }
  sdk::Value output(uint32_t index) const { return outputs_[index]; }
  // Elements that an operand occupies, padding of its layout included.
  int64_t stored(uint32_t input) const { return StoredElements(inputs_[input].layout(), inputs_[input].dims()); }

  // Content of an input of i32 or i64 that must be known now.
  std::vector<int64_t> Ints(uint32_t index) const;

  // Throw with the reason.
  void RequireFloat(uint32_t index) const;  // f32, bf16 or f16
  void RequireType(uint32_t index, uint32_t dtype) const;
  // Bytes that all operands have together.
  uint64_t bytes() const;

 private:
  const tenon_tensor& Content(uint32_t index) const;

  sdk::Attributes attributes_;
  std::string_view op_type_;
  std::vector<sdk::Value> inputs_, outputs_;
};

template <class... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  throw sdk::Failure(TENON_UNIMPLEMENTED, parts...);
}

using MakeFn = Work (*)(const Request&);
// Emits the layouts on offer; NULL: strided.
using LayoutsFn = void (*)(const Request&, sdk::LayoutEmitter&);

// One operator.
struct Entry {
  std::string_view domain, op_type, name;
  MakeFn make = nullptr;
  LayoutsFn layouts = nullptr;
  uint64_t traits = 0;  // beyond pure and deterministic
  uint32_t min_version = 1, max_version = 0;
};
using EntryList = std::vector<Entry>;

// The one kernel class: an entry, planned.
class NpuKernel : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason);
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter);
  int32_t Create(const sdk::Query& query, sdk::Error& error);
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error);
  int32_t Execute(const sdk::Call& call, sdk::Error& error);

 private:
  // An attribute that outlives the query.
  struct Attribute;
  int32_t Resolve(const sdk::Tensor& tensor, Memory& memory, std::byte*& out, sdk::Error& error) const;

  const Entry* entry_ = nullptr;
  std::shared_ptr<std::vector<Attribute>> owned_;  // behind attributes_
  std::vector<tenon_attribute> attributes_;
  std::shared_ptr<const Work> work_;
};

// Files of this folder add their entries through these.
void AddElementwise(EntryList& entries);
void AddElementwiseGradients(EntryList& entries);
void AddBroadcasting(EntryList& entries);
void AddMovement(EntryList& entries);
void AddReductions(EntryList& entries);
void AddProducts(EntryList& entries);
void AddConvolutions(EntryList& entries);
void AddPooling(EntryList& entries);
void AddNormalisations(EntryList& entries);
void AddSoftmax(EntryList& entries);
void AddLosses(EntryList& entries);
void AddAttention(EntryList& entries);
void AddGather(EntryList& entries);
void AddDropout(EntryList& entries);
void AddOptimizers(EntryList& entries);

}  // namespace tenon::npu
