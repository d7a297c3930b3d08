/* A plugin in C99 from the ABI headers alone: one kernel, tenon.op only. */
#include <string.h>

#include "tenon/abi/note.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"

TENON_PLUGIN_NOTE("org.tenon.plain_c", "1.2.3", TENON_KIND_OP, 0, 0);

struct tenon_plugin {
  const tenon_host_api* host;
};
struct tenon_kernel {
  const tenon_host_api* host;
  uint64_t bytes;
};

static int32_t fail(const tenon_host_api* host, tenon_error* error, int32_t code, const char* message) {
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = code;
  info.message.data = message;
  info.message.size = strlen(message);
  if (error != NULL) host->error_set(error, &info);
  return code;
}

static int32_t supports(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                        uint32_t* verdict, const tenon_reason_sink* reason) {
  (void)plugin, (void)def, (void)reason;
  *verdict = query->inputs->dtype == TENON_DTYPE_F32 ? TENON_VERDICT_YES : TENON_VERDICT_NO;
  return TENON_OK;
}

static int32_t create_kernel(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                             tenon_kernel** out, tenon_error* error) {
  static const tenon_str tag = TENON_STR("kernel");
  void* memory = NULL;
  const int32_t code = plugin->host->mem_alloc(plugin->host->host, sizeof(tenon_kernel), 16, tag, &memory, error);
  (void)def, (void)query;
  if (code != TENON_OK) return code;
  *out = memory;
  (*out)->host = plugin->host;
  (*out)->bytes = 0;
  return TENON_OK;
}

static int32_t plan(tenon_kernel* kernel, const tenon_plan_args* args, tenon_plan_result* out, tenon_error* error) {
  uint32_t axis = 0;
  (void)out;
  kernel->bytes = sizeof(float);
  for (axis = 0; axis < args->inputs->rank; ++axis) {
    if (args->inputs->dims[axis] < 0) return fail(kernel->host, error, TENON_INVALID_ARGUMENT, "A size is not known.");
    kernel->bytes *= (uint64_t)args->inputs->dims[axis];
  }
  return TENON_OK;
}

static int32_t execute(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  (void)error;
  memcpy((void*)(uintptr_t)(call->outputs->address + call->outputs->byte_offset),
         (const void*)(uintptr_t)(call->inputs->address + call->inputs->byte_offset), kernel->bytes);
  return TENON_OK;
}

static void destroy_kernel(tenon_kernel* kernel) {
  if (kernel != NULL) kernel->host->mem_free(kernel->host->host, kernel);
}

static const tenon_kernel_vtable kernel_table = {
    .struct_size = sizeof(tenon_kernel_vtable),
    .supports = supports,
    .create = create_kernel,
    .plan = plan,
    .execute = execute,
    .destroy = destroy_kernel,
};

static const tenon_kernel_def kernels[] = {{
    .struct_size = sizeof(tenon_kernel_def),
    .domain = TENON_STR(""),
    .op_type = TENON_STR("Identity"),
    .min_version = 1,
    .device_kind = TENON_STR("cpu"),
    .name = TENON_STR("copy"),
    .traits = TENON_TRAIT_PURE | TENON_TRAIT_LAYOUT_BLIND,
    .vtable = &kernel_table,
}};

static int32_t list_kernels(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                            tenon_error* error) {
  (void)plugin, (void)error;
  *first = kernels;
  *count = 1;
  *stride = sizeof(kernels[0]);
  return TENON_OK;
}

static const tenon_op_vtable op_table = {.struct_size = sizeof(tenon_op_vtable), .list_kernels = list_kernels};

static const tenon_interface interfaces[] = {TENON_INTERFACE_RECORD(TENON_INTERFACE_OP, &op_table)};

static int32_t create(const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
  static const tenon_str tag = TENON_STR("plugin");
  void* memory = NULL;
  const int32_t code = args->host->mem_alloc(args->host->host, sizeof(tenon_plugin), 16, tag, &memory, error);
  if (code != TENON_OK) return code;
  *out = memory;
  (*out)->host = args->host;
  return TENON_OK;
}

static void destroy(tenon_plugin* plugin) {
  if (plugin != NULL) plugin->host->mem_free(plugin->host->host, plugin);
}

static const tenon_plugin_descriptor descriptor = {
    TENON_PLUGIN_DESCRIPTOR_HEAD,
    .plugin_id = TENON_STR("org.tenon.plain_c"),
    .plugin_version = TENON_STR("1.2.3"),
    .vendor = TENON_STR("Tenon authors"),
    .licence = TENON_STR("Apache-2.0"),
    .kinds = TENON_KIND_OP,
    .sanitizer = TENON_BUILD_SANITIZER,
    .compiler = TENON_STR(__VERSION__),
    .interfaces = interfaces,
    .interface_count = 1,
    .interface_stride = sizeof(interfaces[0]),
    .create = create,
    .destroy = destroy,
};

const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host) {
  if (host != NULL && host->abi_major != TENON_ABI_MAJOR) return NULL;
  return &descriptor;
}
