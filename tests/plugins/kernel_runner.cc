// Sends every case of the operator tests that CMakeLists.txt lists through the kernels of a plugin as well: the first kernel
// that supports the call, with each layout signature that it offers, and one that works in any layout in a layout of the
// device; each again with an output in the memory of an input, where definition and kernel allow it. A call that no kernel
// takes is answered by the reference.
//   TENON_KERNEL_PLUGIN   the plugin file
//   TENON_KERNEL_DEVICE   its kind of device
//   TENON_KERNEL_LAYOUT   a layout of the device, by name; default none
//   TENON_KERNEL_OPTIONS  options of the plugin, key=value
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/plugins/small_host.h"
#include "tests/support/op_runner.h"

namespace tenon::testing {
namespace {

namespace sdk = tenon::sdk;

std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

SmallHost& TheHost() {
  static SmallHost host(Setting("TENON_KERNEL_PLUGIN"), Setting("TENON_KERNEL_OPTIONS"));
  return host;
}

// Attributes as records of the ABI.
class AttributeRecords {
 public:
  explicit AttributeRecords(const Attributes& attrs) {
    for (const auto& item : attrs.items()) {
      tenon_attribute record = TENON_INIT(tenon_attribute);
      record.name = sdk::Str(item.first);
      if (const auto* i = std::get_if<std::int64_t>(&item.second))
        record.kind = TENON_ATTRIBUTE_INT, record.i64 = *i;
      else if (const auto* f = std::get_if<double>(&item.second))
        record.kind = TENON_ATTRIBUTE_FLOAT, record.f64 = *f;
      else if (const auto* t = std::get_if<std::string>(&item.second))
        record.kind = TENON_ATTRIBUTE_TEXT, record.text = sdk::Str(*t);
      else if (const auto* n = std::get_if<std::vector<std::int64_t>>(&item.second))
        record.kind = TENON_ATTRIBUTE_INTS, record.ints = n->data(), record.count = n->size();
      else
        continue;
      records_.push_back(record);
    }
  }
  const std::vector<tenon_attribute>& records() const { return records_; }

 private:
  std::vector<tenon_attribute> records_;
};

struct Signature {
  std::vector<uint32_t> inputs, outputs;
};

// An output in the memory of an input.
struct InPlace {
  size_t output, input;
};

// Memory of one operand in some layout, on the device.
struct Operand {
  DType dtype{};
  Shape shape;
  uint32_t layout = 0;
  DeviceMemory memory;
  tenon_tensor View() const {
    tenon_tensor view = TENON_INIT(tenon_tensor);
    if (TheHost().host_memory()) view.flags = TENON_TENSOR_HOST_ACCESSIBLE;
    view.address = memory.address();
    view.dtype = static_cast<uint32_t>(dtype);
    view.rank = static_cast<uint32_t>(shape.rank());
    view.dims = shape.dims().data();
    view.layout = layout;
    return view;
  }
};

Operand MakeOperand(DType dtype, const Shape& shape, uint32_t layout) {
  tenon_layout_info info = TENON_INIT(tenon_layout_info);
  SmallHost& host = TheHost();
  EXPECT_EQ(host.devices().layout_info(host.device(), layout, static_cast<uint32_t>(dtype),
                                       static_cast<uint32_t>(shape.rank()), shape.dims().data(), &info, host.sink()),
            TENON_OK)
      << host.last_error();
  return {dtype, shape, layout, DeviceMemory(host, info.bytes)};
}

tenon_value_desc Describe(DType dtype, const Shape& shape, uint32_t layout) {
  tenon_value_desc desc = TENON_INIT(tenon_value_desc);
  desc.dtype = static_cast<uint32_t>(dtype);
  desc.rank = static_cast<uint32_t>(shape.rank());
  desc.dims = shape.dims().data();
  desc.layout = layout;
  return desc;
}
tenon_value_desc Absent() {
  tenon_value_desc desc = TENON_INIT(tenon_value_desc);
  desc.flags = TENON_TENSOR_ABSENT;
  return desc;
}

// One call through one kernel with one signature.
class KernelRun {
 public:
  KernelRun(const OpCall& call, const CheckedCall& checked, const tenon_kernel_def& def)
      : call_(call), checked_(checked), def_(def), attributes_(checked.attrs) {
    for (const ValueType& type : checked.outputs) shapes_.push_back(type.shape.Concrete());
    Describe({});
  }

  bool Supported() {
    uint32_t verdict = 0;
    tenon_reason_sink sink = TENON_INIT(tenon_reason_sink);
    def_.vtable->supports(TheHost().plugin(), &def_, &query_, &verdict, &sink);
    return verdict == TENON_VERDICT_YES;
  }

  std::vector<Signature> Signatures() {
    std::vector<Signature> found;
    tenon_layout_sink sink = TENON_INIT(tenon_layout_sink);
    sink.user = &found;
    sink.emit = [](void* user, const tenon_layout_signature* s) {
      static_cast<std::vector<Signature>*>(user)->push_back(
          {{s->inputs, s->inputs + s->input_count}, {s->outputs, s->outputs + s->output_count}});
      return static_cast<int32_t>(TENON_OK);
    };
    if (def_.vtable->query_layouts != nullptr) {
      EXPECT_EQ(def_.vtable->query_layouts(TheHost().plugin(), &def_, &query_, &sink, TheHost().sink()), TENON_OK)
          << TheHost().last_error();
    }
    if (found.empty()) found.push_back({});
    if ((def_.traits & TENON_TRAIT_LAYOUT_BLIND) != 0) AddBlind(found);
    return found;
  }

  // After a run: the pairs that it could have taken.
  const std::vector<InPlace>& in_place() const { return in_place_; }

  Result<std::vector<Tensor>> Run(const Signature& signature, const std::optional<InPlace>& over = {}) {
    SmallHost& host = TheHost();
    Describe(signature);
    tenon_kernel* kernel = nullptr;
    const auto failure = [&](const char* stage) {
      if (kernel != nullptr) def_.vtable->destroy(kernel);
      return InvalidArgument("{}", host.last_error().empty() ? stage : host.last_error());
    };
    if (def_.vtable->create(host.plugin(), &def_, &query_, &kernel, host.sink()) != TENON_OK)
      return failure("create failed");
    tenon_plan_result plan = TENON_INIT(tenon_plan_result);
    tenon_plan_args args = TENON_INIT(tenon_plan_args);
    args.inputs = inputs_.data(), args.input_count = static_cast<uint32_t>(inputs_.size()),
    args.input_stride = sizeof(tenon_value_desc);
    args.outputs = outputs_.data(), args.output_count = static_cast<uint32_t>(outputs_.size()),
    args.output_stride = sizeof(tenon_value_desc);
    args.thread_budget = 2;
    if (def_.vtable->plan != nullptr && def_.vtable->plan(kernel, &args, &plan, host.sink()) != TENON_OK)
      return failure("plan failed");
    std::vector<Operand> in(call_.inputs.size()), out(shapes_.size());
    std::vector<tenon_tensor> in_views, out_views;
    for (size_t i = 0; i < in.size(); ++i) {
      tenon_tensor view = TENON_INIT(tenon_tensor);
      view.flags = TENON_TENSOR_ABSENT;
      if (call_.inputs[i].defined()) {
        in[i] = Put(call_.inputs[i], inputs_[i].layout);
        view = in[i].View();
      }
      in_views.push_back(view);
    }
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = MakeOperand(checked_.outputs[i].dtype, shapes_[i], outputs_[i].layout);
    if (over) {
      out[over->output].memory = std::move(in[over->input].memory);
    } else {
      FindInPlace(plan, in, out);
    }
    for (const Operand& operand : out) out_views.push_back(operand.View());
    const DeviceMemory workspace(host, plan.workspace_bytes);
    tenon_kernel_call record = TENON_INIT(tenon_kernel_call);
    record.inputs = in_views.data(), record.input_count = static_cast<uint32_t>(in.size()),
    record.input_stride = sizeof(tenon_tensor);
    record.outputs = out_views.data(), record.output_count = static_cast<uint32_t>(out.size()),
    record.output_stride = sizeof(tenon_tensor);
    record.stream = host.stream();
    record.rng_key = call_.random.key;
    record.rng_offset = call_.random.offset;
    record.workspace = workspace.address();
    record.workspace_bytes = plan.workspace_bytes;
    record.thread_budget = 2;
    if (def_.vtable->execute(kernel, &record, host.sink()) != TENON_OK) return failure("execute failed");
    def_.vtable->destroy(kernel);  // what it enqueued still runs
    kernel = nullptr;
    if (!host.Finish()) return failure("the work failed");
    std::vector<Tensor> results;
    for (size_t i = 0; i < out.size(); ++i) results.push_back(Get(out[i]));
    return results;
  }

 private:
  // Those of the definition and of the kernel's plan whose sizes agree.
  void FindInPlace(const tenon_plan_result& plan, const std::vector<Operand>& in, const std::vector<Operand>& out) {
    in_place_.clear();
    const auto add = [&](size_t output, size_t input) {
      const bool fits = output < out.size() && input < in.size() && call_.inputs[input].defined();
      if (fits && in[input].memory.bytes() == out[output].memory.bytes()) in_place_.push_back({output, input});
    };
    for (const OpDef::InPlacePair& pair : checked_.def->in_place())
      add(static_cast<size_t>(pair.output), static_cast<size_t>(pair.input));
    for (uint64_t i = 0; i < plan.alias_count; ++i) add(plan.aliases[i].output, plan.aliases[i].input);
  }

  // All operands of rank 2 and more in the layout of the device, when they have one shape or belong to lists.
  void AddBlind(std::vector<Signature>& found) {
    const uint32_t layout = TheHost().FindLayout(Setting("TENON_KERNEL_LAYOUT"));
    if (layout == TENON_LAYOUT_STRIDED) return;
    Signature signature;
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const bool list = checked_.def->updates_first_input() >= 0;
      if (!list && call_.inputs[i].defined() && !(call_.inputs[i].shape() == call_.inputs[0].shape())) return;
      signature.inputs.push_back(call_.inputs[i].defined() && in_shapes_[i].rank() >= 2 ? layout : 0);
    }
    for (const Shape& shape : shapes_) signature.outputs.push_back(shape.rank() >= 2 ? layout : 0);
    found.push_back(signature);
  }

  void Describe(const Signature& s) {
    inputs_.clear(), outputs_.clear();
    in_shapes_.resize(call_.inputs.size());
    contents_.resize(call_.inputs.size());
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const Tensor& t = call_.inputs[i];
      if (t.defined()) in_shapes_[i] = t.shape();
      inputs_.push_back(t.defined() ? testing::Describe(t.dtype(), in_shapes_[i], i < s.inputs.size() ? s.inputs[i] : 0)
                                    : Absent());
      // Integers are shapes, axes and the like, which graphs mostly know.
      if (!t.defined() || t.dtype() != DType::kI64) continue;
      contents_[i] = TENON_INIT(tenon_tensor);
      contents_[i].flags = TENON_TENSOR_HOST_ACCESSIBLE;
      contents_[i].address = reinterpret_cast<std::uintptr_t>(t.raw());
      contents_[i].dtype = static_cast<uint32_t>(t.dtype());
      contents_[i].rank = static_cast<uint32_t>(t.shape().rank());
      contents_[i].dims = in_shapes_[i].dims().data();
      inputs_.back().flags |= TENON_TENSOR_CONSTANT;
      inputs_.back().constant = &contents_[i];
    }
    for (size_t i = 0; i < shapes_.size(); ++i)
      outputs_.push_back(
          testing::Describe(checked_.outputs[i].dtype, shapes_[i], i < s.outputs.size() ? s.outputs[i] : 0));
    query_ = TENON_INIT(tenon_kernel_query);
    query_.domain = sdk::Str(call_.domain);
    query_.op_type = sdk::Str(call_.op);
    query_.version = static_cast<uint32_t>(checked_.def->since());
    query_.thread_budget = 2;
    query_.attributes = attributes_.records().data();
    query_.attribute_count = static_cast<uint32_t>(attributes_.records().size());
    query_.attribute_stride = sizeof(tenon_attribute);
    query_.inputs = inputs_.data(), query_.input_count = static_cast<uint32_t>(inputs_.size()),
    query_.input_stride = sizeof(tenon_value_desc);
    query_.outputs = outputs_.data(), query_.output_count = static_cast<uint32_t>(outputs_.size()),
    query_.output_stride = sizeof(tenon_value_desc);
    query_.device_kind = sdk::Str(TheHost().kind());
    query_.device = TheHost().device();
  }

  static Operand Put(const Tensor& tensor, uint32_t layout) {
    Operand plain = MakeOperand(tensor.dtype(), tensor.shape(), 0);
    plain.memory.Write(tensor.raw(), static_cast<uint64_t>(tensor.bytes()));
    return layout == 0 ? std::move(plain) : Convert(plain, layout);
  }
  static Tensor Get(const Operand& operand) {
    if (operand.layout != 0) return Get(Convert(operand, 0));
    Tensor tensor(operand.dtype, operand.shape);
    operand.memory.Read(tensor.raw(), static_cast<uint64_t>(tensor.bytes()));
    return tensor;
  }
  static Operand Convert(const Operand& from, uint32_t layout) {
    Operand to = MakeOperand(from.dtype, from.shape, layout);
    const tenon_tensor source = from.View(), target = to.View();
    SmallHost& host = TheHost();
    EXPECT_EQ(host.devices().reorder(host.device(), &source, &target, nullptr, host.sink()), TENON_OK)
        << host.last_error();
    return to;
  }

  const OpCall& call_;
  const CheckedCall& checked_;
  const tenon_kernel_def& def_;
  AttributeRecords attributes_;
  std::vector<Shape> in_shapes_, shapes_;
  std::vector<tenon_tensor> contents_;
  std::vector<tenon_value_desc> inputs_, outputs_;
  std::vector<InPlace> in_place_;
  tenon_kernel_query query_{};
};

bool Empty(const OpCall& call) {
  for (const Tensor& t : call.inputs)
    if (t.defined() && t.elements() == 0) return true;
  return false;
}

// Layouts may change the order of sums, nothing else.
void ExpectSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != DType::kF32) {
      EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), static_cast<size_t>(a[i].bytes())), 0) << what << " output " << i;
      continue;
    }
    for (std::int64_t k = 0; k < a[i].elements(); ++k) {
      const double x = a[i].data<float>()[k], y = b[i].data<float>()[k];
      if (std::isnan(x) && std::isnan(y)) continue;
      if (std::isinf(x) && x == y) continue;
      EXPECT_NEAR(x, y, 2e-5 * (1 + std::abs(x))) << what << " output " << i << " element " << k;
    }
  }
}

std::map<std::string, int>& Counts() {
  static std::map<std::string, int> counts;
  return counts;
}

Result<std::vector<Tensor>> RunOnDevice(const OpCall& call) {
  if (Empty(call)) return RunReference(call);  // the host skips calls without elements
  TENON_ASSIGN(const CheckedCall checked, CheckCall(call));
  const tenon_kernel_def* first = nullptr;
  uint64_t count = 0, stride = 0;
  SmallHost& host = TheHost();
  host.ops().list_kernels(host.plugin(), &first, &count, &stride, host.sink());
  for (uint64_t i = 0; i < count; ++i) {
    const tenon_kernel_def& def = sdk::AtStride(first, stride, i);
    if (sdk::Text(def.domain) != call.domain || sdk::Text(def.op_type) != call.op) continue;
    const auto version = static_cast<uint32_t>(checked.def->since());
    if (version < def.min_version || (def.max_version != 0 && version > def.max_version)) continue;
    KernelRun run(call, checked, def);
    if (!run.Supported()) continue;
    std::vector<Tensor> kept;
    for (const Signature& signature : run.Signatures()) {
      auto result = run.Run(signature);
      if (!result.ok()) return result;
      ++Counts()[call.op];
      for (const InPlace& pair : std::vector<InPlace>(run.in_place())) {
        auto again = run.Run(signature, pair);
        if (!again.ok()) return again;
        ExpectSame(*result, *again, call.op + " over input " + std::to_string(pair.input));
      }
      if (kept.empty())
        kept = std::move(result).value();
      else
        ExpectSame(kept, *result, call.op + " in another layout");
    }
    return kept;
  }
  return RunReference(call);
}

class CountsPrinter : public ::testing::Environment {
 public:
  void TearDown() override {
    for (const auto& [op, runs] : Counts())
      std::printf("%s ran %s %d times\n", TheHost().kind().c_str(), op.c_str(), runs);
  }
};

const bool kAdded = [] {
  Runners().push_back({Setting("TENON_KERNEL_DEVICE"), RunOnDevice});
  ::testing::AddGlobalTestEnvironment(new CountsPrinter);
  return true;
}();

}  // namespace
}  // namespace tenon::testing
