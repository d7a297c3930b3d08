// Kernels as classes.
//
//   class Relu : public tenon::sdk::Kernel {
//    public:
//     static bool Supports(const tenon::sdk::Query& query, tenon::sdk::Reason& reason);
//     int32_t Execute(const tenon::sdk::Call& call, tenon::sdk::Error& error);
//   };
//   constexpr tenon_kernel_def kKernels[] = {tenon::sdk::MakeKernel<Relu>("", "Relu", "npu", "relu", {})};
//
// Optional members, found by name:
//   static void Layouts(const Query&, LayoutEmitter&);            signatures on offer; absent: strided contiguous
//   int32_t Create(const Query&, Error&);                         attributes, once
//   int32_t Plan(const PlanArgs&, PlanResult&, Error&);           shapes and layouts
//   uint64_t HeldBytes() const;
// Execute runs without heap allocation as long as the kernel's own code makes none.
#pragma once

#include <initializer_list>
#include <new>

#include "tenon/abi/op.h"
#include "tenon/sdk/attributes.h"
#include "tenon/sdk/profiler.h"

namespace tenon::sdk {

// Why something is refused; the last reason counts.
class Reason {
 public:
  explicit Reason(const tenon_reason_sink* sink) : sink_(sink) {}
  // Gives the reason and returns false, so that a predicate can say: return reason.No("dtype is ", ...).
  template <typename... Parts>
  bool No(const Parts&... parts) {
    if (sink_ != nullptr && sink_->reason != nullptr) {
      const TextBuffer text(parts...);
      sink_->reason(sink_->user, TENON_UNIMPLEMENTED, Str(text.View()));
    }
    return false;
  }

 private:
  const tenon_reason_sink* sink_;
};

// What a kernel is asked for.
class Query {
 public:
  Query(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query& raw)
      : plugin_(plugin), def_(def), raw_(&raw) {}
  std::string_view domain() const { return Text(raw_->domain); }
  std::string_view op_type() const { return Text(raw_->op_type); }
  std::string_view node_name() const { return Text(raw_->node_name); }
  uint32_t version() const { return raw_->version; }
  uint32_t threads() const { return raw_->thread_budget; }
  uint32_t math_flags() const { return raw_->math_flags; }
  bool training() const { return (raw_->math_flags & TENON_MATH_TRAINING) != 0; }
  Attributes attributes() const { return {raw_->attributes, raw_->attribute_count, raw_->attribute_stride}; }
  uint32_t input_count() const { return raw_->input_count; }
  uint32_t output_count() const { return raw_->output_count; }
  Value input(uint32_t index) const { return Value(AtStride(raw_->inputs, raw_->input_stride, index)); }
  Value output(uint32_t index) const { return Value(AtStride(raw_->outputs, raw_->output_stride, index)); }
  bool has_input(uint32_t index) const { return index < raw_->input_count && input(index).present(); }
  bool has_output(uint32_t index) const { return index < raw_->output_count && output(index).present(); }
  // NULL before create.
  Plugin* plugin() const { return plugin_ == nullptr ? nullptr : Plugin::From(plugin_); }
  const tenon_kernel_def& def() const { return *def_; }
  const tenon_kernel_query& raw() const { return *raw_; }

 private:
  tenon_plugin* plugin_;
  const tenon_kernel_def* def_;
  const tenon_kernel_query* raw_;
};

// Takes layout signatures. Throws Failure when the host refuses one.
class LayoutEmitter {
 public:
  explicit LayoutEmitter(const tenon_layout_sink& sink) : sink_(&sink) {}
  void Emit(double cost, std::initializer_list<uint32_t> inputs, std::initializer_list<uint32_t> outputs,
            std::initializer_list<tenon_layout_form> forms = {}, uint64_t tag = 0) {
    Emit(cost, inputs.begin(), static_cast<uint32_t>(inputs.size()), outputs.begin(),
         static_cast<uint32_t>(outputs.size()), forms.begin(), static_cast<uint32_t>(forms.size()), tag);
  }
  void Emit(double cost, const uint32_t* inputs, uint32_t input_count, const uint32_t* outputs, uint32_t output_count,
            const tenon_layout_form* forms = nullptr, uint32_t form_count = 0, uint64_t tag = 0) {
    tenon_layout_signature signature = TENON_INIT(tenon_layout_signature);
    signature.cost = cost;
    signature.inputs = inputs;
    signature.outputs = outputs;
    signature.input_count = input_count;
    signature.output_count = output_count;
    signature.forms = forms;
    signature.form_count = form_count;
    signature.form_stride = sizeof(tenon_layout_form);
    signature.tag = tag;  // last member
    const int32_t code = sink_->emit(sink_->user, &signature);
    if (code != TENON_OK) throw Failure(code, "The host refused a layout signature.");
  }

 private:
  const tenon_layout_sink* sink_;
};

// Concrete shapes and chosen layouts.
class PlanArgs {
 public:
  explicit PlanArgs(const tenon_plan_args& raw) : raw_(&raw) {}
  uint32_t input_count() const { return raw_->input_count; }
  uint32_t output_count() const { return raw_->output_count; }
  Value input(uint32_t index) const { return Value(AtStride(raw_->inputs, raw_->input_stride, index)); }
  Value output(uint32_t index) const { return Value(AtStride(raw_->outputs, raw_->output_stride, index)); }
  bool has_input(uint32_t index) const { return index < raw_->input_count && input(index).present(); }
  bool has_output(uint32_t index) const { return index < raw_->output_count && output(index).present(); }
  uint32_t form_count() const { return raw_->form_count; }
  const tenon_layout_form& form(uint32_t index) const { return AtStride(raw_->forms, raw_->form_stride, index); }
  uint32_t threads() const { return raw_->thread_budget; }
  uint32_t math_flags() const { return raw_->math_flags; }
  uint64_t layout_tag() const { return TENON_HAS_FIELD(raw_, tenon_plan_args, layout_tag) ? raw_->layout_tag : 0; }
  const tenon_plan_args& raw() const { return *raw_; }

 private:
  const tenon_plan_args* raw_;
};

// What a plan asks for.
class PlanResult {
 public:
  // Scratch memory of each call; its content is undefined when execute starts.
  void Workspace(uint64_t bytes, uint64_t align = 64) {
    raw_.workspace_bytes = bytes;
    raw_.workspace_align = align;
  }
  // name must live as long as the kernel.
  void Algorithm(uint64_t id, std::string_view name) {
    raw_.algorithm = id;
    raw_.algorithm_name = Str(name);  // last member
  }
  // pairs must live until the next plan.
  void Aliases(const tenon_alias_pair* pairs, uint64_t count) {
    raw_.aliases = pairs;
    raw_.alias_count = count;
  }
  void Cost(double ns) { raw_.cost = ns; }
  void NoOp() { raw_.flags |= TENON_PLAN_NO_OP; }
  const tenon_plan_result& raw() const { return raw_; }

 private:
  tenon_plan_result raw_ = TENON_INIT(tenon_plan_result);
};

// One call of a kernel.
class Call {
 public:
  explicit Call(const tenon_kernel_call& raw) : raw_(&raw) {}
  uint32_t input_count() const { return raw_->input_count; }
  uint32_t output_count() const { return raw_->output_count; }
  Tensor input(uint32_t index) const { return Tensor(AtStride(raw_->inputs, raw_->input_stride, index)); }
  Tensor output(uint32_t index) const { return Tensor(AtStride(raw_->outputs, raw_->output_stride, index)); }
  bool has_input(uint32_t index) const { return index < raw_->input_count && input(index).present(); }
  bool has_output(uint32_t index) const { return index < raw_->output_count && output(index).present(); }
  // First element of an operand in host-accessible memory.
  template <typename T>
  const T* in(uint32_t index) const {
    return input(index).data<const T>();
  }
  template <typename T>
  T* out(uint32_t index) const {
    return output(index).data<T>();
  }
  template <typename T>
  T* workspace() const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(raw_->workspace));
  }
  uint64_t workspace_bytes() const { return raw_->workspace_bytes; }
  tenon_scalar scalar(uint32_t index) const { return raw_->scalars[index]; }
  bool accumulate(uint32_t output) const { return ((raw_->accumulate_mask >> output) & 1) != 0; }
  uint64_t rng_key() const { return raw_->rng_key; }
  uint64_t rng_offset() const { return raw_->rng_offset; }
  uint32_t threads() const { return raw_->thread_budget; }
  uint32_t math_flags() const { return raw_->math_flags; }
  uint64_t correlation_id() const { return raw_->correlation_id; }
  tenon_stream* stream() const { return raw_->stream; }
  const tenon_kernel_call& raw() const { return *raw_; }

 private:
  const tenon_kernel_call* raw_;
};

// Base of kernel classes; no virtual functions.
class Kernel {
 public:
  Host host() const { return host_; }
  Plugin* plugin() const { return plugin_; }
  template <typename T>
  T& plugin_as() const {
    return static_cast<T&>(*plugin_);
  }
  const tenon_kernel_def& def() const { return *def_; }

 private:
  template <typename T>
  friend struct KernelSlots;
  Host host_;
  Plugin* plugin_ = nullptr;
  const tenon_kernel_def* def_ = nullptr;
};

namespace detail {
template <typename T, typename = void>
struct HasLayouts : std::false_type {};
template <typename T>
struct HasLayouts<T, std::void_t<decltype(&T::Layouts)>> : std::true_type {};
template <typename T, typename = void>
struct HasCreate : std::false_type {};
template <typename T>
struct HasCreate<T, std::void_t<decltype(&T::Create)>> : std::true_type {};
template <typename T, typename = void>
struct HasPlan : std::false_type {};
template <typename T>
struct HasPlan<T, std::void_t<decltype(&T::Plan)>> : std::true_type {};
template <typename T, typename = void>
struct HasHeldBytes : std::false_type {};
template <typename T>
struct HasHeldBytes<T, std::void_t<decltype(&T::HeldBytes)>> : std::true_type {};
}  // namespace detail

// The ABI's slots for kernel class T.
template <typename T>
struct KernelSlots {
  static int32_t Supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                          uint32_t* verdict, const tenon_reason_sink* sink) noexcept {
    *verdict = TENON_VERDICT_NO;
    Reason reason(sink);
    try {
      if (T::Supports(Query(plugin, def, *query), reason)) *verdict = TENON_VERDICT_YES;
      return TENON_OK;
    } catch (const Failure& failure) {
      // A wrong attribute: the reason, not an error of the plugin.
      reason.No(std::string_view(failure.what()));
      return TENON_OK;
    } catch (...) {
      return FailFromException(nullptr, nullptr);
    }
  }
  static int32_t QueryLayouts(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                              const tenon_layout_sink* sink, tenon_error* sink_error) noexcept {
    return Guard(Plugin::HostOf(plugin), sink_error, [&](Error&) -> int32_t {
      LayoutEmitter emitter(*sink);
      T::Layouts(Query(plugin, def, *query), emitter);
      return TENON_OK;
    });
  }
  static int32_t Create(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                        tenon_kernel** out, tenon_error* sink) noexcept {
    *out = nullptr;
    return Guard(Plugin::HostOf(plugin), sink, [&](Error& error) -> int32_t {
      Owner owner{new T()};
      Kernel& base = *owner.kernel;
      base.plugin_ = Plugin::From(plugin);
      base.host_ = base.plugin_->host();
      base.def_ = def;
      if constexpr (detail::HasCreate<T>::value) {
        const int32_t code = owner.kernel->Create(Query(plugin, def, *query), error);
        if (code != TENON_OK) return code;
      }
      *out = reinterpret_cast<tenon_kernel*>(owner.Release());
      return TENON_OK;
    });
  }
  static int32_t Plan(tenon_kernel* handle, const tenon_plan_args* args, tenon_plan_result* out,
                      tenon_error* sink) noexcept {
    T* kernel = reinterpret_cast<T*>(handle);
    return Guard(kernel->host().api(), sink, [&](Error& error) -> int32_t {
      PlanResult result;
      const int32_t code = kernel->Plan(PlanArgs(*args), result, error);
      if (code == TENON_OK) CopyOut(result.raw(), out);
      return code;
    });
  }
  static int32_t Execute(tenon_kernel* handle, const tenon_kernel_call* call, tenon_error* sink) noexcept {
    T* kernel = reinterpret_cast<T*>(handle);
    try {
      Error error(kernel->host().api(), sink);
      if ((call->flags & TENON_CALL_PROFILING) != 0) return ExecuteRecorded(*kernel, *call, error);
      return kernel->Execute(Call(*call), error);
    } catch (...) {
      return FailFromException(kernel->host().api(), sink);
    }
  }
  static int32_t ExecuteRecorded(T& kernel, const tenon_kernel_call& call, Error& error) {
    InlineRecord record(*kernel.plugin(), TENON_RECORD_KERNEL, call.correlation_id);
    if (record) record->name = record.host().Intern(Text(kernel.def().name));
    const int32_t code = kernel.Execute(Call(call), error);
    if (code != TENON_OK) record->header.flags |= TENON_RECORD_FAILED;
    return code;
  }
  static void Destroy(tenon_kernel* handle) noexcept { delete reinterpret_cast<T*>(handle); }
  static uint64_t HeldBytes(tenon_kernel* handle) noexcept {
    try {
      return reinterpret_cast<T*>(handle)->HeldBytes();
    } catch (...) {
      return 0;
    }
  }

  static constexpr tenon_kernel_vtable Vtable() {
    tenon_kernel_vtable table = TENON_INIT(tenon_kernel_vtable);
    table.supports = &Supports;
    if constexpr (detail::HasLayouts<T>::value) table.query_layouts = &QueryLayouts;
    table.create = &Create;
    if constexpr (detail::HasPlan<T>::value) table.plan = &Plan;
    table.execute = &Execute;
    table.destroy = &Destroy;
    if constexpr (detail::HasHeldBytes<T>::value) table.held_bytes = &HeldBytes;  // last member
    return table;
  }
  static constexpr tenon_kernel_vtable kVtable = Vtable();

 private:
  struct Owner {
    T* kernel;
    T* Release() {
      T* result = kernel;
      kernel = nullptr;
      return result;
    }
    ~Owner() { delete kernel; }
  };
};

// What distinguishes a kernel beyond its class; members as in tenon_kernel_def.
struct KernelOptions {
  int32_t priority = 0;
  uint64_t traits = TENON_TRAIT_DETERMINISTIC;
  uint32_t stride_pattern = TENON_STRIDES_CONTIGUOUS;
  uint32_t min_version = 1;
  uint32_t max_version = 0;
  uint64_t host_inputs = 0;
  uint64_t host_outputs = 0;
  const void* user = nullptr;
  std::string_view doc = {};
};

// All texts must be static.
template <typename T>
constexpr tenon_kernel_def MakeKernel(std::string_view domain, std::string_view op_type, std::string_view device_kind,
                                      std::string_view name, const KernelOptions& options = {}) {
  tenon_kernel_def def = TENON_INIT(tenon_kernel_def);
  def.stride_pattern = options.stride_pattern;
  def.domain = Str(domain);
  def.op_type = Str(op_type);
  def.min_version = options.min_version;
  def.max_version = options.max_version;
  def.device_kind = Str(device_kind);
  def.name = Str(name);
  def.priority = options.priority;
  def.traits = options.traits;
  def.host_inputs = options.host_inputs;
  def.host_outputs = options.host_outputs;
  def.vtable = &KernelSlots<T>::kVtable;
  def.user = options.user;
  def.doc = Str(options.doc);  // last member
  return def;
}

// A borrowed table.
template <typename T>
struct Table {
  const T* first = nullptr;
  uint64_t count = 0;
  constexpr Table() = default;
  constexpr Table(const T* data, uint64_t size) : first(data), count(size) {}
  template <size_t kSize>
  constexpr Table(const T (&array)[kSize]) : first(array), count(kSize) {}  // NOLINT: implicit on purpose
};

namespace detail {
template <typename T, typename = void>
struct HasOperators : std::false_type {};
template <typename T>
struct HasOperators<T, std::void_t<decltype(&T::Operators)>> : std::true_type {};
}  // namespace detail

// tenon.op for a class with static functions:
//   static tenon::sdk::Table<tenon_kernel_def> Kernels();        required
//   static tenon::sdk::Table<tenon_operator_def> Operators();    optional
// The tables must live as long as the library.
template <typename Tables>
struct OpSlots {
  static int32_t ListOperators(tenon_plugin* plugin, const tenon_operator_def** first, uint64_t* count,
                               uint64_t* stride, tenon_error* sink) noexcept {
    return Guard(Plugin::HostOf(plugin), sink, [&](Error&) -> int32_t {
      const Table<tenon_operator_def> table = Tables::Operators();
      *first = table.first;
      *count = table.count;
      *stride = sizeof(tenon_operator_def);
      return TENON_OK;
    });
  }
  static int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                             tenon_error* sink) noexcept {
    return Guard(Plugin::HostOf(plugin), sink, [&](Error&) -> int32_t {
      const Table<tenon_kernel_def> table = Tables::Kernels();
      *first = table.first;
      *count = table.count;
      *stride = sizeof(tenon_kernel_def);
      return TENON_OK;
    });
  }
  static int32_t ReleaseCaches(tenon_plugin* plugin, tenon_error* sink) noexcept {
    return Guard(Plugin::HostOf(plugin), sink, [&](Error&) -> int32_t {
      Plugin::From(plugin)->ReleaseCaches();
      return TENON_OK;
    });
  }
  static constexpr tenon_op_vtable Vtable() {
    tenon_op_vtable table = TENON_INIT(tenon_op_vtable);
    if constexpr (detail::HasOperators<Tables>::value) table.list_operators = &ListOperators;
    table.list_kernels = &ListKernels;
    table.release_caches = &ReleaseCaches;  // last member
    return table;
  }
  static constexpr tenon_op_vtable kVtable = Vtable();
};

template <typename Tables>
constexpr tenon_interface OpInterface() {
  return Interface(TENON_INTERFACE_OP, &OpSlots<Tables>::kVtable);
}

}  // namespace tenon::sdk
