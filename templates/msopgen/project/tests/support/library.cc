#include "tests/support/library.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace testing {
namespace {

namespace sdk = tenon::sdk;

// ---- the host's table, for one thread ----

void ErrorSet(tenon_error* error, const tenon_error_info* info) { error->text = sdk::Text(info->message); }
void Log(tenon_host*, uint32_t, tenon_str component, tenon_str text, uint32_t) {
  std::printf("%s: %s\n", std::string(sdk::Text(component)).c_str(), std::string(sdk::Text(text)).c_str());
}
int32_t MemAlloc(tenon_host*, uint64_t bytes, uint64_t align, tenon_str, void** out, tenon_error*) {
  *out = bytes == 0 ? nullptr : std::aligned_alloc(align < 8 ? 8 : align, (bytes + align) / align * align);
  return bytes == 0 || *out != nullptr ? TENON_OK : TENON_RESOURCE_EXHAUSTED;
}
void MemFree(tenon_host*, void* memory) { std::free(memory); }
uint32_t ThreadBudget(tenon_host*) { return 1; }
int32_t ParallelFor(tenon_host*, uint64_t count, uint64_t, uint32_t, tenon_range_fn fn, void* user, tenon_error*) {
  if (count > 0) fn(user, 0, count, 0);
  return TENON_OK;
}
int32_t Submit(tenon_host*, tenon_task_fn fn, void* user, tenon_task_fn release, tenon_error*) {
  fn(user);
  if (release != nullptr) release(user);
  return TENON_OK;
}
void Complete(tenon_host*, tenon_token*, int32_t, tenon_str) {}
uint32_t Cancelled(const tenon_cancel*) { return 0; }
int32_t OptionInt(tenon_host*, tenon_str, int64_t fallback, int64_t, int64_t, tenon_str, int64_t* out, tenon_error*) {
  *out = fallback;
  return TENON_OK;
}
int32_t OptionReal(tenon_host*, tenon_str, double fallback, tenon_str, double* out, tenon_error*) {
  *out = fallback;
  return TENON_OK;
}
int32_t OptionFlag(tenon_host*, tenon_str, uint32_t fallback, tenon_str, uint32_t* out, tenon_error*) {
  *out = fallback;
  return TENON_OK;
}
int32_t OptionText(tenon_host*, tenon_str, tenon_str fallback, tenon_str, tenon_str* out, tenon_error*) {
  *out = fallback;
  return TENON_OK;
}
uint64_t ClockNs(tenon_host*) {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
uint64_t Intern(tenon_host*, tenon_str text) { return std::hash<std::string_view>()(sdk::Text(text)) | 1; }

const tenon_host_api* HostTable() {
  static const tenon_host_api table = [] {
    tenon_host_api api = TENON_INIT(tenon_host_api);
    api.abi_minor = TENON_TARGET_MINOR;
    api.error_set = &ErrorSet;
    api.log = &Log;
    api.mem_alloc = &MemAlloc;
    api.mem_free = &MemFree;
    api.thread_budget = &ThreadBudget;
    api.parallel_for = &ParallelFor;
    api.submit = &Submit;
    api.complete = &Complete;
    api.cancelled = &Cancelled;
    api.option_i64 = &OptionInt;
    api.option_f64 = &OptionReal;
    api.option_flag = &OptionFlag;
    api.option_text = &OptionText;
    api.clock_ns = &ClockNs;
    api.intern = &Intern;
    return api;
  }();
  return &table;
}

void Check(int32_t code, const tenon_error& error, const std::string& what) {
  if (code != TENON_OK)
    throw std::runtime_error(what + " failed with code " + std::to_string(code) + ": " + error.text);
}

std::string FullName(tenon_str domain, tenon_str type) {
  return std::string(sdk::Text(domain)) + "." + std::string(sdk::Text(type));
}

// ---- records of one call ----

struct Records {
  std::vector<tenon_value_desc> descriptions;
  std::vector<tenon_tensor> views;
  std::vector<std::vector<char>> bytes;

  explicit Records(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      tenon_value_desc description = TENON_INIT(tenon_value_desc);
      tenon_tensor view = TENON_INIT(tenon_tensor);
      bytes.push_back(tensor.present ? tensor.Bytes() : std::vector<char>(1));
      description.flags = tensor.present ? (tensor.size() == 0 ? TENON_TENSOR_EMPTY : 0) : TENON_TENSOR_ABSENT;
      if (tensor.present) {
        description.dtype = view.dtype = tensor.dtype;
        description.rank = view.rank = static_cast<uint32_t>(tensor.dims.size());
        description.dims = view.dims = tensor.dims.data();
        view.address = reinterpret_cast<uintptr_t>(bytes.back().data());
      }
      view.flags = description.flags | (tensor.present ? static_cast<uint32_t>(TENON_TENSOR_HOST_ACCESSIBLE) : 0);
      descriptions.push_back(description);
      views.push_back(view);
    }
  }
  uint32_t size() const { return static_cast<uint32_t>(views.size()); }
};

// Destroys the instance when it goes out of scope.
struct Instance {
  const tenon_kernel_vtable& table;
  tenon_kernel* handle = nullptr;
  ~Instance() { table.destroy(handle); }
};

void TakeReason(void* user, int32_t, tenon_str text) { *static_cast<std::string*>(user) = sdk::Text(text); }

}  // namespace

Library::Library(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  void* symbol = dlsym(handle, TENON_ENTRY_SYMBOL);
  if (symbol == nullptr) throw std::runtime_error(file + " has no function " TENON_ENTRY_SYMBOL);
  const auto query = reinterpret_cast<tenon_plugin_query_fn>(symbol);
  descriptor_ = query(nullptr);
  if (descriptor_ == nullptr) throw std::runtime_error(file + " refuses this host");
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.thread_budget = 1;
  args.host = HostTable();
  args.instance_name = sdk::Str("test");
  tenon_error error;
  Check(descriptor_->create(&args, &plugin_, &error), error, "create");
  const auto* table = static_cast<const tenon_op_vtable*>(descriptor_->interfaces->vtable);
  const tenon_operator_def* operators = nullptr;
  const tenon_kernel_def* kernels = nullptr;
  uint64_t count = 0, stride = 0;
  Check(table->list_operators(plugin_, &operators, &count, &stride, &error), error, "list_operators");
  for (uint64_t i = 0; i < count; ++i) operators_.push_back(&sdk::AtStride(operators, stride, i));
  Check(table->list_kernels(plugin_, &kernels, &count, &stride, &error), error, "list_kernels");
  for (uint64_t i = 0; i < count; ++i) kernels_.push_back(&sdk::AtStride(kernels, stride, i));
}

Library::~Library() { descriptor_->destroy(plugin_); }

const tenon_operator_def* Library::Operator(const std::string& domain, const std::string& type) const {
  for (const tenon_operator_def* one : operators_) {
    if (FullName(one->domain, one->op_type) == domain + "." + type) return one;
  }
  return nullptr;
}

const tenon_kernel_def* Library::Kernel(const std::string& domain, const std::string& type,
                                        const std::string& device) const {
  for (const tenon_kernel_def* one : kernels_) {
    if (FullName(one->domain, one->op_type) == domain + "." + type && sdk::Text(one->device_kind) == device) return one;
  }
  return nullptr;
}

void Library::Run(const std::string& domain, const std::string& type, const AttributeList& attributes,
                  const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const {
  const tenon_kernel_def* kernel = Kernel(domain, type, "cpu");
  const std::string name = domain + "." + type;
  if (kernel == nullptr) throw std::runtime_error("there is no cpu kernel of " + name);
  Records in(inputs), out(outputs);
  tenon_kernel_query query = TENON_INIT(tenon_kernel_query);
  query.domain = kernel->domain;
  query.op_type = kernel->op_type;
  query.version = 1;
  query.thread_budget = 1;
  query.node_name = sdk::Str("test");
  query.attributes = attributes.data();
  query.attribute_count = attributes.size();
  query.attribute_stride = sizeof(tenon_attribute);
  query.inputs = in.descriptions.data();
  query.input_count = in.size();
  query.input_stride = sizeof(tenon_value_desc);
  query.outputs = out.descriptions.data();
  query.output_count = out.size();
  query.output_stride = sizeof(tenon_value_desc);
  query.device_kind = sdk::Str("cpu");
  uint32_t verdict = 0;
  std::string why;
  tenon_reason_sink sink = TENON_INIT(tenon_reason_sink);
  sink.user = &why;
  sink.reason = &TakeReason;
  tenon_error error;
  Check(kernel->vtable->supports(plugin_, kernel, &query, &verdict, &sink), error, "supports of " + name);
  if (verdict != TENON_VERDICT_YES) throw std::runtime_error("the kernel of " + name + " refuses: " + why);

  Instance instance{*kernel->vtable};
  Check(kernel->vtable->create(plugin_, kernel, &query, &instance.handle, &error), error, "create of " + name);
  tenon_plan_args plan = TENON_INIT(tenon_plan_args);
  plan.inputs = query.inputs;
  plan.input_count = query.input_count;
  plan.input_stride = query.input_stride;
  plan.outputs = query.outputs;
  plan.output_count = query.output_count;
  plan.output_stride = query.output_stride;
  plan.thread_budget = 1;
  tenon_plan_result planned = TENON_INIT(tenon_plan_result);
  if (kernel->vtable->plan != nullptr)
    Check(kernel->vtable->plan(instance.handle, &plan, &planned, &error), error, "plan of " + name);
  std::vector<char> workspace(planned.workspace_bytes + planned.workspace_align + 1);
  tenon_kernel_call call = TENON_INIT(tenon_kernel_call);
  call.inputs = in.views.data();
  call.input_count = in.size();
  call.input_stride = sizeof(tenon_tensor);
  call.outputs = out.views.data();
  call.output_count = out.size();
  call.output_stride = sizeof(tenon_tensor);
  const uint64_t align = planned.workspace_align == 0 ? 1 : planned.workspace_align;
  if (planned.workspace_bytes > 0) {
    call.workspace = (reinterpret_cast<uintptr_t>(workspace.data()) + align - 1) / align * align;
    call.workspace_bytes = planned.workspace_bytes;
  }
  call.thread_budget = 1;
  Check(kernel->vtable->execute(instance.handle, &call, &error), error, "execute of " + name);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].present) outputs[i].SetBytes(out.bytes[i]);
  }
}

}  // namespace testing
